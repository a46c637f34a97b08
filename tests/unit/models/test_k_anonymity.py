from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.models import Classes, KAnonymity


def test_classes_of_at_least_k_records_are_kept() -> None:
    classes = Classes(sizes=np.array([1, 4, 5, 6]))
    assert KAnonymity(5).keep(classes, np.array([True, True, True, False])).tolist() == [False, False, True, False]


def test_the_achieved_k_is_the_smallest_released_class() -> None:
    classes = Classes(sizes=np.array([1, 4, 5, 6]))
    assert KAnonymity(5).achieved(classes) == {"k": 1}
    assert KAnonymity(5).achieved(classes, np.array([False, False, True, True])) == {"k": 5}
    assert KAnonymity(5).achieved(classes, np.zeros(4, dtype=np.bool_)) == {}


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "5"])
def test_k_must_be_a_positive_integer(k: object) -> None:
    with pytest.raises(ParameterError, match=r"`k` of `KAnonymity` must be an integer in \[1, inf\)"):
        KAnonymity(k)  # type: ignore[arg-type]


def test_the_statement_counts_the_others() -> None:
    assert KAnonymity(5).statement() == "Every record shares its quasi-identifiers with at least 4 other records."
