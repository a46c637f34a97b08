"""The chance that a sampled record is linked to the right person of the population, without knowing the population."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError

__all__ = ["individual_risk"]

Floats = npt.NDArray[np.float64]

#: nodes per panel of the quadrature, and the size above which four terms of an expansion in 1/f are as good
_NODES, _LARGE = 16, 60


def individual_risk(sizes: npt.ArrayLike, people: npt.ArrayLike) -> Floats:
    """Return the chance of a correct link for the records of classes (Benedetti and Franconi 1998).

    The number F of people who share a class's quasi-identifiers is unknown; given that f of them were sampled, each
    with probability p, it is taken to be f plus a negative binomial number of failures before the f-th success. The
    risk of a record is E[1/F | f] = p^f integral_0^1 t^(f-1) / (1 - (1-p) t)^f dt, which is p/(1-p) ln(1/p) for a
    unique record.

    Parameters
    ----------
    sizes
        f: the records of each class, at least 1.
    people
        Estimates of F: the sum of the sampling weights of the class's records, or f over the sampling fraction. p is
        estimated by f/F.

    Notes
    -----
    The same model as `indivRisk` of sdcMicro, whose published example is reproduced. Cost: O(classes).

    Examples
    --------
    >>> individual_risk([1, 2], [8.0, 110.0]).round(3).tolist()
    [0.297, 0.017]
    """
    f, estimated = np.asarray(sizes, dtype=np.float64), np.asarray(people, dtype=np.float64)
    if np.any(f < 1) or np.any(estimated < f):
        raise ParameterError("`people` of `individual_risk` must be at least `sizes`, and those at least 1.")
    p = f / estimated
    result = np.where(p == 1, 1 / f, _expansion(f, p))
    small = (f <= _LARGE) & (p < 1)
    result[small] = [_integral(size, chance) for size, chance in zip(f[small], p[small], strict=True)]
    return result


def _integral(f: float, p: float) -> float:
    """Return p integral_0^1 u^(f-1) / (p + (1-p) u) du: the integral above after t = u / (p + (1-p) u).

    The pole at -p/(1-p) is near 0 for small p, so the panels of the Gauss-Legendre rule grow with the distance from it.

    >>> round(_integral(1.0, 0.125), 6)
    0.297063
    """
    edges = np.concatenate([[0.0], np.geomspace(min(p, 0.5) * 1e-6, 1.0, 24)])
    x, weights = np.polynomial.legendre.leggauss(_NODES)
    half = np.diff(edges)[:, None] / 2
    u = (edges[:-1] + edges[1:])[:, None] / 2 + x * half
    return float((weights * half * p * u ** (f - 1) / (p + (1 - p) * u)).sum())


def _expansion(f: Floats, p: Floats) -> Floats:
    """Return E[1/F] = (1 + m_2 - m_3 + m_4) / m, m = f/p the mean of F and m_i its i-th central moment over m^i."""
    second = (1 - p) / f
    third = (1 - p) * (2 - p) / f**2
    fourth = 3 * second**2 + (1 - p) * (p * p - 6 * p + 6) / f**3
    return np.asarray(p / f * (1 + second - third + fourth))
