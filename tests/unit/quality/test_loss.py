from __future__ import annotations

import numpy as np
import pytest

from reference.example import MIDDLE, PEOPLE
from reference.quality import node_recoding
from shoal.errors import ParameterError
from shoal.quality import InformationLoss

ALL = np.ones(3, dtype=np.bool_)


def test_a_pair_covers_a_third_of_four_values() -> None:
    assert InformationLoss().value(node_recoding(PEOPLE, MIDDLE, ALL), PEOPLE.frequencies()) == pytest.approx(1 / 3)


def test_suppressed_records_count_one() -> None:
    kept = np.array([True, False, True])
    assert InformationLoss().value(node_recoding(PEOPLE, MIDDLE, kept), PEOPLE.frequencies()) == pytest.approx(
        (7 / 3 + 1) / 8
    )


def test_a_weight_of_0_leaves_an_attribute_out() -> None:
    recoding = node_recoding(PEOPLE, (0, 2), np.ones(4, dtype=np.bool_))
    assert InformationLoss(weights={"q1": 0.0}).value(recoding, PEOPLE.frequencies()) == 0
    assert InformationLoss(weights={"q0": 0.0}).value(recoding, PEOPLE.frequencies()) == 1


def test_weights_of_unknown_columns_are_refused() -> None:
    with pytest.raises(ParameterError, match="`weights` of `Loss` may name only quasi-identifiers; got `zip`"):
        InformationLoss(weights={"zip": 1.0}).objective(PEOPLE.frequencies())
