"""Estimates of population uniqueness in ball arithmetic: the floats of `shoal.kernels.superpopulation`, made certain.

Zayatz's estimate is a rational number. The other two are functions of the solution of two equations in two unknowns:
floats find it nearly, Newton's steps in balls come closer, and Krawczyk's test proves that one solution, and one only,
lies in a tiny box, over which the estimate is a ball.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shoal.exact import ball, logarithm
from shoal.kernels.superpopulation import SizeCounts, pitman_maximum, slide_solution

if TYPE_CHECKING:
    from flint import arb


Point = tuple["arb", "arb"]
#: the values of two equations, and their derivatives by the first unknown and by the second
Equations = Callable[["arb", "arb"], tuple[Point, Point, Point]]

_NEWTON_STEPS = 40
#: terms of a sum above which it is taken from special functions
_MANY = 300


def by_zayatz(counts: SizeCounts, people: int) -> arb:
    """Return the estimated share of people who are unique in the population, see `superpopulation.zayatz`.

    The chance that one of a class's i people is sampled is i (n / N) P_i, P_i = prod_{j<i} (N - n + 1 - j) / (N - j):
    the share is c_1^2 / (n sum_i c_i i P_i).
    """
    records, total, factor, done = counts.records, ball(0), ball(1), 1
    for size, number in zip(counts.sizes.tolist(), counts.numbers.tolist(), strict=True):
        if size > people - records + 1:  # more than are left: one of them alone is never sampled
            break
        step = size - done
        factor = factor * ball(people - records + 2 - size).rising(step) / ball(people - size + 1).rising(step)
        total, done = total + number * size * factor, size
    return ball(Fraction(counts.having(1) ** 2, records)) / total


def zayatz_fraction(counts: SizeCounts, people: int) -> Fraction:
    """Return the same as a fraction, in time O(largest class squared)."""
    records = counts.records
    numbers = dict(zip(counts.sizes.tolist(), counts.numbers.tolist(), strict=True))
    largest = max(numbers)
    over, under = numbers[largest] * largest, 1
    for size in range(largest - 1, 0, -1):
        over = numbers.get(size, 0) * size * (people - size) * under + (people - records + 1 - size) * over
        under *= people - size
    return Fraction(counts.having(1) ** 2 * under, records * over)


def by_pitman(counts: SizeCounts, people: int) -> arb | None:
    """Return the estimated share by Pitman's model, see `superpopulation.pitman`; None without a proved solution."""
    maximum = pitman_maximum(counts)
    point = None if maximum is None else _find_proved_box(_PitmanEquations(counts), maximum)
    if point is None:
        return None
    theta, alpha = point
    return _a_share(((theta + 1).lgamma() - (theta + alpha).lgamma() + (alpha - 1) * logarithm(people)).exp())


def by_slide_negative_binomial(counts: SizeCounts, people: int) -> arb | None:
    """Return the share by `superpopulation.slide_negative_binomial`; None without a proved solution."""
    solution = slide_solution(counts, counts.records / people)
    if solution is None:
        return None
    classes = _shlosser(counts, Fraction(counts.records, people))
    point = _find_proved_box(_SlideEquations(counts, people, classes), solution)
    return None if point is None else _a_share(classes * (point[0] * point[1].log()).exp() / people)


def _a_share(found: arb) -> arb | None:
    return found if found <= 1 else None


@dataclass(frozen=True, slots=True)
class _PitmanEquations:
    """The derivatives of the logarithm of the likelihood by theta and alpha, which are 0 at its maximum."""

    counts: SizeCounts

    def __call__(self, theta: arb, alpha: arb) -> tuple[Point, Point, Point]:
        steps, records = self.counts.classes - 1, self.counts.records
        scaled = theta / alpha
        # sums over the factors theta + i alpha, i = 1 .. u - 1, of 1 / factor and of 1 / factor^2
        once = ((scaled + steps + 1).digamma() - (scaled + 1).digamma()) / alpha
        twice = (_trigamma(scaled + 1) - _trigamma(scaled + steps + 1)) / alpha**2
        sampled = (theta + records).digamma() - (theta + 1).digamma()
        bent = _trigamma(theta + 1) - _trigamma(theta + records)
        inner, inner_bent = self._inner(alpha)
        mixed = -(once - theta * twice) / alpha
        values = once - sampled, (steps - theta * once) / alpha - inner
        second = -(steps - 2 * theta * once + theta**2 * twice) / alpha**2 - inner_bent
        return values, (bent - twice, mixed), (mixed, second)

    def _inner(self, alpha: arb) -> Point:
        """Return the sums over classes, and over i below their sizes, of 1 / (i - alpha) and of its square."""
        once = twice = sum_once = sum_twice = ball(0)
        done = 1
        for size, number in zip(self.counts.sizes.tolist(), self.counts.numbers.tolist(), strict=True):
            if size - done > _MANY:
                once += (size - alpha).digamma() - (done - alpha).digamma()
                twice += _trigamma(done - alpha) - _trigamma(size - alpha)
            else:
                for i in range(done, size):
                    term = 1 / (i - alpha)
                    once, twice = once + term, twice + term * term
            done = size
            sum_once, sum_twice = sum_once + number * once, sum_twice + number * twice
        return sum_once, sum_twice


