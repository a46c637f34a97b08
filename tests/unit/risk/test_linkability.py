"""Joining two files through a release."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given

from reference.risk import boxes, holds, only, pair_of, points
from shoal.errors import ParameterError
from shoal.risk import linkability
from shoal.risk._attacks import _joined
from shoal.schema import Role


@pytest.mark.slow
@given(points(), boxes())
def test_rows_are_joined_by_the_records_that_connect_them(people: list, released: list) -> None:
    pair = pair_of(people, released).only((0, 1))
    expected = 0.0
    for person in people:
        strength = [
            sum(
                holds(only(box, (0,)), only(person, (0,))) and holds(only(box, (1,)), only(other, (1,)))
                for box in released
            )
            for other in people
        ]
        best = [position for position, value in enumerate(strength) if value == max(strength)]
        # equal people are the same to the intruder, so count each by the chance that it is among the best
        expected += (people.index(person) in best) / len(best)
    targets = pair.original.low.repeat(pair.original.counts, axis=0)
    assert _joined(pair, targets, [0], [1]) == pytest.approx(expected)


def test_unique_records_tell_which_rows_belong_together() -> None:
    people = [(i, i, 0) for i in range(40)]
    sizes = (40, 40, 1)
    same = pair_of(people, [tuple((v, v) for v in point) for point in people], sizes=sizes)
    nothing = pair_of(people, [((0, 39), (0, 39), (0, 0))] * 40, sizes=sizes)
    assert linkability(same, targets=30).success.rate == 1.0
    blind = linkability(nothing, targets=30)
    assert blind.success.rate == pytest.approx(1 / 30)
    assert blind.risk == pytest.approx(0.0)


def test_one_quasi_identifier_cannot_be_split() -> None:
    assert linkability(pair_of([(0,)], [((0, 0),)], sizes=(1,), roles=(Role.QUASI_IDENTIFIER,))) is None


def test_the_same_seed_gives_the_same_figures() -> None:
    people = list(itertools.product(range(4), range(3), range(5)))
    pair = pair_of(people, [((a, a), (0, 2), (c, c)) for a, _, c in people])
    assert linkability(pair, targets=20, seed=1) == linkability(pair, targets=20, seed=1)


def test_there_must_be_somebody_to_join() -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        linkability(pair_of([(0, 0, 0)], []), splits=0)
