"""What is decided about noise before anything is drawn: a function of the plan and the number of records alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, get_args

from shoal.errors import ParameterError
from shoal.methods.noise._kinds import MOST_IN_BOX, NoiseKind
from shoal.methods.noise._records import AttributeSet
from shoal.methods.noise._sensitivity import Number, Split, Target, split_budget
from shoal.methods.truthful import gaussian

NoiseChoice = Literal["auto", "laplace", "box", "gaussian"]
"""Which noise is wanted; see `DPMicroaggregation`."""

_FINE = 2**30
"""Epsilons of choices under rho are multiples of one over this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseCost:
    """What the noise of one attribute may cost: a part of epsilon, and of rho where noise is Gaussian."""

    epsilon: Fraction
    rho: Fraction = Fraction(0)

    def each(self, records: int) -> NoiseCost:
        """Return the cost of one of the records of a person: epsilon adds up over them, rho with their square."""
        return NoiseCost(epsilon=self.epsilon / records, rho=self.rho / records**2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Everything about the noise that depends on the plan and the number of records alone."""

    #: What is protected, and which attributes are clustered together.
    target: Target
    sets: tuple[AttributeSet, ...]
    #: The number of records and the least size of a cluster.
    records: int
    k: int
    #: Of each attribute, numbers first, all records of a person together.
    costs: tuple[NoiseCost, ...] = field(repr=False)
    #: What the release spends of delta: 0 unless noise is Gaussian.
    delta: Fraction
    #: The noise where it is not Gaussian: box noise where several means move together, or Laplace throughout.
    pure: NoiseKind

    @property
    def epsilon(self) -> Fraction:
        """What all attributes spend."""
        return sum((each.epsilon for each in self.costs), Fraction(0))

    @property
    def rho(self) -> Fraction:
        """What all attributes lose in zero-concentrated differential privacy; 0 where epsilon says it all."""
        return sum((each.rho for each in self.costs), Fraction(0))

    def kind(self, attributes: AttributeSet) -> NoiseKind:
        """Return the noise of the numbers of a set."""
        if self.delta:
            return "gaussian"
        several = self.target == "original" and not one_number(attributes)
        boxed = several and self.pure == "box" and 1 < self.clusters <= MOST_IN_BOX
        return "box" if boxed else "laplace"

    @property
    def clusters(self) -> int:
        """How many clusters there are under targets whose clusters have k records and the last what is left."""
        return max(self.records // self.k, 1)


def design(
    *,
    target: Target,
    sets: tuple[AttributeSet, ...],
    records: int,
    spans: Sequence[Fraction],
    epsilon: Number,
    delta: Fraction = Fraction(0),
    k: int | Literal["auto"] = "auto",
    split: Split = "equal",
    noise: NoiseChoice = "auto",
    records_per_person: int | None = None,
) -> Design:
    """Share out the budget, and choose the noise and the size of clusters, by public rules.

    With a delta, noise is Gaussian where that makes the expected error smaller, or where it is asked for; else no
    delta is spent. The target ``record-query`` is there to reproduce published tables, and is never Gaussian.
    """
    if noise not in get_args(NoiseChoice):
        raise ParameterError(f"`noise` must be one of {', '.join(map(repr, get_args(NoiseChoice)))}; got {noise!r}.")
    if noise == "gaussian" and (not delta or target == "record-query"):
        raise ParameterError("Gaussian noise needs a `delta`, and another target than `record-query`.")
    epsilons = split_budget(epsilon, spans, split)
    costs, least = tuple(NoiseCost(epsilon=each) for each in epsilons), min(epsilons)
    total = sum(epsilons, Fraction(0))
    pure: NoiseKind = "laplace" if noise == "laplace" else "box"
    person = records_per_person or 1
    size, error = _settled(target, sets, records, NoiseCost(epsilon=least).each(person), pure, k)
    spent = Fraction(0)
    if delta and noise in ("auto", "gaussian") and target != "record-query":
        rho = gaussian.largest_rho(total, delta)
        cost = NoiseCost(epsilon=least, rho=rho * least / total)
        other, others = _settled(target, sets, records, cost.each(person), "gaussian", k)
        if noise == "gaussian" or others < error:
            size, spent = other, delta
            costs = tuple(NoiseCost(epsilon=each, rho=rho * each / total) for each in epsilons)
    return Design(target=target, sets=sets, records=records, k=size, costs=costs, delta=spent, pure=pure)


def choice_epsilon(cost: NoiseCost, choices: int) -> Fraction:
    """Return the epsilon of each of several choices among concepts that one record may all change.

    epsilon / choices, or under rho the largest multiple of 2^-30 with choices e^2 / 8 <= rho: a choice of the
    exponential mechanism that is e-private is e^2 / 8-zero-concentrated (`shoal.methods.truthful.gaussian`, lemma 2).
    """
    if not cost.rho:
        return cost.epsilon / choices
    epsilon = Fraction(math.isqrt(math.floor(8 * cost.rho / choices * _FINE**2)), _FINE)
    if not epsilon:
        raise ParameterError("epsilon is too small for so many clusters.", hint="give a larger `k`, or fewer columns")
    return epsilon


def one_number(attributes: AttributeSet) -> bool:
    """Return whether a set is one column of numbers."""
    return len(attributes.numeric) == 1 and not attributes.categorical


def automatic_k(
    target: Target,
    *,
    records: int,
    attributes: int,
    cost: NoiseCost,
    kind: NoiseKind = "laplace",
    natural_order: bool = False,
) -> int:
    """Return a cluster size by a public rule: where the error of a value is least.

    If n records filled their domain of width 1 evenly, a cluster of k would be (k/n)^(1/m) wide in each of m
    attributes, and its values would have the variance of that squared over 12. The noise of one attribute has the
    variance A / k^p. The rule takes the k at which both together are least; it reads nothing but n, m and the cost of
    one attribute.

    Examples
    --------
    >>> automatic_k("partition", records=1000, attributes=1, cost=NoiseCost(epsilon=Fraction(1)))
    70
    >>> automatic_k("original", records=10_000, attributes=7, cost=NoiseCost(epsilon=Fraction(1, 7)), kind="box")
    863
    """
    amount, power = _variance(target, records=records, cost=cost, kind=kind, natural_order=natural_order)
    m = attributes
    k: float = (6 * m * power * amount * records ** (2 / m)) ** (1 / (power + 2 / m))
    return max(1, min(records, math.ceil(k)))


def _settled(
    target: Target,
    sets: Sequence[AttributeSet],
    records: int,
    cost: NoiseCost,
    kind: NoiseKind,
    k: int | Literal["auto"],
) -> tuple[int, float]:
    """Return the size of clusters and the expected error of a value, for the widest set and the least cost."""
    m = max(len(each.numeric) + len(each.categorical) for each in sets)
    natural = all(map(one_number, sets))
    about = {"cost": cost, "kind": kind, "natural_order": natural}
    size = automatic_k(target, records=records, attributes=m, **about) if k == "auto" else k  # type: ignore[arg-type]
    amount, power = _variance(target, records=records, **about)  # type: ignore[arg-type]
    return size, amount / size**power + min(1.0, (size / records) ** (2 / m)) / 12


def _variance(
    target: Target, *, records: int, cost: NoiseCost, kind: NoiseKind, natural_order: bool
) -> tuple[float, int]:
    """Return (A, p): the noise of a mean of k values has the variance A / k^p, in widths of the domain squared."""
    several = target == "original" and not natural_order
    if kind == "gaussian":
        return (records if several else 1) / (2 * float(cost.rho)), 3 if several else 2
    if not several:
        return 2 / float(cost.epsilon) ** 2, 2
    return (2 if kind == "laplace" else 1 / 3) * (records / float(cost.epsilon)) ** 2, 4
