"""Guesses from classes, against counting record by record."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.risk import guesses
from shoal.hierarchies import build
from shoal.models import Classes
from shoal.risk import attribute_disclosure
from shoal.schema import Attribute, Groups
from shoal.tables import Frequencies, SensitiveAttribute

RECORDS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=60)
GROUPS = Groups(levels=((("even", ("0", "2", "4")), ("odd", ("1", "3", "5"))),))


def _classes(records: list[tuple[int, int]], attribute: SensitiveAttribute) -> Classes:
    flat = build(Attribute(name="class"), pa.array([str(i) for i in range(5)]))
    rows, counts = np.unique(np.array(records, dtype=np.int32), axis=0, return_counts=True)
    return Classes.from_tuples(
        Frequencies(
            hierarchies=(flat,),
            codes=rows[:, :1],
            counts=counts,
            sensitive=(attribute,),
            sensitive_codes=rows[:, 1:],
        )
    )


@given(RECORDS)
def test_guesses_are_counted_as_by_hand(records: list[tuple[int, int]]) -> None:
    (found,) = attribute_disclosure(_classes(records, SensitiveAttribute(name="s", size=6, ordered=False)))
    baseline, guess, highest, certain = guesses(*zip(*records, strict=True))
    assert (found.baseline, found.guess, found.highest) == pytest.approx((baseline, guess, highest))
    assert found.certain == certain
    assert found.values == len({value for _, value in records})
    assert found.gain == pytest.approx((guess - baseline) / (1 - baseline) if baseline < 1 else 0.0)
    assert found.guess >= found.baseline


@pytest.mark.slow
@given(RECORDS)
def test_values_of_a_group_count_as_one_at_its_level(records: list[tuple[int, int]]) -> None:
    hierarchy = build(Attribute(name="s", hierarchy=GROUPS), pa.array([str(i) for i in range(6)]))
    leaf = {label: code for code, label in enumerate(hierarchy.labels[0])}
    coded = [(owner, leaf[str(value)]) for owner, value in records]
    attribute = SensitiveAttribute(name="s", size=6, ordered=False, hierarchy=hierarchy)
    found = attribute_disclosure(_classes(coded, attribute))
    assert [each.level for each in found] == [0, 1]
    _, guess, _, certain = guesses([owner for owner, _ in records], [value % 2 for _, value in records])
    assert found[1].guess == pytest.approx(guess)
    assert found[1].certain == certain


def test_a_class_with_one_value_discloses_it_however_large() -> None:
    (found,) = attribute_disclosure(
        _classes(
            [(0, 1)] * 50 + [(1, value) for value in range(5)], SensitiveAttribute(name="s", size=6, ordered=False)
        )
    )
    assert found.highest == 1.0
    assert found.certain == 50
