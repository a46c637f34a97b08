from __future__ import annotations

import numpy as np
import pytest

from reference.example import MIDDLE, PEOPLE
from reference.quality import node_recoding
from shoal.quality import CellObjective, Precision

ALL = np.ones(3, dtype=np.bool_)


def test_level_one_of_two_is_a_half() -> None:
    assert Precision().value(node_recoding(PEOPLE, MIDDLE, ALL), PEOPLE.frequencies()) == pytest.approx(1 / 2)


def test_suppressed_records_count_one() -> None:
    kept = np.array([False, True, True])
    assert Precision().value(node_recoding(PEOPLE, MIDDLE, kept), PEOPLE.frequencies()) == pytest.approx(
        (4 + 4 / 2) / 8
    )


@pytest.mark.parametrize(
    ("balance", "expected"), [(0.0, 2 / 8), (0.25, 4 / 8), (0.5, 6 / 8), (0.75, 5 / 8), (1.0, 4 / 8)]
)
def test_the_balance_weighs_suppression_against_generalisation(balance: float, expected: float) -> None:
    """Four records are suppressed and four are half generalised."""
    kept = np.array([False, True, True])
    found = Precision(balance=balance).value(node_recoding(PEOPLE, MIDDLE, kept), PEOPLE.frequencies())
    assert found == pytest.approx(expected)


def test_the_levels_alone_tell_the_value_without_suppression() -> None:
    objective = Precision(weights={"q0": 3.0}).objective(PEOPLE.frequencies())
    assert isinstance(objective, CellObjective)
    assert objective.superadditive
    assert objective.floor((2, 1)) == pytest.approx((3 * 1 + 1 * 0.5) / 4)
