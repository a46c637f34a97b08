"""Intervals between cut points: ``< 18``, ``[18, 65)``, ``>= 65``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.hierarchies._column import Column
from shoal.hierarchies._intervals import covered, domain
from shoal.hierarchies._text import text
from shoal.hierarchies._tree import Level, Tree
from shoal.schema import Cuts

__all__ = ["between", "cuts"]


def cuts(column: Column, rule: Cuts) -> Tree:
    """Return the intervals between the declared cut points."""
    return between(column, rule.levels)


def between(column: Column, levels: Sequence[Sequence[float]]) -> Tree:
    """Return the intervals between the cut points of each level; the outer ones are open."""
    numbers, (minimum, maximum) = column.numbers, domain(column)
    found = []
    for level in levels:
        points = pa.array(level, pa.float64())
        low, high = (pa.concat_arrays(pair) for pair in (([_one(-np.inf), points]), ([points, _one(np.inf)])))
        found.append(
            Level(
                groups=np.searchsorted(points.to_numpy(), numbers, side="right"),
                labels=_labels(points),
                shares=covered(low, high, (minimum, maximum)),
            )
        )
    return Tree(leaves=column.leaves, levels=found)


def _labels(points: pa.Array) -> pa.StringArray:
    written = text(points)
    if not len(written):
        return pa.array(["any number"])
    inner = pc.binary_join_element_wise("[", written[:-1], ", ", written[1:], ")", "")
    first, last = written[0].as_py(), written[-1].as_py()
    return pa.concat_arrays([pa.array([f"< {first}"]), inner, pa.array([f">= {last}"])])


def _one(number: float) -> pa.Array:
    return pa.array([number], pa.float64())
