from __future__ import annotations

import math

import numpy as np
import pytest

from reference.example import MIDDLE, PEOPLE
from reference.quality import node_recoding
from shoal.errors import ParameterError
from shoal.quality import KLDivergence


def test_records_are_spread_over_what_their_class_covers() -> None:
    """Classes of 4, 1 and 3 of 8 records cover 4 tuples each; the tuples have 2, 1, 1 | 1 | 1, 1, 1 records."""
    shares = [(2, 4), (1, 4), (1, 4), (1, 1), (1, 3), (1, 3), (1, 3)]
    expected = sum(count / 8 * math.log(count / (size / 4)) for count, size in shares)
    found = KLDivergence().value(node_recoding(PEOPLE, MIDDLE, np.ones(3, dtype=np.bool_)), PEOPLE.frequencies())
    assert found == pytest.approx(expected)


def test_suppressed_records_are_spread_over_the_domain() -> None:
    frequencies = PEOPLE.frequencies()
    top = KLDivergence().value(node_recoding(PEOPLE, (2, 2), np.array([True])), frequencies)
    nothing = KLDivergence().value(node_recoding(PEOPLE, (2, 2), np.array([False])), frequencies)
    assert top == pytest.approx(nothing)
    assert top == pytest.approx(math.log(16) - 2 / 8 * math.log(8 / 2) - 6 / 8 * math.log(8))


def test_nothing_generalised_is_no_divergence() -> None:
    recoding = node_recoding(PEOPLE, (0, 0), np.ones(7, dtype=np.bool_))
    assert KLDivergence().value(recoding, PEOPLE.frequencies()) == pytest.approx(0, abs=1e-15)


def test_a_balance_has_no_meaning_and_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"`balance` of `KLDivergence` must be 0\.5; got 1"):
        KLDivergence(balance=1)
