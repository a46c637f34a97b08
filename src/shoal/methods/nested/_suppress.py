"""Leave out single items, and persons, until every pattern of known items is common enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from shoal.kernels import Integers, Mask
from shoal.methods.nested._forest import Forest
from shoal.methods.nested._patterns import (
    Choices,
    PatternSupport,
    choices_of,
    condense,
    count_support,
    find_choices,
)


class TooMuch(Exception):
    """More would have to be left out than is allowed."""


@dataclass(kw_only=True, eq=False)
class Suppression:
    """What is left of trees while patterns are made common or are removed.

    Removing an item lowers the support of patterns that were common, also of smaller ones; so all sizes are looked at
    again until a whole pass changes nothing. A more certain secret is removed like a rare pattern, from everybody who
    shows the pattern, and never before the support is as it must be: recoding further, or suppressing people without
    the secret, can make it more certain, so that nothing is concluded from it about other recodings.
    """

    forest: Forest
    k: int
    m: int
    #: The largest certainty of a secret value; None where nothing is promised of it.
    confidence: Fraction | None = None
    #: Whether single items can be left out; else persons as a whole are, as where the number of items is released.
    single_items: bool = True
    #: Whether it is too much that only some persons and items stay.
    is_too_much: Callable[[Integers, Integers], bool] | None = None
    #: The choices of rows that were looked at.
    effort: int = 0
    people: Integers = field(init=False)
    items: Integers = field(init=False)

    def __post_init__(self) -> None:
        self.people = np.arange(self.forest.size)
        self.items = np.arange(len(self.forest.labels))

    def run(self) -> None:
        """Leave out what has to be; raise TooMuch where that is more than allowed."""
        while self._pass(lambda support: support.rare(self.k)) or self._confide():
            pass

    def _confide(self) -> bool:
        if self.confidence is None:
            return False
        numerator, denominator = self.confidence.as_integer_ratio()
        return self._pass(lambda support: support.certain(numerator, denominator))

    def _pass(self, wrong: Callable[[PatternSupport], Mask]) -> bool:
        """Look at all sizes once, the smallest first; return whether anything was left out."""
        changed = False
        for size in range(self.m + 1):
            while self._leave_out(size, wrong):
                changed = True
        return changed

    def _leave_out(self, size: int, wrong: Callable[[PatternSupport], Mask]) -> bool:
        self.effort += choices_of(condense(self.forest, size).forest if size else self.forest, size)
        support = count_support(self.forest, size)
        removed = wrong(support)
        if not removed.any():
            return False
        choices = find_choices(self.forest, size, support.keys[removed])
        if not len(choices.persons):
            raise AssertionError("a pattern that somebody shows was not found again")
        gone = np.zeros(self.forest.size, dtype=np.bool_)
        if size and self.single_items:
            forest, people, items = self.forest.without(items=choose_items(self.forest, choices))
        else:
            gone[choices.persons] = True
            forest, people, items = self.forest.without(persons=gone)
        self.forest, self.people, self.items = forest, self.people[people], self.items[items]
        if self.is_too_much is not None and self.is_too_much(self.people, self.items):
            raise TooMuch
        return True


def choose_items(forest: Forest, choices: Choices) -> Mask:
    """Return items that hit every choice of rows: of each person the item that hits most for what lies below it, first.

    Ties go to the earlier item of the person; items of a person are in the order of their labels.
    """
    removed = np.zeros(len(forest.labels), dtype=np.bool_)
    below = _sizes(forest)
    rows = choices.rows
    while len(rows):
        hits = np.bincount(rows.ravel(), minlength=len(removed))
        candidates = np.flatnonzero(hits)
        scores = hits[candidates] / below[candidates]
        order = np.lexsort((candidates, -scores, forest.persons[candidates]))
        best = candidates[order]
        first = np.ones(len(best), dtype=np.bool_)
        first[1:] = forest.persons[best][1:] != forest.persons[best][:-1]
        removed[best[first]] = True
        rows = rows[~np.any(removed[rows], axis=1)]
    return removed


def _sizes(forest: Forest) -> Integers:
    """Return how many items every item takes with it: those below it and itself."""
    sizes = np.ones(len(forest.labels), dtype=np.int64)
    for depth, at in enumerate(forest.ancestors, start=1):
        inner = (at >= 0) & (forest.depths > depth)
        sizes += np.bincount(at[inner], minlength=len(sizes)).astype(np.int64)
    return sizes
