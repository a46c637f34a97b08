"""Sensitivities of the means of clusters, the noise that hides one record, and the shares of the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from shoal.errors import ParameterError
from shoal.mechanisms import SYSTEM, Laplace, NoiseGrid, OptimalBoxNoise, RandomSource, discrete_gaussians
from shoal.methods.noise._columns import Records

Number = int | float | str | Fraction

FINE, COARSE = 2**32, 2**16
"""The grid of the noise has so many steps in the width of a domain; the coarse one for noise beyond 2^19 widths."""

Target = Literal["original", "partition", "record-query"]
"""What differential privacy is about: see `dp_microaggregate`."""

Clustering = Literal["insensitive", "natural order", "mdav", "individual ranking"]
"""How clusters are found."""

Split = Literal["equal", "proportional"] | Sequence[Number]
"""How epsilon is shared out over attributes: alike, by the widths of their domains, or as given."""


NoiseKind = Literal["laplace", "box", "gaussian"]
"""How the noise of means is distributed."""

MOST_IN_BOX = 500
"""The most means that share a box; drawing from it takes time in proportion to the square of their number."""


def centroid_sensitivity(
    target: Target, *, width: Fraction, size: int, clusters: int = 1, natural_order: bool = False
) -> Fraction:
    """Return by how much the means of one attribute can move when one record is replaced, all told (L1).

    ============== ============================= =====================================================
    target         sensitivity                   of
    ============== ============================= =====================================================
    original       clusters * width / size       the means of all clusters; each may change one record
    original,      width / size                  the same in the natural order of one attribute: the
    natural order                                moves telescope
    partition      width / size                  the mean of one cluster of ``size``, its members fixed
    record-query   width / size                  the mean that one record is replaced by
    ============== ============================= =====================================================

    ``width`` is that of the attribute's declared domain, ``size`` that of the smallest cluster, or for ``"partition"``
    of the cluster. Clusters of `insensitive` with 1 reference point are runs of one attribute in its natural order.

    Examples
    --------
    >>> centroid_sensitivity("original", width=Fraction(100), size=5, clusters=20)
    Fraction(400, 1)
    >>> centroid_sensitivity("original", width=Fraction(100), size=5, clusters=20, natural_order=True)
    Fraction(20, 1)
    """
    if target not in get_args(Target):
        raise ParameterError(f"`target` must be one of {', '.join(map(repr, get_args(Target)))}; got {target!r}.")
    return width * (clusters if target == "original" and not natural_order else 1) / size


def centroid_noise(
    target: Target,
    *,
    width: Fraction,
    size: int,
    clusters: int,
    natural_order: bool,
    epsilon: Fraction,
    kind: NoiseKind = "laplace",
    rho: Fraction = Fraction(0),
) -> MeansNoise:
    """Return the noise that the means of one attribute take.

    Laplace noise is scaled to `centroid_sensitivity`; ``box`` is for the means of several clusters that may all move,
    ``gaussian`` for a cost in ``rho``. The costs are the attribute's parts.

    Guarantee
    ---------
    The means are rounded to the grid, each by less than a step, so every mean that one record may move counts one step
    more than its sensitivity: all of them for ``"original"``, one else. In the natural order of one attribute the
    moves add up to at most width / size, so the sum of their squares is at most the square of that.

    Examples
    --------
    >>> noise = centroid_noise(
    ...     "original", width=Fraction(100), size=5, clusters=20, natural_order=False, epsilon=Fraction(1)
    ... )
    >>> round(noise.scale * float(noise.grid.step), 3)
    400.0
    """
    reach = centroid_sensitivity(target, width=width, size=size, clusters=clusters, natural_order=natural_order)
    moved = clusters if target == "original" else 1
    if kind == "gaussian":
        fine = reach**2 / (rho * width**2) < 2**38
        step = width / (FINE if fine else COARSE)
        square = (reach + moved * step) ** 2 if natural_order else moved * (width / size + step) ** 2
        return GaussianMeans(square=square, rho=rho, grid=NoiseGrid(step))
    step = width / (FINE if reach / (width * epsilon) < 2**19 else COARSE)  # OpenDP's scales end at 2^52 steps
    if kind == "box":
        each = width / size + step
        return BoxMeans(sensitivities=[each] * moved, epsilon=epsilon, grids=step, neighbours="replace")
    return LaplaceMeans(sensitivity=reach + moved * step, epsilon=epsilon, grid=NoiseGrid(step), neighbours="replace")


def widths(records: Records) -> tuple[Fraction, ...]:
    """Return the widths of the declared domains: of numbers exactly, of categories the distance of the boundaries."""
    numbers: tuple[Fraction, ...] = ()
    if records.numeric.shape[1]:
        lower, upper = records.bounds
        numbers = tuple(Fraction(float(b)) - Fraction(float(a)) for a, b in zip(lower, upper, strict=True))
    return numbers + tuple(Fraction(taxonomy.width) for taxonomy in records.taxonomies)


def split_budget(epsilon: Number, spans: Sequence[Fraction], split: Split = "equal") -> tuple[Fraction, ...]:
    """Return the epsilon of each attribute; together exactly ``epsilon``, or less where shares are given.

    ``"equal"`` (IR_MDAV+DP_1), ``"proportional"`` to the widths of the attributes' domains, which gives every attribute
    the same amount of noise (IR_MDAV+DP_2 and MDAV+DP) [SCDF17, section 4.2], or the epsilons themselves.

    Examples
    --------
    >>> split_budget(1, [Fraction(10), Fraction(30)], "proportional")
    (Fraction(1, 4), Fraction(3, 4))
    """
    total = _positive(epsilon)
    if split == "equal":
        return tuple(total / len(spans) for _ in spans)
    if split == "proportional":
        return tuple(total * span / sum(spans, Fraction(0)) for span in spans)
    if isinstance(split, str):
        raise ParameterError(f"`split` must be 'equal', 'proportional' or numbers; got {split!r}.")
    shares = tuple(_positive(share) for share in split)
    if len(shares) != len(spans) or sum(shares, Fraction(0)) > total:
        raise ParameterError(
            f"`split` must hold one epsilon for each of {len(spans)} attributes, together at most {float(total):g}."
        )
    return shares


def _positive(value: Number) -> Fraction:
    return NoiseGrid(value).step  # refuses what is not above 0, and keeps the exact value


# -- kinds of noise: Laplace, optimal noise in a box, and Gaussian


class LaplaceMeans(Laplace):
    """Independent Laplace noise; pays for how far all means move together."""

    __slots__ = ()

    @property
    def typical(self) -> float:
        return self.scale * float(self.grid.step)

    def figures(self) -> dict[str, object]:
        return {
            "sensitivity": str(self.sensitivity),
            "grid": str(self.grid.step),
            "scale in steps of the grid": self.scale,
            "scale": self.typical,
        }


class BoxMeans(OptimalBoxNoise):
    """Noise of all means together, whose density falls by e^-epsilon from box to box [SC13 Thm 3].

    One record moves each of c means by at most s, so their moves fill a box. Independent noise pays for the sum c s and
    has the variance 2 (c s / epsilon)^2; this has about (c + 1) (c + 2) / 3 (s / epsilon)^2, a sixth of it.

    Examples
    --------
    >>> noise = BoxMeans(sensitivities=[1] * 29, epsilon=1, grids=Fraction(1, 2**20), neighbours="replace")
    >>> round(noise.variance(0)), 2 * 29**2
    (310, 1682)
    """

    __slots__ = ()

    @property
    def grid(self) -> NoiseGrid:
        return self.grids[0]

    @property
    def typical(self) -> float:
        return self.rings.mean_side(0) / 4 * float(self.grid.step)

    def release_all(self, values: Sequence[Fraction], *, source: RandomSource = SYSTEM) -> list[int | float]:
        return list(self.release(values, source=source))

    def figures(self) -> dict[str, object]:
        return {
            "sensitivity of each": str(self.sensitivities[0]),
            "grid": str(self.grid.step),
            "core": str(self.core),
            "on average": self.typical,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianMeans:
    """Independent discrete Gaussian noise; pays for the square root of the sum of the squares of all moves.

    Guarantee
    ---------
    P[noise = i steps] is exactly proportional to exp(-i^2 / 2v) with v = square / (2 rho step^2), so the Renyi
    divergence of every order a > 1 between neighbours is at most a square / (2 v step^2) = a rho (Canonne, Kamath,
    Steinke 2020, Prop. 5 and Thm 14).

    Examples
    --------
    >>> noise = GaussianMeans(square=Fraction(29), rho=Fraction(1, 2), grid=NoiseGrid(Fraction(1, 1024)))
    >>> float(noise.variance) / 1024**2
    29.0
    """

    #: The most that the squares of the moves of all means add up to between neighbours, in units of the column.
    square: Fraction
    #: What the noise costs: it is rho-zero-concentrated differentially private.
    rho: Fraction
    #: Noise and means are multiples of its step.
    grid: NoiseGrid

    @property
    def variance(self) -> Fraction:
        """The parameter of the distribution, in steps squared."""
        return self.square / (2 * self.rho * self.grid.step**2)

    @property
    def typical(self) -> float:
        return math.sqrt(2 * self.variance / math.pi) * float(self.grid.step)

    def release_all(self, values: Sequence[Fraction], *, source: RandomSource = SYSTEM) -> list[int | float]:
        noise = discrete_gaussians(self.variance, len(values), source=source).tolist()
        return [self.grid.value(self.grid.steps(value) + each) for value, each in zip(values, noise, strict=True)]

    def figures(self) -> dict[str, object]:
        return {
            "sum of squared moves": str(self.square),
            "grid": str(self.grid.step),
            "variance in steps of the grid": str(self.variance),
            "on average": self.typical,
        }


MeansNoise = LaplaceMeans | BoxMeans | GaussianMeans
"""All have a `grid`; `typical`, how far a mean is from its true value on average, in its own units; `release_all`, the
means with noise; and `figures`, what a certificate says of the noise."""
