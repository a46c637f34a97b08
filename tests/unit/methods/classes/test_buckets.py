"""Buckets of confidential values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import ParameterError
from shoal.hierarchies import build
from shoal.methods.classes import Buckets, clustered_buckets, make_buckets, ordered_buckets
from shoal.schema import Attribute, Groups
from shoal.tables import SensitiveAttribute


def _number(values: list[int | None]) -> SensitiveAttribute:
    labels = tuple(None if value is None else str(value) for value in values)
    return SensitiveAttribute(name="charge", size=len(values), ordered=True, labels=labels)


def _illness() -> tuple[SensitiveAttribute, dict[str, int]]:
    rule = Groups(levels=((("infection", ("cold", "flu", "measles")), ("injury", ("burn", "fracture"))),))
    hierarchy = build(Attribute(name="illness", hierarchy=rule), pa.array([]))
    attribute = SensitiveAttribute(
        name="illness", size=hierarchy.size, ordered=False, labels=hierarchy.labels[0], hierarchy=hierarchy
    )
    return attribute, {str(label): code for code, label in enumerate(hierarchy.labels[0])}


def test_buckets_of_different_numbers_are_as_equal_as_possible() -> None:
    for records in range(3, 30):
        sizes = ordered_buckets(_number(list(range(records))), np.arange(records), 3).sizes
        assert sizes.max() - sizes.min() <= 1
        assert len(sizes) == 3


def test_equal_values_stay_together() -> None:
    codes = np.array([0, 0, 0, 0, 0, 0, 1, 2, 3])
    buckets = ordered_buckets(_number([0, 5, 6, 7]), codes, 3)
    assert len({*buckets.numbers[codes == 0].tolist()}) == 1
    assert buckets.labels == (("0", "[5, 7]"),)


def test_intervals_are_named_by_their_ends_and_missing_values_are_named() -> None:
    buckets = ordered_buckets(_number([1, 2, 3, None]), np.array([0, 1, 2, 3]), 2)
    assert buckets.labels == (("[1, 2]", "3 or missing"),)
    alone = ordered_buckets(_number([1, None]), np.array([0, 1]), 2)
    assert alone.labels == (("1", "missing"),)


def test_values_that_mean_nearly_the_same_share_a_bucket() -> None:
    illness, code = _illness()
    names = ["cold", "flu", "measles", "burn", "fracture", "burn"]
    buckets = make_buckets([illness], np.array([[code[name]] for name in names]), 2)
    assert sorted(buckets.labels[0]) == ["infection", "injury"]
    assert buckets.sizes.tolist() == [3, 3]


def test_a_set_that_is_no_concept_is_listed() -> None:
    illness, code = _illness()
    names = ["cold"] * 6 + ["flu"] * 6 + ["burn"] * 2 + ["fracture"] * 2 + ["measles"] * 2
    buckets = make_buckets([illness], np.array([[code[name]] for name in names]), 3)
    assert sorted(buckets.labels[0]) == ["cold", "flu", "{measles, burn, fracture}"]


def test_values_without_meaning_are_divided_evenly() -> None:
    attribute = SensitiveAttribute(name="code", size=4, ordered=False, labels=("a", "b", "c", "d"))
    codes = np.repeat([0, 1, 2, 3], [5, 3, 2, 4])
    assert sorted(make_buckets([attribute], codes[:, None], 2).sizes.tolist()) == [7, 7]


def test_several_attributes_share_buckets_and_each_has_its_own_labels() -> None:
    low = _number(list(range(6)))
    codes = np.stack([np.arange(6), np.arange(6)], axis=1)
    buckets = make_buckets([low, low], codes, 2)
    assert len(buckets.labels) == 2
    assert sorted(buckets.labels[0]) == ["[0, 2]", "[3, 5]"]
    same = clustered_buckets([low, low], np.repeat(codes, 3, axis=0), 2)
    assert all(len({*same.numbers[3 * i : 3 * i + 3].tolist()}) == 1 for i in range(6))


def test_there_are_never_more_buckets_than_values() -> None:
    attribute = SensitiveAttribute(name="sex", size=2, ordered=False, labels=("f", "m"))
    assert len(make_buckets([attribute], np.array([[0], [1], [1]]), 5).sizes) == 2
    assert len(make_buckets([_number([7])], np.array([[0], [0]]), 3).sizes) == 1


def test_no_bucket_count_below_one() -> None:
    with pytest.raises(ParameterError, match="count"):
        make_buckets([_number([1])], np.array([[0]]), 0)


def test_a_long_set_is_named_by_its_first_values() -> None:
    labels = tuple(f"v{i:02}" for i in range(30))
    attribute = SensitiveAttribute(name="code", size=30, ordered=False, labels=labels)
    buckets = make_buckets([attribute], np.arange(30)[:, None], 1)
    assert buckets.labels[0][0].endswith("and 18 more}")


def test_values_do_not_show_in_a_repr() -> None:
    assert "secret" not in repr(Buckets(numbers=np.array([0]), labels=(("secret",),)))
