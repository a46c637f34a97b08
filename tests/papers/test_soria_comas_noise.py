"""Soria-Comas, chapter 4 (seed 000): Tables 4.1 to 4.4 and the figures of Examples 4 and 5."""

from __future__ import annotations

import math

import pytest
from scipy import optimize

from reference.noise import BoxDensity, OptimalDensity
from shoal.mechanisms import (
    Laplace,
    OptimalBoxNoise,
    OptimalNoise,
    interval_optimal_core,
    variance_optimal_core,
)

EXAMPLE_5 = BoxDensity((0.1, 1.0), (1.0, 10.0), 1.0)


@pytest.mark.parametrize(
    ("epsilon", "laplace", "best", "digits"),
    [(0.1, 200.00, 199.92, 199.917), (0.5, 8.00, 7.92, 7.917), (1.0, 2.00, 1.92, 1.918)],
)
def test_table_4_1_variances(epsilon: float, laplace: float, best: float, digits: float) -> None:
    assert 2 / epsilon**2 == pytest.approx(laplace)
    density = OptimalDensity(1.0, epsilon, variance_optimal_core(epsilon))
    assert round(density.variance, 2) == best
    assert round(density.variance, 3) == digits
    # and on the grid that the mechanism uses
    assert OptimalNoise.minimal_variance(sensitivity=1, epsilon=epsilon, grid=1e-4).variance == pytest.approx(
        density.variance, abs=1e-3
    )
    assert Laplace(sensitivity=1, epsilon=epsilon, grid="0.0001").variance == pytest.approx(laplace, abs=1e-3)


def test_the_core_of_minimal_variance_at_epsilon_1() -> None:
    assert variance_optimal_core(1.0) == pytest.approx(0.416737, abs=5e-7)
    assert OptimalDensity(1.0, 1.0, 0.416737).variance == pytest.approx(1.9181, abs=5e-5)


@pytest.mark.parametrize(("epsilon", "laplace", "best"), [(0.1, 59.91, 59.91), (0.5, 11.98, 11.97), (1.0, 5.99, 5.98)])
def test_table_4_2_intervals_cut_to_two_digits(epsilon: float, laplace: float, best: float) -> None:
    # the table cuts digits off: the optimum at epsilon = 1 is 5.986
    assert math.floor(200 * -math.log(0.05) / epsilon) / 100 == laplace
    density = OptimalDensity(1.0, epsilon, interval_optimal_core(epsilon))
    assert math.floor(100 * density.interval(0.95)) / 100 == best
    noise = OptimalNoise.minimal_interval(sensitivity=1, epsilon=epsilon, grid=1e-4)
    assert 2 * noise.interval(0.95) == pytest.approx(density.interval(0.95), abs=1e-3)


def test_the_core_of_the_shortest_interval_at_epsilon_1() -> None:
    assert interval_optimal_core(1.0) == pytest.approx(0.993, abs=5e-4)


@pytest.mark.parametrize(
    ("confidence", "alpha", "size"), [(0.99, 73.02, 10663), (0.95, 52.18, 5445), (0.90, 42.79, 3662)]
)
def test_table_4_3_regions_of_two_laplace_numbers(confidence: float, alpha: float, size: float) -> None:
    # P[abs(Y1) + abs(Y2) > a] = (1 + a / 11) e^(-a / 11): the noise that independent Laplace needs for Example 5
    found = optimize.brentq(lambda a: (1 + a / 11) * math.exp(-a / 11) - (1 - confidence), 1, 500)
    assert found == pytest.approx(alpha, abs=0.01)
    # the size of the square {abs(x) + abs(y) <= a}; the table computes it from the rounded a
    assert 2 * found**2 == pytest.approx(size, rel=2e-4)


def test_variances_of_example_5() -> None:
    assert 2 * 11**2 == 242
    assert EXAMPLE_5.variance(0) == pytest.approx(4.0338, abs=5e-5)
    assert EXAMPLE_5.variance(1) == pytest.approx(403.38, abs=5e-3)
    noise = OptimalBoxNoise(sensitivities=(1, 10), epsilon=1, core="0.1", grids=("1e-4", "1e-3"))
    assert noise.variance(0) == pytest.approx(4.0338, rel=1e-3)
    assert noise.variance(1) == pytest.approx(403.38, rel=1e-3)


@pytest.mark.parametrize(
    ("confidence", "printed", "size"), [(0.99, None, 1790.2), (0.95, 4.79, 916.6), (0.90, 3.90, 611.2)]
)
def test_table_4_4_regions_of_the_box_noise(confidence: float, printed: float | None, size: float) -> None:
    assert EXAMPLE_5.region_size(confidence) == pytest.approx(size, rel=1e-3)
    # what the table calls beta is the half-side z_1 + beta s_1; its 6.99 in the row 0.99 does not fit its own size
    beta = EXAMPLE_5.region_factor(confidence)
    assert 40 * (0.1 + beta) ** 2 == pytest.approx(EXAMPLE_5.region_size(confidence))
    if printed is None:
        assert beta == pytest.approx(6.59, abs=5e-3)
    else:
        assert 0.1 + beta == pytest.approx(printed, abs=0.01)


def test_the_density_of_a_component_is_the_published_one() -> None:
    # f_Y1(x) = 2 M e^-i (z2 + s2 i + s2 / (e - 1)), integrated against x^2
    z1, z2, s1, s2 = 0.1, 1.0, 1.0, 10.0
    steps = [(2 * math.exp(-i) * (z2 + s2 * i + s2 / (math.e - 1)), i) for i in range(200)]
    ends = [0.0, *(z1 + s1 * i for i in range(200))]
    mass = 2 * sum(height * (ends[i + 1] - ends[i]) for height, i in steps)
    square = 2 * sum(height * (ends[i + 1] ** 3 - ends[i] ** 3) / 3 for height, i in steps)
    assert square / mass == pytest.approx(EXAMPLE_5.variance(0), rel=1e-9)
