"""Which boxes hold which points, against asking every box about every point."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reference.risk import boxes, holds, pair_of, points
from shoal.risk import Boxes, Pair
from shoal.risk._boxes import Index, pairs, totals_at, totals_in
from shoal.schema import Role

SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=4)


@st.composite
def both(draw: st.DrawFn) -> tuple[list[int], list, list]:
    sizes = draw(SHAPES)
    return sizes, draw(points(sizes)), draw(boxes(sizes))


def _pair(sizes: list[int], people: list, released: list) -> Pair:
    return pair_of(people, released, sizes=sizes, roles=[Role.QUASI_IDENTIFIER] * len(sizes))


def _box(found: Boxes, row: int) -> tuple:
    return tuple(zip(found.low[row].tolist(), found.high[row].tolist(), strict=True))


@given(both())
def test_every_point_gets_the_records_that_hold_it(drawn: tuple) -> None:
    sizes, people, released = drawn
    pair = _pair(sizes, people, released)
    totals = totals_at(pair.released, pair.original.low)
    for row, point in enumerate(pair.original.low.tolist()):
        assert totals[row] == sum(holds(box, tuple(point)) for box in released)


@given(both())
def test_every_box_gets_the_records_that_it_holds(drawn: tuple) -> None:
    sizes, people, released = drawn
    pair = _pair(sizes, people, released)
    totals = totals_in(pair.released, pair.original.low, pair.original.counts)
    index = Index(pair.original.low, pair.original.counts)
    for row in range(len(pair.released)):
        expected = sum(holds(_box(pair.released, row), point) for point in people)
        assert totals[row] == expected
        every = list(range(len(sizes)))
        assert index.records(every, pair.released.low[row], pair.released.high[row]) == expected


@given(both())
def test_all_pairs_are_found_once(drawn: tuple) -> None:
    sizes, people, released = drawn
    pair = _pair(sizes, people, released)
    rows, found = pairs(pair.released, pair.original.low)
    expected = {
        (point, box)
        for point in range(len(pair.original))
        for box in range(len(pair.released))
        if holds(_box(pair.released, box), tuple(pair.original.low[point].tolist()))
    }
    assert sorted(zip(rows.tolist(), found.tolist(), strict=True)) == sorted(expected)


@given(both(), st.data())
def test_fewer_columns_keep_all_records(drawn: tuple, data: st.DataObject) -> None:
    sizes, people, released = drawn
    pair = _pair(sizes, people, released)
    chosen = data.draw(st.lists(st.sampled_from(range(len(sizes))), min_size=1, unique=True))
    small, labels = pair.released.group_by_columns(chosen)
    assert small.records == pair.released.records
    assert len({_box(small, row) for row in range(len(small))}) == len(small)
    for row, label in enumerate(labels.tolist()):
        assert _box(small, label) == tuple(_box(pair.released, row)[column] for column in chosen)


def test_nothing_holds_nothing() -> None:
    empty, point = Boxes.empty(2), np.zeros((1, 2), dtype=np.int32)
    assert totals_at(empty, point).tolist() == [0]
    assert totals_in(empty, point, np.array([1])).tolist() == []
    assert [part.tolist() for part in pairs(empty, point)] == [[], []]
