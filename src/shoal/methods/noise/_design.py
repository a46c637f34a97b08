"""The design of noise before any draw, a function of the plan and the number of records; its steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, Self, get_args

from shoal.errors import ParameterError, counted, quoted
from shoal.exact import plain
from shoal.guarantees import UNLESS_DEFAULT, Event
from shoal.methods.noise._columns import UNITS, AttributeSet, ConceptColumn, NumberColumn
from shoal.methods.noise._sensitivity import (
    MOST_IN_BOX,
    Clustering,
    MeansNoise,
    NoiseKind,
    Number,
    Split,
    Target,
    centroid_noise,
    split_budget,
)
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
        return sum((cost.epsilon for cost in self.costs), Fraction(0))

    @property
    def rho(self) -> Fraction:
        """What all attributes lose in zero-concentrated differential privacy; 0 where epsilon says it all."""
        return sum((cost.rho for cost in self.costs), Fraction(0))

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
    costs, least = tuple(NoiseCost(epsilon=epsilon) for epsilon in epsilons), min(epsilons)
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
            costs = tuple(NoiseCost(epsilon=epsilon, rho=rho * epsilon / total) for epsilon in epsilons)
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


# -- the steps of a release

#: the figure that says how wide the noise of a column is
NOISE_SHARE = "noise of {column}, share of domain"

WIDE = Fraction(1, 4)
"""Noise of so large a share of its domain leaves nothing to read off a single value."""

_WORDS: dict[Clustering, str] = {
    "insensitive": "in fixed orders, so that one record moves at most one record of every cluster",
    "natural order": "in the order of its values, so that one record moves all means together by little",
    "mdav": "by their distance, with `mdav`",
    "individual ranking": "by rank",
}
_NOISES: dict[NoiseKind, str] = {
    "laplace": "Laplace noise of scale",
    "box": "noise in a box, on average",
    "gaussian": "Gaussian noise, on average",
}


class Clustered(Event):
    """Records were put into clusters by some columns."""

    name = "clustered"
    #: What is protected, and what the papers call it, if they do.
    target: Target
    variant: str | None
    #: What the clusters were found by, and how.
    columns: tuple[str, ...]
    clustering: Clustering
    #: The number of records and the least size of a cluster, from which all sizes follow but under ``partition``.
    records: int
    k: int
    #: How many clusters there are of each size: pairs of a size and a number.
    sizes: tuple[tuple[int, int], ...]
    #: The data file that holds the columns.
    file: str

    def describe(self) -> str:
        called = f" ({self.variant})" if self.variant else ""
        among = f"the records into {counted(self.number, 'cluster')} of at least {self.k:,} by {quoted(self.columns)}"
        return f"Grouped {among}, {_WORDS[self.clustering]}{called}."

    @property
    def number(self) -> int:
        """How many clusters there are."""
        return sum(count for _, count in self.sizes)


class Spending(Event):
    """A step that has a part of epsilon: one column of all clusters.

    Under ``record-query`` that part is no cost of the release, which it does not protect, so nothing is added up. Where
    a person has at most ``per_person`` records, a record has so much less of it (group privacy). Where noise is
    Gaussian, the step costs ``rho``, and all of them together what `Concentrated` says.
    """

    #: Which one, what is protected, the part of epsilon that it has, and the number of its clusters.
    column: str
    target: Target
    share: Fraction
    clusters: int
    per_person: int = field(default=1, metadata=UNLESS_DEFAULT)
    rho: Fraction = field(default=Fraction(0), metadata=UNLESS_DEFAULT)

    @property
    def epsilon(self) -> Fraction:
        """The epsilon that this step spends by itself."""
        return Fraction(0) if self.target == "record-query" or self.rho else self.share

    @property
    def cost(self) -> NoiseCost:
        """What the step may cost for one record."""
        return NoiseCost(epsilon=self.share, rho=self.rho).each(self.per_person)

    def to_json(self) -> dict[str, object]:
        spent = {"epsilon_spent": str(self.epsilon)} if self.epsilon else {}
        return {**super().to_json(), **spent}

    def _cost(self) -> str:
        number = f"rho {float(self.rho):.4g}" if self.rho else f"epsilon {float(self.share):.6g}"
        return f"{number} for the query of one record" if self.target == "record-query" else number


class Noised(Spending):
    """The means of a column got noise."""

    name = "noised"
    draws = True
    term = "randomization: noise addition"
    effect = "released with noise"
    kept = "typical"
    #: The width of its declared domain, in numbers, days or ranks.
    width: Fraction
    #: The cluster sizes that have a noise of their own: k, or under ``partition`` all that occur.
    sizes: tuple[int, ...]
    #: Whether the clusters are runs of this column in its order.
    natural_order: bool
    #: What released numbers are rounded to.
    rounded_to: Fraction
    #: What the width and the noise are in: nothing for numbers, days, or ranks.
    unit: str = ""
    #: How the noise is distributed.
    kind: NoiseKind = field(default="laplace", metadata=UNLESS_DEFAULT)

    @classmethod
    def of(
        cls,
        column: NumberColumn,
        cost: NoiseCost,
        *,
        target: Target,
        kind: NoiseKind,
        clusters: int,
        sizes: tuple[int, ...],
        natural_order: bool,
        per_person: int,
    ) -> Self:
        """Return the step that gives a column its noise at a cost."""
        return cls(
            column=column.name,
            target=target,
            share=cost.epsilon,
            rho=cost.rho,
            kind=kind,
            clusters=clusters,
            per_person=per_person,
            width=column.width,
            sizes=sizes,
            natural_order=natural_order,
            rounded_to=Fraction(1),
            unit=UNITS[column.attribute.kind],
        )

    def rounded(self, column: NumberColumn, k: int, decimals: Mapping[str, int]) -> Self:
        """Return the step with what numbers are rounded to: as told, or by the noise of clusters of at least k."""
        # the least noise that a cluster may have decides, so that the step says nothing about the sizes
        least = self.scale(2 * k - 1 if self.target == "partition" else k)
        return replace(self, rounded_to=column.step(least, decimals.get(column.name)))

    def __post_init__(self) -> None:
        if self.kind == "box" and not 1 <= self.clusters <= MOST_IN_BOX:
            raise ValueError("so many means do not share a box")

    def scale(self, size: int) -> float:
        """Return how far off the mean of a cluster of a size is on average, in the units of the column.

        Of Laplace noise that is the scale.
        """
        return self._noise(size).typical

    @property
    def share_of_domain(self) -> float:
        """How far off a mean is on average, over the width of the domain, where it is farthest."""
        return self.scale(min(self.sizes)) / float(self.width)

    def describe(self) -> str:
        widest = self.scale(min(self.sizes))
        least = f"{_figure(self.scale(max(self.sizes)))} to " if len(self.sizes) > 1 else ""
        unit = f" {self.unit}" if self.unit else ""
        return (
            f"Added {_NOISES[self.kind]} {least}{_figure(widest)}{unit} to the means of `{self.column}`, whose "
            f"domain is {_figure(float(self.width))}{unit} wide ({self._cost()}), and rounded them to multiples of "
            f"{plain(self.rounded_to)} inside the domain.{self._warning()}"
        )

    def _warning(self) -> str:
        wide = self.share_of_domain > WIDE
        return " That is so wide that single values say next to nothing." if wide else ""

    def to_json(self) -> dict[str, object]:
        """Return the event as it stands in a certificate, with the noise of each size."""
        noise = [{"size": size, **self._noise(size).figures()} for size in self.sizes]
        return {**super().to_json(), "noise": noise}

    def _noise(self, size: int) -> MeansNoise:
        return centroid_noise(
            self.target,
            width=self.width,
            size=size,
            clusters=self.clusters,
            natural_order=self.natural_order,
            epsilon=self.cost.epsilon,
            kind=self.kind,
            rho=self.cost.rho,
        )


class ConceptsDrawn(Spending):
    """For every cluster one concept of a column was drawn by the exponential mechanism."""

    name = "concepts-drawn"
    draws = True
    term = "randomization"
    effect = "a more general term, drawn at random"
    kept = "typical"
    #: How many there are to choose from.
    concepts: int
    #: Whether the missing value is one of them.
    missing: bool
    #: By how much one record can change the marginality of a concept.
    sensitivity: Fraction
    #: The epsilon of each choice: all of the share, or its part where one record may change every cluster.
    choice: Fraction

    @classmethod
    def of(cls, column: ConceptColumn, cost: NoiseCost, *, target: Target, clusters: int, per_person: int) -> Self:
        """Return the step that draws the concepts of a column at a cost."""
        return cls(
            column=column.name,
            target=target,
            share=cost.epsilon,
            rho=cost.rho,
            clusters=clusters,
            per_person=per_person,
            concepts=column.taxonomy.count,
            missing=None in column.labels,
            sensitivity=column.taxonomy.sensitivity,
            choice=choice_epsilon(cost.each(per_person), clusters if target == "original" else 1),
        )

    def describe(self) -> str:
        among = " (missing is one)" if self.missing else ""
        return (
            f"Drew one of {self.concepts:,} concepts of `{self.column}`{among} by the exponential mechanism for each "
            f"of {counted(self.clusters, 'cluster')} ({self._cost()}; {float(self.choice):.4g} for each)."
        )


class Concentrated(Event):
    """What all columns lose together under Gaussian noise, as one epsilon and delta."""

    name = "concentrated"
    #: The sum of the parts of all columns: zero-concentrated differential privacy.
    rho: Fraction
    #: What that is at most.
    epsilon_spent: Fraction
    delta_spent: Fraction
    sentence = (
        "All columns together cost rho {rho!f:.4g}, which amounts to epsilon {epsilon_spent!f:.6g} with delta "
        "{delta_spent!f:.3g}."
    )


class KeptApart(Event):
    """Sets of columns were released as tables of their own, each in an order of its own."""

    name = "kept-apart"
    files: tuple[str, ...]
    sentence = (
        "Released {files!n:,} tables, one per set of columns: nothing shows which of their records belong together, so "
        "do not join them."
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
