"""Optimal noise on a line and in a box, against its definition."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize

from reference.examples import examples
from reference.noise import BoxDensity, OptimalDensity, discrete_laplace, optimal, ring
from shoal.errors import ParameterError
from shoal.mechanisms import Laplace, OptimalBoxNoise, OptimalNoise, interval_optimal_core, variance_optimal_core

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
    # a box: k with weight w_k x^k (w_0 = V_0, w_1 = V_1 - V_0), then k plus k + 1 geometric draws
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


SPANS, CORE = (2, 5), Fraction(1, 2)
CORES = (1, 2)


def ring_of(point: tuple[int, ...]) -> int:
    return max(ring(k, core, span) for k, core, span in zip(point, CORES, SPANS, strict=True))


def made(epsilon: Fraction | int | str = 1) -> OptimalBoxNoise:
    return OptimalBoxNoise(sensitivities=SPANS, epsilon=epsilon, core=CORE)


def masses(epsilon: float, reach: int = 40) -> dict[tuple[int, ...], float]:
    """Return the definition on a finite part of the grid, normalised there; the rest is below e^-(8 epsilon)."""
    ends = [core + reach * span for core, span in zip(CORES, SPANS, strict=True)]
    points = itertools.product(*(range(-end, end + 1) for end in ends))
    weights = {point: math.exp(-epsilon * ring_of(point)) for point in points}
    total = sum(weights.values())
    return {point: weight / total for point, weight in weights.items()}


def test_every_change_inside_the_box_crosses_one_ring_at_most() -> None:
    # exact: the exponents are whole multiples of epsilon
    shifts = list(itertools.product(range(-2, 3), range(-5, 6)))
    for point in itertools.product(range(-11, 12), range(-23, 24)):
        for shift in shifts:
            moved = tuple(a + b for a, b in zip(point, shift, strict=True))
            assert abs(ring_of(point) - ring_of(moved)) <= 1


def test_a_change_outside_the_box_crosses_two() -> None:
    assert max(abs(ring_of((k, 0)) - ring_of((k + 3, 0))) for k in range(-20, 20)) == 2


def test_variances_are_those_of_the_definition() -> None:
    exact = masses(1.0)
    for j in (0, 1):
        assert made().variance(j) == pytest.approx(sum(k[j] ** 2 * mass for k, mass in exact.items()), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.2, 0.6, 0.9, 0.99])
def test_the_region_holds_its_probability_and_little_more(confidence: float) -> None:
    exact = masses(1.0)
    ends = made().region(confidence)
    held = sum(mass for k, mass in exact.items() if all(abs(x) <= end for x, end in zip(k, ends, strict=True)))
    assert held >= confidence - 1e-9
    smaller = [end - 1 for end in ends]
    less = sum(mass for k, mass in exact.items() if all(abs(x) <= end for x, end in zip(k, smaller, strict=True)))
    assert less < confidence


def test_drawing_a_plane_box_and_a_point_in_it_gives_the_density_of_the_rings() -> None:
    rings, epsilon = made(2).rings, 2.0
    weights = [math.exp(-epsilon * i) * float(rings.volume(i)) for i in range(200)]
    exact = masses(epsilon)
    for point in ((0, 0), (2, 0), (0, 3), (5, 12), (-4, -9)):
        mixed = sum(weights[i] / float(rings.volume(i)) for i in range(ring_of(point), 200)) / sum(weights)
        assert mixed == pytest.approx(exact[point], rel=1e-6)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.fractions(Fraction(1, 4), 3, max_denominator=20))
@examples(25)
def test_the_box_index_has_weight_b_to_the_i_times_volume(spans: list[int], epsilon: Fraction) -> None:
    # the sampler's mixture of sums of geometric draws, written out, against the weights it must have
    rings = OptimalBoxNoise(sensitivities=spans, epsilon=epsilon).rings
    from shoal.mechanisms._rings import _differences

    b, n = math.exp(-epsilon), len(spans)
    x = b / (1 - b)
    w = [float(each) for each in _differences(rings.volume, n)]
    assert min(w) >= 0
    total = sum(each * x**k for k, each in enumerate(w))
    for i in (0, 1, 2, 7):
        drawn = sum(
            w[k] * x**k / total * math.comb(i, k) * b ** (i - k) * (1 - b) ** (k + 1) for k in range(min(i, n) + 1)
        )
        wanted = b**i * float(rings.volume(i)) / sum(b**j * float(rings.volume(j)) for j in range(600))
        assert drawn == pytest.approx(wanted, rel=1e-6)


def test_one_dimension_is_the_univariate_noise() -> None:
    box = OptimalBoxNoise(sensitivities=(7,), epsilon=1, core=Fraction(3, 7))
    line = OptimalNoise(sensitivity=7, epsilon=1, core=3)
    assert box.variance(0) == pytest.approx(line.variance)
    assert BoxDensity((0.4,), (1.0,), 1.0).variance(0) == pytest.approx(OptimalDensity(1.0, 1.0, 0.4).variance)


def test_release_keeps_each_number_on_its_grid() -> None:
    noise = OptimalBoxNoise(sensitivities=(1, 10), epsilon=1, grids=("0.25", 5))
    first, second = noise.release((3, 100))
    assert (first * 4) % 1 == 0
    assert second % 5 == 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sensitivities": ()}, "must not be empty"),
        ({"sensitivities": (1, 0)}, "`sensitivities` of `OptimalBoxNoise` must be above 0"),
        ({"core": 2}, r"`core` of `OptimalBoxNoise` must be in \[0, 1\]"),
        ({"grids": (1, 1, 1)}, "`grids` of `OptimalBoxNoise` must be one or 2 steps; got 3"),
        ({"neighbours": ""}, "`neighbours`"),
    ],
)
def test_parameters_of_a_box_out_of_range_are_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        OptimalBoxNoise(**{"sensitivities": (1, 1), "epsilon": 1, **changed})  # type: ignore[arg-type]


def test_the_number_of_values_must_fit() -> None:
    with pytest.raises(ParameterError, match="must be 2 numbers; got 1"):
        made().release((1,))
