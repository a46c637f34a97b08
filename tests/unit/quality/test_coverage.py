from __future__ import annotations

import dataclasses

import numpy as np

from reference.example import MIDDLE, PEOPLE
from reference.quality import node_recoding
from shoal.quality._coverage import coverage_of_levels, coverage_of_recoding


def test_values_cover_the_leaves_and_records_below_them() -> None:
    levels = coverage_of_levels(PEOPLE.frequencies())[0]
    assert [level.leaves.tolist() for level in levels] == [[1, 1, 1, 1], [2, 2], [4]]
    assert [level.records.tolist() for level in levels] == [[4, 1, 2, 1], [5, 3], [8]]


def test_values_that_no_hierarchy_knows_cover_all_from_the_first_to_the_last_leaf() -> None:
    local = node_recoding(PEOPLE, MIDDLE, np.array([True, False, True]), local=True)
    own = dataclasses.replace(local, labels=(("[0, 1]", "[2, 3]"), ("[0, 1]", "[2, 3]")))
    found = coverage_of_recoding(own, PEOPLE.frequencies())
    assert found[0].leaves.tolist() == [2, 2]
    assert found[0].records.tolist() == [5, 3]


def test_a_label_that_is_not_released_covers_nothing() -> None:
    local = node_recoding(PEOPLE, MIDDLE, np.array([True, False, False]), local=True)
    own = dataclasses.replace(local, labels=(("low", "high"), ("low", "high")))
    assert coverage_of_recoding(own, PEOPLE.frequencies())[0].leaves.tolist() == [2, 0]


def test_a_name_that_occurs_more_than_once_stands_for_the_lowest_value_that_covers_what_was_observed() -> None:
    frequencies = PEOPLE.frequencies()
    names = (("a", "b", "c", "d"), ("a", "other"), ("*",))  # `a` is a value, and a pair too
    hierarchies = tuple(dataclasses.replace(hierarchy, labels=names) for hierarchy in frequencies.hierarchies)
    frequencies = dataclasses.replace(frequencies, hierarchies=hierarchies)
    values = node_recoding(PEOPLE, (0, 0), np.ones(7, dtype=np.bool_), local=True)
    values = dataclasses.replace(values, labels=(names[0], names[0]))
    assert coverage_of_recoding(values, frequencies)[0].leaves.tolist() == [1, 1, 1, 1]
    pairs = node_recoding(PEOPLE, MIDDLE, np.ones(3, dtype=np.bool_), local=True)
    pairs = dataclasses.replace(pairs, labels=(names[1], names[1]))
    assert coverage_of_recoding(pairs, frequencies)[0].leaves.tolist() == [2, 2]


def test_a_known_value_covers_leaves_that_were_not_observed() -> None:
    local = node_recoding(PEOPLE, (2, 2), np.ones(1, dtype=np.bool_), local=True)
    few = dataclasses.replace(local, classes=np.where(np.arange(len(local.classes)) < 2, 0, -1).astype(np.int32))
    assert coverage_of_recoding(few, PEOPLE.frequencies())[0].leaves.tolist() == [4]
