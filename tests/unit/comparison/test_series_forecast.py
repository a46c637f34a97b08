"""Forecasts of a series: what they say comes about, and which classes they advise."""

from __future__ import annotations

import pytest
from tests.unit.series.conftest import crowd_of, table_of

import shoal
from shoal.comparison import choose_forecast
from shoal.errors import ParameterError


def test_larger_classes_lose_more_and_leave_fewer_stale() -> None:
    table = table_of(crowd_of(150))
    found = shoal.comparison.forecast_series(
        table, key="id", k=2, releases=3, newcomers=0.1, leavers=0.05, sizes=(2, 20)
    )
    small, large = found
    assert [len(small.loss), small.class_size, large.class_size] == [3, 2, 20]
    assert small.loss[0] < large.loss[0]
    assert small.stale[2] > large.stale[2]
    assert small.alone[0] is None
    chosen = choose_forecast(found)
    assert chosen is None or chosen.stale[1] + chosen.hidden[1] <= 0.05


def test_nothing_is_stale_where_nobody_leaves() -> None:
    table = table_of(crowd_of(60))
    (found,) = shoal.comparison.forecast_series(table, key="id", k=2, releases=2, leavers=0, sizes=(2,))
    assert found.stale == (0, 0)
    assert choose_forecast([found]) == found


def test_a_key_that_the_schema_releases_is_refused() -> None:
    with pytest.raises(ParameterError, match="needs the role"):
        shoal.comparison.forecast_series(table_of(crowd_of(20)), key="age", k=2)
