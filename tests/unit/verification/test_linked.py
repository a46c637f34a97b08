"""The second count of patterns against the definition, on thousands of small data sets of one to three levels."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from tests.reference import nested as reference
from tests.reference.nested import Person, Tree

from shoal.verification._linked import LinkedTable, PatternCounts, count_patterns


def tables_of(people: list[Person]) -> dict[str, LinkedTable]:
    """Return people as tables, one per level."""
    levels: list[tuple[list[str], list[int]]] = [([], []) for _ in range(4)]

    def add(rows: tuple[Tree, ...], depth: int, owner: int) -> None:
        for label, below in rows:
            labels, owners = levels[depth]
            labels.append(label)
            owners.append(owner)
            add(below, depth + 1, len(labels) - 1)

    for number, (kind, rows, _) in enumerate(people):
        levels[0][0].append(kind)
        add(rows, 1, number)
    numbers: dict[str, int] = {}
    return {
        str(depth): LinkedTable(
            labels=np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64),
            parent=str(depth - 1) if depth else None,
            owners=np.array(owners, dtype=np.int64),
        )
        for depth, (labels, owners) in enumerate(levels)
    }


def count(people: list[Person], m: int) -> PatternCounts:
    return count_patterns(tables_of(people), m, [np.array([secret for _, _, secret in people], dtype=np.bool_)])


def random_people(draw: random.Random) -> list[Person]:
    def rows(levels: int, most: int) -> tuple[Tree, ...]:
        below = max(levels - 1, 0)
        return tuple((draw.choice("abc"), rows(below, 2)) for _ in range(draw.randint(0, most) if levels else 0))

    levels = draw.choice([1, 2, 2, 3])
    return [
        (draw.choice("rrs"), rows(levels, 2 if levels == 3 else 3), draw.random() < 0.4)
        for _ in range(draw.randint(1, 6))
    ]


@pytest.mark.parametrize("seed", range(8))
def test_counts_are_those_of_the_definition(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(120):
        people, m = random_people(draw), draw.randint(0, 3)
        found = count(people, m)
        assert found.fewest(m) == [reference.strongest_k(people, size) for size in range(m + 1)]
        certainties = [Fraction(*pair) for pair in zip(found.holders[0].tolist(), found.persons.tolist(), strict=True)]
        assert max(certainties) == reference.greatest_certainty(people, m)


def test_many_copies_of_a_row_are_no_more_than_known_ones() -> None:
    people: list[Person] = [("r", tuple(("a", ()) for _ in range(copies)), False) for copies in (400, 300, 2)]
    assert count(people, 3).fewest(3) == [3, 3, 3, 2]


def test_nobody_shows_no_pattern() -> None:
    assert not len(count([], 2).persons)
