from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.models import Classes, KAnonymity, ProbabilisticKAnonymity

BOTH = pytest.mark.parametrize("model", [KAnonymity, ProbabilisticKAnonymity])


@BOTH
def test_classes_of_at_least_k_records_are_kept(model: type[KAnonymity]) -> None:
    classes = Classes(sizes=np.array([1, 4, 5, 6]))
    assert model(5).keep(classes, np.array([True, True, True, False])).tolist() == [False, False, True, False]


@BOTH
def test_the_achieved_k_is_the_smallest_released_class(model: type[KAnonymity]) -> None:
    classes = Classes(sizes=np.array([1, 4, 5, 6]))
    assert model(5).find_achieved(classes) == {"k": 1}
    assert model(5).find_achieved(classes, np.array([False, False, True, True])) == {"k": 5}
    assert model(5).find_achieved(classes, np.zeros(4, dtype=np.bool_)) == {}


@BOTH
@pytest.mark.parametrize("k", [0, -1, 2.5, True, "5"])
def test_k_must_be_a_positive_integer(model: type[KAnonymity], k: object) -> None:
    with pytest.raises(ParameterError, match=rf"`k` of `{model.__name__}` must be an integer in \[1, inf\)"):
        model(k)  # type: ignore[arg-type]


def test_the_statement_counts_the_others() -> None:
    assert KAnonymity(5).statement() == "Every record shares its quasi-identifiers with at least 4 other records."


def test_the_statement_is_about_a_probability_and_not_about_looking_alike() -> None:
    assert ProbabilisticKAnonymity(5).statement().endswith("with a probability of at most 1/5.")
    assert "shares" not in ProbabilisticKAnonymity(5).statement()


def test_it_can_be_kept_by_exchanging_values() -> None:
    assert ProbabilisticKAnonymity(2).capabilities.linkage
    assert not KAnonymity(2).capabilities.linkage


def test_one_other_record_is_one() -> None:
    assert KAnonymity(2).statement().endswith("with at least 1 other record.")
    assert KAnonymity(3).statement().endswith("with at least 2 other records.")