@dataclass(frozen=True, slots=True)
class _SlideEquations:
    """Logarithms of the expected numbers of classes with one and two sampled records, less those of the seen ones."""

    counts: SizeCounts
    people: int
    classes: arb

    def __call__(self, a: arb, b: arb) -> tuple[Point, Point, Point]:
        f = Fraction(self.counts.records, self.people)
        rest = ball(1 - f)
        d = rest * (1 - b)
        left, sum_, tail = 1 - d, 1 - d + a * d, 2 - (1 - a) * d
        ratio = b.log() - left.log()
        both = (self.classes * ball(f)).log() + a * ratio
        values = (
            both + sum_.log() - left.log() - logarithm(self.counts.having(1)),
            both + (a * ball(f) * (1 - b) * tail / 2).log() - 2 * left.log() - logarithm(self.counts.having(2)),
        )
        by_a = ratio + d / sum_, ratio + 1 / a + d / tail
        shared = a * (1 / b - rest / left)
        by_b = (
            shared + (rest - a * rest) / sum_ - rest / left,
            shared - 1 / (1 - b) + (1 - a) * rest / tail - 2 * rest / left,
        )
        return values, by_a, by_b


def _shlosser(counts: SizeCounts, f: Fraction) -> arb:
    """Return the estimated classes of the population, see `superpopulation.shlosser`."""
    chance, first, second, third, fourth = ball(f), ball(0), ball(0), ball(0), ball(0)
    missed, squared = 1 - chance, 1 - chance**2
    for size, number in zip(counts.sizes.tolist(), counts.numbers.tolist(), strict=True):
        first += number * size * chance**2 * squared ** (size - 1)
        second += number * (squared**size - missed**size)
        third += number * missed**size
        fourth += number * size * chance * missed ** (size - 1)
    return counts.classes + counts.having(1) * (first / second) * (third / fourth) ** 2


def _trigamma(value: arb) -> arb:
    return ball(2).zeta(value)


def _find_proved_box(equations: Equations, start: tuple[float, float]) -> Point | None:
    """Return a box, around the solution that floats found, that provably holds one solution and no other."""
    from flint import arb, arb_mat, ctx

    def system(at: arb_mat) -> tuple[arb_mat, arb_mat]:
        values, by_first, by_second = equations(*at.entries())
        return arb_mat([[value] for value in values]), arb_mat([by_first, by_second]).transpose()

    tiny = 2.0 ** (-ctx.prec // 2)
    point = arb_mat([[arb(each)] for each in start])
    try:
        for _ in range(_NEWTON_STEPS):
            values, slopes = system(point)
            step = slopes.solve(values)
            point = (point - step).mid()
            if max(float(abs(entry).upper()) for entry in step.entries()) < tiny:
                break
        # Krawczyk's m - Y F(m) + (1 - Y F'(box)) (box - m), Y nearly the inverse of F'(m): if in the box, so is a root
        box = arb_mat([[arb(entry, arb(tiny))] for entry in point.entries()])
        values, slopes = system(point)
        inverse, wide = slopes.inv(), system(box)[1]
        image = point - inverse * values + (arb_mat([[1, 0], [0, 1]]) - inverse * wide) * (box - point)
    except ZeroDivisionError:  # the slopes may be those of a singular system
        return None
    inside = all(outer.contains_interior(inner) for outer, inner in zip(box.entries(), image.entries(), strict=True))
    return tuple(image.entries()) if inside else None
