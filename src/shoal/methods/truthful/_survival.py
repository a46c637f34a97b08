"""Expected worth of a class of c records before any draw: integers that rise with c by steps known exactly.

Scores of schemes are sums of such worths over classes. Two things about a table of worths matter for privacy: it never
falls, and its largest step. Both are read off the finished table of integers, so it does not matter how its entries
were computed, with floating point or otherwise: the table depends on the operator, never on data.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels import Floats, Integers

#: The integer that stands for one record, or for one class.
SCALE = 1 << 12

#: A record may raise the worth of its class by at most this many records.
STEEPNESS = 1.75

_LARGEST_TABLE = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survival:
    """The worth of a class by its number of records.

    Examples
    --------
    >>> worth = Survival(table=np.array([0.0, 0.0, 5.0]), slope=2)
    >>> worth.of(np.array([1, 2, 4])).tolist(), worth.step
    ([0.0, 5.0, 9.0], 5)
    """

    #: ``table[c]`` for c up to the last entry: integers (as floats, which hold them exactly), never falling.
    table: Floats
    #: What every record beyond the last entry adds; an integer, at least 0.
    slope: int

    def __post_init__(self) -> None:
        steps = np.diff(self.table)
        if len(self.table) == 0 or self.table[0] != 0 or self.slope < 0 or (steps < 0).any():
            raise ParameterError("`table` of `Survival` must start with 0 and never fall.")
        if not np.array_equal(self.table, np.floor(self.table)):
            raise ParameterError("`table` of `Survival` must hold integers.")

    @property
    def step(self) -> int:
        """The largest rise when a record is added: over the table and over what lies beyond it."""
        return max(int(np.diff(self.table).max(initial=0)), self.slope)

    def from_size(self, size: int) -> Survival:
        """Return the largest worth below this one that is 0 for classes of fewer records and has no larger steps."""
        last = len(self.table) - 1
        sizes = np.arange(max(last, size) + 1, dtype=np.int64)
        rising = float(self.step) * np.maximum(sizes - (size - 1), 0)
        return Survival(table=np.minimum(self.of(sizes), rising), slope=self.slope)

    def of(self, sizes: Integers) -> Floats:
        last = len(self.table) - 1
        return np.asarray(self.table[np.minimum(sizes, last)] + float(self.slope) * np.maximum(sizes - last, 0))


class Shows(ABC):
    """What scores ask of an operator: how much it will show of classes."""

    #: How many records a person has at most.
    per_person: int

    @property
    @abstractmethod
    def least(self) -> int:
        """The smallest class that is shown; a class of fewer records shows nothing."""

    @property
    @abstractmethod
    def cut(self) -> int:
        """The size from which on trees weigh a region, at least ``least``: smaller ones hardly show anything."""

    @property
    @abstractmethod
    def likely(self) -> int:
        """The size from which on a class is rather shown than not."""

    @cached_property
    @abstractmethod
    def records(self) -> Survival:
        """The worth of a class by the records that it is expected to show."""

    @cached_property
    @abstractmethod
    def classes(self) -> Survival:
        """The worth of a class by the probability that it is shown."""


class Trims(Shows):
    """What is known of a class that loses a random number M of its records: P[M <= m] > 1/2."""

    m: int

    @property
    @abstractmethod
    def losses(self) -> Floats:
        """The probability of losing j records, for j = 0, 1, ..."""

    @property
    def cut(self) -> int:
        return self.m + self.least

    likely = cut

    @cached_property
    def records(self) -> Survival:
        return untrimmed_records(self.losses, self.least)

    @cached_property
    def classes(self) -> Survival:
        return untrimmed_classes(self.losses, self.least)


def surviving_records(beta: Fraction, k: int) -> Survival:
    """Return SCALE / beta times the expected number of records that a class of c releases, with limited steps.

    With X ~ Bin(c, beta) that number is h(c) = E[X 1(X >= k)] = c beta P[Bin(c - 1, beta) >= k - 1]. Its steps are
    h(c + 1) - h(c) = beta (P[X >= k] + k P[X = k - 1]) > 0: one more trial succeeds with probability beta, and then
    adds itself where X >= k, and k records where X = k - 1. Divided by beta they tend to 1 for large c, but around
    c = k / beta they are about sqrt(k / (2 pi (1 - beta))). That peak would set the sensitivity of all scores for
    the sake of the few classes next to the threshold. The table therefore holds the largest function below h / beta
    whose steps are at most ``STEEPNESS``: the minimum over b <= c of h(b) / beta + STEEPNESS (c - b). It values
    small classes a little below what they give, equals h / beta from about twice the threshold on, and is two to
    three times less sensitive for common parameters.

    Examples
    --------
    >>> from shoal.methods.truthful.parameters import parameters
    >>> found = parameters("0.9", "1e-5")
    >>> worth = surviving_records(found.beta, found.k)
    >>> worth.step, (worth.of(np.array([57, 97, 1000])) / SCALE).round(2).tolist()
    (7168, [0.0, 26.81, 1000.0])
    """
    tail = _tail(beta, k, k - 1)
    sizes = np.arange(len(tail), dtype=np.float64)
    expected = sizes * np.concatenate([[0.0], tail[:-1]])
    limited = np.minimum.accumulate(expected - STEEPNESS * sizes) + STEEPNESS * sizes
    return Survival(table=_integers(limited), slope=SCALE)


def surviving_classes(beta: Fraction, k: int) -> Survival:
    """Return SCALE times the probability that a class of c records is released: P[Bin(c, beta) >= k].

    Its steps are beta P[X = k - 1], small enough to be taken as they are.
    """
    return Survival(table=_integers(_tail(beta, k, k)), slope=0)


def untrimmed_records(losses: Floats, least: int) -> Survival:
    """Return SCALE times the expected number of records that trimming shows of a class of c, with limited steps.

    That number is h(c) = E[X] = sum over j <= c - least of (c - j) P[M = j], and its steps are h(c + 1) - h(c) =
    P[M <= c - least] + least P[M = c + 1 - least]. For least = 1 that is P[M <= c] <= 1: one record more is shown at
    most, and the table is h, rounded down, as it is. For a larger ``least`` the peak at c = m + least is cut off as in
    `surviving_records`. ``losses`` are P[M = j] for j = 0, 1, ..., up to where the rest is 0 in floating point.

    Examples
    --------
    >>> worth = untrimmed_records(laplace_losses(Fraction(9, 10), 12), 1)
    >>> worth.step == SCALE, (worth.of(np.array([6, 13, 100])) / SCALE).round(2).tolist()
    (True, [0.0, 1.2, 88.0])
    """
    shown = _shown(losses, least)
    sizes = np.arange(len(shown), dtype=np.float64)
    # E[X] = sum of P[X >= x]: `least` times that anything is shown, and one for every count beyond
    expected = least * shown + np.concatenate([[0.0], np.cumsum(shown)[:-1]])
    limit = float(SCALE if least == 1 else math.floor(STEEPNESS * SCALE))
    whole = _integers(expected)
    limited = np.minimum.accumulate(whole - limit * sizes) + limit * sizes
    return Survival(table=limited, slope=SCALE)


def untrimmed_classes(losses: Floats, least: int) -> Survival:
    """Return SCALE times the probability that trimming shows a class of c records: P[M <= c - least]."""
    return Survival(table=_integers(_shown(losses, least)), slope=0)


def laplace_losses(epsilon: Fraction, m: int) -> Floats:
    """Return P[M = j] of `shoal.methods.truthful.trimming` for j = 0, 1, ..., up to where the rest is 0 in a float."""
    size = _tabulated(m, 40 / float(epsilon))
    rate = float(epsilon)
    trimmed = np.exp(-rate * np.abs(np.arange(size) - m)) * math.tanh(rate / 2)
    # Z = (1 + r - r^(m + 1)) / (1 - r) = (1 - r^(m + 1) / (1 + r)) / tanh(epsilon / 2)
    return np.asarray(trimmed / (1 - math.exp(-rate * (m + 1)) / (1 + math.exp(-rate))))


def gaussian_losses(variance: Fraction, m: int) -> Floats:
    """Return P[M = j] of `shoal.methods.truthful.gaussian` for j = 0, 1, ..., up to where the rest is 0 in a float."""
    size = _tabulated(m, 9 * math.sqrt(variance))
    trimmed = np.exp(-((np.arange(size) - m) ** 2) / (2 * float(variance)))
    return np.asarray(trimmed / trimmed.sum())


def _tabulated(m: int, tail: float) -> int:
    size = m + math.ceil(tail) + 2
    if size > _LARGEST_TABLE:
        raise ParameterError(
            f"classes would lose about {m:,} records, more than any search supports.",
            hint="use a larger epsilon, or fix the `levels` of all columns",
        )
    return size


def _shown(losses: Floats, least: int) -> Floats:
    """Return P[M <= c - least] for c = 0, 1, ..."""
    return np.concatenate([np.zeros(least), np.minimum(np.cumsum(losses), 1.0)])


def _integers(worths: Floats) -> Floats:
    # Rounding errors of sums could make neighbours fall by one: the running maximum cannot.
    return np.asarray(np.maximum.accumulate(np.maximum(np.floor(worths * SCALE), 0.0)))


def _tail(beta: Fraction, k: int, j: int) -> Floats:
    """Return P[Bin(c, beta) >= j] for c = 0, 1, ..., far beyond the threshold: one more trial reaches j from j - 1."""
    # Four thresholds away h(c) is beta c but for less than an integer: the threshold is many deviations away.
    size = math.ceil(k / beta * 4) + 256
    if size > _LARGEST_TABLE:
        raise ParameterError(
            f"classes of about {math.ceil(k / beta):,} records would be needed, more than any search supports.",
            hint="use a smaller epsilon: values above 10 make little sense",
        )
    if j <= 0:
        return np.ones(size)
    rate, log_factorials = float(beta), np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size)))])
    enough = np.arange(j - 1, size)
    rest = enough - (j - 1)
    choices = log_factorials[enough] - log_factorials[j - 1] - log_factorials[rest]
    below = np.zeros(size)
    below[j - 1 :] = np.exp(choices + (j - 1) * math.log(rate) + rest * math.log1p(-rate))
    return np.asarray(np.minimum(np.concatenate([[0.0], np.cumsum(rate * below[:-1])]), 1.0))
