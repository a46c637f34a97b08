"""Persons with the items below them, as arrays: what a search and a decision count on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.kernels import Integers, Mask
from shoal.methods.nested._ranks import rank_with_rows_below, refined


@dataclass(frozen=True, kw_only=True, eq=False)
class Forest:
    """One tree per person: the root has a class, every item a label and what it lies below.

    Items are sorted by person, and an item comes after the one that it lies below. Two items have the same label where
    they are rows of the same table that look alike in the columns that others may know.
    """

    #: ``classes[p]`` is the class of the root of person p.
    classes: Integers
    #: The person of every item, ascending.
    persons: Integers
    #: The item that every item lies below; -1 where that is the root.
    parents: Integers
    #: The label of every item, from 0 on.
    labels: Integers
    #: Of each secret value, which roots and which items have it.
    secrets: tuple[tuple[Mask, Mask], ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def size(self) -> int:
        """The number of persons."""
        return len(self.classes)

    @cached_property
    def starts(self) -> Integers:
        """The first item of every person, and the number of all items at the end."""
        return np.searchsorted(self.persons, np.arange(self.size + 1)).astype(np.int64)

    @cached_property
    def holders(self) -> tuple[Mask, ...]:
        """Of each secret value, which persons have it, in the root or in any item."""
        found = []
        for roots, items in self.secrets:
            having = roots.copy()
            having[self.persons[items]] = True
            found.append(having)
        return tuple(found)

    @cached_property
    def ancestors(self) -> tuple[Integers, ...]:
        """``ancestors[d][i]`` is the item at depth d on the way from the root to item i, itself included; -1: none."""
        chain, chains = np.arange(len(self.parents)), []
        while len(chain) and chain.max(initial=-1) >= 0:
            chains.append(chain)
            chain = np.where(chain >= 0, self.parents[chain], -1)
        # chains[j] holds the j-th ancestor, counted from the item; from the root it is chains[depth - 1 - j]
        depths = np.sum([chain >= 0 for chain in chains], axis=0) if chains else np.zeros(0, dtype=np.int64)
        found = []
        for depth in range(len(chains)):
            at = np.full(len(self.parents), -1, dtype=np.int64)
            for steps, chain in enumerate(chains):
                here = depths - 1 - steps == depth
                at[here] = chain[here]
            found.append(at)
        return tuple(found)

    @cached_property
    def depths(self) -> Integers:
        """How many items there are on the way from the root to every item, itself included."""
        return np.sum([at >= 0 for at in self.ancestors], axis=0).astype(np.int64) if self.ancestors else self.labels

    @cached_property
    def paths(self) -> Integers:
        """A number for all labels on the way from the root to every item, with the class of the root."""
        paths = np.full(len(self.labels), -1, dtype=np.int64)
        offset = 0
        for depth in range(1, len(self.ancestors) + 1):
            items = np.flatnonzero(self.depths == depth)
            above = self.classes[self.persons[items]] if depth == 1 else paths[self.parents[items]]
            codes, number = dense_pairs(above, self.labels[items])
            paths[items], offset = codes + offset, offset + number
        return paths

    def without(self, *, items: Mask | None = None, persons: Mask | None = None) -> tuple[Forest, Integers, Integers]:
        """Return the trees without some items, and all below these, and without some persons.

        The numbers that the remaining persons and items had before come second and third.
        """
        gone = np.zeros(len(self.labels), dtype=np.bool_)
        for at in self.ancestors:
            if items is not None:
                gone |= (at >= 0) & items[at]
        if persons is not None:
            gone |= persons[self.persons]
        people = np.arange(self.size) if persons is None else np.flatnonzero(~persons)
        rows = np.flatnonzero(~gone)
        return self.of(people, rows), people, rows

    def of(self, people: Integers, rows: Integers) -> Forest:
        """Return the trees of some persons with some of their items, both ascending, each with those above it."""
        person_of, row_of = np.full(self.size, -1, dtype=np.int64), np.full(len(self.labels) + 1, -1, dtype=np.int64)
        person_of[people], row_of[rows] = np.arange(len(people)), np.arange(len(rows))
        return replace(
            self,
            classes=self.classes[people],
            persons=person_of[self.persons[rows]],
            parents=row_of[self.parents[rows]],
            labels=self.labels[rows],
            secrets=tuple((roots[people], items[rows]) for roots, items in self.secrets),
        )

    def relabelled(self, classes: Integers, labels: Integers) -> Forest:
        """Return the same trees with other classes and labels."""
        found = replace(self, classes=classes, labels=labels)
        vars(found).update({name: vars(self)[name] for name in _STRUCTURE if name in vars(self)})
        return found

    def sample(self, most: int) -> Mask:
        """Return persons with about so many items together, chosen by what they hold and not by their place."""
        keys = self._mixtures()
        number = max(1, most * self.size // max(len(self), 1))
        if number >= self.size:
            return np.ones(self.size, dtype=np.bool_)
        return np.asarray(keys <= np.partition(keys, number)[number])

    def of_persons(self, chosen: Mask) -> tuple[Forest, Integers]:
        """Return the whole trees of some persons, and the numbers that their items had."""
        rows = np.flatnonzero(chosen[self.persons])
        return self.part(np.flatnonzero(chosen), rows), rows

    def part(self, people: Integers, rows: Integers) -> Forest:
        """As `of`, with paths numbered as here, so that patterns can be compared."""
        found = self.of(people, rows)
        vars(found).update(paths=self.paths[rows], path_count=self.path_count, deepest=self.deepest)
        return found

    @cached_property
    def path_count(self) -> int:
        """A number above those of all paths."""
        return int(self.paths.max(initial=0)) + 1

    @cached_property
    def deepest(self) -> int:
        """The number of levels below the root."""
        return len(self.ancestors)

    def count_different_bags(self) -> int:
        """Return about how many persons differ in their class and items; never more than there are."""
        return len(np.unique(self._mixtures()))

    def _mixtures(self) -> npt.NDArray[np.uint64]:
        """Return a number for every person, nearly always different where classes or items are."""
        sums = np.zeros(self.size, dtype=np.uint64)
        rows = np.flatnonzero(np.diff(self.starts))
        if len(rows):
            sums[rows] = np.add.reduceat(_mixed(self.paths), self.starts[:-1][rows])
        return _mixed(sums + _mixed(self.classes))

    @cached_property
    def contents(self) -> tuple[Integers, Integers]:
        """A number for the tree of every person, and one for what every item is with all below it."""
        items = np.unique(self.paths, return_inverse=True)[1].ravel().astype(np.int64)
        items = _ranks_of(items)
        for depth in range(len(self.ancestors), 1, -1):
            below = np.flatnonzero(self.depths == depth)
            items = rank_with_rows_below(items, self.parents[below], items[below])
        first = np.flatnonzero(self.parents < 0)
        return rank_with_rows_below(_ranks_of(self.classes), self.persons[first], items[first]), items


#: what follows from who lies below whom
_STRUCTURE = ("starts", "ancestors", "depths", "holders")


def _mixed(codes: Integers | npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return numbers whose sums differ for nearly all bags of codes."""
    mixed = (codes.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return mixed * np.uint64(0xBF58476D1CE4E5B9)


def _ranks_of(codes: Integers) -> Integers:
    return refined(np.zeros(len(codes), dtype=np.int64), codes)


def dense_pairs(first: Integers, second: Integers) -> tuple[Integers, int]:
    """Return numbers from 0 on for pairs of numbers, in the order of the pairs, and how many different ones there are.

    Examples
    --------
    >>> import numpy as np
    >>> dense_pairs(np.array([1, 0, 1]), np.array([5, 9, 5]))
    (array([1, 0, 1]), 2)
    """
    if not len(first):
        return np.zeros(0, dtype=np.int64), 0
    width, least = int(second.max()) + 2, int(second.min(initial=0))
    if (int(first.max()) + 2) * (width - least) < 2**62:
        key = (first + 1) * (width - least) + (second - least)
        if (int(first.max()) + 2) * (width - least) <= 4 * len(first) + 1024:  # count instead of sorting
            seen = np.zeros((int(first.max()) + 2) * (width - least), dtype=np.bool_)
            seen[key] = True
            return (np.cumsum(seen) - 1)[key], int(np.count_nonzero(seen))
        values, codes = np.unique(key, return_inverse=True)
        return codes.astype(np.int64), len(values)
    rows, codes = np.unique(np.stack([first, second], axis=1), axis=0, return_inverse=True)
    return codes.ravel().astype(np.int64), len(rows)
