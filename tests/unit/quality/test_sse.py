from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import DataError
from shoal.quality.sse import information_loss, sae, semantic_sse, sse, sst

BEFORE = np.array([[1.0, 10.0], [3.0, 30.0], [5.0, 50.0]])
AFTER = np.array([[2.0, 10.0], [2.0, 30.0], [5.0, 40.0]])


def test_errors_add_up_over_records_and_attributes() -> None:
    assert sse(BEFORE, AFTER) == 1 + 1 + 100
    assert sae(BEFORE, AFTER) == 1 + 1 + 10
    assert sst(BEFORE) == 8 + 800


def test_no_change_is_no_loss_and_the_mean_record_is_all() -> None:
    assert information_loss(BEFORE, BEFORE) == 0.0
    assert information_loss(BEFORE, np.broadcast_to(BEFORE.mean(axis=0), BEFORE.shape)) == pytest.approx(1.0)


def test_standardised_loss_does_not_depend_on_units() -> None:
    units = np.array([1000.0, 0.01])
    assert information_loss(BEFORE * units, AFTER * units) == pytest.approx(information_loss(BEFORE, AFTER))
    assert information_loss(BEFORE * units, AFTER * units, standardized=False) != pytest.approx(
        information_loss(BEFORE, AFTER, standardized=False)
    )


def test_constant_attributes_lose_nothing_or_everything() -> None:
    assert information_loss([[2.0], [2.0]], [[2.0], [2.0]]) == 0.0
    assert information_loss([[2.0], [2.0]], [[2.0], [3.0]]) == np.inf


def test_one_column_may_be_flat_and_no_records_lose_nothing() -> None:
    assert sse([1.0, 2.0], [1.0, 4.0]) == 4.0
    assert information_loss(np.empty((0, 2)), np.empty((0, 2))) == 0.0


def test_categories_lose_their_squared_distances() -> None:
    table = np.array([[0.0, 0.5], [0.5, 0.0]])
    assert semantic_sse([[0], [1], [1]], [[1], [1], [0]], [table]) == 0.5


def test_shapes_must_agree() -> None:
    with pytest.raises(DataError, match="the same shape"):
        sse([[1.0, 2.0]], [[1.0]])
    with pytest.raises(DataError, match="one table of distances per column"):
        semantic_sse([[0]], [[0]], [])


def test_numbers_must_be_finite_and_are_not_shown() -> None:
    with pytest.raises(DataError, match="1 records hold values that are not finite numbers"):
        sae([[1.0], [np.nan]], [[1.0], [2.0]])
