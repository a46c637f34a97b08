from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import shoal
from shoal.errors import ParameterError, ShoalError
from shoal.models import Classes, EstimatedKMap, KMap


def test_the_population_counts_not_the_sample() -> None:
    classes = Classes(sizes=np.array([1, 9, 2]), population=np.array([5, 4, 0]))
    assert KMap(5).keep(classes, np.array([True, True, True])).tolist() == [True, False, False]
    assert KMap(5).find_achieved(classes, np.array([True, True, False])) == {"k": 4}


def test_without_a_population_table_the_user_is_told() -> None:
    with pytest.raises(ParameterError, match="`KMap` needs a population table") as raised:
        KMap(5).keep(Classes(sizes=np.array([1])), np.array([True]))
    assert raised.value.hint is not None


def test_the_search_is_told_that_the_population_is_needed_and_that_small_classes_are_fine() -> None:
    assert KMap(5).capabilities.population
    assert KMap(5).capabilities.minimal_class_size == 1


@pytest.mark.parametrize("k", [1, 2, 20, 100, 101, 2000])
@pytest.mark.parametrize("chance", [0.003, 0.1, 0.5])
def test_the_fewest_records_are_the_quantile_of_the_binomial_distribution(k: int, chance: float) -> None:
    least = EstimatedKMap(k, chance).least
    assert binom.sf(least - 1, k - 1, chance) <= 0.05
    assert least == 1 or binom.sf(least - 2, k - 1, chance) > 0.05


def test_without_any_chance_of_being_wrong_it_is_k_anonymity() -> None:
    assert EstimatedKMap(7, 0.01, 0).least == 7
    assert EstimatedKMap(7, 1).least == 7


def test_a_tie_with_the_significance_passes() -> None:
    # of 2 people both are drawn with the probability 1/4
    assert EstimatedKMap(3, Fraction(1, 2), Fraction(1, 4)).least == 2
    assert EstimatedKMap(3, Fraction(1, 2), Fraction(24, 100)).least == 3


def test_the_most_people_for_the_smallest_class_are_achieved() -> None:
    model = EstimatedKMap(20, 0.1)
    found = model.find_achieved(Classes(sizes=np.array([5, 9])))
    assert EstimatedKMap(found["k"], 0.1).least == 5
    assert EstimatedKMap(found["k"] + 1, 0.1).least == 6


def test_only_recodings_say_who_fits_a_class() -> None:
    people = pa.table({"age": [str(20 + row % 7) for row in range(60)]})
    schema = shoal.Schema(attributes=(shoal.Attribute(name="age", role="quasi-identifier"),))
    table = shoal.read(people).with_schema(schema)
    release = shoal.anonymize(table, EstimatedKMap(20, 0.1), method=shoal.Generalize())
    assert release.after.smallest >= 5
    assert "fewer than 20 people in the population" in release.guarantee.promises[0].statement
    with pytest.raises(ShoalError, match="cannot keep `EstimatedKMap`"):
        shoal.anonymize(table, EstimatedKMap(20, 0.1), method=shoal.methods.TMicroaggregate())
