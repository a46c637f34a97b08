"""The risk of single records, against the hypergeometric function and a published example."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import hyp2f1

from shoal.errors import ParameterError
from shoal.risk import individual_risk


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
