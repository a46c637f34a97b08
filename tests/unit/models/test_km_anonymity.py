from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.models import Classes, KAnonymity, KMAnonymity


def classes(sizes: list[int], codes: list[list[int]]) -> Classes:
    return Classes(sizes=np.array(sizes), codes=np.array(codes, dtype=np.int32))


def test_single_values_may_be_frequent_where_combinations_are_rare() -> None:
    square = classes([1, 1, 1, 1], [[0, 0], [0, 1], [1, 0], [1, 1]])
    assert KMAnonymity(2, m=1).holds(square)
    assert not KMAnonymity(2, m=2).holds(square)
    assert KMAnonymity(9, m=1).find_achieved(square) == {"k": 2}
    assert KMAnonymity(9, m=2).find_achieved(square) == {"k": 1}


def test_removals_make_other_combinations_rare_in_turn() -> None:
    """A chain: the last class is rare, without it the one before, and so on; nothing is left."""
    chain = classes([1, 1, 1, 1], [[0, 0], [0, 1], [1, 1], [1, 2]])
    assert not KMAnonymity(2, m=1).keep(chain, np.ones(4, dtype=np.bool_)).any()
    ring = classes([1, 1, 1, 1], [[0, 0], [0, 1], [1, 1], [1, 0]])
    assert KMAnonymity(2, m=1).keep(ring, np.ones(4, dtype=np.bool_)).all()


@pytest.mark.parametrize("m", [3, 4, 99])
def test_knowing_everything_is_k_anonymity(m: int) -> None:
    some = classes([1, 2, 3], [[0, 0, 0], [0, 0, 1], [1, 0, 0]])
    everything = np.ones(3, dtype=np.bool_)
    assert KMAnonymity(2, m=m).keep(some, everything).tolist() == KAnonymity(2).keep(some, everything).tolist()


def test_without_quasi_identifiers_all_records_are_alike() -> None:
    assert KMAnonymity(3, m=2).holds(Classes(sizes=np.array([3]), codes=np.zeros((1, 0), dtype=np.int32)))


def test_the_codes_of_the_classes_are_needed() -> None:
    with pytest.raises(ParameterError, match="`KMAnonymity` needs the released quasi-identifiers"):
        KMAnonymity(2, m=1).keep(Classes(sizes=np.array([3])), np.array([True]))


def test_the_statement_counts_what_is_known() -> None:
    assert "any quasi-identifier of" in KMAnonymity(5, m=1).statement()
    assert "any 2 quasi-identifiers of" in KMAnonymity(5, m=2).statement()


@pytest.mark.parametrize("spread", [1, 10**4, 2**29])
def test_how_values_are_numbered_does_not_matter(spread: int) -> None:
    """Few possible combinations are counted in a table, many by sorting, and too many for a key by sorting in steps."""
    random = np.random.default_rng(7)
    codes, sizes = random.integers(0, 4, (60, 4)), random.integers(1, 4, 60)
    model = KMAnonymity(6, m=3)
    expected = model.keep(classes(sizes.tolist(), codes.tolist()), np.ones(60, dtype=np.bool_))
    found = model.keep(classes(sizes.tolist(), (codes * spread).tolist()), np.ones(60, dtype=np.bool_))
    assert found.tolist() == expected.tolist()
    assert 0 < found.sum() < 60
