"""Inference: does the release help to guess a sensitive value of a person whose quasi-identifiers are known?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels import Codes, Floats
from shoal.risk._attack import Attack, Rate
from shoal.risk._boxes import Rows
from shoal.risk._pair import Pair, draw, fitting


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
    known = list(pair.quasi_identifiers)
    people = pair.original.low[draw(pair.original.counts, targets, generator)]
    boxes, owners = pair.released.grouped(known)
    fits = _Fits.of(*fitting(pair.only(known), people[:, known]), number=len(people), boxes=len(boxes))
    return tuple(_guess(pair, column, people[:, column], fits, owners, tolerance) for column in pair.sensitive)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Fits:
    """The boxes that each person fits: ``boxes[edges[i]:edges[i + 1]]``; there are ``number`` boxes in all."""

    boxes: Rows
    edges: Rows
    number: int

    @classmethod
    def of(cls, people: Rows, fitted: Rows, *, number: int, boxes: int) -> _Fits:
        order = np.argsort(people, kind="stable")
        edges = np.concatenate([[0], np.cumsum(np.bincount(people, minlength=number))])
        return cls(boxes=fitted[order], edges=edges, number=boxes)

    def of_person(self, person: int) -> Rows:
        return self.boxes[self.edges[person] : self.edges[person + 1]]


def _guess(pair: Pair, column: int, truth: Codes, fits: _Fits, owners: Rows, tolerance: float) -> Attack:
    axis, values = pair.axes[column], _Values(pair, column)
    everywhere = int(values.best(values.counted(np.zeros(len(owners), dtype=np.int64)), 1)[0])
    counted = values.counted(owners)
    by_box = np.where((best := values.best(counted, fits.number)) < 0, everywhere, best)
    alone = np.diff(fits.edges) == 1
    guesses = np.full(len(truth), everywhere, dtype=np.int64)
    guesses[alone] = by_box[fits.boxes[fits.edges[:-1][alone]]]
    for person in np.flatnonzero(np.diff(fits.edges) > 1).tolist():
        guesses[person] = values.best(counted.only(fits.of_person(person)), 1)[0]
    width = _width(pair, column) * tolerance
    return Attack(
        name="inference",
        question=f"Does the release reveal a person's `{axis.name}`?",
        success=Rate.of(float(values.hits(guesses, truth, width).sum()), len(truth)),
        baseline=Rate.of(float(values.hits(np.full(len(truth), everywhere), truth, width).sum()), len(truth)),
        columns=(axis.name,),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Counted:
    """How often each value occurs in each group, ascending by group."""

    groups: Rows
    values: Rows
    counts: Floats

    def only(self, groups: Rows) -> _Counted:
        """Return some groups, taken together."""
        ends = np.searchsorted(self.groups, np.stack([groups, groups + 1]))
        rows = np.concatenate([np.arange(first, last) for first, last in ends.T.tolist()])
        values, inverse = np.unique(self.values[rows], return_inverse=True)
        return _Counted(
            groups=np.zeros(len(values), dtype=np.int64),
            values=values,
            counts=np.bincount(inverse, weights=self.counts[rows]).astype(np.float64),
        )


class _Values:
    """The distinct released values of one column, and which of them is the best guess for a group of records."""

    def __init__(self, pair: Pair, column: int) -> None:
        self._places = pair.axes[column].places
        self._values, self._of = pair.released.grouped([column])
        self._records = pair.released.counts
        self._middles: Floats | None = None
        if self._places is not None:
            middle = (self._places[self._values.low[:, 0]] + self._places[self._values.high[:, 0]]) / 2
            self._middles = np.nan_to_num(middle, nan=np.inf)

    def counted(self, groups: Rows) -> _Counted:
        """Count the values of all released records by group."""
        width = max(len(self._values), 1)
        keys, inverse = np.unique(groups * width + self._of, return_inverse=True)
        counts = np.bincount(inverse, weights=self._records, minlength=len(keys)).astype(np.float64)
        return _Counted(groups=keys // width, values=keys % width, counts=counts)

    def best(self, counted: _Counted, number: int) -> Rows:
        """Return the best guess for every group: the commonest value, of ordered columns the median; -1 for none."""
        group, value, counts = counted.groups, counted.values, counted.counts
        result = np.full(number, -1, dtype=np.int64)
        if self._middles is None:
            order = np.lexsort([-value, counts, group])  # the commonest last; the lowest code wins a tie
            result[group[order]] = value[order]
            return result
        order = np.lexsort([self._middles[value], group])
        group, value, counts = group[order], value[order], counts[order]
        total = np.bincount(group, weights=counts, minlength=number)
        before = np.concatenate([[0.0], np.cumsum(total)])[group]
        reached = np.cumsum(counts) - before >= total[group] / 2
        first = np.flatnonzero(reached)[::-1]  # the first to reach half of its group is written last
        result[group[first]] = value[first]
        return result

    def hits(self, guesses: Rows, truth: Codes, width: float) -> Floats:
        """Return the chance that each guess is right."""
        if not len(self._values):
            return np.zeros(len(truth))
        low, high = self._values.low[guesses, 0], self._values.high[guesses, 0]
        exact = np.where((low <= truth) & (truth <= high), 1.0 / (high - low + 1), 0.0)
        if self._middles is None or self._places is None:
            return exact
        near = np.abs(self._middles[guesses] - self._places[truth]) <= width
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
