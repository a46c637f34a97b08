"""Count again, tree by tree, how many persons show every pattern of known items: a computation of its own.

Nothing here is shared with the search: patterns are trees of labels, and those of a row follow from those of the rows
below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: a label and the sorted trees below it
Tree = tuple[int, tuple["Tree", ...]]


def rarest_patterns(people: Mapping[tuple[int, tuple[Tree, ...]], int], most: int) -> list[int]:
    """Return for 0, 1, ... known items the fewest persons who show a pattern of at most so many that somebody shows."""
    known: dict[tuple[Tree, int], dict[Tree, int]] = {}
    counts: Counter[tuple[int, tuple[Tree, ...]]] = Counter()
    sizes: dict[tuple[int, tuple[Tree, ...]], int] = {}
    for (root, rows), number in people.items():
        for pattern, size in combinations(rows, most, known).items():
            counts[root, pattern] += number
            sizes[root, pattern] = size
    least = [0] * (most + 1)
    for size in range(most + 1):
        least[size] = min((number for key, number in counts.items() if sizes[key] <= size), default=0)
    return least


def certainty(
    people: Mapping[tuple[int, tuple[Tree, ...]], int],
    having: Mapping[tuple[int, tuple[Tree, ...]], int],
    most: int,
) -> Iterator[tuple[int, int]]:
    """Yield for every pattern of at most so many items the persons with a secret, and all persons, who show it."""
    known: dict[tuple[Tree, int], dict[Tree, int]] = {}
    counts: Counter[Any] = Counter()
    holders: Counter[Any] = Counter()
    for (root, rows), number in people.items():
        for pattern in combinations(rows, most, known):
            counts[root, pattern] += number
            holders[root, pattern] += having.get((root, rows), 0)
    for key, number in counts.items():
        yield holders[key], number


def combinations(
    rows: Sequence[Tree], most: int, known: dict[tuple[Tree, int], dict[Tree, int]]
) -> dict[tuple[Tree, ...], int]:
    """Return the patterns of at most so many known rows among some rows and below them, with the number of rows."""
    found: dict[tuple[Tree, ...], int] = {(): 0}
    for tree, number in Counter(rows).items():
        options = _patterns(tree, most, known)
        for _ in range(min(number, most)):
            more = {}
            for pattern, size in found.items():
                for option, rows_of in options.items():
                    if size + rows_of <= most:
                        more[tuple(sorted((*pattern, option)))] = size + rows_of
            found |= more
    return found


def _patterns(tree: Tree, most: int, known: dict[tuple[Tree, int], dict[Tree, int]]) -> dict[Tree, int]:
    """Return the patterns that a row is the highest row of; a row above known ones comes free."""
    if (tree, most) not in known:
        label, rows = tree
        below = combinations(rows, most, known)
        known[tree, most] = {(label, pattern): max(1, size) for pattern, size in below.items()}
    return known[tree, most]
