from __future__ import annotations

import math

import numpy as np
import pytest

from reference.example import MIDDLE, PEOPLE
from reference.quality import Column, Table, node_classes, node_recoding
from shoal.errors import ParameterError
from shoal.models import Classes
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


def test_the_bound_of_a_sparse_class_is_its_suppression() -> None:
    """Three records of one value and one of a pair, all suppressed: spread over the domain the four cost ln 4 each."""
    table = Table((Column(((0, 1, 2, 3), (0, 1, 2, 2), (0, 0, 0, 0))),), (((0,), 0),) * 3 + (((2,), 0),))
    objective = KLDivergence().objective(table.frequencies())
    classes, _ = node_classes(table, (1,))
    lost = Classes(sizes=classes.sizes[:1], codes=classes.codes[:1])
    value = objective.value((1,), classes, np.zeros(2, dtype=np.bool_))
    assert objective.base((1,), classes) + objective.excess((1,), lost) <= value


def test_a_balance_has_no_meaning_and_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"`balance` of `KLDivergence` must be 0\.5; got 1"):
        KLDivergence(balance=1)
