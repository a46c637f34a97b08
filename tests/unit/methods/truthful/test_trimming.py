"""From (epsilon, delta) to m: against exact sums, and against every pair of neighbouring classes."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from flint import arb, ctx

from shoal.errors import ParameterError
from shoal.methods.truthful.trimming import LARGEST_M, exact_delta, minimal_m, satisfies

EPSILONS = ("0.05", "0.1", "0.5", "0.9", "1", "2", "4")
DELTAS = ("1e-2", "1e-5", "1e-6", "1e-9")


def chances(epsilon: str, m: int, most: int) -> list[arb]:
    """Return P[M = 0], ..., P[M = most] by their definition: weights over their sum."""
    fraction = Fraction(epsilon)
    rate = arb(fraction.numerator) / fraction.denominator
    weights = [(-rate * abs(j - m)).exp() for j in range(most + 1)]
    below = sum(((-rate * j).exp() for j in range(1, m + 1)), arb(0))
    everything = below + 1 / (1 - (-rate).exp())
    return [weight / everything for weight in weights]


@pytest.mark.parametrize(
    ("epsilon", "delta", "m"),
    [
        ("0.9", "1e-5", 12),
        ("0.9", "1e-6", 15),
        ("1", "1e-5", 11),
        ("1", "1e-6", 14),
        ("1", "1e-9", 20),
        ("0.1", "1e-5", 86),
        ("2", "1e-6", 7),
    ],
)
def test_common_values(epsilon: str, delta: str, m: int) -> None:
    assert minimal_m(epsilon, delta) == m


@pytest.mark.parametrize(("epsilon", "delta"), [*itertools.product(EPSILONS, DELTAS)])
def test_m_is_the_smallest_whose_delta_is_small_enough(epsilon: str, delta: str) -> None:
    m = minimal_m(epsilon, delta)
    assert satisfies(m=m, epsilon=epsilon, delta=delta)
    assert m == 0 or not satisfies(m=m - 1, epsilon=epsilon, delta=delta)
    assert exact_delta(m, epsilon) <= float(delta)
    with ctx.workprec(200):
        attained = chances(epsilon, m, 0)[0]
        assert attained <= arb(exact_delta(m, epsilon))
        assert attained >= arb(exact_delta(m, epsilon)) * (1 - arb(2) ** -50)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [*itertools.product(EPSILONS, DELTAS)])
@pytest.mark.parametrize("least", [1, 2, 5, 20])
def test_neighbouring_classes_differ_by_no_more_than_is_promised(epsilon: str, delta: str, least: int) -> None:
    """Every class size up to where all is settled, in 200 bits: the theorem by brute force."""
    m = minimal_m(epsilon, delta)
    largest = min(m + least + 40, 160)
    with ctx.workprec(200):
        fraction = Fraction(epsilon)
        factor = (arb(fraction.numerator) / fraction.denominator).exp() * (1 + arb(2) ** -150)
        masses = chances(epsilon, m, largest + 1)
        bound = masses[0] * (1 + arb(2) ** -150)
        assert masses[0] <= arb(Fraction(delta).numerator) / Fraction(delta).denominator
        # a difference would lose the digits of a small tail: beyond m it is geometric
        rest = 1 - (-(arb(fraction.numerator) / fraction.denominator)).exp()
        tails = [masses[j] / rest if j >= m else 1 - sum(masses[:j], arb(0)) for j in range(largest + 2)]
        for size in range(largest):
            first, second = (_shown(c, least, masses, tails) for c in (size, size + 1))
            bad = sum(
                (
                    max(first.get(x, arb(0)), second.get(x, arb(0)), key=float)
                    for x in first.keys() | second.keys()
                    if not (
                        first.get(x, arb(0)) <= factor * second.get(x, arb(0))
                        and second.get(x, arb(0)) <= factor * first.get(x, arb(0))
                    )
                ),
                arb(0),
            )
            assert bad <= bound, size


def _shown(size: int, least: int, masses: list[arb], tails: list[arb]) -> dict[int, arb]:
    found = {x: masses[size - x] for x in range(least, size + 1)}
    return {**found, 0: tails[max(size - least + 1, 0)]}


def test_a_wide_delta_needs_no_trimming_on_average() -> None:
    assert minimal_m("0.1", "0.5") == 0
    assert exact_delta(0, 1) == pytest.approx(1 - 1 / 2.718281828459045)


def test_tiny_epsilons_are_quick() -> None:
    m = minimal_m("1e-8", "1e-10")
    assert satisfies(m=m, epsilon="1e-8", delta="1e-10")
    assert not satisfies(m=m - 1, epsilon="1e-8", delta="1e-10")


def test_numbers_that_make_no_sense_are_refused() -> None:
    for m in (-1, LARGEST_M + 1, True, 1.5):
        with pytest.raises(ParameterError, match="`m`"):
            exact_delta(m, 1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="`epsilon`"):
        minimal_m(0, "1e-6")
    with pytest.raises(ParameterError, match="so small"):
        minimal_m("1e-15", "1e-300")
    with pytest.raises(ParameterError, match="`delta`"):
        minimal_m(1, 1)
