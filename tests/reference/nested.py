"""(k, m)-anonymity of trees as its definition says, by trying every choice of rows and every way to find it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

#: a row: its label and the rows below it; a person: the class of its root, the rows below it, and its secret
Tree = tuple[str, tuple["Tree", ...]]
Person = tuple[str, tuple[Tree, ...], bool]


def patterns(rows: Sequence[Tree], most: int) -> Iterator[tuple[tuple[Tree, ...], int]]:
    """Yield every choice of at most ``most`` known rows, as rows with all above them; with the number of known rows."""
    yield (), 0
    for number in range(1, len(rows) + 1):
        for chosen in itertools.combinations(rows, number):
            for below in itertools.product(*([*patterns(row[1], most)] for row in chosen)):
                # a row with nothing chosen below it is known itself; above a known row it comes free
                known = sum(max(1, each[1]) for each in below)
                if known <= most:
                    yield tuple((row[0], each[0]) for row, each in zip(chosen, below, strict=True)), known


def shows(rows: Sequence[Tree], pattern: Sequence[Tree]) -> bool:
    """Return whether a pattern is found among rows, each used once, with everything below it."""
    if not pattern:
        return True
    first, *others = pattern
    return any(
        row[0] == first[0] and shows(row[1], first[1]) and shows([*rows[:place], *rows[place + 1 :]], others)
        for place, row in enumerate(rows)
    )


def support(people: Sequence[Person], kind: str, pattern: Sequence[Tree]) -> list[Person]:
    """Return the people of a root class who show a pattern."""
    return [person for person in people if person[0] == kind and shows(person[1], pattern)]


def shown(people: Sequence[Person], m: int) -> Iterator[tuple[str, tuple[Tree, ...]]]:
    """Yield every root class with at most m known rows that somebody shows."""
    for kind, rows, _ in people:
        for pattern, _ in patterns(rows, m):
            yield kind, pattern


def strongest_k(people: Sequence[Person], m: int) -> int:
    """Return how many people show the rarest pattern; 0 where there is nobody."""
    return min((len(support(people, *pattern)) for pattern in shown(people, m)), default=0)


def greatest_certainty(people: Sequence[Person], m: int) -> Fraction:
    """Return the largest share of the people of a pattern who have the secret."""
    found = (support(people, *pattern) for pattern in shown(people, m))
    return max((Fraction(sum(each[2] for each in them), len(them)) for them in found), default=Fraction(0))
