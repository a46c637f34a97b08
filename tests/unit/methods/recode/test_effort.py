from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from reference.recoding import hierarchy
from shoal.methods.base import Watch
from shoal.methods.recode import Generalize, Iterate, Mondrian, Specialize, Subtree
from shoal.methods.recode import _effort as effort
from shoal.methods.recode._effort import CELLS, Effort
from shoal.methods.recode._method import Recode
from shoal.models import KAnonymity
from shoal.tables import Frequencies


def test_a_part_takes_of_the_whole() -> None:
    whole = Effort(2.0)
    half = whole.part(0.5)
    half.spend(CELLS)
    assert half.over
    assert not whole.over
    assert whole.cells == CELLS
    whole.spend(CELLS)
    assert whole.over


def test_nothing_ends_without_a_limit() -> None:
    unlimited = Effort()
    unlimited.spend(1e30)
    assert (unlimited.limited, unlimited.over, unlimited.cells, unlimited.seconds) == (False, False, math.inf, math.inf)


def test_a_person_may_have_enough() -> None:
    watch = Watch(enough=lambda: True)
    assert Effort(1.0, enough=watch.enough).over


def test_a_part_of_the_time_ends_before_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    monkeypatch.setattr(effort.time, "monotonic", lambda: float(next(clock)))
    whole = Effort(seconds=20)
    assert whole.part(0.5).seconds < whole.seconds


@pytest.fixture(scope="module")
def people() -> Frequencies:
    """Return a table on which every search below reaches its limit."""
    halves = [[leaf >> level for leaf in range(16)] for level in range(5)]
    rows = {(number * 7 % 16, number * 5 % 13, number % 9, number * 3 % 11) for number in range(600)}
    return Frequencies(
        hierarchies=tuple(hierarchy(f"column {column}", halves) for column in range(4)),
        codes=np.array(sorted(rows), dtype=np.int32, order="F"),
        counts=np.ones(len(rows), dtype=np.int64),
        sensitive_codes=np.zeros((len(rows), 0), dtype=np.int32),
    )


@pytest.mark.parametrize("method", [Generalize, Iterate, Mondrian, Specialize, Subtree])
@pytest.mark.parametrize("units", [1e-5, 1e-4, 1e-3, 1e-2])
def test_a_slow_clock_changes_nothing(
    method: type[Recode], units: float, people: Frequencies, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine is one whose clock runs ahead."""
    first = method(effort=units).recode(people, [KAnonymity(3)])
    clock = itertools.count(step=1000)
    monkeypatch.setattr(effort.time, "monotonic", lambda: float(next(clock)))
    second = method(effort=units).recode(people, [KAnonymity(3)])
    assert first.value == second.value
    assert first.recoding.classes.tolist() == second.recoding.classes.tolist()


@pytest.mark.parametrize("method", [Iterate, Mondrian, Specialize, Subtree])
@pytest.mark.parametrize("units", [1e-3, 1e-2, 1.0])
def test_a_local_recoding_is_no_worse_than_the_level_per_column_found_beside_it(
    method: type[Recode], units: float, people: Frequencies
) -> None:
    found = method(effort=units).recode(people, [KAnonymity(3)])
    assert found.one_level is None or found.value <= found.one_level


def test_what_the_limit_cut_short_is_said(people: Frequencies) -> None:
    found = Specialize(effort=1e-3).recode(people, [KAnonymity(3)])
    assert "The limit ended" in found.explain()
    assert "The limit ended" not in Specialize().recode(people, [KAnonymity(3)]).explain()
