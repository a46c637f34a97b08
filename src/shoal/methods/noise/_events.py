"""What was done to make a data set of noisy centroids."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction

from shoal.errors import counted, quoted
from shoal.exact import plain
from shoal.guarantees import UNLESS_DEFAULT, Event
from shoal.methods.noise._design import NoiseCost
from shoal.methods.noise._kinds import MOST_IN_BOX, MeansNoise, NoiseKind
from shoal.methods.noise._sensitivity import Clustering, Target, centroid_noise

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
        number = sum(count for _, count in self.sizes)
        called = f" ({self.variant})" if self.variant else ""
        among = f"the records into {counted(number, 'cluster')} of at least {self.k:,} by {quoted(self.columns)}"
        return f"Put {among}, {_WORDS[self.clustering]}{called}."

    def to_json(self) -> dict[str, object]:
        return {**super().to_json(), "sizes": [list(pair) for pair in self.sizes]}


class _Spending(Event):
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


class Noised(_Spending):
    """The means of a column got noise."""

    name = "noised"
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

    def __post_init__(self) -> None:
        if self.kind == "box" and not 1 <= self.clusters <= MOST_IN_BOX:
            raise ValueError("so many means do not share a box")

    def scale(self, size: int) -> float:
        """Return how far off the mean of a cluster of a size is on average, in the units of the column.

        Of Laplace noise that is the scale.
        """
        return _noise(self, size).typical

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
        return " That is so wide that single values tell next to nothing." if wide else ""

    def to_json(self) -> dict[str, object]:
        """Return the event as it stands in a certificate, with the noise of each size."""
        noises = [(size, _noise(self, size)) for size in self.sizes]
        return {
            **super().to_json(),
            "noise": [{"size": size, **noise.figures()} for size, noise in noises],
        }


class ConceptsDrawn(_Spending):
    """For every cluster one concept of a column was drawn by the exponential mechanism."""

    name = "concepts-drawn"
    #: How many there are to choose from.
    concepts: int
    #: Whether the missing value is one of them.
    missing: bool
    #: By how much one record can change the marginality of a concept.
    sensitivity: Fraction
    #: The epsilon of each choice: all of the share, or its part where one record may change every cluster.
    choice: Fraction

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
        "All columns together lose rho {rho!f:.4g}, which is epsilon {epsilon_spent!f:.6g} with delta "
        "{delta_spent!f:.3g}."
    )


class KeptApart(Event):
    """Sets of columns were released as tables of their own, each in an order of its own."""

    name = "kept-apart"
    files: tuple[str, ...]
    sentence = (
        "Released {files!n:,} tables, one per set of columns: nothing tells which of their records belong together, so "
        "do not join them."
    )


def _noise(event: Noised, size: int) -> MeansNoise:
    cost = event.cost
    return centroid_noise(
        event.target,
        width=event.width,
        size=size,
        clusters=event.clusters,
        natural_order=event.natural_order,
        epsilon=cost.epsilon,
        kind=event.kind,
        rho=cost.rho,
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
