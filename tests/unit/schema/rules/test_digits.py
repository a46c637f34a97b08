from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.errors import HierarchyError
from shoal.hierarchies import build, declared_leaves, leaf_codes, provenance
from shoal.schema import Attribute, Digits, Provenance, loads

CODES = Attribute(name="zip", hierarchy=Digits(length=3, hidden=(1, 2)))


def test_all_codes_are_known_without_the_data():
    assert provenance(CODES) is Provenance.DECLARED
    assert declared_leaves(CODES) == tuple(f"{number:03d}" for number in range(1000))
    one, other = build(CODES, pa.array(["007"])), build(CODES, pa.array(["123", "999"]))
    assert one.labels == other.labels


def test_digits_are_hidden_from_the_right():
    hierarchy = build(CODES, pa.array(["007"]))
    (code,) = leaf_codes(hierarchy, pa.array(["007"]))
    assert [hierarchy.labels[level][hierarchy.generalize([code], level)[0]] for level in range(4)] == [
        "007",
        "00*",
        "0**",
        "*",
    ]


def test_the_rule_stands_in_a_file():
    schema = loads('[columns.zip]\nrole = "quasi-identifier"\nhierarchy = { digits = 3, hide = [1, 2] }')
    assert schema["zip"].hierarchy == CODES.hierarchy
    with pytest.raises(HierarchyError, match="from 1 to 6") as caught:
        Digits(length=7, hidden=(2, 1))
    assert len(caught.value.problems) == 2
