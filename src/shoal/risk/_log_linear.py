"""Risk from log-linear models (Skinner and Shlomo 2008): what margins say about cells of which one record is seen."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.kernels import Codes, Floats

#: cells of the full cross table up to which interactions are fitted, rounds at most, and how near margins must come
_CELLS, _ROUNDS, _NEAR = 2_000_000, 200, 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLinearRisk:
    """What a log-linear model says about the unique records of a sample."""

    #: 1 for main effects (columns taken as independent), 2 for all interactions of two columns.
    effects: int
    #: The expected number of unique records that are unique in the population: tau_1.
    unique: float
    #: The expected number of unique records that an intruder links correctly with the population: tau_2.
    found: float


def log_linear_risk(codes: Codes, sampling_fraction: npt.ArrayLike, *, effects: int = 1) -> LogLinearRisk | None:
    """Estimate the risk of the unique records from a log-linear model of the cell counts.

    People F of a cell are Poisson with mean lambda and are sampled with the chance pi, so that records f are Poisson
    with mean mu = pi lambda; mu is fitted to the margins. With v = (1 - pi) lambda a unique record is unique in the
    population with the probability e^-v and is linked correctly with the probability (1 - e^-v) / v.

    Parameters
    ----------
    codes
        One row per record and one column per key; a missing value, -1, is a value of its own.
    sampling_fraction
        pi, in (0, 1]: one for all records, or one per record, that of its stratum, where a column tells the stratum.
    effects
        1: mu = n prod (n_margin / n), in closed form. 2: iterative proportional fitting of all pairs of columns on the
        full cross table.

    Returns
    -------
    LogLinearRisk or None
        None where ``effects`` is 2 and the full cross table has more than two million cells, or fitting does not end.

    Assumptions
    -----------
    Every person of a stratum is sampled with the same chance, independently of the others; the model has the right
    interactions.

    Notes
    -----
    Too many interactions make the risk too low; too few may make it too high or too low. In simulated populations main
    effects came nearest to the truth (docs, *The risk of surveys*): look at both. sdcMicro's `modRisk` leaves out the
    division of mu by pi, so that its figures are of another quantity. Cost: O(records * keys) for main effects;
    O(cells * pairs) per round of fitting otherwise.

    Examples
    --------
    >>> found = log_linear_risk(np.array([[0, 0], [0, 0], [0, 1], [1, 0]], dtype=np.int32), 0.5)
    >>> round(found.unique, 3), round(found.found, 3)
    (0.945, 1.407)
    """
    fractions = np.broadcast_to(np.asarray(sampling_fraction, dtype=np.float64), len(codes))
    if not ((fractions > 0) & (fractions <= 1)).all():
        raise ParameterError("`sampling_fraction` of `log_linear_risk` must be in (0, 1].")
    if effects not in (1, 2):
        raise ParameterError(f"`effects` of `log_linear_risk` must be 1 or 2; got {effects}.")
    cells, firsts, counts = np.unique(codes, axis=0, return_index=True, return_counts=True)
    columns = [np.unique(column, return_inverse=True)[1].ravel() for column in cells.T]
    alone = counts == 1
    if effects == 1 or len(columns) < 2:
        means = _independent(columns, counts)[alone]
    else:
        fitted = _pairs(columns, counts)
        if fitted is None:
            return None
        means = fitted[tuple(column[alone] for column in columns)]
    chances = fractions[firsts[alone]]
    others = (1 - chances) * means / chances
    with np.errstate(divide="ignore", invalid="ignore"):
        linked = np.where(others > 0, -np.expm1(-others) / others, 1.0)
    return LogLinearRisk(effects=effects, unique=float(np.exp(-others).sum()), found=float(linked.sum()))


def _independent(columns: list[npt.NDArray[np.intp]], counts: npt.NDArray[np.intp]) -> Floats:
    records = int(counts.sum())
    means = np.full(len(counts), float(records))
    for column in columns:
        means *= np.bincount(column, weights=counts)[column] / max(records, 1)
    return means


def _pairs(columns: list[npt.NDArray[np.intp]], counts: npt.NDArray[np.intp]) -> Floats | None:
    """Fit all margins of two columns by iterative proportional fitting."""
    shape = tuple(int(column.max(initial=-1)) + 1 for column in columns)
    if np.prod(shape, dtype=np.float64) > _CELLS:
        return None
    observed = np.zeros(shape)
    observed[tuple(columns)] = counts
    fitted = np.ones(shape)
    everywhere = set(range(len(shape)))
    margins = [tuple(sorted(everywhere - set(pair))) for pair in combinations(range(len(shape)), 2)]
    for _ in range(_ROUNDS):
        worst = 0.0
        for others in margins:
            wanted, present = observed.sum(axis=others, keepdims=True), fitted.sum(axis=others, keepdims=True)
            worst = max(worst, float(np.abs(wanted - present).max()))
            fitted *= np.divide(wanted, present, out=np.zeros_like(wanted), where=present > 0)
        if worst < _NEAR * max(float(counts.sum()), 1.0):
            return fitted
    return None
