from __future__ import annotations

import pytest

from shoal import quality
from shoal.errors import ParameterError


def test_every_measure_of_the_package_is_found_by_its_name() -> None:
    # the order in which messages and the app list them
    assert list(quality.MEASURES) == [
        "ambiguity",
        "average-class-size",
        "classification",
        "discernibility",
        "geometric-loss",
        "kl-divergence",
        "loss",
        "non-uniform-entropy",
        "precision",
        "publisher-payoff",
        "record-loss",
    ]
    assert all(quality.by_name(name).name == name for name in quality.MEASURES)


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(ParameterError, match="There is no quality measure `los`") as raised:
        quality.by_name("los")
    assert raised.value.hint == "did you mean `loss`?"
    with pytest.raises(ParameterError) as raised:
        quality.by_name("zzz")
    assert "`precision`" in (raised.value.hint or "")
