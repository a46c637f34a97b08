"""Laplace and discrete Gaussian noise: their distributions, from their definitions."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reference.noise import QuickSource, discrete_laplace
from shoal.errors import MissingExtraError, ParameterError
from shoal.mechanisms import Laplace, SeededSource, discrete_gaussians


@given(
    st.fractions(Fraction(1, 100), 100, max_denominator=1000),
    st.fractions(Fraction(1, 100), 10, max_denominator=1000),
    st.fractions(Fraction(1, 100), 10, max_denominator=1000),
)
def test_the_scale_never_spends_more_than_epsilon(sensitivity: Fraction, epsilon: Fraction, grid: Fraction) -> None:
    mechanism = Laplace(sensitivity=sensitivity, epsilon=epsilon, grid=grid)
    assert mechanism.privacy_map(sensitivity) <= epsilon
    # and no smaller float would do
    assert mechanism.grid.span(sensitivity) / Fraction(math.nextafter(mechanism.scale, 0)) > epsilon


def test_opendp_agrees_on_the_privacy_of_its_mechanism() -> None:
    from shoal.mechanisms._noise import _opendp

    mechanism = Laplace(sensitivity=3, epsilon="0.7")
    theirs = _opendp(mechanism.scale).map(3)
    assert float(mechanism.privacy_map(3)) <= theirs <= 0.7000000000000002


def test_noise_that_is_next_to_none_has_a_variance() -> None:
    assert 0 < Laplace(sensitivity=1, epsilon=10_000).variance < 1e-300


@pytest.mark.parametrize("scale", [0.3, 2.0, 40.0])
def test_variance_and_interval_are_those_of_the_definition(scale: float) -> None:
    mechanism = Laplace(sensitivity=1, epsilon=1 / Fraction(scale))
    masses = {k: discrete_laplace(k, scale) for k in range(-3000, 3001)}
    assert mechanism.variance == pytest.approx(sum(k * k * mass for k, mass in masses.items()))
    for confidence in (0.5, 0.9, 0.95, 0.99):
        end = mechanism.interval(confidence)
        assert sum(mass for k, mass in masses.items() if abs(k) <= end) >= confidence
        assert sum(mass for k, mass in masses.items() if abs(k) < end) < confidence or end == 0


def test_the_grid_scales_value_noise_and_error() -> None:
    fine = Laplace(sensitivity="0.5", epsilon=1, grid="0.25")
    assert fine.scale == 2.0
    assert fine.interval(0.95) == Laplace(sensitivity=2, epsilon=1).interval(0.95) / 4
    assert (fine.release("10.3") * 4) % 1 == 0


def test_values_are_rounded_to_the_grid_before_noise() -> None:
    quiet = Laplace(sensitivity=1, epsilon=1000, grid=1)
    assert quiet.release("7.6") == 8
    assert quiet.release_all([1, 2, 3]) == [1, 2, 3]
    assert quiet.release_all([]) == []


def test_a_seed_repeats_and_the_system_does_not() -> None:
    mechanism = Laplace(sensitivity=100, epsilon=1)
    first, second = (mechanism.release_all([0] * 20, source=QuickSource(5)) for _ in range(2))
    assert first == second
    assert mechanism.release_all([0] * 20) != mechanism.release_all([0] * 20)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sensitivity": 0}, "`sensitivity` of `Laplace` must be above 0"),
        ({"epsilon": -1}, "`epsilon` of `Laplace` must be above 0"),
        ({"epsilon": float("nan")}, "`epsilon` of `Laplace` must be a finite number"),
        ({"grid": 0}, "`step` of `NoiseGrid` must be above 0"),
        ({"neighbours": "both"}, "`neighbours` of `Laplace` must be"),
        ({"grid": "1e-20"}, "must be in"),
    ],
)
def test_parameters_out_of_range_are_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Laplace(**{"sensitivity": 1, "epsilon": 1, **changed})  # type: ignore[arg-type]


def test_values_that_no_64_bit_integer_holds_are_refused() -> None:
    with pytest.raises(ParameterError, match="within 2\\^62 steps"):
        Laplace(sensitivity=1, epsilon=1).release(2**63)


def test_without_opendp_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.mechanisms._noise import _opendp

    _opendp.cache_clear()
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(MissingExtraError, match=r"shoal\[noise\]"):
        Laplace(sensitivity=1, epsilon=1).release(0)


def test_importing_mechanisms_does_not_import_opendp() -> None:
    code = "import shoal.mechanisms, sys; print('opendp' in sys.modules, 'flint' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_several_numbers_off_the_grid_are_refused_because_each_rounding_adds_a_step() -> None:
    # (1/2, 1/2) and (0, 0) differ by 1 in total and by 2 steps once rounded: epsilon would be exceeded twofold
    mechanism = Laplace(sensitivity=1, epsilon=1)
    assert sum(mechanism.grid.steps(value) for value in ("0.5", "0.5")) == 2
    with pytest.raises(ParameterError, match="multiples"):
        mechanism.release_all(["0.5", "0.5"])
    assert isinstance(mechanism.release("0.5"), int)


def _chi_square(found: np.ndarray, variance: float) -> float:
    reach = 6 * int(math.sqrt(variance) + 1)
    weights = np.array([math.exp(-i * i / (2 * variance)) for i in range(-reach, reach + 1)])
    expected = len(found) * weights / weights.sum()
    seen = np.bincount(np.clip(found, -reach, reach) + reach, minlength=2 * reach + 1)
    large = expected >= 5
    observed, wanted = np.append(seen[large], seen[~large].sum()), np.append(expected[large], expected[~large].sum())
    return float(stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue)


@pytest.mark.parametrize("variance", ["1/3", "1", "30", "2000"])
def test_the_distribution_is_the_defined_one_and_no_other(variance: str) -> None:
    found = discrete_gaussians(variance, 100_000, source=SeededSource(7))
    exact = float(Fraction(variance))
    assert _chi_square(found, exact) > 1e-6
    assert _chi_square(found, exact * 0.81) < 1e-6
    assert _chi_square(found, exact * 1.21) < 1e-6


def test_coins_that_floating_point_cannot_decide_are_decided_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    import shoal.mechanisms._noise as module

    monkeypatch.setattr(module, "_SURE", 2.0)
    found = discrete_gaussians(4, 3000, source=SeededSource(3))
    assert _chi_square(found, 4.0) > 1e-6


@pytest.mark.parametrize("variance", [0, -1])
def test_a_variance_that_is_none_is_refused(variance: int) -> None:
    with pytest.raises(ParameterError, match="variance"):
        discrete_gaussians(variance, 1)
