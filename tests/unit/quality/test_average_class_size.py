from __future__ import annotations

import numpy as np
import pytest

from reference.example import MIDDLE, PEOPLE
from reference.quality import Column, Table, node_classes, node_recoding
from shoal.errors import ParameterError
from shoal.models import Classes
from shoal.quality import AverageClassSize


@pytest.mark.parametrize(
    ("kept", "classes"),
    [([True, True, True], 3), ([True, False, True], 3), ([True, False, False], 2), ([False] * 3, 1)],
)
def test_all_suppressed_records_are_one_class(kept: list[bool], classes: int) -> None:
    recoding = node_recoding(PEOPLE, MIDDLE, np.array(kept))
    assert AverageClassSize().value(recoding, PEOPLE.frequencies()) == pytest.approx(8 / classes)


def test_an_empty_table_has_no_classes() -> None:
    empty = Table((Column(((0, 1), (0, 0))),), ())
    recoding = node_recoding(empty, (0,), np.ones(0, dtype=np.bool_))
    assert AverageClassSize().value(recoding, empty.frequencies()) == 0


def test_bounds_count_the_classes_that_can_be() -> None:
    objective = AverageClassSize().objective(PEOPLE.frequencies())
    classes, _ = node_classes(PEOPLE, MIDDLE)
    assert objective.floor(MIDDLE) == 8 / 4
    assert objective.floor((0, 0)) == 8 / 7
    assert objective.base(MIDDLE, classes) == 8 / 3
    assert objective.excess(MIDDLE, Classes(sizes=np.array([1, 1, 1]))) == pytest.approx(8 / 5 - 8 / 7)
    assert objective.excess(MIDDLE, Classes(sizes=np.array([], dtype=np.int64))) == 0


def test_a_balance_has_no_meaning_and_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"`balance` of `AverageClassSize` must be 0\.5; got 0\.7"):
        AverageClassSize(balance=0.7)
