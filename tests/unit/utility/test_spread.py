"""Generalised values spread over their leaves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import shoal
from reference.risk import SIZES, boxes, pair_of
from reference.utility import marginal, spread
from shoal.risk import Pair
from shoal.utility._spread import draw_leaves, leaf_shares, moments, overlaps


@pytest.mark.slow
@given(boxes())
def test_shares_are_those_of_spread_records(released: list) -> None:
    pair = pair_of([(0, 0, 0)], released)
    masses = spread(released)
    for column, size in enumerate(SIZES):
        shares = leaf_shares(pair.released, column, pair.axes[column])
        assert shares.tolist() == pytest.approx([float(share) for share in marginal(masses, column, size)], abs=1e-9)


@pytest.mark.slow
@given(boxes())
def test_moments_are_those_of_the_leaves(released: list) -> None:
    pair = pair_of([(0, 0, 0)], released, ordered=(2,))
    found = moments(pair.released, 2, pair.axes[2])
    assert found is not None
    for row in range(len(pair.released)):
        leaves = np.arange(pair.released.low[row, 2], pair.released.high[row, 2] + 1)
        assert found.first[row] == pytest.approx(leaves.mean())
        assert found.second[row] == pytest.approx((leaves**2).mean())
    assert moments(pair.released, 0, pair.axes[0]) is None


@pytest.mark.slow
@given(boxes())
def test_drawn_leaves_lie_in_their_boxes_and_every_leaf_is_drawn(released: list) -> None:
    pair = pair_of([(0, 0, 0)], released)
    rows = np.repeat(np.arange(len(pair.released)), 200)
    drawn = draw_leaves(pair.released, rows, np.random.default_rng(1))
    assert np.all((pair.released.low[rows] <= drawn) & (drawn <= pair.released.high[rows]))
    for row in range(len(pair.released)):
        for column in range(3):
            width = int(pair.released.high[row, column] - pair.released.low[row, column]) + 1
            # 200 draws of at most 5 leaves miss one with a chance of 5 * 0.8^200
            assert len(np.unique(drawn[rows == row, column])) == width


def test_overlaps_are_chances() -> None:
    pair = pair_of([(0, 0, 0)], [((0, 3), (1, 1), (0, 0)), ((2, 2), (0, 0), (0, 0))])
    found = dict(zip(pair.released.low[:, 0].tolist(), overlaps(pair.released, 0, 1, 2).tolist(), strict=True))
    assert found == {0: 0.5, 2: 1.0}


def test_missing_values_have_no_moments_and_stars_those_of_the_others() -> None:
    schema = shoal.Schema(attributes=(shoal.Attribute(name="pay", role="quasi-identifier", kind="numeric"),))
    people = shoal.read(pa.table({"pay": [1.0, 3.0, None]})).with_schema(schema)
    pair = Pair.of(people, shoal.read(pa.table({"pay": [None, "*"]})))
    found = moments(pair.released, 0, pair.axes[0])
    assert found is not None
    assert sorted(found.first.tolist(), key=str) == [2.0, pytest.approx(np.nan, nan_ok=True)]
