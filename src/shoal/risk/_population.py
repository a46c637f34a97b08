"""Population risk estimated from a sample: population uniques, and the chance that records are linked with them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.kernels import Codes, Floats
from shoal.kernels.superpopulation import (
    SizeCounts,
    dankar,
    pitman_classes,
    population_shares,
    shlosser,
    zayatz_classes,
)
from shoal.tables import Classes

#: records that are not the first of their class, below which Pitman's model was off by half in trials
_FEW = 50
#: nodes per panel of the quadrature, and the size above which four terms of an expansion in 1/f are as good
_NODES, _LARGE = 16, 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationUniqueness:
    """Estimated shares of the population that nobody else resembles on the quasi-identifiers."""

    #: The share of the population that the table holds, and so the number of people in it.
    sampling_fraction: float
    population: int
    #: The share of the *records* that are unique in the table: what one would see with the whole population.
    sample: float
    #: The share of people who are unique in the population by three models; None where a model has no solution.
    pitman: float | None
    zayatz: float
    snb: float | None
    #: The model that Dankar's decision rule takes, its estimate, and that estimate as a number of people.
    chosen: str
    share: float
    people: float
    #: The expected number of records that an intruder who links every record with the population links correctly, by
    #: the chosen model; never less than ``share`` times the records, and never more than ``at_most``.
    reidentifications: float
    #: The number of classes of the table: an intruder links at most one record of each correctly, on average.
    at_most: int
    #: Which way the estimate of ``reidentifications`` tends to err.
    errs: str


def population_uniqueness(classes: Classes, sampling_fraction: float) -> PopulationUniqueness:
    """Estimate how many people are unique in the population that the records were drawn from.

    The decision rule of Dankar, El Emam, Neisa and Roffey (2012): for sampling fractions up to 0.1 Pitman's model where
    it has a maximum, else Zayatz's; above, the smaller of the slide negative binomial model and Zayatz's.

    Parameters
    ----------
    classes
        The equivalence classes of the table.
    sampling_fraction
        The share of the population in the table, in (0, 1].

    Assumptions
    -----------
    The table is a simple random sample of the population.

    Notes
    -----
    Cost: O(classes log classes), then O(distinct sizes) per step of a solver. ARX applies the same rule; its equations
    of the slide negative binomial model multiply where Chen and Keller-McNulty divide by 2 (1 - d)^(a + 2), so that its
    estimates of that model, and of the rule where it takes them, differ from these.

    Examples
    --------
    >>> import numpy as np
    >>> found = population_uniqueness(Classes(sizes=np.array([1] * 60 + [2] * 15 + [5, 5])), 0.1)
    >>> found.population, found.chosen
    (1000, 'pitman')
    """
    if not 0 < sampling_fraction <= 1:
        raise ParameterError(
            f"`sampling_fraction` must be in (0, 1]; got {sampling_fraction}.",
            hint="1 means that the table holds the whole population; 0.01, one person in a hundred",
        )
    counts = SizeCounts.of(classes.sizes)
    records, unique = counts.records, counts.having(1)
    people = max(round(records / sampling_fraction), records)
    shares = population_shares(counts, people)
    chosen, share = dankar(*shares, sampling_fraction)
    return PopulationUniqueness(
        sampling_fraction=sampling_fraction,
        population=people,
        sample=unique / records if records else 0.0,
        pitman=shares[0],
        zayatz=shares[1],
        snb=shares[2],
        chosen=chosen,
        share=share,
        people=share * people,
        reidentifications=_reidentifications(counts, people, chosen, share),
        at_most=counts.classes,
        errs=_errs(counts, people, chosen),
    )


def _reidentifications(counts: SizeCounts, people: int, chosen: str, share: float) -> float:
    """Return the expected number of right links: the sampling fraction times the classes of the population.

    Of a class of F people, f of them sampled, f / F links are right on average. In a simple random sample E[f] is F
    times the sampling fraction, so that every class of the population, of whatever size, adds the fraction.
    """
    if not counts.records:
        return 0.0
    fraction = counts.records / people
    estimated = fraction * max(_classes(counts, people, chosen), counts.classes)
    return max(min(estimated, counts.classes), share * counts.records)


def _classes(counts: SizeCounts, people: int, chosen: str) -> float:
    """Return the number of classes of the population by the chosen model."""
    if people == counts.records or not counts.having(1):
        return counts.classes
    if chosen == "pitman":
        classes = pitman_classes(counts, people)
        return zayatz_classes(counts, people) if classes is None else classes
    by_shlosser = shlosser(counts, counts.records / people)
    if chosen == "snb":
        return by_shlosser
    # the smaller estimate of uniques is the rule's choice; of classes it would be too few
    return max(zayatz_classes(counts, people), by_shlosser if np.isfinite(by_shlosser) else 0.0)


def _errs(counts: SizeCounts, people: int, chosen: str) -> str:
    if people == counts.records:
        return "exact: the table holds the whole population"
    if not counts.having(1):
        return "too low, if the population has classes that the table does not show"
    if chosen == "zayatz":
        return "usually too high: class sizes in the population are taken to be those of the table"
    if chosen == "snb":
        return "either way, usually by a few percent"
    if counts.records - counts.classes < _FEW:
        return "either way, by half or more: too few records are alike to tell"
    return "too high where class sizes vary little; otherwise either way, usually by a tenth"


#: integrals taken at once
_AT_ONCE = 2000


def individual_risk(sizes: npt.ArrayLike, people: npt.ArrayLike, *, approximate: bool = False) -> Floats:
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
    approximate
        Take p / (f - 1 + p) for f > 2, as sdcMicro does: the value for large f, too high by a hundredth at f = 3 and
        p = 0.01.

    Notes
    -----
    The same model as `indivRisk` of sdcMicro, whose published example is reproduced. Cost: O(classes).

    A record that is alone in its class has a risk that follows from its own weight alone, whatever the others are: of
    two unique records with the same weight the one with rare values is judged too safe, and the sum over all records
    is too low where classes are small. Read it beside :func:`log_linear_risk` and :func:`population_uniqueness`.

    Examples
    --------
    >>> individual_risk([1, 2], [8.0, 110.0]).round(3).tolist()
    [0.297, 0.017]
    """
    f, estimated = np.asarray(sizes, dtype=np.float64), np.asarray(people, dtype=np.float64)
    if np.any(f < 1) or np.any(estimated < f):
        raise ParameterError("`people` of `individual_risk` must be at least `sizes`, and those at least 1.")
    p = f / estimated
    if approximate:
        return _approximation(f, p)
    result = np.where(p == 1, 1 / f, _expansion(f, p))
    small = (f <= _LARGE) & (p < 1)
    pairs, positions = np.unique(np.stack([f[small], p[small]], axis=1), axis=0, return_inverse=True)
    parts = [_integral(part[:, 0], part[:, 1]) for part in np.array_split(pairs, len(pairs) // _AT_ONCE + 1)]
    result[small] = np.concatenate(parts)[positions.ravel()]
    return result


def _integral(f: Floats, p: Floats) -> Floats:
    """Return p integral_0^1 u^(f-1) / (p + (1-p) u) du: the integral above after t = u / (p + (1-p) u).

    The pole at -p/(1-p) is near 0 for small p, so the panels of the Gauss-Legendre rule grow with the distance from it.

    >>> _integral(np.array([1.0]), np.array([0.125])).round(6).tolist()
    [0.297063]
    """
    first = np.minimum(p, 0.5) * 1e-6
    edges = np.concatenate([np.zeros((len(p), 1)), np.geomspace(first, np.ones(len(p)), 24, axis=1)], axis=1)
    x, weights = np.polynomial.legendre.leggauss(_NODES)
    half = np.diff(edges)[:, :, None] / 2
    u = (edges[:, :-1] + edges[:, 1:])[:, :, None] / 2 + x * half
    f, p = f[:, None, None], p[:, None, None]
    return np.asarray((weights * half * p * u ** (f - 1) / (p + (1 - p) * u)).sum(axis=(1, 2)))


def _approximation(f: Floats, p: Floats) -> Floats:
    """Return sdcMicro's risks; its closed forms of f = 1 and 2 are exact."""
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = p / (1 - p)
        closed = np.where(f == 1, odds * -np.log(p), odds - odds**2 * -np.log(p))
    risks = np.where(f <= 2, closed, p / (f - 1 + p))
    return np.asarray(np.where(p == 1, 1 / f, risks))


def _expansion(f: Floats, p: Floats) -> Floats:
    """Return E[1/F] = (1 + m_2 - m_3 + m_4) / m, m = f/p the mean of F and m_i its i-th central moment over m^i."""
    second = (1 - p) / f
    third = (1 - p) * (2 - p) / f**2
    fourth = 3 * second**2 + (1 - p) * (p * p - 6 * p + 6) / f**3
    return np.asarray(p / f * (1 + second - third + fourth))


#: cells of the full cross table up to which interactions are fitted, rounds at most, and how near margins must come
_CELLS, _ROUNDS, _NEAR = 2_000_000, 200, 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLinearRisk:
    """Estimates of a log-linear model for the unique records of a sample."""

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
