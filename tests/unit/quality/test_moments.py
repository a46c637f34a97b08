from __future__ import annotations

import numpy as np
import pytest

from shoal.quality.moments import change_of_correlations, change_of_means, change_of_variances, correlations


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
