"""What a sample says about its population."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import hyp2f1

from reference.examples import examples
from shoal.errors import ParameterError
from shoal.kernels.superpopulation import SizeCounts, pitman_classes
from shoal.models import Classes
from shoal.risk import PopulationUniqueness, individual_risk, population_uniqueness

MIXED = np.array([1] * 300 + [2] * 80 + [3] * 30 + [7] * 20)


def _estimated(sizes: np.ndarray, fraction: float) -> PopulationUniqueness:
    return population_uniqueness(Classes(sizes=sizes), fraction)


@examples(30)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=50), st.floats(0.01, 1.0))
def test_shares_are_shares(sizes: list[int], fraction: float) -> None:
    found = _estimated(np.array(sizes), fraction)
    for share in (found.pitman, found.zayatz, found.snb, found.share, found.sample):
        assert share is None or 0 <= share <= 1 + 1e-9
    assert found.population >= sum(sizes)
    assert found.people == pytest.approx(found.share * found.population)
    assert 0 <= found.reidentifications <= sum(sizes) + 1e-9


def test_small_fractions_are_left_to_pitman() -> None:
    found = _estimated(MIXED, 0.1)
    assert found.chosen == "pitman"
    assert found.share == found.pitman


def test_larger_fractions_take_the_smaller_of_two_models() -> None:
    found = _estimated(MIXED, 0.3)
    assert found.snb is not None
    assert found.share == min(found.snb, found.zayatz)
    assert found.chosen == ("snb" if found.snb <= found.zayatz else "zayatz")


def test_zayatz_helps_out_where_a_model_has_no_solution() -> None:
    everybody = np.ones(200, dtype=np.int64)
    for fraction in (0.05, 0.5):
        found = _estimated(everybody, fraction)
        assert found.chosen == "zayatz"
        assert found.share == pytest.approx(1.0)


def test_the_whole_population_needs_no_estimate() -> None:
    found = _estimated(MIXED, 1.0)
    assert found.pitman == found.zayatz == found.snb == found.share == found.sample == 300 / MIXED.sum()


def test_nobody_unique_in_the_sample_is_nobody_in_the_population() -> None:
    found = _estimated(np.array([2, 3, 4]), 0.1)
    assert (found.pitman, found.zayatz, found.snb, found.share, found.people) == (0.0, 0.0, 0.0, 0.0, 0.0)


def test_no_records_no_risk() -> None:
    assert _estimated(np.array([], dtype=np.int64), 0.5).share == 0.0


def _population() -> np.ndarray:
    return np.maximum(1, np.random.default_rng(7).lognormal(0.5, 1.2, 20_000).astype(np.int64))


@pytest.mark.parametrize(("fraction", "tolerance"), [(0.02, 0.35), (0.05, 0.2), (0.3, 0.1), (0.6, 0.05)])
def test_expected_links_are_those_of_a_known_population(fraction: float, tolerance: float) -> None:
    people = _population()
    drawn = np.random.default_rng(11).multivariate_hypergeometric(
        people, round(people.sum() * fraction), method="count"
    )
    true = float((drawn / people).sum())
    found = _estimated(drawn[drawn > 0], fraction)
    assert found.reidentifications == pytest.approx(true, rel=tolerance)
    # each class by itself, as the figure once was
    alone = individual_risk(drawn[drawn > 0], drawn[drawn > 0] / fraction) @ drawn[drawn > 0]
    assert abs(alone - true) > abs(found.reidentifications - true)


@examples(50)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=60), st.floats(0.01, 1.0))
def test_links_are_at_least_the_uniques_and_at_most_one_per_class(sizes: list[int], fraction: float) -> None:
    found = _estimated(np.array(sizes), fraction)
    floor = found.share * sum(sizes)
    assert found.reidentifications >= floor - 1e-9
    assert found.reidentifications <= max(found.at_most, floor) + 1e-9
    assert found.at_most == len(sizes)
    assert found.errs


def test_the_whole_population_is_linked_class_by_class() -> None:
    found = _estimated(MIXED, 1.0)
    assert found.reidentifications == len(MIXED)
    assert found.errs.startswith("exact")


def test_pitman_predicts_no_new_classes_where_everybody_was_sampled() -> None:
    counts = SizeCounts.of(MIXED)
    assert pitman_classes(counts, counts.records) == pytest.approx(len(MIXED))


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.1, float("nan")])
def test_fractions_are_fractions(fraction: float) -> None:
    with pytest.raises(ParameterError, match="sampling_fraction"):
        _estimated(MIXED, fraction)


@pytest.mark.slow
@given(st.integers(1, 80), st.floats(0.01, 0.999))
def test_it_is_the_expectation_of_one_over_the_people(f: int, p: float) -> None:
    expected = p**f / f * hyp2f1(f, f, f + 1, 1 - p)
    tolerance = 1e-9 if f <= 60 else 5e-5
    assert individual_risk([f], [f / p])[0] == pytest.approx(expected, rel=tolerance)


def test_the_published_example_of_sdcmicro() -> None:
    # Templ, Kowarik, Meindl, J. Stat. Soft. 67 (4), 2015, table 2: eight records with sampling weights
    frequencies, weights = [2, 2, 2, 1, 1, 1, 1, 2], [110.0, 84.5, 84.5, 17.0, 541.0, 8.0, 5.0, 110.0]
    expected = [0.017, 0.022, 0.022, 0.177, 0.012, 0.297, 0.402, 0.017]
    assert individual_risk(frequencies, weights).round(3).tolist() == expected


def test_with_everybody_sampled_it_is_one_over_the_class() -> None:
    assert individual_risk([1, 4, 100], [1, 4, 100]).tolist() == [1.0, 0.25, 0.01]


def test_more_people_are_less_risk() -> None:
    assert np.all(np.diff(individual_risk([3] * 5, [3, 5, 10, 100, 1000])) < 0)


def test_fewer_people_than_records_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least"):
        individual_risk([3], [2])
