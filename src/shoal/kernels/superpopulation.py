"""Estimators of how many classes a population has, and how many of one person, from the class sizes of a sample.

Notation: n records in u classes were sampled from N people, f = n / N; c_i of the classes have i records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels import Floats

Pair = tuple[float, float]

#: up to this sampling fraction Dankar's rule trusts Pitman's model
_SMALL = 0.1
_STEPS = 200
_ACCURACY = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizeCounts:
    """How many classes have which size; sizes ascend."""

    sizes: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]

    @classmethod
    def of(cls, sizes: npt.NDArray[np.int64]) -> SizeCounts:
        """Count the classes of each size."""
        class_sizes, numbers = np.unique(sizes[sizes > 0], return_counts=True)
        return cls(sizes=class_sizes, numbers=numbers)

    @property
    def records(self) -> int:
        """The number of records, n."""
        return int((self.sizes * self.numbers).sum())

    @property
    def classes(self) -> int:
        """The number of classes, u."""
        return int(self.numbers.sum())

    def having(self, size: int) -> int:
        """Return the number of classes of one size, c_size."""
        return int(self.numbers[self.sizes == size].sum())


def population_shares(counts: SizeCounts, people: int) -> tuple[float | None, float, float | None]:
    """Return the share of people who are unique in the population by Pitman's, Zayatz's and the slide negative binomial
    model; None where a model has no solution.
    """
    records, unique = counts.records, counts.having(1)
    if not unique:
        return 0.0, 0.0, 0.0
    if people == records:
        return (unique / records,) * 3
    by_pitman, by_snb = (
        None if estimate is None or estimate > people else estimate / people
        for estimate in (pitman(counts, people), slide_negative_binomial(counts, records / people))
    )
    return by_pitman, zayatz(counts, people) / people, by_snb


def dankar(by_pitman: float | None, by_zayatz: float, by_snb: float | None, fraction: float) -> tuple[str, float]:
    """Return the model that the rule of Dankar et al. (2012) takes, and its estimate."""
    if fraction <= _SMALL:
        return ("zayatz", by_zayatz) if by_pitman is None else ("pitman", by_pitman)
    return ("zayatz", by_zayatz) if by_snb is None or by_zayatz < by_snb else ("snb", by_snb)


def zayatz(counts: SizeCounts, population: int) -> float:
    """Estimate the population uniques as Zayatz (1991) does.

    Every class of the population is taken to have a size drawn from the sizes seen in the sample. Then P(unique in
    the population | unique in the sample) = f c_1 / sum_i c_i h(i), h(i) the hypergeometric chance that exactly
    one of a class's i people is sampled; times c_1 / f is the number. Biased upwards, never undefined.
    """
    fraction = counts.records / population
    once = np.array([_sampled_once(int(size), population, counts.records) for size in counts.sizes])
    unique = counts.having(1)
    conditional = fraction * unique / float((counts.numbers * once).sum()) if unique else 0.0
    return unique * conditional / fraction


def zayatz_classes(counts: SizeCounts, population: int) -> float:
    """Estimate the classes of the population by the same model: sum_i c_i h(i) / u of them have one sampled record."""
    unique = counts.having(1)
    return zayatz(counts, population) * counts.classes / unique if unique else float(counts.classes)


def _sampled_once(size: int, population: int, sample: int) -> float:
    """Return the chance that one of ``size`` people is among ``sample`` drawn of ``population``."""
    others, left = population - sample, size - 1
    if left > others:
        return 0.0
    # size * C(N - size, n - 1) / C(N, n), by its logarithm
    logarithm = _choose(population - size, sample - 1) - _choose(population, sample)
    return size * math.exp(logarithm)


def _choose(total: int, chosen: int) -> float:
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)


def pitman(counts: SizeCounts, population: int) -> float | None:
    """Estimate the population uniques by Pitman's sampling formula (Hoshino 2001), or None without a maximum.

    The likelihood of the class sizes is, up to a constant,
    prod_{i=1}^{u-1} (theta + i alpha) / prod_{i=1}^{n-1} (theta + i) * prod_j prod_{i=1}^{j-1} (i - alpha)^{c_j},
    0 <= alpha < 1, theta > -alpha. At its maximum the expected number of uniques is Gamma(theta + 1) / Gamma(theta +
    alpha) N^alpha.
    """
    maximum = pitman_maximum(counts)
    if maximum is None:
        return None
    theta, alpha = maximum
    unique = math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(population))
    return unique if unique <= population else None


def pitman_classes(counts: SizeCounts, population: int) -> float | None:
    """Estimate the classes of the population by Pitman's sampling formula, or None without a maximum.

    Given the sample, the expected number is (u + theta / alpha) (theta + n + alpha)_m / (theta + n)_m - theta / alpha,
    (x)_m = Gamma(x + m) / Gamma(x), for the m = N - n people who were not sampled (Favaro et al. 2009).
    """
    maximum = pitman_maximum(counts)
    if maximum is None:
        return None
    theta, alpha = maximum
    logarithm = sum(
        sign * math.lgamma(theta + total + shift)
        for sign, total, shift in (
            (1, population, alpha),
            (-1, population, 0.0),
            (-1, counts.records, alpha),
            (1, counts.records, 0.0),
        )
    )
    return (counts.classes + theta / alpha) * math.exp(logarithm) - theta / alpha


def pitman_maximum(counts: SizeCounts) -> Pair | None:
    """Return theta and alpha at the maximum of the likelihood of Pitman's model, or None.

    Climb by Newton's steps, or along the slope where these do not climb, from the first start that leads up.
    """
    likelihood = _PitmanLikelihood(counts)
    for start in ((100.0, 0.5), (1.0, 0.5), (1000.0, 0.1), (1.0, 0.9)):
        maximum = _climb(likelihood, *start)
        if maximum is not None:
            return maximum
    return None


class _PitmanLikelihood:
    """The logarithm of the likelihood with its first and second derivatives."""

    def __init__(self, counts: SizeCounts) -> None:
        self.steps, self.step_weights = _thin_nodes(counts.classes - 1)
        self.sampled, self.sampled_weights = _thin_nodes(counts.records - 1)
        largest = int(counts.sizes[-1])
        self.inner = np.arange(1, largest, dtype=np.float64)
        # the factor (i - alpha) stands once for every class larger than i
        larger = np.zeros(largest + 1)
        larger[counts.sizes] = counts.numbers
        self.larger = larger[::-1].cumsum()[::-1][2:]

    def value(self, theta: float, alpha: float) -> float:
        return float(
            self.step_weights @ np.log(theta + alpha * self.steps)
            - self.sampled_weights @ np.log(theta + self.sampled)
            + self.larger @ np.log(self.inner - alpha)
        )

    def slopes(self, theta: float, alpha: float) -> tuple[Floats, Floats]:
        over = 1 / (theta + alpha * self.steps)
        under = 1 / (theta + self.sampled)
        inner = 1 / (self.inner - alpha)
        weights = self.step_weights
        first = weights @ over - self.sampled_weights @ under
        gradient = np.array([first, weights @ (self.steps * over) - self.larger @ inner])
        mixed = -weights @ (self.steps * over**2)
        second = np.array(
            [
                [self.sampled_weights @ under**2 - weights @ over**2, mixed],
                [mixed, -weights @ (self.steps * over) ** 2 - self.larger @ inner**2],
            ]
        )
        return gradient, second


def _thin_nodes(end: int) -> tuple[Floats, Floats]:
    """Return nodes x and weights w with sum_{i=1}^{end} g(i) = sum w g(x) for g(x) = log(c + x) and its derivatives.

    The first terms are taken as they are. Blocks [m, 2m) beyond are summed by the polynomial that interpolates g in
    20 nodes: g is analytic at the distance m from the block, so the error is of the order of rounding.
    """
    nodes, weights = [np.arange(1, min(end, 63) + 1, dtype=np.float64)], [np.ones(min(end, 63))]
    roots = np.cos(np.pi * (np.arange(20) + 0.5) / 20)
    inverse = np.linalg.inv(np.polynomial.chebyshev.chebvander(roots, 19).T)
    for first in (64 << doubling for doubling in range(max(end, 1).bit_length() - 6)):
        last = min(2 * first - 1, end)
        terms = np.arange(first, last + 1, dtype=np.float64)
        if len(terms) <= 20:
            nodes.append(terms)
            weights.append(np.ones(len(terms)))
            continue
        scaled = (2 * terms - first - last) / (last - first)
        nodes.append((first + last) / 2 + roots * (last - first) / 2)
        weights.append(inverse @ np.polynomial.chebyshev.chebvander(scaled, 19).sum(axis=0))
    return np.concatenate(nodes), np.concatenate(weights)


def _climb(likelihood: _PitmanLikelihood, theta: float, alpha: float) -> Pair | None:
    value = likelihood.value(theta, alpha)
    for _ in range(_STEPS):
        gradient, second = likelihood.slopes(theta, alpha)
        # of the logarithm of theta + alpha and the logit of alpha, which have no bounds
        scale = np.array([theta + alpha, alpha * (1 - alpha)])
        change = np.array([[scale[0], -scale[1]], [0.0, scale[1]]])
        slope = change.T @ gradient
        if np.abs(slope).max() < _ACCURACY * max(1.0, abs(value)):
            return theta, alpha
        bend = change.T @ second @ change
        bend += np.diag([gradient[0] * scale[0], (gradient[1] - gradient[0]) * scale[1] * (1 - 2 * alpha)])
        step = _ascent(slope, bend)
        for _ in range(60):
            if np.abs(step).max() < 50:
                shifted = 1 / (1 + math.exp(-(math.log(alpha / (1 - alpha)) + step[1])))
                moved = (theta + alpha) * math.exp(step[0]) - shifted
                if 0 < shifted < 1 and moved + shifted > 0:
                    reached = likelihood.value(moved, shifted)
                    if reached > value:
                        break
            step = step / 2
        else:
            return (theta, alpha) if np.abs(slope).max() < 1e-4 * max(1.0, abs(value)) else None
        theta, alpha, value = moved, shifted, reached
        if not 1e-9 < alpha < 1 - 1e-9:
            return None
    return None


def _ascent(slope: Floats, bend: npt.NDArray[np.float64]) -> Floats:
    try:
        step = -np.linalg.solve(bend, slope)
    except np.linalg.LinAlgError:
        step = slope
    return np.asarray(step if step @ slope > 0 and np.isfinite(step).all() else slope / max(1.0, np.abs(slope).max()))


def slide_negative_binomial(counts: SizeCounts, fraction: float) -> float | None:
    """Estimate the population uniques by the slide negative binomial model (Chen and Keller-McNulty 1998).

    Class sizes of the population are 1 + G, G negative binomial with parameters a, b. With d = (1 - f)(1 - b) and K
    classes in the population (Shlosser's estimate from the sample), the expected numbers of classes with one and
    two sampled records are

        c_1 = K f (b / (1 - d))^a (1 + a d / (1 - d)),
        c_2 = K a b^a f^2 (1 - b) (2 - (1 - a) d) / (2 (1 - d)^(a + 2)),

    which are solved for a and b; K b^a classes are unique. None where they have no solution. Where they have
    several, the one is taken whose expected number of sampled classes is closest to u.
    """
    solution = slide_solution(counts, fraction)
    return None if solution is None else float(shlosser(counts, fraction) * solution[1] ** solution[0])


def slide_solution(counts: SizeCounts, fraction: float) -> Pair | None:
    """Return a and b of the slide negative binomial model, or None."""
    classes = shlosser(counts, fraction)
    wanted = np.array([counts.having(1), counts.having(2)], dtype=np.float64)
    if not wanted.all() or not math.isfinite(classes):
        return None
    solutions = {
        solution
        for a in (0.1, 1.0, 5.0)
        for b in (0.05, 0.3, 0.6, 0.9)
        if (solution := _solve(classes, fraction, wanted, a, b)) is not None
    }
    if not solutions:
        return None
    return min(solutions, key=lambda solution: abs(_sampled_classes(classes, fraction, *solution) - counts.classes))


def shlosser(counts: SizeCounts, fraction: float) -> float:
    """Estimate the number of classes of the population (Shlosser 1981, as in Haas and Stokes 1998)."""
    sizes, numbers = counts.sizes.astype(np.float64), counts.numbers
    f = fraction
    if f == 1:
        return float(counts.classes)
    first = (sizes * f**2 * (1 - f**2) ** (sizes - 1) * numbers).sum()
    second = (((1 - f**2) ** sizes - (1 - f) ** sizes) * numbers).sum()
    third = ((1 - f) ** sizes * numbers).sum()
    fourth = (sizes * f * (1 - f) ** (sizes - 1) * numbers).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(counts.classes + counts.having(1) * (first / second) * (third / fourth) ** 2)


def _expected_counts(classes: float, f: float, a: float, b: float) -> Floats:
    """Return the logarithms of the expected c_1 and c_2."""
    d = (1 - f) * (1 - b)
    both = math.log(classes * f) + a * (math.log(b) - math.log(1 - d))
    once = both + math.log1p(a * d / (1 - d))
    twice = both + math.log(a * f * (1 - b) * (2 - (1 - a) * d) / 2) - 2 * math.log(1 - d)
    return np.array([once, twice])


def _sampled_classes(classes: float, f: float, a: float, b: float) -> float:
    return float(classes * (1 - (1 - f) * (b / (1 - (1 - f) * (1 - b))) ** a))


def _solve(classes: float, fraction: float, wanted: Floats, a: float, b: float) -> Pair | None:
    """Solve for the logarithm of a and the logit of b by damped Newton steps with numeric derivatives."""
    point = np.array([math.log(a), math.log(b / (1 - b))])

    def error(at: Floats) -> Floats:
        if np.abs(at).max() > 30:
            return np.array([math.inf, math.inf])
        shape, mean = math.exp(at[0]), 1 / (1 + math.exp(-at[1]))
        return np.asarray(_expected_counts(classes, fraction, shape, mean) - np.log(wanted))

    current = error(point)
    for _ in range(_STEPS):
        if np.abs(current).max() < _ACCURACY:
            return float(f"{math.exp(point[0]):.6g}"), float(f"{1 / (1 + math.exp(-point[1])):.9g}")
        slopes = np.stack([(error(point + shift) - current) / 1e-6 for shift in (np.eye(2) * 1e-6)], axis=1)
        if not np.isfinite(slopes).all() or abs(np.linalg.det(slopes)) < 1e-14:
            return None
        step = -np.linalg.solve(slopes, current)
        for _ in range(40):
            reached = error(point + step)
            if np.isfinite(reached).all() and np.square(reached).sum() < np.square(current).sum():
                break
            step = step / 2
        else:
            return None
        point, current = point + step, reached
    return None
