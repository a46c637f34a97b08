from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.errors import HierarchyError
from shoal.hierarchies import build, declared_leaves, leaf_codes, outside, provenance
from shoal.schema import Attribute, Digits, Domain, Kind, Mask, Provenance, loads


def made(values, **rule):
    return build(Attribute(name="zip", hierarchy=Mask(**rule)), values)


def test_characters_are_hidden_from_the_right():
    hierarchy = made(pa.array(["12345", "12399", "99999"]), length=5, masked=(2, 4))
    assert hierarchy.labels[1:] == (("123**", "999**"), ("1****", "9****"), ("*",))
    assert hierarchy.shares[1].tolist() == [0.5, 0]


def test_characters_are_hidden_from_the_left_and_leaves_are_put_together():
    hierarchy = made(pa.array(["a1", "a2", "b1"]), length=2, masked=(1,), side="left", symbol="#")
    assert hierarchy.labels == (("a1", "b1", "a2"), ("#1", "#2"), ("*",))


def test_short_codes_are_filled_with_blanks_so_that_levels_stay_nested():
    hierarchy = made(pa.array(["123", "1234", "12"]), length=4, masked=(1, 2))
    assert hierarchy.labels == (("12", "123", "1234"), ("12 *", "123*"), ("12**",), ("*",))


def test_numbers_get_back_the_zeros_that_they_lost():
    hierarchy = made(pa.array([348, 51787]), length=5, masked=(1,))
    assert hierarchy.labels == (("348", "51787"), ("0034*", "5178*"), ("*",))


def test_codes_that_are_too_long_are_outside():
    values = pa.array(["12345-678", "12345"])
    hierarchy = made(values, length=5, masked=(1,))
    assert hierarchy.labels[0] == ("12345",)
    assert outside(hierarchy, values) == "column `zip`: 1 value is not in its hierarchy"


def test_lengths_are_counted_in_characters():
    assert made(pa.array(["äöü"]), length=3, masked=(1,)).labels[1] == ("äö*",)


def test_a_code_that_looks_masked_already_is_told_apart():
    hierarchy = made(pa.array(["1*", "12"]), length=2, masked=(1,))
    assert hierarchy.labels == (("1*", "12"), ("1* (level 1)",), ("*",))


def test_ordinal_codes_keep_their_order_where_groups_allow():
    attribute = Attribute(
        name="c", kind=Kind.ORDINAL, domain=Domain(values=("b2", "a1", "b1")), hierarchy=Mask(length=2, masked=(1,))
    )
    assert build(attribute, pa.array([], pa.string())).labels == (("b2", "b1", "a1"), ("b*", "a*"), ("*",))


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
