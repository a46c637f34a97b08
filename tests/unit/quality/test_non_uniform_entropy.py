from __future__ import annotations

import math

import numpy as np
import pytest

from reference.example import MIDDLE, PEOPLE
from reference.quality import Column, Table, node_recoding
from shoal.quality import CellObjective, NonUniformEntropy

ALL = np.ones(3, dtype=np.bool_)


def test_bits_are_counted_against_releasing_nothing() -> None:
    """q0 has the counts 4, 1, 2, 1 and q1 the counts 2, 2, 1, 3; pairs of both have 5, 3 and 4, 4 records."""
    lost = 5 * math.log2(5) + 3 * math.log2(3) - (4 * 2 + 2) + 8 * 2 - (2 + 2 + 3 * math.log2(3))
    everything = 16 * 3 - (4 * 2 + 2) - (2 + 2 + 3 * math.log2(3))
    found = NonUniformEntropy().value(node_recoding(PEOPLE, MIDDLE, ALL), PEOPLE.frequencies())
    assert found == pytest.approx(lost / everything)


def test_nothing_generalised_is_nothing_lost_and_everything_is_all() -> None:
    frequencies = PEOPLE.frequencies()
    nothing = node_recoding(PEOPLE, (0, 0), np.ones(7, dtype=np.bool_))
    everything = node_recoding(PEOPLE, (2, 2), np.ones(1, dtype=np.bool_))
    assert NonUniformEntropy().value(nothing, frequencies) == pytest.approx(0, abs=1e-15)
    assert NonUniformEntropy().value(everything, frequencies) == pytest.approx(1)


def test_it_adds_up_over_cells_so_that_kernels_can_evaluate_it() -> None:
    objective = NonUniformEntropy().objective(PEOPLE.frequencies())
    assert isinstance(objective, CellObjective)
    assert objective.superadditive
    value = NonUniformEntropy().value(node_recoding(PEOPLE, MIDDLE, ALL), PEOPLE.frequencies())
    assert objective.floor(MIDDLE) == pytest.approx(value)


@pytest.mark.parametrize("records", [1, 3, 11])
def test_a_table_of_one_value_has_no_bits_to_lose(records: int) -> None:
    constant = Table((Column(((0,), (0,))),), (((0,), 0),) * records)
    found = NonUniformEntropy().value(node_recoding(constant, (1,), np.array([True])), constant.frequencies())
    assert found == 0
