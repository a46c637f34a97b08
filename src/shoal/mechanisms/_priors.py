"""Priors of analysts about an answer, and the values that count as near the true one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.exact import Number, positive, rational
from shoal.hierarchies import Hierarchy, dissimilarity


@dataclass(frozen=True, slots=True, init=False)
class CategoricalPrior:
    """A probability for each value of a category.

    Parameters
    ----------
    masses
        The values and their probabilities, or any numbers proportional to them; for an ordinal attribute in order.

    Examples
    --------
    >>> prior = CategoricalPrior({"yes": "0.01", "no": "0.99"})
    >>> prior.weights, prior.position("no"), prior.position("perhaps")
    ((1, 99), 1, None)
    """

    values: tuple[str, ...]
    weights: tuple[int, ...]

    def __init__(self, masses: Mapping[str, Number]) -> None:
        object.__setattr__(self, "values", tuple(masses))
        object.__setattr__(self, "weights", _weights(list(masses.values()), "CategoricalPrior"))

    @classmethod
    def uniform(cls, values: Sequence[str]) -> CategoricalPrior:
        """Return the prior of somebody who knows only which values there are."""
        return cls(dict.fromkeys(values, 1))

    def value(self, position: int) -> str:
        """Return the value at a position."""
        return self.values[position]

    def position(self, answer: str | Number) -> int | None:
        """Return where an answer stands, or None if the prior does not know it."""
        return self.values.index(answer) if answer in self.values else None


@dataclass(frozen=True, slots=True, init=False)
class NumericPrior:
    """A probability for each of the numbers start, start + step, start + 2 step, ...

    A continuous belief is a fine grid: `from_cdf` gives each number the probability of the interval around it.

    Parameters
    ----------
    start, step
        The grid; ``step`` above 0.
    masses
        The probability of each number, or any numbers proportional to them.

    Examples
    --------
    >>> NumericPrior.uniform(0, 1, step="0.25").weights
    (1, 1, 1, 1, 1)
    >>> prior = NumericPrior(start=0, step=1, masses=["0.5", "0.3", "0.2"])
    >>> prior.value(2), prior.position("1.4"), prior.position(99)
    (2, 1, 2)
    """

    start: Fraction
    step: Fraction
    weights: tuple[int, ...]

    def __init__(self, *, start: Number, step: Number, masses: Sequence[Number]) -> None:
        object.__setattr__(self, "start", rational(start, "start", "NumericPrior"))
        object.__setattr__(self, "step", positive(step, "step", "NumericPrior"))
        object.__setattr__(self, "weights", _weights(masses, "NumericPrior"))

    @classmethod
    def uniform(cls, low: Number, high: Number, *, step: Number) -> NumericPrior:
        """Return the prior of somebody who knows only the range."""
        return cls(start=low, step=step, masses=[1] * _size(low, high, step))

    @classmethod
    def from_cdf(cls, cdf: Callable[[float], float], low: Number, high: Number, *, step: Number) -> NumericPrior:
        """Return the prior with a distribution function, cut to [low, high]: each number gets its interval's mass."""
        size = _size(low, high, step)
        first, width = float(rational(low, "low", "NumericPrior")), float(positive(step, "step", "NumericPrior"))
        ends = [cdf(first + (i - 0.5) * width) for i in range(size + 1)]
        return cls(start=low, step=step, masses=[max(b - a, 0.0) for a, b in pairwise(ends)])

    @classmethod
    def normal(cls, mean: float, deviation: float, low: Number, high: Number, *, step: Number) -> NumericPrior:
        """Return a normal belief, cut to [low, high]."""
        if not deviation > 0:
            raise ParameterError(f"`deviation` of `NumericPrior` must be above 0; got {deviation}.")
        return cls.from_cdf(lambda x: 0.5 * math.erfc((mean - x) / (deviation * math.sqrt(2))), low, high, step=step)

    def value(self, position: int) -> int | float:
        """Return the number at a position."""
        exact = self.start + position * self.step
        return int(exact) if self.start.denominator == self.step.denominator == 1 else float(exact)

    def position(self, answer: str | Number) -> int | None:
        """Return the nearest number's place, halves upwards, or None for what is no finite number."""
        try:
            exact = rational(answer, "answer", "NumericPrior")
        except ParameterError:
            # an error would tell that this answer, and not another, is no number
            return None
        steps = (exact - self.start) / self.step
        return min(max(math.floor(steps + Fraction(1, 2)), 0), len(self.weights) - 1)


Prior = CategoricalPrior | NumericPrior


LARGEST_SIZE = 1 << 20
# sums of weights stay exact in 64-bit integers
WEIGHT_BITS = 60


def _size(low: Number, high: Number, step: Number) -> int:
    width = rational(high, "high", "NumericPrior") - rational(low, "low", "NumericPrior")
    size = math.floor(width / positive(step, "step", "NumericPrior")) + 1
    if not 1 <= size <= LARGEST_SIZE:
        raise ParameterError(
            f"`low`, `high` and `step` of `NumericPrior` must give 1 to {LARGEST_SIZE:,} numbers; got {size:,}.",
            hint="choose a larger step",
        )
    return size


