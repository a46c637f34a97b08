from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize

from reference.examples import examples
from reference.noise import OptimalDensity, discrete_laplace, optimal, ring
from shoal.errors import ParameterError
from shoal.mechanisms import Laplace, OptimalNoise, interval_optimal_core, variance_optimal_core

shapes = st.tuples(st.integers(0, 12), st.integers(1, 12)).filter(lambda shape: shape[0] <= shape[1])


def noise(core: int, span: int, epsilon: Fraction | str | int = 1) -> OptimalNoise:
    return OptimalNoise(sensitivity=span, epsilon=epsilon, core=core)


@given(shapes, st.integers(-12, 12))
def test_a_shift_by_the_sensitivity_crosses_one_ring_at_most(shape: tuple[int, int], shift: int) -> None:
    # exact: the exponents are whole multiples of epsilon
    core, span = shape
    shift %= span + 1
    assert max(abs(ring(k, core, span) - ring(k + shift, core, span)) for k in range(-60, 60)) <= 1


def test_a_shift_beyond_the_sensitivity_crosses_two() -> None:
    # so the guarantee is not met by accident: a broken twin that forgets to round the sensitivity up is caught
    assert max(abs(ring(k, 2, 5) - ring(k + 6, 2, 5)) for k in range(-60, 60)) == 2


@given(shapes, st.fractions(Fraction(1, 5), 4, max_denominator=50))
@examples(20)
def test_drawing_a_box_and_a_point_in_it_gives_the_density_of_the_rings(
    shape: tuple[int, int], epsilon: Fraction
) -> None:
    core, span = shape
    rings = noise(core, span, epsilon).rings
    x = 1 / math.expm1(epsilon)
    # draw_box: k with weight w_k x^k (w_0 = V_0, w_1 = V_1 - V_0), then k plus k + 1 geometric draws
    first, growth = float(rings.volume(0)), float(rings.volume(1) - rings.volume(0))
    chosen = first / (first + growth * x)
    b = math.exp(-epsilon)

    def box(i: int) -> float:
        return chosen * (1 - b) * b**i + (1 - chosen) * i * b ** (i - 1) * (1 - b) ** 2

    for k in (0, core, core + 1, core + span, core + span + 1, core + 5 * span):
        start = ring(k, core, span)
        mixed = sum(box(i) / float(rings.volume(i)) for i in range(start, start + 400))
        assert mixed == pytest.approx(optimal(k, core, span, float(epsilon)))


@pytest.mark.slow
@given(shapes, st.floats(0.2, 4))
@examples(20)
def test_variance_and_interval_are_those_of_the_definition(shape: tuple[int, int], epsilon: float) -> None:
    core, span = shape
    made = noise(core, span, Fraction(epsilon))
    masses = {k: optimal(k, core, span, epsilon) for k in range(-1200, 1201)}
    assert sum(masses.values()) == pytest.approx(1)
    assert made.variance == pytest.approx(sum(k * k * mass for k, mass in masses.items()))
    for confidence in (0.3, 0.9, 0.95):
        end = made.interval(confidence)
        assert sum(mass for k, mass in masses.items() if abs(k) <= end) >= confidence - 1e-9
        assert sum(mass for k, mass in masses.items() if abs(k) < end) < confidence + 1e-9 or end == 0


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_the_closed_forms_are_what_a_numerical_search_finds(epsilon: float) -> None:
    def variance(d: float) -> float:
        return OptimalDensity(1.0, epsilon, d).variance

    found = optimize.minimize_scalar(variance, bounds=(0, 1), method="bounded", options={"xatol": 1e-10})
    assert variance_optimal_core(epsilon) == pytest.approx(found.x, abs=1e-5)
    lengths = [OptimalDensity(1.0, epsilon, d / 500).interval(0.95) for d in range(501)]
    best = OptimalDensity(1.0, epsilon, interval_optimal_core(epsilon)).interval(0.95)
    assert best <= min(lengths) + 1e-12
    assert 0 <= interval_optimal_core(epsilon) <= 1


def test_the_factored_closed_form_is_the_published_one() -> None:
    for epsilon in (0.05, 0.3, 1.0, 4.0):
        b = math.exp(-epsilon)
        published = -b / (1 - b) + (b - 2 * b**2 + 2 * b**4 - b**5) ** (1 / 3) / (2 ** (1 / 3) * (1 - b) ** 2)
        assert variance_optimal_core(epsilon) == pytest.approx(published, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_the_density_integrates_to_one_and_has_the_stated_variance(epsilon: float) -> None:
    made = OptimalDensity(1.0, epsilon, 0.3)
    ends = [0.0, *(0.3 + i for i in range(200))]
    mass = 2 * sum(integrate.quad(made.density, a + 1e-12, b)[0] for a, b in pairwise(ends))
    square = 2 * sum(integrate.quad(lambda x: x * x * made.density(x), a + 1e-12, b)[0] for a, b in pairwise(ends))
    assert mass == pytest.approx(1)
    assert square == pytest.approx(made.variance, rel=1e-6)


def test_minimal_variance_is_minimal_among_all_cores_of_the_grid() -> None:
    for span in (1, 2, 7, 30):
        best = OptimalNoise.minimal_variance(sensitivity=span, epsilon=1)
        assert best.variance == min(noise(core, span).variance for core in range(span + 1))


def test_minimal_interval_is_minimal_among_all_cores_of_the_grid() -> None:
    for span in (1, 2, 7, 30):
        best = OptimalNoise.minimal_interval(sensitivity=span, epsilon=1, confidence=0.9)
        assert best.interval(0.9) == min(noise(core, span).interval(0.9) for core in range(span + 1))


def test_for_counts_the_optimal_noise_is_the_discrete_laplace() -> None:
    made = OptimalNoise.minimal_variance(sensitivity=1, epsilon=1)
    assert all(optimal(k, 0, 1, 1.0) == pytest.approx(discrete_laplace(k, 1.0)) for k in range(-20, 21))
    assert made.core == 0
    assert made.variance == pytest.approx(Laplace(sensitivity=1, epsilon=1).variance)


def test_the_optimum_beats_laplace_where_the_sensitivity_spans_many_steps() -> None:
    for epsilon in (0.5, 1, 2, 5):
        best = OptimalNoise.minimal_variance(sensitivity=1, epsilon=epsilon, grid="0.01")
        assert best.variance < Laplace(sensitivity=1, epsilon=epsilon, grid="0.01").variance


def test_the_privacy_map_counts_rings() -> None:
    made = noise(2, 5, "0.5")
    assert [made.privacy_map(distance) for distance in (1, 5, 6, 10, 11)] == [Fraction(n, 2) for n in (1, 1, 2, 2, 3)]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"core": 2}, r"`core` of `OptimalNoise` must be in \[0, 1.0\]"),
        ({"core": -1}, "`core`"),
        ({"sensitivity": 0}, "`sensitivity`"),
        ({"epsilon": 0}, "`epsilon`"),
        ({"neighbours": "none"}, "`neighbours`"),
    ],
)
def test_parameters_out_of_range_are_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        OptimalNoise(**{"sensitivity": 1, "epsilon": 1, "core": 0, **changed})  # type: ignore[arg-type]
