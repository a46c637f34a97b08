"""How far one record can move what is released, the noise that hides it, and how the budget is shared out."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, get_args

from shoal.errors import ParameterError
from shoal.mechanisms import NoiseGrid
from shoal.methods.noise._kinds import BoxMeans, GaussianMeans, LaplaceMeans, MeansNoise, NoiseKind
from shoal.methods.noise._records import Records

Number = int | float | str | Fraction

FINE, COARSE = 2**32, 2**16
"""The grid of the noise has so many steps in the width of a domain; the coarse one for noise beyond 2^19 widths."""

Target = Literal["original", "partition", "record-query"]
"""What differential privacy is about: see `dp_microaggregate`."""

Clustering = Literal["insensitive", "natural order", "mdav", "individual ranking"]
"""How clusters are found."""

Split = Literal["equal", "proportional"] | Sequence[Number]
"""How epsilon is shared out over attributes: alike, by the widths of their domains, or as given."""


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

    Parameters
    ----------
    target
        See `dp_microaggregate`.
    width
        The width of the attribute's declared domain.
    size
        The size of the smallest cluster, or for ``"partition"`` of the cluster.
    clusters
        The number of clusters.
    natural_order
        Whether clusters are runs of one attribute in its natural order (`insensitive` with 1 reference point).

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

    Parameters
    ----------
    target, width, size, clusters, natural_order
        See `centroid_sensitivity`, which is what Laplace noise is scaled to.
    epsilon
        The part of epsilon that the attribute has.
    kind
        ``box`` for the means of several clusters that may all move; ``gaussian`` for a cost in ``rho``.
    rho
        The part of rho that the attribute has, for Gaussian noise.

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

    Parameters
    ----------
    epsilon
        The whole budget, above 0.
    spans
        The widths of the attributes' domains.
    split
        ``"equal"`` (IR_MDAV+DP_1), ``"proportional"`` to the widths, which gives every attribute the same amount of
        noise (IR_MDAV+DP_2 and MDAV+DP) [SCDF17, section 4.2], or the epsilons themselves.

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
