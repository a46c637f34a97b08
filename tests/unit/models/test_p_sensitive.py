from __future__ import annotations

import numpy as np
import pytest

from reference.models import Domain, Group, Release
from shoal.errors import ParameterError
from shoal.models import Classes, PSensitive


def classes() -> Classes:
    first = Release([Group({0: 3, 1: 1}), Group({0: 5}), Group({0: 1, 1: 1})], Domain(2), [True] * 3).classes()
    second = Release(
        [Group({0: 2, 1: 2}), Group({0: 4, 1: 1}), Group({1: 2})], Domain(2, name="r"), [True] * 3
    ).classes()
    return Classes(sizes=first.sizes, sensitive={**first.sensitive, **second.sensitive})


def test_size_and_variety_of_every_attribute_are_asked_for() -> None:
    everything = np.ones(3, dtype=np.bool_)
    assert PSensitive("s", p=2, k=2).keep(classes(), everything).tolist() == [True, False, True]
    assert PSensitive(("s", "r"), p=2, k=2).keep(classes(), everything).tolist() == [True, False, False]
    assert PSensitive("s", p=2, k=3).keep(classes(), everything).tolist() == [True, False, False]


def test_the_least_variety_of_any_attribute_is_achieved() -> None:
    assert PSensitive(("s", "r"), p=1, k=1).find_achieved(classes()) == {"p": 1, "k": 2}
    assert PSensitive("s", p=1, k=1).find_achieved(classes(), np.array([True, False, True])) == {"p": 2, "k": 2}


def test_p_values_need_p_records() -> None:
    with pytest.raises(ParameterError, match=r"`k` of `PSensitive` must be an integer in \[3, inf\); got 2"):
        PSensitive("s", p=3, k=2)


def test_one_column_may_be_given_by_name_alone() -> None:
    assert PSensitive("s", p=2, k=2) == PSensitive(["s"], p=2, k=2)
    assert PSensitive("s", p=2, k=2).parameters() == {"attributes": ["s"], "p": 2, "k": 2}
    assert "`s` and of `r`" in PSensitive(["s", "r"], p=2, k=2).statement()
