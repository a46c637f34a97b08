"""Joint crowds against the definition: all assignments of people to linked rows, on thousands of small series."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from tests.reference import series as reference
from tests.reference.series import ABSENT, FROZEN, Cell, World

from shoal.series import Leavers, State, broken_crowds, divide_crowds, joint_crowds, smallest_crowd

K = 2


def _publish(world: World, leavers: Leavers, draws: random.Random, twin: str = "") -> list[list[Cell]]:
    """Make releases of all versions with the functions of the product; ``twin`` breaks one rule."""
    people, versions = len(world.values), len(world.values[0])
    crowds, ever = np.zeros(people, dtype=np.int64), np.zeros(people, dtype=bool)
    shown: list[list[Cell]] = [[] for _ in range(people)]
    for i in range(versions):
        present = np.array([row[i] is not None for row in world.values])
        states = np.full(people, State.ABSENT, dtype=np.int64)
        before = np.array([bool(i) and row[i - 1] != ABSENT for row in shown])
        order = np.array(draws.sample(range(people), people))
        states[ever] = divide_crowds(
            np.unique(crowds[ever], return_inverse=True)[1],
            present=present[ever],
            shown_before=before[ever],
            order=order[ever],
            k=1 if twin == "a part below k" else K,
            leavers=leavers,
        )
        if twin == "leavers ignored":
            states[ever] = np.where(present[ever], State.SHOWN, State.ABSENT)
        if twin == "a lone frozen row":
            states[ever] = np.where(present[ever], State.SHOWN, np.where(before[ever], State.FROZEN, State.ABSENT))
        groups: list[list[int]] = []
        for crowd in np.unique(crowds[ever]):
            groups += _split(
                [p for p in np.flatnonzero(ever & (crowds == crowd)) if states[p] == State.SHOWN], world, i
            )
        new = np.flatnonzero(present & ~ever)
        if twin == "newcomers ignored" and groups and groups[0]:
            groups[0] += list(new)
            states[new] = State.SHOWN
        elif len(new) >= K:
            groups += _split(list(new), world, i)
            states[new] = State.SHOWN
        labels = {}
        for group in groups:
            for p in group:
                labels[p] = reference.lowest_label({value for q in group if (value := world.values[q][i]) is not None})
        for p in range(people):
            named = {State.FROZEN: FROZEN, State.ABSENT: ABSENT}
            shown[p].append(labels[p] if states[p] == State.SHOWN else named[State(states[p])])
        numbers = {label: number for number, label in enumerate(reference.TREE)}
        classes = np.array([numbers[labels[p]] if states[p] == State.SHOWN else 0 for p in range(people)])
        crowds = joint_crowds(crowds, states, classes)
        ever |= states == State.SHOWN
        if not twin and ever.any():
            sizes = np.array(reference.joint_crowd_sizes(shown))
            assert smallest_crowd(crowds, ever) == sizes[ever].min() >= K
    return shown


def _split(group: list[int], world: World, i: int) -> list[list[int]]:
    """Split people by the halves of the tree where both keep k."""
    halves = [[p for p in group if (world.values[p][i] in (0, 1)) == low] for low in (True, False)]
    return halves if all(len(half) >= K for half in halves) else [group]


@pytest.mark.parametrize("leavers", list(Leavers))
def test_every_assignment_leaves_k_owners_of_every_chain(leavers: Leavers) -> None:
    draws = random.Random(41)
    chains = 0
    for _ in range(700):
        world = World.drawn(draws, draws.randint(4, 6), draws.randint(2, 4))
        shown = _publish(world, leavers, draws)
        chains += any(len(set(row)) > 1 for row in shown)
        assert reference.fewest_owners(world, shown) >= K
    assert chains > 300


@pytest.mark.parametrize("twin", ["leavers ignored", "newcomers ignored", "a lone frozen row", "a part below k"])
def test_broken_twins_are_caught(twin: str) -> None:
    draws = random.Random(7)
    caught = 0
    for _ in range(150):
        world = World.drawn(draws, 6, 3)
        caught += reference.fewest_owners(world, _publish(world, Leavers.FROZEN, draws, twin)) < K
    assert caught > 0


def test_multisets_per_release_do_not_suffice() -> None:
    records = [("p", ("A", "B")), ("p", ("C", "D")), ("q", ("A", "D")), ("q", ("C", "B"))]
    assert set(reference.crowds_by_release(records).values()) == {2}
    assert set(reference.crowds_by_sequence(records).values()) == {1}
    assert reference.owners_of_records(records) == 1


@pytest.mark.parametrize(
    ("size", "absent", "back"), [(6, 0, 0), (6, 1, 3), (5, 1, 5), (6, 3, 3), (6, 4, 6), (10, 5, 5), (9, 9, 9)]
)
def test_as_few_as_possible_stay_back(size: int, absent: int, back: int) -> None:
    states = divide_crowds(
        np.zeros(size, dtype=np.int64),
        present=np.arange(size) >= absent,
        shown_before=np.ones(size, dtype=bool),
        order=np.arange(size)[::-1].copy(),
        k=3,
        leavers=Leavers.SUPPRESSED,
    )
    assert (states == State.ABSENT).sum() == back == _fewest(size, absent, 3)
    assert (states[:absent] == State.ABSENT).all()


def _fewest(size: int, absent: int, k: int) -> int:
    """Try all numbers."""
    return min(n for n in range(absent, size + 1) if (n == 0 or n >= k) and (n == size or size - n >= k))


def test_values_of_linked_rows_are_decided_as_by_trying_all_sets_of_values() -> None:
    draws = np.random.default_rng(5)
    outcomes = set()
    for _ in range(400):
        people, releases, least = int(draws.integers(2, 6)), int(draws.integers(1, 4)), int(draws.integers(2, 4))
        history = [draws.integers(0, 4, people) for _ in range(releases)]
        broken = len(broken_crowds(np.zeros(people, dtype=np.int64), history, least)) > 0
        outcomes.add(broken)
        assert broken == _breaks([codes.tolist() for codes in history], least)
    assert outcomes == {True, False}


def _breaks(history: list[list[int]], least: int) -> bool:
    if any(len(set(codes)) < least for codes in history):
        return True
    chains = [set(chain) for chain in zip(*history, strict=True)]
    return any(all(set(chosen) & chain for chain in chains) for chosen in itertools.combinations(range(4), least - 1))
