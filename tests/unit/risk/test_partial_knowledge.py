"""Partial knowledge, against asking every released record about every person."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import shoal
from reference.risk import boxes, linked, pair_of, points, worst_linked
from shoal.errors import ParameterError
from shoal.risk import Pair, _partial_knowledge, combinations, linkage


@pytest.mark.slow
@given(points(), boxes())
def test_links_are_counted_as_by_hand(people: list, released: list) -> None:
    found = linkage(pair_of(people, released), targets=1000)
    assert [each.known for each in found] == [1, 2]
    fits, single, right = linked(people, released, (0, 1))
    assert (found[1].fits, found[1].single, found[1].linked) == pytest.approx((fits, single, right))
    assert found[0].worst_linked == pytest.approx(worst_linked(people, released, (0, 1), 1))
    assert found[0].linked == pytest.approx(sum(linked(people, released, (column,))[2] for column in (0, 1)) / 2)


def test_the_same_seed_gives_the_same_figures() -> None:
    people = [(i % 4, i % 3, i % 5) for i in range(200)]
    pair = pair_of(people, [tuple((value, value) for value in point) for point in people])
    first, second, other = (linkage(pair, targets=10, seed=seed) for seed in (3, 3, 4))
    assert first == second
    assert first != other


def test_sets_of_columns_are_drawn_where_there_are_many() -> None:
    names = [f"c{i}" for i in range(8)]
    table = pa.table({name: [str((i * (j + 3)) % 5) for i in range(40)] for j, name in enumerate(names)})
    schema = shoal.Schema(attributes=tuple(shoal.Attribute(name=name, role="quasi-identifier") for name in names))
    people = shoal.read(table).with_schema(schema)
    found = linkage(Pair.of(people, people), subsets=6)
    assert [each.subsets for each in found] == [6] * 7 + [1]
    assert all(len(each.worst_columns) == each.known for each in found)


def test_a_perturbed_release_is_linked_to_the_nearest_records() -> None:
    schema = shoal.Schema(attributes=(shoal.Attribute(name="pay", role="quasi-identifier", kind="numeric"),))
    people = shoal.read(pa.table({"pay": [10, 12, 30, 33]})).with_schema(schema)
    released = shoal.read(pa.table({"pay": [11.0, 11.0, 31.5, 31.5]}))
    (found,) = linkage(Pair.of(people, released))
    assert (found.fits, found.single, found.linked) == (1.0, 0.0, 0.5)


def test_fewer_people_are_looked_for_in_a_large_perturbed_release(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = shoal.Schema(attributes=(shoal.Attribute(name="pay", role="quasi-identifier", kind="numeric"),))
    people = shoal.read(pa.table({"pay": list(range(200))})).with_schema(schema)
    noisy = shoal.read(pa.table({"pay": [value + 0.25 for value in range(200)]}))
    monkeypatch.setattr("shoal.risk._pair._MANY", 200 * 60)
    assert linkage(Pair.of(people, noisy))[0].targets == 60
    assert linkage(Pair.of(people, people))[0].targets == 200


def test_an_empty_release_links_nobody() -> None:
    (_, found) = linkage(pair_of([(0, 0, 0)], []))
    assert (found.fits, found.linked) == (0.0, 0.0)


def test_there_must_be_somebody_to_look_for() -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        linkage(pair_of([(0, 0, 0)], []), targets=0)


NAMES = ("a", "b", "c", "d")


def pair(records: int = 60) -> tuple[Pair, dict[str, list[str]]]:
    draws = np.random.default_rng(1)
    columns = {name: [str(value) for value in draws.integers(0, 4 + n, records)] for n, name in enumerate(NAMES)}
    attributes = tuple(shoal.Attribute(name=name, role="quasi-identifier") for name in NAMES)
    table = shoal.read(pa.table(columns)).with_schema(shoal.Schema(attributes=attributes))
    made = shoal.read(pa.table(columns | {"a": ["*"] * records}))
    return Pair.of(table, made), columns


def test_every_set_of_three_is_counted_before_and_after() -> None:
    both, columns = pair()
    found = {each.columns: each for each in combinations(both)}
    assert set(found) == {each for size in (1, 2, 3) for each in itertools.combinations(NAMES, size)}
    for names, each in found.items():
        before = Counter(zip(*(columns[name] for name in names), strict=True))
        after = Counter(zip(*(["*"] * 60 if name == "a" else columns[name] for name in names), strict=True))
        for crowds, sizes in ((each.original, before), (each.released, after)):
            assert crowds.unique == sum(size == 1 for size in sizes.values())
            assert crowds.smallest == min(sizes.values())
            assert crowds.average == pytest.approx(len(sizes) / 60)


def test_larger_sets_are_left_out_where_counting_would_take_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_partial_knowledge, "_WORK", 100)
    assert {len(each.columns) for each in combinations(pair()[0])} == {1}
