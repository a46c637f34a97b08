"""Bounds of boxes: no node is better than what is said of its box, and none that is good enough is left out."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import recoding as reference
from reference.examples import examples
from shoal.kernels import library
from shoal.kernels.moves import Moves
from shoal.methods.recode import Generalize, Lattice
from shoal.methods.recode._moves import Outlooks
from shoal.models import DistinctLDiversity, KAnonymity, Model
from shoal.quality import CellObjective
from shoal.tables import Frequencies


@pytest.mark.slow
@given(reference.tables(attributes=4, sensitive=1), st.integers(1, 6), st.booleans(), st.floats(0, 1), st.data())
@examples(150)
def test_no_node_is_better_than_the_bound_of_its_box(
    frequencies: Frequencies, k: int, diverse: bool, share: float, data: st.DataObject
) -> None:
    weights = {name: data.draw(st.sampled_from([0.5, 1.0, 4.0])) for name in frequencies.attributes}
    measure = Generalize(weights=weights).measure
    objective = measure.objective(frequencies)
    assert isinstance(objective, CellObjective)
    models: list[Model] = [KAnonymity(k), *([DistinctLDiversity("s0", 2)] if diverse else [])]
    allowed = int(share * frequencies.records)
    outlooks = Outlooks(Lattice(frequencies, objective.tables), objective, k, allowed)
    high = data.draw(st.sampled_from(list(reference.nodes(frequencies))))
    low = tuple(data.draw(st.integers(0, level)) for level in high)
    if data.draw(st.booleans()):
        outlooks.rise(low)
    values = {}
    for levels in itertools.product(*(range(least, most + 1) for least, most in zip(low, high, strict=True))):
        released = reference.release(frequencies, levels, models)
        if reference.suppressed(frequencies, released) <= allowed:
            values[levels] = measure.value(released, frequencies)
    to_beat = data.draw(st.sampled_from([math.inf, *sorted(values.values())]))
    view = outlooks.at(low, high)
    narrowed = view.narrowed(low, high, to_beat)
    wanted = {levels: value for levels, value in values.items() if value <= to_beat}
    assert view.value <= values.get(high, math.inf)
    assert narrowed is not None or not wanted
    for levels, value in wanted.items():
        assert narrowed is not None
        assert narrowed.bound <= value
        assert all(a <= b <= c for a, b, c in zip(narrowed.low, levels, narrowed.high, strict=True))


@given(reference.tables(), st.integers(1, 12), st.data())
@examples(60)
def test_what_is_suppressed_with_one_attribute_lowered_is_counted(
    frequencies: Frequencies, smallest: int, data: st.DataObject
) -> None:
    hierarchies = frequencies.hierarchies
    shares = [list(hierarchy.shares) for hierarchy in hierarchies]
    codes = [hierarchy.codes for hierarchy in hierarchies]
    moves = Moves(frequencies.codes.T, frequencies.counts, codes, shares, smallest=smallest, allowed=0, loss=1.0)
    levels = data.draw(st.sampled_from(list(reference.nodes(frequencies))))
    lowest = np.array([data.draw(st.integers(0, level)) for level in levels], dtype=np.int32)
    dearest = np.array([data.draw(st.sampled_from([1.0, 2.5])) for _ in levels])
    expected = [
        counted(frequencies, levels, (*levels[:j], level, *levels[j + 1 :]), j, smallest, float(dearest[j]))
        if lowest[j] <= level <= levels[j]
        else (0, 0.0, 0.0)
        for j, level in moves.moves
    ]
    ways = [moves.outlook_numpy] if library() is None else [moves.outlook_numpy, moves.outlook]
    for way in ways:
        found = way(levels, lowest, dearest)
        for (j, level), numbers, should in zip(moves.moves, zip(*found, strict=True), expected, strict=True):
            if lowest[j] <= level <= levels[j]:
                np.testing.assert_allclose(numbers, should, atol=1e-9)


def counted(
    frequencies: Frequencies, node: tuple[int, ...], moved: tuple[int, ...], j: int, smallest: int, dearest: float
) -> tuple[int, float, float]:
    """Count record by record: the suppressed ones of a node, and what those of both nodes add to an attribute."""
    small = []
    for levels in (node, moved):
        _, labels = reference.node(frequencies, levels)
        sizes = reference.people(frequencies, labels)
        small.append([row for row, label in enumerate(labels) if sizes[label] < smallest])
    hierarchy, level = frequencies.hierarchies[j], moved[j]
    extra = [dearest - float(hierarchy.shares[level][hierarchy.codes[level][leaf]]) for leaf in frequencies.codes[:, j]]
    already, excess = (sum(extra[row] * int(frequencies.counts[row]) for row in rows) for rows in small)
    return sum(int(frequencies.counts[row]) for row in small[1]), already, excess