def _weights(masses: Sequence[Number], owner: str) -> tuple[int, ...]:
    """Return whole weights proportional to the masses: exactly, or where that needs more than 60 bits, nearly."""
    if not 1 <= len(masses) <= LARGEST_SIZE:
        raise ParameterError(f"`masses` of `{owner}` must be 1 to {LARGEST_SIZE:,} numbers; got {len(masses):,}.")
    exact = [rational(mass, "masses", owner) for mass in masses]
    if min(exact) < 0 or max(exact) <= 0:
        raise ParameterError(f"`masses` of `{owner}` must be at least 0 and not all 0.")
    denominator = math.lcm(*{mass.denominator for mass in exact})
    common = math.gcd(*(int(mass * denominator) for mass in exact))
    if sum(exact) * denominator / common < 2**WEIGHT_BITS:
        return tuple(int(mass * denominator) // common for mass in exact)
    unit = sum(exact) / 2 ** (WEIGHT_BITS - 1)
    return tuple(round(mass / unit) for mass in exact)


def as_array(prior: Prior) -> NDArray[np.int64]:
    """Return the weights as 64-bit integers, whose sums are exact."""
    return np.array(prior.weights, dtype=np.int64)


class Distance(Protocol):
    """A distance between the values of a prior."""

    def ranks(self, prior: Prior, position: int) -> NDArray[np.int64]:
        """Return each value's rank by distance from the value at ``position``: 0 for the nearest, ties equal."""
        ...


@dataclass(frozen=True, slots=True)
class AbsoluteDistance:
    """d(x, y) = abs(x - y) for numbers; for ordered categories the number of places between them [SC13 Table 5.1].

    Examples
    --------
    >>> from shoal.mechanisms import CategoricalPrior
    >>> AbsoluteDistance().ranks(CategoricalPrior.uniform(("low", "middle", "high")), 0).tolist()
    [0, 1, 2]
    """

    def ranks(self, prior: Prior, position: int) -> NDArray[np.int64]:
        return np.abs(np.arange(len(prior.weights), dtype=np.int64) - position)


@dataclass(frozen=True, slots=True)
class NominalDistance:
    """d(x, y) = 0 if x = y, else 1 [SC13 Table 5.1].

    Examples
    --------
    >>> from shoal.mechanisms import CategoricalPrior
    >>> NominalDistance().ranks(CategoricalPrior.uniform(("a", "b", "c")), 1).tolist()
    [1, 0, 1]
    """

    def ranks(self, prior: Prior, position: int) -> NDArray[np.int64]:
        ranks: NDArray[np.int64] = (np.arange(len(prior.weights)) != position).astype(np.int64)
        return ranks


@dataclass(frozen=True, slots=True, init=False)
class TaxonomyDistance:
    """The semantic distance of values in a taxonomy [SC13 (6.6)]: see :func:`shoal.hierarchies.semantic_distances`.

    Only its order is needed, so the logarithm is never taken.

    Parameters
    ----------
    ancestors
        For each value the concepts above it.

    Examples
    --------
    >>> from shoal.mechanisms import CategoricalPrior
    >>> distance = TaxonomyDistance({"flu": ("lung",), "asthma": ("lung",), "angina": ("heart",)})
    >>> distance.ranks(CategoricalPrior.uniform(("flu", "asthma", "angina")), 0).tolist()
    [0, 1, 2]
    """

    concepts: tuple[tuple[str, frozenset[str]], ...]

    def __init__(self, ancestors: Mapping[str, tuple[str, ...]]) -> None:
        object.__setattr__(
            self, "concepts", tuple((value, frozenset((value, *above, "*"))) for value, above in ancestors.items())
        )

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> TaxonomyDistance:
        """Return the distance of a column's hierarchy."""
        return cls(
            {
                value: tuple(
                    label
                    for labels, codes in zip(hierarchy.labels[1:], hierarchy.codes[1:], strict=True)
                    if (label := labels[codes[leaf]]) is not None
                )
                for leaf, value in enumerate(hierarchy.labels[0])
                if value is not None
            }
        )

    def ranks(self, prior: Prior, position: int) -> NDArray[np.int64]:
        concepts = dict(self.concepts)
        values = [prior.value(i) for i in range(len(prior.weights))]
        unknown = sum(value not in concepts for value in values)
        if unknown:
            raise ParameterError(
                f"`ancestors` of `TaxonomyDistance` must have all values of the prior; {unknown} are absent."
            )
        centre = concepts[str(values[position])]
        above = [concepts[str(value)] for value in values]
        ratios = dissimilarity([len(centre & each) for each in above], [len(centre | each) for each in above])
        return np.asarray(np.unique(ratios, return_inverse=True)[1], dtype=np.int64)
