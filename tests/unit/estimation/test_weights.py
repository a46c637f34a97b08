"""Weights of truthful releases: counted again by hand, and their expectation from the definition of the noise."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError, ParameterError
from shoal.estimation import expected_weight, weighted
from shoal.methods.truthful import Sampled, Trimmed
from shoal.schema import Attribute, Domain, Role, Schema

TRIMMED = Trimmed(m=4, least=1, epsilon_spent=Fraction(1), delta_spent=Fraction(1, 100), definition="probabilistic")
ROWS = pa.table({"town": ["a", "a", None, "b", None, "a"], "age": [1, 1, 2, 1, 2, 3]})


def test_the_weights_of_a_class_add_up_to_what_it_shows_and_m() -> None:
    made = weighted([TRIMMED], ROWS).to_pylist()
    shown = Counter((row["town"], row["age"]) for row in made)
    for row in made:
        x = shown[row["town"], row["age"]]
        assert row["weight"] == pytest.approx((x + 4) / x)


def test_sampled_records_stand_for_one_over_beta() -> None:
    sampled = Sampled(
        beta=Fraction(1, 4), k=5, epsilon_spent=Fraction(1), delta_spent=Fraction(1, 9), definition="standard"
    )
    assert set(weighted([sampled], ROWS)["weight"].to_pylist()) == {4.0}


def test_other_releases_get_no_weights() -> None:
    with pytest.raises(ParameterError, match="not made by method `truthful`"):
        weighted([], ROWS)
    with pytest.raises(ParameterError, match="already has a column `weight`"):
        weighted([TRIMMED], ROWS.rename_columns(["town", "weight"]))
    with pytest.raises(InputError, match="there is no release folder"):
        shoal.estimation.weighted_records("nowhere")


@pytest.mark.parametrize(("m", "epsilon", "least"), [(12, 0.9, 1), (12, 0.9, 5), (3, 2.0, 1), (40, 0.1, 2)])
def test_the_expectation_is_that_of_the_definition(m: int, epsilon: float, least: int) -> None:
    weights = [math.exp(-epsilon * abs(j - m)) for j in range(m + 8_000)]
    for size in (0, 1, least, m, m + 1, 2 * m, 5 * m):
        expected = sum(p * (size - j + m) for j, p in enumerate(weights) if size - j >= least) / sum(weights)
        assert expected_weight(size, m=m, epsilon=epsilon, least=least) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("m", "epsilon"), [(12, 0.9), (7, 2.0), (86, 0.1)])
def test_no_class_is_estimated_too_large_and_large_ones_are_short_by_what_is_stated(m: int, epsilon: float) -> None:
    r = math.exp(-epsilon)
    short = r ** (m + 1) * (m + 1 + r / (1 - r)) / (1 + r - r ** (m + 1))
    for size in range(1, 6 * m):
        assert expected_weight(size, m=m, epsilon=epsilon) <= size
    assert expected_weight(60 * m, m=m, epsilon=epsilon) == pytest.approx(60 * m - short, abs=1e-6)


def test_a_release_and_its_folder_say_the_same(tmp_path: Path) -> None:
    town = Attribute(name="town", role=Role.QUASI_IDENTIFIER, domain=Domain(values=("a", "b", "c")))
    rows = pa.table({"town": ["a"] * 300 + ["b"] * 100})
    made = shoal.anonymize(
        shoal.read(rows).with_schema(Schema(attributes=(town,))),
        shoal.DifferentialPrivacy(epsilon=2, delta=1e-6),
        method=shoal.methods.Truthful(),
    )
    total = made.weighted()["weight"].to_numpy().sum()
    assert total == pytest.approx(400, abs=60)
    assert shoal.estimation.weighted_records(made.write(tmp_path / "release")).equals(made.weighted())


@pytest.mark.parametrize(("m", "epsilon", "least"), [(12, "0.9", 1), (3, "2", 1), (5, "0.5", 4)])
def test_the_estimate_of_a_class_that_is_shown_is_too_high_where_it_is_small(m: int, epsilon: str, least: int) -> None:
    rate = float(epsilon)
    chances = {lost: math.exp(-rate * abs(lost - m)) for lost in range(400)}
    for size in (least, least + 1, m, 2 * m, 100):
        seen = {lost: chance for lost, chance in chances.items() if size - lost >= least}
        mean = sum(chance * (size - lost + m) for lost, chance in seen.items()) / sum(seen.values())
        assert expected_weight(size, m=m, epsilon=epsilon, least=least, shown=True) == pytest.approx(mean, rel=1e-9)
        assert mean > size or size > m
    assert expected_weight(least, m=m, epsilon=epsilon, least=least, shown=True) == least + m
