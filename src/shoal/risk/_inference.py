"""Inference: does the release help to guess a sensitive value of a person whose quasi-identifiers are known?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.risk._attack import Attack, Rate
from shoal.risk._axes import Axis
from shoal.risk._boxes import Boxes, Codes, Counts, Rows
from shoal.risk._fitting import fitting
from shoal.risk._pair import Pair, draw

__all__ = ["inference"]

Floats = npt.NDArray[np.float64]


def inference(pair: Pair, *, targets: int = 1000, tolerance: float = 0.05, seed: int = 0) -> tuple[Attack, ...]:
    """Guess every sensitive column of people whose quasi-identifiers are known.

    The guess is the commonest value (of numbers and days the median) among the released records that fit the person,
    and among all where none fits. The baseline is the commonest value (the median) of the whole release. The third
    of the Working Party's three questions.

    To tell what taking part costs a person from what statistics teach about everybody, run the attack twice: on the
    table that was released, and on people who are not in it (``Pair.of(others, released)``).

    Parameters
    ----------
    pair
        A table and its release.
    targets
        The number of people, drawn from the table.
    tolerance
        A number or day counts as guessed if it is off by at most this share of the distance between the 5 % and the
        95 % quantile of the column.
    seed
        Of the draws.

    Returns
    -------
    tuple of Attack
        One per sensitive column.
    """
    if targets < 1 or not 0 <= tolerance < 1:
        raise ParameterError("`targets` of `inference` must be at least 1, and `tolerance` in [0, 1).")
    generator = np.random.default_rng(seed)
    rows = draw(pair.original.counts, targets, generator)
    known = list(pair.quasi_identifiers)
    boxes, owners = pair.released.grouped(known)
    people = pair.original.low[rows]
    people_rows, people_boxes = fitting(pair.only(known), people[:, known])
    return tuple(
        _guess(pair, column, people[:, column], people_rows, people_boxes, owners, len(boxes), tolerance)
        for column in pair.sensitive
    )


def _guess(
    pair: Pair, column: int, truth: Codes, people: Rows, boxes: Rows, owners: Rows, classes: int, tolerance: float
) -> Attack:
    axis, released = pair.axes[column], pair.released
    order = np.argsort(owners, kind="stable")
    starts = np.searchsorted(owners[order], np.arange(classes + 1))
    lengths = (starts[1:] - starts[:-1])[boxes]
    offsets = np.repeat(starts[boxes] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    records = order[offsets + np.arange(lengths.sum())]
    right = _Values(axis, released, column)
    everywhere = right.best(np.zeros(len(released), dtype=np.int64), np.arange(len(released)), 1)[0]
    guesses = right.best(np.repeat(people, lengths), records, len(truth))
    guesses = np.where(guesses < 0, everywhere, guesses)
    width = _width(pair, column) * tolerance
    return Attack(
        name="inference",
        question=f"Does the release tell what a person's `{axis.name}` is?",
        success=Rate.of(float(right.hits(guesses, truth, width).sum()), len(truth)),
        baseline=Rate.of(float(right.hits(np.full(len(truth), everywhere), truth, width).sum()), len(truth)),
        columns=(axis.name,),
    )


class _Values:
    """The distinct released values of one column, and which of them is the best guess for a set of records."""

    def __init__(self, axis: Axis, released: Boxes, column: int) -> None:
        self.axis = axis
        self.values, self.of = released.grouped([column])
        self.counts: Counts = released.counts
        if axis.places is not None:
            middle = (axis.places[self.values.low[:, 0]] + axis.places[self.values.high[:, 0]]) / 2
            self.places: Floats | None = np.nan_to_num(middle, nan=np.inf)
        else:
            self.places = None

    def best(self, groups: Rows, records: Rows, number: int) -> Rows:
        """Return the best guess for every group of records; -1 for an empty one."""
        keys = groups * max(len(self.values), 1) + self.of[records]
        found, inverse = np.unique(keys, return_inverse=True)
        weights = np.bincount(inverse, weights=self.counts[records], minlength=len(found))
        group, value = found // max(len(self.values), 1), found % max(len(self.values), 1)
        result = np.full(number, -1, dtype=np.int64)
        if self.places is None:
            order = np.lexsort([-value, weights, group])  # the heaviest last; the lowest code wins a tie
            result[group[order]] = value[order]
            return result
        order = np.lexsort([self.places[value], group])
        group, value, weights = group[order], value[order], weights[order]
        total = np.bincount(group, weights=weights, minlength=number)
        before = np.concatenate([[0.0], np.cumsum(total)])[group]
        reached = np.cumsum(weights) - before >= total[group] / 2
        first = np.flatnonzero(reached)[::-1]  # the first to reach half of its group is written last
        result[group[first]] = value[first]
        return result

    def hits(self, guesses: Rows, truth: Codes, width: float) -> Floats:
        """Return the chance that each guess is right."""
        low, high = self.values.low[guesses, 0], self.values.high[guesses, 0]
        inside = (low <= truth) & (truth <= high)
        exact = np.where(inside, 1.0 / (high - low + 1), 0.0)
        if self.places is None or self.axis.places is None:
            return np.asarray(exact)
        near = np.abs(self.places[guesses] - self.axis.places[truth]) <= width
        return np.where(near, 1.0, exact)


def _width(pair: Pair, column: int) -> float:
    """Return the distance of the 5 % and the 95 % quantile of an ordered column of the table; 0 of any other."""
    places = pair.axes[column].places
    if places is None:
        return 0.0
    values = places[pair.original.low[:, column]]
    known = np.isfinite(values)
    order = np.argsort(values[known], kind="stable")
    reached = np.cumsum(pair.original.counts[known][order])
    if not len(order):
        return 0.0
    low, high = np.searchsorted(reached, [0.05 * reached[-1], 0.95 * reached[-1]])
    return float(values[known][order][high] - values[known][order][low])
