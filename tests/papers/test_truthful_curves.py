"""Figures of [LQS10] and [Bild24] that are curves of parameters: what their text says of them, and Table 1 of A.3."""

from __future__ import annotations

import itertools
import math

import pytest

from shoal.methods.truthful.parameters import exact_delta, parameters, sampling_rate, smoothness

EPSILONS = ["0.25", "0.5", "0.75", "1", "1.5", "2"]


def falls(curve: list[float]) -> bool:
    return all(later < earlier for earlier, later in itertools.pairwise(curve))


def test_figure_2_ten_more_in_k_divide_delta_by_about_a_hundred_thousand() -> None:
    at_2 = [math.log10(exact_delta(k, "0.2", 2)) for k in (10, 20, 30, 40, 50)]
    assert all(4.5 < one - other < 6 for one, other in itertools.pairwise(at_2))
    assert all(falls(smoothness(k, "0.2", EPSILONS)) for k in (5, 10, 20, 30, 50))


def test_figure_3_smaller_samples_have_smaller_delta() -> None:
    curves = [smoothness(20, beta, ["0.75", "1", "1.5", "2"]) for beta in ("0.05", "0.1", "0.2", "0.3", "0.4")]
    for epsilon in zip(*curves, strict=True):
        assert falls(list(epsilon)[::-1])


@pytest.mark.parametrize("epsilon", ["1.5", "2"])
def test_figure_4_doubled_samples_need_the_k_that_is_printed(epsilon: str) -> None:
    """They are said to be about alike: here within a factor of 500, which is less than two more in k make."""
    found = [exact_delta(k, beta, epsilon) for k, beta in ((15, "0.05"), (22, "0.1"), (35, "0.2"), (60, "0.4"))]
    assert max(found) < 500 * min(found)
    assert exact_delta(27, "0.1", epsilon) < min(found) / 1000


def test_figure_5_samples_of_a_fortieth_and_the_smallest_k() -> None:
    assert exact_delta(1, "0.025", 2) == pytest.approx(0.025)
    assert all(exact_delta(k, "0.025", 2) < 0.001 for k in (2, 3, 4, 5))


@pytest.mark.parametrize(
    ("beta", "epsilons"),
    [
        ("0.05", {5: "1.75", 10: "0.36", 20: "0.14", 30: "0.10"}),
        ("0.1", {10: "0.71", 20: "0.30", 30: "0.20", 50: "0.13", 100: "0.11"}),
        ("0.2", {10: "1.65", 20: "0.63", 30: "0.41", 50: "0.26", 100: "0.23"}),
        ("0.4", {20: "1.57", 30: "1.05", 50: "0.62", 100: "0.52"}),
    ],
)
def test_figure_6_epsilon_that_k_attains_at_a_delta_of_a_millionth(beta: str, epsilons: dict[int, str]) -> None:
    """No number is printed; these stand on our page, the first of hundreds of epsilon that does."""
    for k, epsilon in epsilons.items():
        assert exact_delta(k, beta, epsilon) <= 1e-6
        below = f"{float(epsilon) - 0.01:.2f}"
        assert float(below) <= -math.log(1 - float(beta)) or exact_delta(k, beta, below) > 1e-6


def chernoff(z: float, epsilon: float, beta: float) -> float:
    """Return the exponent of the smooth bound at z epsilon for one record of k [LQS10 Thm 6]."""
    gamma = (math.exp(z * epsilon) - 1 + beta) / math.exp(z * epsilon)
    return math.log(gamma / beta) - (gamma - beta) / gamma


@pytest.mark.parametrize("epsilon", [0.5, 0.75, 1.0, 2.0])
def test_figure_7_the_smooth_bound_falls_and_the_more_slowly_the_larger_epsilon(epsilon: float) -> None:
    def f(z: float, at: float) -> float:
        return math.exp(-20 * (chernoff(z, at, 0.2) - chernoff(1, at, 0.2)))

    curve = [f(z, epsilon) for z in (1, 1.5, 2, 3, 4)]
    assert curve[0] == 1
    assert falls(curve)
    if epsilon < 2:
        assert f(2, epsilon) < f(2, 2 * epsilon)


def test_figure_9_of_bild_k_grows_and_the_sample_shrinks() -> None:
    rates = [float(sampling_rate(epsilon)) for epsilon in EPSILONS]
    assert [round(rate, 3) for rate in rates] == [0.221, 0.393, 0.528, 0.632, 0.777, 0.865]
    assert [parameters(epsilon, "1e-6").k for epsilon in EPSILONS] == [62, 63, 68, 74, 99, 131]
    assert [parameters(epsilon, "1e-10").k for epsilon in EPSILONS] == [107, 113, 120, 131, 173, 233]


def test_figure_10_of_bild_curves_are_the_steeper_the_smaller_delta() -> None:
    steepness = []
    for delta in ("1e-5", "1e-6", "1e-7"):
        one, two = smoothness(parameters(1, delta).k, sampling_rate(1), [1, 2])
        steepness.append(math.log(one / two))
    assert steepness == sorted(steepness)


#: of A.3: delta asked for, k of the floating-point implementation, and by how much its delta is above, in %
TABLE_1 = [("1e-2", 18, 13.3), ("1e-3", 30, 11.1), ("1e-4", 42, 17.2), ("1e-5", 54, 28.4), ("1e-8", 93, 10.0)]
TABLE_1.append(("1e-9", 105, 27.9))


@pytest.mark.parametrize(("delta", "k", "above"), TABLE_1)
def test_table_1_of_reliable_computing_errors_of_floating_point(delta: str, k: int, above: float) -> None:
    found = exact_delta(k, sampling_rate(math.log(2)), math.log(2))
    assert round(100 * (float(found) / float(delta) - 1), 1) == above
