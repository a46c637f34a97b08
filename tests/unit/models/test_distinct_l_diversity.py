from __future__ import annotations

from reference.models import Domain, Group, Release
from shoal.models import DistinctLDiversity


def test_values_are_counted_not_weighed() -> None:
    release = Release([Group({0: 99, 1: 1}), Group({2: 5}), Group({0: 1, 1: 1, 2: 1})], Domain(3), [True] * 3)
    model = DistinctLDiversity("s", 2)
    assert model.keep(release.classes(), release.mask).tolist() == [True, False, True]
    assert model.achieved(release.classes()) == {"l": 1}


def test_l_values_need_l_records() -> None:
    assert DistinctLDiversity("s", 4).capabilities.minimal_class_size == 4
