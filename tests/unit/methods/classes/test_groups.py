from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.methods.classes import AttributeSet, Records, Taxonomy, aggregate_by_sets, mdav, partition_by_sets


def test_sets_of_attributes_are_clustered_independently() -> None:
    rng = np.random.default_rng(0)
    records = Records(
        numeric=rng.normal(size=(40, 3)), codes=rng.integers(0, 2, (40, 1)), taxonomies=[Taxonomy.flat(2)]
    )
    sets = [AttributeSet(numeric=(2, 0)), AttributeSet(categorical=(0,))]
    partitions = partition_by_sets(records, sets, lambda part: mdav(part, 4))
    assert partitions[0].same_clusters(mdav(records.numeric[:, [2, 0]], 4))
    masked = aggregate_by_sets(records, sets, partitions)
    assert masked.numeric[:, 1].tolist() == records.numeric[:, 1].tolist()
    for column in (0, 2):
        assert len(set(masked.numeric[:, column])) == partitions[0].count
        assert np.isclose(masked.numeric[:, column].mean(), records.numeric[:, column].mean())


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_sets_must_be_disjoint(kind: str) -> None:
    sets = [AttributeSet(**{kind: (0,)}), AttributeSet(**{kind: (1, 0)})]
    with pytest.raises(ParameterError, match=f"a {kind} attribute is in two"):
        partition_by_sets(Records.of([[1.0, 2.0]]), sets, lambda part: mdav(part, 1))


def test_a_set_holds_something() -> None:
    with pytest.raises(ParameterError, match="at least one attribute"):
        AttributeSet()
