"""Series of releases by the definition: every assignment of people to linked rows, on worlds small enough to try all.

The intruder is the strongest that the definition speaks of. He knows everybody's quasi-identifiers at every date and
who was in which version of the table, he links every row with its successor, he sees which rows are frozen, and he
reads from the certificates how many present people were left out and how many are stale. What he does not know is
which chain of rows belongs to whom.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

ABSENT, FROZEN = "absent", "frozen"
#: a shown row: the quasi-identifiers that its label covers
Label = frozenset[int]
Cell = str | Label
#: the labels of one quasi-identifier with four values: a tree of three levels
TREE: tuple[Label, ...] = (
    *(frozenset({value}) for value in range(4)),
    frozenset({0, 1}),
    frozenset({2, 3}),
    frozenset(range(4)),
)


def lowest_label(values: set[int]) -> Label:
    """Return the smallest label of the tree that covers some values."""
    return min((label for label in TREE if values <= label), key=len)


@dataclass(frozen=True)
class World:
    """People and versions of a table: ``values[p][i]`` is the quasi-identifier of p in version i, None if not in it."""

    values: tuple[tuple[int | None, ...], ...]
    secrets: tuple[tuple[str, ...], ...]

    @classmethod
    def drawn(cls, draws: random.Random, people: int, versions: int) -> World:
        """Draw people who come, leave, return and change."""
        values = []
        for _ in range(people):
            value = draws.randrange(4)
            row: list[int | None] = []
            for _ in range(versions):
                value = draws.randrange(4) if draws.random() < 0.2 else value
                row.append(value if draws.random() < 0.8 else None)
            values.append(tuple(row))
        secrets = tuple(tuple(draws.choice("xyz") for _ in range(versions)) for _ in range(people))
        return cls(values=tuple(values), secrets=secrets)


#: what the releases show of everybody: ``shown[p][i]``
Shown = list[list[Cell]]


def joint_crowd_sizes(shown: Shown) -> list[int]:
    """Return for everybody how many people have the same sequence of states; with one record each."""
    counts = Counter(tuple(row) for row in shown)
    return [counts[tuple(row)] for row in shown]


def assignments(world: World, shown: Shown) -> Iterator[tuple[int, ...]]:
    """Yield every assignment of chains to people that contradicts nothing: ``a[p]`` is the owner of the chain of p."""
    versions = len(shown[0]) if shown else 0
    left_out = [sum(_is(world, shown, p, p, i, ABSENT) for p in range(len(shown))) for i in range(versions)]
    stale = [sum(_is(world, shown, p, p, i, FROZEN) for p in range(len(shown))) for i in range(versions)]
    people = range(len(shown))
    fitting = [[c for c in people if _fits(world, shown[c], p)] for p in people]

    def go(p: int, taken: list[int]) -> Iterator[tuple[int, ...]]:
        if p == len(shown):
            counts = [
                [sum(_is(world, shown, q, c, i, state) for q, c in enumerate(taken)) for i in range(versions)]
                for state in (ABSENT, FROZEN)
            ]
            if counts == [left_out, stale]:
                yield tuple(taken)
            return
        for c in fitting[p]:
            if c not in taken:
                yield from go(p + 1, [*taken, c])

    yield from go(0, [])


def _is(world: World, shown: Shown, person: int, chain: int, version: int, state: str) -> bool:
    return world.values[person][version] is not None and shown[chain][version] == state


def _fits(world: World, chain: list[Cell], person: int) -> bool:
    for version, cell in enumerate(chain):
        value = world.values[person][version]
        if not isinstance(cell, str) and (value is None or value not in cell):
            return False
    return True


def fewest_owners(world: World, shown: Shown) -> int:
    """Return how many people the most exposed chain may belong to; a chain that no release shows hides nobody."""
    visible = [p for p, row in enumerate(shown) if any(cell != ABSENT for cell in row)]
    owners: dict[int, set[int]] = {p: set() for p in visible}
    for assignment in assignments(world, shown):
        for person, chain in enumerate(assignment):
            if chain in owners:
                owners[chain].add(person)
    return min((len(found) for found in owners.values()), default=len(shown))


def certain_secrets(world: World, shown: Shown) -> int:
    """Return of how many people some secret is certain: in every assignment the chain that is theirs shows it."""
    chains = []
    for p, row in enumerate(shown):
        values: set[str] = set()
        last = ""
        for i, cell in enumerate(row):
            last = last if cell == FROZEN else world.secrets[p][i] if cell != ABSENT else ""
            values |= {last} - {""}
        chains.append(values)
    sure: list[set[str] | None] = [None] * len(shown)
    for assignment in assignments(world, shown):
        for person, chain in enumerate(assignment):
            before = sure[person]
            sure[person] = set(chains[chain]) if before is None else before & chains[chain]
    return sum(bool(each) for each in sure)


# -- with several records of a person: the definition alone


def crowds_by_sequence(records: list[tuple[str, tuple[str, ...]]]) -> dict[str, int]:
    """Return the joint crowd of everybody by the multisets of whole sequences; ``records`` are (person, sequence)."""
    whose = {person: Counter(s for q, s in records if q == person) for person, _ in records}
    return {person: sum(other == mine for other in whose.values()) for person, mine in whose.items()}


def crowds_by_release(records: list[tuple[str, tuple[str, ...]]]) -> dict[str, int]:
    """Return the broken twin: multisets of states for each release by itself."""
    versions = len(records[0][1])
    whose = {
        person: [Counter(s[i] for q, s in records if q == person) for i in range(versions)] for person, _ in records
    }
    return {person: sum(other == mine for other in whose.values()) for person, mine in whose.items()}


def owners_of_records(records: list[tuple[str, tuple[str, ...]]]) -> int:
    """Return how many people the most exposed linked row may belong to, if everybody's classes are known exactly."""
    owners = {s: {person for person, other in records if other == s} for _, s in records}
    return min(map(len, owners.values()))
