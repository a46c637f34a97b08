from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal.kernels import library, partition
from shoal.kernels.partition import AttributeCover, Splitting

compiled = pytest.mark.skipif(library() is None, reason="the compiled kernels are not built")
PARTITIONS = [partition.partition_numpy, pytest.param(partition.partition, marks=compiled)]


def flat(size: int) -> AttributeCover:
    codes = np.array([range(size), [0] * size], dtype=np.int32)
    return AttributeCover(codes=codes, costs=np.array([[0.0] * size, [1.0] * size]))


@pytest.mark.parametrize("split", PARTITIONS)
def test_small_values_stay_behind_and_borrow(split: object) -> None:
    columns = np.array([[0, 0, 0, 1, 1, 2], [0, 1, 2, 0, 1, 0]], dtype=np.int32)
    counts = np.array([2, 2, 1, 2, 2, 1])
    costs = [flat(3), flat(3)]
    borrowed = split(columns, counts, costs, Splitting(smallest=2, stay=True, borrow=True))
    sizes = np.bincount(borrowed.labels, weights=counts)
    assert sizes[np.unique(borrowed.labels)].min() >= 2
    # without staying behind the first attribute cannot be split at all, as one value has one record
    strict = split(columns, counts, [flat(3)] * 2, Splitting(smallest=2, stay=False))
    assert len(np.unique(strict.labels)) < len(np.unique(borrowed.labels))


@pytest.mark.parametrize("split", PARTITIONS)
def test_an_ordered_attribute_is_halved(split: object) -> None:
    line = AttributeCover(codes=np.zeros((1, 10), dtype=np.int32), costs=np.linspace(0, 1, 10)[None], ordered=True)
    found = split(np.arange(10, dtype=np.int32)[None], np.ones(10, dtype=np.int64), [line], Splitting(smallest=2))
    parts = [np.flatnonzero(found.labels == label).tolist() for label in np.unique(found.labels)]
    assert sorted(parts) == [[0, 1], [2, 3, 4], [5, 6], [7, 8, 9]]
    assert all(part == list(range(part[0], part[-1] + 1)) for part in parts)


@pytest.mark.parametrize("split", PARTITIONS)
def test_parents_lead_to_the_root(split: object) -> None:
    columns = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.int32)
    found = split(columns, np.full(4, 3), [flat(2), flat(2)], Splitting(smallest=3))
    assert found.parents[0] == -1
    assert np.all(found.parents[1:] < np.arange(1, len(found.parents)))
    assert len(np.unique(found.labels)) == 4


@pytest.mark.parametrize("split", PARTITIONS)
def test_too_few_records_are_not_split(split: object) -> None:
    found = split(np.array([[0, 1]], dtype=np.int32), np.array([1, 1]), [flat(2)], Splitting(smallest=2))
    assert found.labels.tolist() == [0, 0]


def test_foresight_ends_in_the_middle_of_a_region_when_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(3)
    columns = draw.integers(0, 3, (6, 40)).astype(np.int32)
    task = (columns, np.ones(40, dtype=np.int64), [flat(3)] * 6)
    seen = iter([0.0] * 3)  # the start, and two looks before the first region; after that it is late
    monkeypatch.setattr(partition.time, "monotonic", lambda: next(seen, 100.0))
    late = partition.partition_numpy(*task, Splitting(smallest=2, window=40, foresight_seconds=1.0))
    monkeypatch.undo()
    greedy = partition.partition_numpy(*task, Splitting(smallest=2, window=0))
    foresighted = partition.partition_numpy(*task, Splitting(smallest=2, window=40))
    assert late.labels.tolist() == greedy.labels.tolist()
    assert foresighted.labels.tolist() != greedy.labels.tolist()


@pytest.mark.parametrize("split", PARTITIONS)
def test_nothing_is_split_after_the_limit(split: Any) -> None:
    columns = np.arange(10, dtype=np.int32)[None]
    task = (columns, np.ones(10, dtype=np.int64), [flat(10)])
    assert split(*task, Splitting(smallest=2, window=40, seconds=0.0)).labels.tolist() == [0] * 10
    assert split(*task, Splitting(smallest=2, window=40, work=0.0)).labels.tolist() == [0] * 10


def test_splitting_ends_between_two_regions_when_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.random.default_rng(3).integers(0, 3, (6, 40)).astype(np.int32)
    task = (columns, np.ones(40, dtype=np.int64), [flat(3)] * 6)
    seen = iter([0.0, 0.0, 0.0])  # the start, and a look before each of two regions
    monkeypatch.setattr(partition.time, "monotonic", lambda: next(seen, 100.0))
    late = partition.partition_numpy(*task, Splitting(smallest=2, seconds=1.0))
    monkeypatch.undo()
    done = partition.partition_numpy(*task, Splitting(smallest=2))
    assert 1 < len(set(late.labels.tolist())) < len(set(done.labels.tolist()))
    assert min(np.bincount(late.labels, minlength=1)[np.unique(late.labels)]) >= 2
