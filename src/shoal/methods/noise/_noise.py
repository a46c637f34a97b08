"""The noise of centroids: its sensitivity, its scale and its grid, from public numbers alone."""

from __future__ import annotations

from fractions import Fraction

from shoal.mechanisms import Laplace, NoiseGrid
from shoal.methods.noise._sensitivity import Target, centroid_sensitivity

__all__ = ["centroid_noise"]

FINE, COARSE = 2**32, 2**16
"""The grid of the noise has so many steps in the width of a domain; the coarse one for noise beyond 2^19 widths."""


def centroid_noise(
    target: Target, *, width: Fraction, size: int, clusters: int, natural_order: bool, epsilon: Fraction
) -> Laplace:
    """Return the noise that the means of one attribute take.

    Parameters
    ----------
    target, width, size, clusters, natural_order
        See `centroid_sensitivity`, which is what the noise is scaled to.
    epsilon
        The part of epsilon that the attribute has.

    Guarantee
    ---------
    The means are rounded to the grid, each by less than a step, so every mean that one record may move counts one step
    more than its sensitivity: all of them for ``"original"``, one else.

    Examples
    --------
    >>> noise = centroid_noise(
    ...     "original", width=Fraction(100), size=5, clusters=20, natural_order=False, epsilon=Fraction(1)
    ... )
    >>> round(noise.scale * float(noise.grid.step), 3)
    400.0
    """
    reach = centroid_sensitivity(target, width=width, size=size, clusters=clusters, natural_order=natural_order)
    steps = FINE if reach / (width * epsilon) < 2**19 else COARSE  # OpenDP's scales end at 2^52 steps
    grid = NoiseGrid(width / steps)
    rounded = clusters if target == "original" else 1
    return Laplace(sensitivity=reach + rounded * grid.step, epsilon=epsilon, grid=grid, neighbours="replace")
