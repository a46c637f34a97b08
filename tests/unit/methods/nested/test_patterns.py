"""Patterns of known items against the definition, on thousands of small data sets with two levels of nesting."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from tests.reference import nested as reference
from tests.reference.nested import Person, Tree

from shoal.methods.nested import Forest, Suppression, count_support, least_support


def forest_of(people: list[Person]) -> Forest:
    """Return people as arrays; labels and classes are numbered in the order in which they are met."""
    classes: dict[str, int] = {}
    labels: dict[str, int] = {}
    roots, persons, parents, found, secrets = [], [], [], [], []

    def add(rows: tuple[Tree, ...], above: int, person: int) -> None:
        for label, below in rows:
            persons.append(person)
            parents.append(above)
            found.append(labels.setdefault(label, len(labels)))
            add(below, len(found) - 1, person)

    for number, (kind, rows, secret) in enumerate(people):
        roots.append(classes.setdefault(kind, len(classes)))
        secrets.append(secret)
        add(rows, -1, number)
    as_integers = (np.array(each, dtype=np.int64) for each in (roots, persons, parents, found))
    named = dict(zip(("classes", "persons", "parents", "labels"), as_integers, strict=True))
    return Forest(**named, secrets=((np.array(secrets, dtype=np.bool_), np.zeros(len(found), dtype=np.bool_)),))


def people_of(forest: Forest) -> list[Person]:
    """Return arrays as people again."""

    def below(item: int) -> tuple[Tree, ...]:
        return tuple((str(forest.labels[row]), below(row)) for row in np.flatnonzero(forest.parents == item))

    roots = [np.flatnonzero((forest.persons == person) & (forest.parents < 0)) for person in range(forest.size)]
    trees = [tuple((str(forest.labels[row]), below(row)) for row in rows) for rows in roots]
    kinds, having = forest.classes, forest.holders[0]
    return [(str(kind), tree, bool(secret)) for kind, tree, secret in zip(kinds, trees, having, strict=True)]


def random_people(draw: random.Random) -> list[Person]:
    def rows(names: str, most: int, deeper: bool) -> tuple[Tree, ...]:
        return tuple(
            (draw.choice(names), rows("xy", 2, deeper=False) if deeper else ()) for _ in range(draw.randint(0, most))
        )

    kinds = draw.choice(["r", "r", "rs"])
    deeper = draw.random() < 0.8
    return [
        (draw.choice(kinds), rows("abc"[: draw.randint(1, 3)], draw.choice([2, 3]), deeper), draw.random() < 0.4)
        for _ in range(draw.randint(1, 7))
    ]


def strongest_k(forest: Forest, m: int) -> int:
    found = [support.persons.min() for size in range(m + 1) if len((support := count_support(forest, size)).persons)]
    return int(min(found, default=0))


def greatest_certainty(forest: Forest, m: int) -> Fraction:
    found = [
        Fraction(int(having), int(persons))
        for size in range(m + 1)
        for support in [count_support(forest, size)]
        for having, persons in zip(support.holders[0], support.persons, strict=True)
    ]
    return max(found, default=Fraction(0))


@pytest.mark.parametrize("seed", range(8))
def test_support_and_certainty_are_those_of_the_definition(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(150):
        people, m = random_people(draw), draw.randint(0, 3)
        forest = forest_of(people)
        assert strongest_k(forest, m) == reference.strongest_k(people, m)
        assert greatest_certainty(forest, m) == reference.greatest_certainty(people, m)


@pytest.mark.parametrize("seed", range(4))
def test_everybody_is_told_the_rarest_pattern_of_its_own(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(60):
        people = random_people(draw)
        forest = forest_of(people)
        for size in range(3):
            expected = [
                min(
                    (
                        len(reference.support(people, kind, pattern))
                        for pattern, known in reference.patterns(rows, size)
                        if known == size
                    ),
                    default=len(people),
                )
                for kind, rows, _ in people
            ]
            assert least_support(forest, size).tolist() == expected


@pytest.mark.parametrize("seed", range(8))
def test_nothing_rare_or_too_certain_is_left(seed: int) -> None:
    draw = random.Random(1000 + seed)
    for _ in range(100):
        people, k, m = random_people(draw), draw.randint(2, 3), draw.randint(0, 3)
        confidence = draw.choice([None, Fraction(1, 2), Fraction(2, 3)])
        work = Suppression(forest=forest_of(people), k=k, m=m, confidence=confidence, single_items=draw.random() < 0.7)
        work.run()
        left = people_of(work.forest)
        assert not left or reference.strongest_k(left, m) >= k
        assert confidence is None or reference.greatest_certainty(left, m) <= confidence


def test_what_is_common_stays() -> None:
    people: list[Person] = [("r", (("a", (("x", ()),)), ("b", ())), False)] * 3
    work = Suppression(forest=forest_of(people), k=3, m=3)
    work.run()
    assert people_of(work.forest) == people_of(forest_of(people))


def test_flat_bags_miss_who_had_which_drug_in_which_stay() -> None:
    crossed: list[Person] = [
        ("r", (("stay 1", (("drug 1", ()),)), ("stay 2", (("drug 2", ()),))), False),
        ("r", (("stay 1", (("drug 2", ()),)), ("stay 2", (("drug 1", ()),))), False),
    ]
    flat: list[Person] = [
        (kind, tuple((label, ()) for row in rows for label in (row[0], row[1][0][0])), secret)
        for kind, rows, secret in crossed
    ]
    assert reference.strongest_k(flat, 4) == 2, "the twin: bags without links are equal"
    assert strongest_k(forest_of(flat), 4) == 2
    assert strongest_k(forest_of(crossed), 1) == reference.strongest_k(crossed, 1) == 1


def test_two_stays_are_not_one_stay_twice() -> None:
    both: list[Person] = [
        ("r", (("stay", (("drug", ()), ("drug", ()))), ("stay", ())), False),
        ("r", (("stay", (("drug", ()),)), ("stay", (("drug", ()),))), False),
    ]
    assert strongest_k(forest_of(both), 1) == 2
    assert strongest_k(forest_of(both), 2) == reference.strongest_k(both, 2) == 1


def test_one_pass_of_suppression_leaves_rare_patterns() -> None:
    people: list[Person] = [("r", tuple((label, ()) for label in bag), False) for bag in ("1", "2", "12")]
    forest = forest_of(people)
    assert strongest_k(forest, 1) == 2, "every item is common by itself"
    once = Suppression(forest=forest, k=2, m=2)
    once._leave_out(2, lambda support: support.rare(2))
    assert reference.strongest_k(people_of(once.forest), 2) < 2, "the twin stops after one pass"
    again = Suppression(forest=forest, k=2, m=2)
    again.run()
    assert not again.forest.size or reference.strongest_k(people_of(again.forest), 2) >= 2


def test_certainty_grows_when_items_are_merged_so_that_nothing_is_pruned_by_it() -> None:
    bags, secrets = ("", "1", "2", "12"), (False, True, True, False)
    fine: list[Person] = [("r", tuple((x, ()) for x in bag), s) for bag, s in zip(bags, secrets, strict=True)]
    merged: list[Person] = [("r", tuple(("*", ()) for _ in bag), s) for bag, s in zip(bags, secrets, strict=True)]
    assert greatest_certainty(forest_of(fine), 1) == Fraction(1, 2)
    assert greatest_certainty(forest_of(merged), 1) == Fraction(2, 3)


def test_kept_links_are_not_the_largest_number_of_known_items() -> None:
    """Bags {a}, {a}, {a, b}, {a, b}: whoever knows all items of the first pair also fits the second one."""
    people: list[Person] = [("r", tuple((x, ()) for x in bag), False) for bag in ("a", "ab", "ab", "ab")]
    kept = min(Counter(rows for _, rows, _ in people).values())
    assert kept == 1
    assert strongest_k(forest_of(people), 2) == 3


def test_support_is_monotone_in_items_and_sizes() -> None:
    draw = random.Random(7)
    for _ in range(200):
        people = random_people(draw)
        coarse = [(kind, _merged(rows), secret) for kind, rows, secret in people]
        for m, more in combinations(range(4), 2):
            assert strongest_k(forest_of(people), more) <= strongest_k(forest_of(people), m)
        assert strongest_k(forest_of(people), 2) <= strongest_k(forest_of(coarse), 2)


def _merged(rows: tuple[Tree, ...]) -> tuple[Tree, ...]:
    return tuple(("*" if label in "ab" else label, _merged(below)) for label, below in rows)


def test_pruning_by_certainty_would_miss_the_only_recoding_that_keeps_it() -> None:
    """A twin that gives up finer items where the merged ones are too certain finds nothing; the finer ones do."""
    bags, secrets = ("", "1", "2", "12"), (False, True, True, False)
    fine: list[Person] = [("r", tuple((x, ()) for x in bag), s) for bag, s in zip(bags, secrets, strict=True)]
    merged: list[Person] = [("r", tuple(("*", ()) for _ in bag), s) for bag, s in zip(bags, secrets, strict=True)]
    left = {}
    for name, people in (("fine", fine), ("merged", merged)):
        work = Suppression(forest=forest_of(people), k=1, m=1, confidence=Fraction(1, 2))
        work.run()
        left[name] = len(work.forest)
        assert not work.forest.size or greatest_certainty(work.forest, 1) <= Fraction(1, 2)
    assert left["fine"] == 4, "nothing has to be left out of the finer items"
    assert left["merged"] < 4


def test_a_certainty_with_a_large_denominator_is_decided_exactly() -> None:
    people: list[Person] = [("r", (), secret) for secret in (True,) * 3 + (False,) * 7]
    above, below = Fraction(3, 10) + Fraction(1, 10**40), Fraction(3, 10) - Fraction(1, 10**40)
    support = count_support(forest_of(people), 0)
    assert not support.certain(*above.as_integer_ratio()).any()
    assert support.certain(*below.as_integer_ratio()).all()
