from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from reference.example import MIDDLE, PEOPLE
from reference.quality import node_recoding
from shoal.errors import ParameterError
from shoal.models import Classes
from shoal.quality import Classification
from shoal.tables import Frequencies, SensitiveAttribute


def test_records_outside_of_the_majority_of_their_class_are_counted() -> None:
    """The classes have the targets 0, 0, 1, 0 | 1 | 1, 1, 0."""
    frequencies = PEOPLE.frequencies()
    whole = node_recoding(PEOPLE, MIDDLE, np.ones(3, dtype=np.bool_))
    assert Classification().value(whole, frequencies) == pytest.approx(2 / 8)
    part = node_recoding(PEOPLE, MIDDLE, np.array([True, False, True]))
    assert Classification(target="target").value(part, frequencies) == pytest.approx(3 / 8)


def test_the_bounds_are_the_error_of_the_original_values_and_what_a_majority_must_hold() -> None:
    objective = Classification().objective(PEOPLE.frequencies())
    assert objective.sensitive == ("target",)
    assert objective.floor((2, 2)) == 0  # no two people with the same values have different targets
    assert objective.excess(MIDDLE, Classes(sizes=np.array([1, 4]))) == pytest.approx((1 + 2) / 8)  # of 3 values


def several() -> Frequencies:
    frequencies = PEOPLE.frequencies()
    other = SensitiveAttribute(name="other", size=1, ordered=False)
    codes = np.column_stack([frequencies.sensitive_codes, np.zeros(len(frequencies.counts), dtype=np.int32)])
    return dataclasses.replace(frequencies, sensitive=(*frequencies.sensitive, other), sensitive_codes=codes)


@pytest.mark.parametrize("target", [None, "pay"])
def test_the_target_must_be_clear(target: str | None) -> None:
    with pytest.raises(ParameterError, match=r"`target` of `Classification` must be one of .*`target`, `other`"):
        Classification(target=target).objective(several())


def test_a_named_target_is_found_among_several() -> None:
    assert Classification(target="other").objective(several()).floor((0, 0)) == 0
