"""Bins have round ends and hold every number."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.utility import round_edges

NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30)


@given(NUMBERS, st.integers(2, 40))
@example([5e15, -1e-308], 2)  # over the width of a bin that is 0
def test_bins_hold_every_number_or_there_are_none(numbers: list[float], most: int) -> None:
    edges = round_edges(np.array(numbers), np.ones(len(numbers)), most)
    if edges is None:
        return
    assert (np.diff(edges) > 0).all()
    assert edges[0] <= min(numbers)
    assert max(numbers) < edges[-1]
    assert len(edges) <= most + 3


def test_amounts_of_very_different_size_get_a_logarithmic_scale() -> None:
    edges = round_edges(np.array([700.0, 900.0, 2_000.0, 300_000.0]), np.array([50.0, 50.0, 50.0, 1.0]), 24)
    assert edges is not None
    assert edges.tolist()[:4] == [700.0, 1000.0, 1500.0, 2000.0]
    assert edges.tolist()[-2:] == [300_000.0, 500_000.0]


def test_numbers_that_floats_cannot_tell_apart_get_no_bins() -> None:
    for numbers in ([-1.7e308, 1.7e308], [1e300, 1e300 * (1 + 1e-15)], [0.0, 5e-324], [3.0]):
        assert round_edges(np.array(numbers), np.ones(len(numbers)), 24) is None
