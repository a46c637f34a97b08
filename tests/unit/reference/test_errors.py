"""The measures of errors that other tests compare with."""

from __future__ import annotations

import numpy as np
import pytest

from reference.errors import (
    change_of_correlations,
    change_of_means,
    change_of_variances,
    correlations,
    information_loss,
    sae,
    semantic_sse,
    sse,
    sst,
)

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


def test_changes_are_relative() -> None:
    before, after = [[1.0, -2.0], [3.0, -4.0]], [[1.0, -2.0], [5.0, -4.0]]
    assert change_of_means(before, after).tolist() == [0.5, 0.0]
    assert change_of_variances(before, after).tolist() == [3.0, 0.0]


def test_a_change_from_nothing_is_infinite() -> None:
    assert change_of_means([[-1.0], [1.0]], [[0.0], [2.0]]).tolist() == [np.inf]
    assert change_of_variances([[1.0], [1.0]], [[1.0], [1.0]]).tolist() == [0.0]


def test_correlations_are_those_of_numpy_where_nothing_is_constant() -> None:
    values = np.random.default_rng(0).normal(size=(30, 4))
    assert np.allclose(correlations(values), np.corrcoef(values.T))


def test_a_constant_attribute_has_no_correlation() -> None:
    assert correlations([[1.0, 2.0], [1.0, 3.0]]).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_only_pairs_with_the_attributes_asked_for_are_counted() -> None:
    rng = np.random.default_rng(1)
    before = rng.normal(size=(50, 3))
    after = before.copy()
    after[:, 0] = rng.permutation(after[:, 0])
    changed = change_of_correlations(before, after)
    assert changed.maximum > changed.mean > 0.0
    assert changed.deviation > 0.0
    # the pair (1, 2) did not change; both pairs with attribute 0 did
    assert change_of_correlations(before, after, to=(0,)).mean == pytest.approx(1.5 * changed.mean)


def test_one_attribute_has_no_pairs() -> None:
    assert change_of_correlations([[1.0], [2.0]], [[2.0], [1.0]]).mean == 0.0
