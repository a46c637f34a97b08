from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.examples import examples
from reference.noise import BoxDensity, OptimalDensity, ring
from shoal.errors import ParameterError
from shoal.mechanisms import OptimalBoxNoise, OptimalNoise

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


def test_drawing_a_box_and_a_point_in_it_gives_the_density_of_the_rings() -> None:
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
def test_parameters_out_of_range_are_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        OptimalBoxNoise(**{"sensitivities": (1, 1), "epsilon": 1, **changed})  # type: ignore[arg-type]


def test_the_number_of_values_must_fit() -> None:
    with pytest.raises(ParameterError, match="must be 2 numbers; got 1"):
        made().release((1,))
