from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.methods.classes import Records, Taxonomy, vmdav


def test_natural_groups_stay_together() -> None:
    rng = np.random.default_rng(0)
    centres, sizes = [(0, 0), (50, 0), (0, 50)], [4, 5, 3]
    groups = np.concatenate([rng.normal(size=(size, 2)) + centre for centre, size in zip(centres, sizes, strict=True)])
    partition = vmdav(groups, 3, gamma=1.1)
    assert sorted(partition.sizes.tolist()) == [3, 4, 5]


def test_without_readiness_to_grow_clusters_have_k_records_but_for_the_rest() -> None:
    assert vmdav(np.random.default_rng(1).normal(size=(31, 2)), 5, gamma=0.0).sizes.tolist().count(5) >= 5


@pytest.mark.parametrize("gamma", [-0.1, float("nan"), float("inf")])
def test_a_readiness_that_is_no_number_from_0_on_is_refused(gamma: float) -> None:
    with pytest.raises(ParameterError, match="`gamma` of `vmdav`"):
        vmdav([1.0, 2.0], 1, gamma=gamma)


def test_categories_are_refused() -> None:
    records = Records(codes=[[0], [1]], taxonomies=[Taxonomy.flat(2)])
    with pytest.raises(ParameterError, match="numbers only; got 1 categorical"):
        vmdav(records, 1)
