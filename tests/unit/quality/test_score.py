from __future__ import annotations

import math

import pytest

from shoal.errors import ParameterError
from shoal.quality.score import relative_score


def test_less_loss_and_less_linkage_both_raise_the_score() -> None:
    base = {"baseline_sse": 100.0, "baseline_linkage": 10.0}
    same = relative_score(sse=100.0, linkage=10.0, **base).score
    assert same == 1.0
    assert relative_score(sse=25.0, linkage=10.0, **base).score == 2.0
    assert relative_score(sse=100.0, linkage=2.0, **base).score == 5.0


def test_nothing_lost_and_nothing_linked_is_no_division_by_zero() -> None:
    result = relative_score(sse=0.0, linkage=0.0, baseline_sse=0.0, baseline_linkage=5.0)
    assert (result.sse_factor, result.rl_factor) == (1.0, math.inf)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_figures_out_of_range_are_refused(value: float) -> None:
    with pytest.raises(ParameterError, match="`linkage` of `relative_score`"):
        relative_score(sse=1.0, linkage=value, baseline_sse=1.0, baseline_linkage=1.0)
