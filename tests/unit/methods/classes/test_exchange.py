from __future__ import annotations

import numpy as np
import pytest

from reference.errors import sse
from shoal.errors import ParameterError
from shoal.methods.classes import Partition, Records, Taxonomy, exchange, mdav, standardize


def error(values: np.ndarray, partition: Partition) -> float:
    from shoal.methods.classes import aggregate

    return sse(values, aggregate(Records.of(values), partition).numeric)


def test_each_pass_lowers_the_error_of_mdav_and_keeps_its_sizes() -> None:
    values = standardize(np.random.default_rng(0).normal(size=(2000, 4)))
    before = mdav(values, 5)
    once, twice = exchange(values, before), exchange(values, before, passes=2)
    assert sorted(once.sizes) == sorted(before.sizes)
    assert error(values, before) > error(values, once) > error(values, twice)


def test_no_pass_changes_nothing() -> None:
    partition = Partition(np.array([0, 1, 0, 1]))
    assert exchange([1.0, 2.0, 9.0, 8.0], partition, passes=0) is partition


def test_one_cluster_has_no_neighbours() -> None:
    assert exchange([1.0, 2.0], Partition(np.array([0, 0]))).labels.tolist() == [0, 0]


@pytest.mark.parametrize("arguments", [{"passes": -1}, {"neighbours": 0}])
def test_numbers_out_of_range_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match="`passes` and `neighbours`"):
        exchange([1.0], Partition(np.array([0])), **arguments)


def test_categories_are_refused() -> None:
    with pytest.raises(ParameterError, match="numbers only"):
        exchange(Records(codes=[[0]], taxonomies=[Taxonomy.flat(1)]), Partition(np.array([0])))
