"""Risk from class sizes, against counting by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.models import Classes
from shoal.risk import reidentification


@given(st.lists(st.integers(1, 200), min_size=1, max_size=60))
def test_the_figures_agree_with_counting_records_one_by_one(sizes: list[int]) -> None:
    risk = reidentification(Classes(sizes=np.array(sizes)))
    records = [size for size in sizes for _ in range(size)]
    assert risk.records == len(records)
    assert risk.unique == Counter(records)[1]
    assert risk.prosecutor == max(1 / size for size in records)
    assert risk.marketer == pytest.approx(sum(1 / size for size in records) / len(records))
    assert sum(band.records for band in risk.sizes) == len(records)
    assert sum(band.classes for band in risk.sizes) == len(sizes)
    for k in (2, 3, 5, 10, 20, 50, 100):
        assert risk.below(k) == sum(size < k for size in records)


def test_a_population_lowers_the_journalists_and_the_marketers_risk() -> None:
    risk = reidentification(Classes(sizes=np.array([1, 2]), population=np.array([10, 4])))
    assert risk.prosecutor == 1.0
    assert risk.journalist == 1 / 4
    assert risk.marketer == pytest.approx((1 / 10 + 2 / 4) / 3)


def test_without_a_population_the_journalists_risk_is_unknown() -> None:
    assert reidentification(Classes(sizes=np.array([3]))).journalist is None


def test_an_empty_table_has_no_risk() -> None:
    risk = reidentification(Classes(sizes=np.array([], dtype=np.int64)))
    assert (risk.records, risk.classes, risk.prosecutor, risk.marketer) == (0, 0, 0.0, 0.0)
