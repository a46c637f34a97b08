"""Telling released records from original ones."""

from __future__ import annotations

import builtins
import sys

import numpy as np
import pytest

from reference.risk import pair_of
from shoal.errors import MissingExtraError, ParameterError
from shoal.utility import propensity

pytest.importorskip("sklearn")

PEOPLE = [tuple(row) for row in np.random.default_rng(8).integers(0, [4, 3, 5], size=(1500, 3)).tolist()]
SAME = [tuple((v, v) for v in point) for point in PEOPLE]


@pytest.mark.parametrize("model", ["tree", "logistic"])
def test_records_as_they_are_cannot_be_told_apart(model: str) -> None:
    found = propensity(pair_of(PEOPLE, SAME), model=model)  # type: ignore[arg-type]
    assert found.distinguishable < 0.02
    assert found.pmse <= found.null + 0.005
    assert found.records == 3000


@pytest.mark.parametrize("model", ["tree", "logistic"])
def test_records_that_are_all_alike_can(model: str) -> None:
    alike = [((3, 3), (2, 2), (4, 4))] * 1500
    found = propensity(pair_of(PEOPLE, alike), model=model)  # type: ignore[arg-type]
    assert found.distinguishable > 0.8
    assert found.ratio is not None
    assert found.ratio > 5
    assert found.pmse <= 0.25


def test_even_records_lose_their_dependence_and_a_tree_sees_it() -> None:
    tied = [(a, a % 3, a) for a in np.random.default_rng(9).integers(0, 4, size=1500).tolist()]
    spread = [((0, 3), (b, b), (c, c)) for _, b, c in tied]
    assert propensity(pair_of(tied, spread), model="tree").distinguishable > 0.3


def test_the_same_seed_gives_the_same_figure() -> None:
    pair = pair_of(PEOPLE[:300], SAME[:300])
    assert propensity(pair, seed=4) == propensity(pair, seed=4)


def test_an_empty_release_is_told_apart() -> None:
    assert propensity(pair_of(PEOPLE, [])).distinguishable == 1.0


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object, **others: object) -> object:
        if name.split(".")[0] == "sklearn":
            raise ImportError(name)
        return real(name, *rest, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "sklearn", raising=False)
    with pytest.raises(MissingExtraError, match="scikit-learn") as raised:
        propensity(pair_of(PEOPLE, SAME))
    assert "shoal[learn]" in str(raised.value.hint)


def test_arguments_are_checked() -> None:
    with pytest.raises(ParameterError, match="tree"):
        propensity(pair_of(PEOPLE, SAME), model="forest")  # type: ignore[arg-type]
