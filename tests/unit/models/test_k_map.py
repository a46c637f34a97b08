from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.models import Classes, KMap


def test_the_population_counts_not_the_sample() -> None:
    classes = Classes(sizes=np.array([1, 9, 2]), population=np.array([5, 4, 0]))
    assert KMap(5).keep(classes, np.array([True, True, True])).tolist() == [True, False, False]
    assert KMap(5).achieved(classes, np.array([True, True, False])) == {"k": 4}


def test_without_a_population_table_the_user_is_told() -> None:
    with pytest.raises(ParameterError, match="`KMap` needs a population table") as raised:
        KMap(5).keep(Classes(sizes=np.array([1])), np.array([True]))
    assert raised.value.hint is not None


def test_the_search_is_told_that_the_population_is_needed_and_that_small_classes_are_fine() -> None:
    assert KMap(5).capabilities.population
    assert KMap(5).capabilities.minimal_class_size == 1
