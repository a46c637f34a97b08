"""All attacks on one release; among them the three questions of the Article 29 Working Party."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels import Codes, Floats
from shoal.risk._boxes import ColumnAxis, Index, Rows
from shoal.risk._demonstrations import ExtremeValue, extreme_values
from shoal.risk._pair import Pair, draw, fitting
from shoal.risk._partial_knowledge import Knowledge, linkage
from shoal.tables import Table

#: two-sided 95 % of the normal distribution
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share of attempts that succeeded, with its 95 % confidence interval (Wilson 1927).

    Examples
    --------
    >>> Rate.of(3, 10)
    Rate(rate=0.3, low=0.108, high=0.603, attempts=10)
    """

    rate: float
    low: float
    high: float
    attempts: int

    @classmethod
    def of(cls, successes: float, attempts: int) -> Rate:
        """Return the rate of ``successes``, a whole or an expected number."""
        if not 0 <= successes <= attempts:
            raise ParameterError(f"`successes` of `Rate` must be in [0, {attempts}]; got {successes}.")
        if not attempts:
            return cls(rate=0.0, low=0.0, high=1.0, attempts=0)
        share = successes / attempts
        scale = 1 + _Z**2 / attempts
        centre = (share + _Z**2 / (2 * attempts)) / scale
        spread = _Z / scale * math.sqrt(share * (1 - share) / attempts + _Z**2 / (4 * attempts**2))
        return cls(
            rate=share,
            low=round(max(0.0, min(centre - spread, share)), 3),
            high=round(min(1.0, max(centre + spread, share)), 3),
            attempts=attempts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """The outcome of one attack."""

    #: What the attack is called.
    name: str
    #: What it tries to find out, in a sentence.
    question: str
    #: How often it was right.
    success: Rate
    #: How often the same intruder is right without looking at the records of the release.
    baseline: Rate
    #: The columns that it is about, where it is not about all.
    columns: tuple[str, ...] = ()
    #: What the release adds, computed: (success - baseline) / (1 - baseline), at least 0.
    risk: float = field(init=False)

    def __post_init__(self) -> None:
        added, room = self.success.rate - self.baseline.rate, 1 - self.baseline.rate
        object.__setattr__(self, "risk", max(0.0, added / room) if room else 0.0)


_SINGLING_OUT = "Does a description taken from the release fit exactly one person in the original table?"
_LINKABILITY = (
    "Given two files about the same people with different columns, does the release reveal which rows belong together?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacks:
    """The success of simulated attacks on one release.

    Parameters
    ----------
    linkage
        Looking for a person with partial knowledge, by the number of columns known.
    singling_out, linkability, inference
        The three questions of the Article 29 Working Party; ``linkability`` is None with one quasi-identifier,
        ``inference`` has an entry per sensitive column.
    extremes
        Whether the extremes of ordered quasi-identifiers can be read off.
    seed
        Of the draws: the same seed and data give the same figures.
    """

    linkage: tuple[Knowledge, ...]
    singling_out: Attack
    linkability: Attack | None
    inference: tuple[Attack, ...]
    extremes: tuple[ExtremeValue, ...]
    seed: int

    @property
    def main_attacks(self) -> tuple[Attack, ...]:
        """The attacks that answer the three questions."""
        return (self.singling_out, *([self.linkability] if self.linkability else []), *self.inference)


def attack(original: Table, released: Table, *, seed: int = 0) -> Attacks:
    """Attack a release with everything but membership inference, which needs the method (see :func:`membership`).

    Parameters
    ----------
    original
        The table as it was, with its schema.
    released
        What was made of it; the table itself for the risk as it is.
    seed
        Of the draws of targets and columns.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> people = shoal.read(pyarrow.table({"sex": ["f", "f", "m", "m"], "town": ["a", "b", "a", "a"]}))
    >>> table = people.with_schema(shoal.draft(people).schema)
    >>> attack(table, table).linkage[-1].single
    0.5
    """
    pair = Pair.of(original, released)
    return Attacks(
        linkage=linkage(pair, seed=seed),
        singling_out=singling_out(pair, seed=seed),
        linkability=linkability(pair, seed=seed),
        inference=inference(pair, seed=seed),
        extremes=extreme_values(pair),
        seed=seed,
    )


def singling_out(pair: Pair, *, attempts: int = 1000, seed: int = 0) -> Attack:
    """Describe people by what the release says of single records, and count how often one person fits.

    A description is what a released record says in a random set of at least two columns: "between 20 and 24, from
    0012*, with diagnosis N17". It succeeds if exactly one original record fits it. The baseline takes the values of
    each column from another released record, so that it knows the columns but no record. In a column that was perturbed
    a description says "at least" or "at most" the released value, whichever is nearer to its end of the column.

    Notes
    -----
    The first of the three questions of the EU's Article 29 Working Party (Opinion 05/2014), as asked by Giomi et al.
    (2022). A description that is rare enough isolates one person by luck with a chance of up to 1/e, which is why the
    baseline matters (Cohen and Nissim 2020).
    """
    if attempts < 1:
        raise ParameterError(f"`attempts` of `singling_out` must be at least 1; got {attempts}.")
    generator = np.random.default_rng(seed)
    released, columns = pair.released, len(pair.axes)
    if not len(released):
        return _singled_out(0, 0, 0)
    index = Index(pair.original.low, pair.original.counts)
    chances = np.cumsum(released.counts)
    right = lucky = 0
    for _ in range(attempts):
        size = int(generator.integers(min(2, columns), columns + 1))
        chosen = sorted(generator.choice(columns, size=size, replace=False).tolist())
        rows = np.searchsorted(chances, generator.integers(released.records, size=size + 1), side="right")
        right += _isolates(pair, index, chosen, np.repeat(rows[:1], size))
        lucky += _isolates(pair, index, chosen, rows[1:])
    return _singled_out(right, lucky, attempts)


def _singled_out(right: int, lucky: int, attempts: int) -> Attack:
    return Attack(
        name="singling out", question=_SINGLING_OUT, success=Rate.of(right, attempts), baseline=Rate.of(lucky, attempts)
    )


def _isolates(pair: Pair, index: Index, columns: list[int], rows: Rows) -> bool:
    """Return whether what the released ``rows`` say, one per column, fits exactly one original record."""
    low, high = pair.released.low[rows, columns], pair.released.high[rows, columns]
    for position, column in enumerate(columns):
        if pair.axes[column].is_perturbed:
            low[position], high[position] = _condition(pair.axes[column], int(low[position]), int(high[position]))
    return index.records(columns, low, high) == 1


def _condition(axis: ColumnAxis, low: int, high: int) -> tuple[int, int]:
    """Return the leaves that are at least, or at most, a released value that is no leaf."""
    if axis.places is None or low < axis.leaves or not np.isfinite(axis.places[low]):
        return low, high
    known = np.flatnonzero(np.isfinite(axis.places[: axis.leaves]))
    positions = axis.places[known]
    if np.any(np.diff(positions) < 0) or np.any(np.diff(known) != 1):  # then no range of leaves says "at least"
        return low, high
    below = int(np.searchsorted(positions, axis.places[low]))
    first = int(known[0])
    return (first + below, first + len(known) - 1) if below >= len(positions) / 2 else (first, first + below - 1)


def linkability(pair: Pair, *, targets: int = 300, splits: int = 3, seed: int = 0) -> Attack | None:
    """Join two files about the same people through the release.

    The quasi-identifiers are split into two halves; the intruder holds one half of every target's values in one file
    and the other half in another, both shuffled. For a row of the first file the intruder takes the row of the second
    that the most released records connect: records that fit the one on its columns and the other on its own. The
    baseline is a guess; the attempts of all ``splits`` count. The second of the Working Party's three questions. None
    where there is only one quasi-identifier.
    """
    if targets < 1 or splits < 1:
        raise ParameterError("`targets` and `splits` of `linkability` must be at least 1.")
    known = pair.only(pair.quasi_identifiers)
    if len(known.axes) < 2:
        return None
    generator = np.random.default_rng(seed)
    people = known.targets(targets, generator)
    right = 0.0
    for _ in range(splits):
        order = generator.permutation(len(known.axes)).tolist()
        right += _count_right_joins(known, people, sorted(order[: len(order) // 2]), sorted(order[len(order) // 2 :]))
    attempts = splits * len(people)
    return Attack(
        name="linkability",
        question=_LINKABILITY,
        success=Rate.of(min(right, attempts), attempts),
        baseline=Rate.of(splits if len(people) else 0, attempts),
    )


def _count_right_joins(pair: Pair, people: Codes, left: list[int], right: list[int]) -> float:
    """Return the expected number of rows of the first file that are joined with their own rows of the second."""
    _, left_of = pair.released.group_by_columns(left)
    second, right_of = pair.released.group_by_columns(right)
    records = np.argsort(left_of, kind="stable")
    starts = np.searchsorted(left_of[records], np.arange(int(left_of.max(initial=-1)) + 2))
    fits = _by_person(*fitting(pair.only(left), people[:, left]), len(people))
    partners, partner_boxes = fitting(pair.only(right), people[:, right])
    joined = 0.0
    for person, mine in enumerate(fits):
        weights = np.zeros(len(second))
        for box in mine.tolist():
            fit = records[starts[box] : starts[box + 1]]
            weights += np.bincount(right_of[fit], weights=pair.released.counts[fit], minlength=len(second))
        strength = np.bincount(partners, weights=weights[partner_boxes], minlength=len(people))
        best = strength == strength.max()
        joined += float(best[person]) / int(best.sum())
    return joined


def inference(pair: Pair, *, targets: int = 1000, tolerance: float = 0.05, seed: int = 0) -> tuple[Attack, ...]:
    """Guess every sensitive column of people whose quasi-identifiers are known.

    The guess is the commonest value (of numbers and days the median) among the released records that fit the person,
    and among all where none fits. The baseline is the commonest value (the median) of the whole release. The third
    of the Working Party's three questions.

    To tell what taking part costs a person from what statistics teach about everybody, run the attack twice: on the
    table that was released, and on people who are not in it (``Pair.of(others, released)``).

    A number or day counts as guessed if it is off by at most ``tolerance`` times the distance between the 5 % and the
    95 % quantile of the column.
    """
    if targets < 1 or not 0 <= tolerance < 1:
        raise ParameterError("`targets` of `inference` must be at least 1, and `tolerance` in [0, 1).")
    generator = np.random.default_rng(seed)
    known = list(pair.quasi_identifiers)
    people = pair.original.low[draw(pair.original.counts, targets, generator)]
    boxes, owners = pair.released.group_by_columns(known)
    fits = _by_person(*fitting(pair.only(known), people[:, known]), len(people))
    return tuple(
        _guess(pair, column, people[:, column], fits, owners, len(boxes), tolerance) for column in pair.sensitive
    )


def _by_person(people: Rows, boxes: Rows, number: int) -> list[Rows]:
    """Return the boxes that each of the people fits, given all pairs of one and the other."""
    edges = np.cumsum(np.bincount(people, minlength=number))
    return np.split(boxes[np.argsort(people, kind="stable")], edges[:-1])[:number]


def _guess(
    pair: Pair, column: int, truth: Codes, fits: list[Rows], owners: Rows, boxes: int, tolerance: float
) -> Attack:
    axis, values = pair.axes[column], _Values(pair, column)
    everywhere = int(values.best(values.count_by_group(np.zeros(len(owners), dtype=np.int64)), 1)[0])
    counted = values.count_by_group(owners)
    by_box = np.where((best := values.best(counted, boxes)) < 0, everywhere, best)
    guesses = np.full(len(truth), everywhere, dtype=np.int64)
    for person, mine in enumerate(fits):
        if len(mine):
            guesses[person] = by_box[mine[0]] if len(mine) == 1 else values.best(counted.only(mine), 1)[0]
    width = _width(pair, column) * tolerance
    return Attack(
        name="inference",
        question=f"Does the release reveal a person's `{axis.name}`?",
        success=Rate.of(float(values.hits(guesses, truth, width).sum()), len(truth)),
        baseline=Rate.of(float(values.hits(np.full(len(truth), everywhere), truth, width).sum()), len(truth)),
        columns=(axis.name,),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ValueCounts:
    """The number of times that each value occurs in each group, ascending by group."""

    groups: Rows
    values: Rows
    counts: Floats

    def only(self, groups: Rows) -> _ValueCounts:
        """Return some groups, taken together."""
        ends = np.searchsorted(self.groups, np.stack([groups, groups + 1]))
        rows = np.concatenate([np.arange(first, last) for first, last in ends.T.tolist()])
        values, inverse = np.unique(self.values[rows], return_inverse=True)
        return _ValueCounts(
            groups=np.zeros(len(values), dtype=np.int64),
            values=values,
            counts=np.bincount(inverse, weights=self.counts[rows]).astype(np.float64),
        )


class _Values:
    """The distinct released values of one column, and which of them is the best guess for a group of records."""

    def __init__(self, pair: Pair, column: int) -> None:
        self._places = pair.axes[column].places
        self._values, self._of = pair.released.group_by_columns([column])
        self._records = pair.released.counts
        self._middles: Floats | None = None
        if self._places is not None:
            middle = (self._places[self._values.low[:, 0]] + self._places[self._values.high[:, 0]]) / 2
            self._middles = np.nan_to_num(middle, nan=np.inf)

    def count_by_group(self, groups: Rows) -> _ValueCounts:
        """Count the values of all released records by group."""
        width = max(len(self._values), 1)
        keys, inverse = np.unique(groups * width + self._of, return_inverse=True)
        counts = np.bincount(inverse, weights=self._records, minlength=len(keys)).astype(np.float64)
        return _ValueCounts(groups=keys // width, values=keys % width, counts=counts)

    def best(self, counted: _ValueCounts, number: int) -> Rows:
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
    positions = pair.axes[column].places
    if positions is None:
        return 0.0
    values = positions[pair.original.low[:, column]]
    known = np.isfinite(values)
    order = np.argsort(values[known], kind="stable")
    reached = np.cumsum(pair.original.counts[known][order])
    if not len(order):
        return 0.0
    low, high = np.searchsorted(reached, [0.05 * reached[-1], 0.95 * reached[-1]])
    return float(values[known][order][high] - values[known][order][low])
