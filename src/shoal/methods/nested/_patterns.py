"""Count how many persons show every pattern of a root class and so many linked items.

A pattern of m items is m rows of a person, none of which lies below another, with the rows above them: their labels,
and which of them lie below the same row. Rows above come free, so that these patterns are all that somebody can know
who knows m rows with their links. Two choices of rows are the same pattern where, in some order, they have the same
labels on the ways from the root (*paths*) and share as many rows of these ways. A person shows a pattern once, however
often it is found in the tree.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import Exhausted
from shoal.kernels import Integers, Mask
from shoal.methods.nested._forest import Forest

#: choices of rows that are looked at together
_BATCH = 1 << 21
#: different patterns of one size that memory may hold
_MOST = 1 << 28


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PatternSupport:
    """The different patterns of one size, and the persons who show them."""

    #: One row per pattern: equal rows are equal patterns.
    keys: Integers
    #: The persons who show it; those of them who have each of the secret values.
    persons: Integers
    holders: tuple[Integers, ...]

    def rare(self, k: int) -> Mask:
        """Return which patterns fewer than k persons show."""
        return np.asarray(self.persons < k)

    def certain(self, numerator: int, denominator: int) -> Mask:
        """Return which patterns make a secret value more certain than a fraction."""
        sizes, places = np.unique(self.persons, return_inverse=True)
        # whole numbers of any size: a fraction may have a denominator beyond those of arrays
        allowed = np.array([numerator * size // denominator for size in sizes.tolist()], dtype=np.int64)
        found = np.zeros(len(self.persons), dtype=np.bool_)
        for holders in self.holders:
            found |= holders > allowed[places.ravel()]
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choices:
    """Choices of as many rows of one person each."""

    persons: Integers
    #: One column per row.
    rows: Integers
    keys: Integers


def choices_of(forest: Forest, size: int) -> int:
    """Return how many choices of so many rows there are, whether they are patterns or not."""
    lengths, numbers = np.unique(np.diff(forest.starts), return_counts=True)
    return sum(math.comb(int(length), size) * int(number) for length, number in zip(lengths, numbers, strict=True))


def count_support(forest: Forest, size: int) -> PatternSupport:
    """Count the persons who show every pattern of so many items that anybody shows."""
    if size == 0:
        keys, places = np.unique(forest.classes, return_inverse=True)
        return _support(_weights(forest), keys[:, None], places.ravel(), np.arange(forest.size))
    condensed = condense(forest, size)
    merged: PatternSupport | None = None
    for choices in _each_choice(condensed.forest, size):
        keys, places, persons = _pairs(choices)
        merged = _added(merged, _support(condensed.weights, keys, places, persons))
    if merged is None:
        none = np.zeros(0, dtype=np.int64)
        return _support(condensed.weights, none.reshape(0, 1), none, none)
    return merged


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Condensed:
    """The different trees, each once, and of equal rows next to each other no more than a pattern can use."""

    forest: Forest
    #: The number of persons that each tree stands for; and how many of them have each of the secret values.
    weights: tuple[Integers, ...]
    #: The tree of every person.
    trees: Integers


def condense(forest: Forest, size: int) -> Condensed:
    """Return the different trees, in which patterns of so many items are found just as often."""
    held: dict[int, Condensed] = vars(forest).setdefault("condensed", {})
    if size not in held:
        held[size] = _condense(forest, size)
    return held[size]


def _condense(forest: Forest, size: int) -> Condensed:
    if forest.deepest <= 1 and 2 * forest.count_different_bags() > forest.size:
        # nearly everybody is different: trees are not compared
        firsts = trees = np.arange(forest.size)
        items = forest.paths
    else:
        people, items = forest.contents
        _, firsts, trees = np.unique(people, return_index=True, return_inverse=True)
    # equal rows below the same row: a pattern of so many items uses at most as many of them
    above = np.where(forest.parents < 0, -1 - forest.persons, forest.parents)
    order = np.lexsort((np.arange(len(forest)), items, above))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (above[order][1:] != above[order][:-1]) | (items[order][1:] != items[order][:-1])
    places = np.arange(len(order))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = places - np.maximum.accumulate(np.where(new, places, 0))
    chosen = np.zeros(forest.size, dtype=np.bool_)
    chosen[firsts] = True
    gone = number >= size
    for at in forest.ancestors:
        gone |= (at >= 0) & (number[at] >= size)
    kept = np.flatnonzero(chosen[forest.persons] & ~gone)
    order = np.argsort(firsts, kind="stable")
    place = np.empty(len(firsts), dtype=np.int64)
    place[order] = np.arange(len(firsts))
    trees = place[trees.ravel()]
    weights = tuple(
        np.bincount(trees, weights=each, minlength=len(firsts)).astype(np.int64) for each in _weights(forest)
    )
    return Condensed(forest=forest.part(firsts[order], kept), weights=weights, trees=trees)


def _weights(forest: Forest) -> tuple[Integers, ...]:
    """Return how many persons each person stands for: one; and whether it has each of the secret values."""
    return (np.ones(forest.size, dtype=np.int64), *(having.astype(np.int64) for having in forest.holders))


def find_choices(forest: Forest, size: int, keys: Integers) -> Choices:
    """Return all choices of rows that are one of some patterns; for none, its persons only."""
    if size == 0:
        persons = np.flatnonzero(np.isin(forest.classes, keys[:, 0]))
        return Choices(persons=persons, rows=np.zeros((len(persons), 0), np.int64), keys=forest.classes[persons, None])
    found = []
    wanted, condensed = _sorted_rows(keys), condense(forest, size)
    showing = np.zeros(condensed.forest.size, dtype=np.bool_)
    for choices in _each_choice(condensed.forest, size):
        showing[choices.persons[_is_among(choices.keys, wanted)]] = True
    people = showing[condensed.trees]
    part, items = forest.of_persons(people)
    numbers = np.flatnonzero(people)
    for choices in _each_choice(part, size):
        hit = _is_among(choices.keys, wanted)
        rows = items[choices.rows[hit]]
        found.append(Choices(persons=numbers[choices.persons[hit]], rows=rows, keys=choices.keys[hit]))
    if not found:
        none = np.zeros(0, dtype=np.int64)
        return Choices(persons=none, rows=np.zeros((0, size), np.int64), keys=np.zeros((0, keys.shape[1]), np.int64))
    return Choices(
        persons=np.concatenate([each.persons for each in found]),
        rows=np.concatenate([each.rows for each in found]),
        keys=np.concatenate([each.keys for each in found]),
    )


def least_support(forest: Forest, size: int) -> Integers:
    """Return for every person the least number of persons who show a pattern of so many items that it shows.

    Who has no such pattern is not found by one: the number of all persons.
    """
    support = count_support(forest, size)
    if size == 0:
        return np.asarray(support.persons[np.unique(forest.classes, return_inverse=True)[1].ravel()])
    condensed = condense(forest, size)
    least = np.full(condensed.forest.size, forest.size, dtype=np.int64)
    order = _order(support.keys)
    for choices in _each_choice(condensed.forest, size):
        places = order[_places(choices.keys, support.keys[order])]
        np.minimum.at(least, choices.persons, support.persons[places])
    return np.asarray(least[condensed.trees])


def _support(weights: tuple[Integers, ...], keys: Integers, places: Integers, persons: Integers) -> PatternSupport:
    """Return the support of patterns, given once for every person who shows them; all sums are below 2**53."""
    counted = [np.bincount(places, weights=each[persons], minlength=len(keys)) for each in weights]
    first, *others = (each.astype(np.int64) for each in counted)
    return PatternSupport(keys=keys, persons=first, holders=tuple(others))


def _pairs(choices: Choices) -> tuple[Integers, Integers, Integers]:
    """Return the patterns, and every pair of a pattern (by its place) and a person who shows it, once."""
    least, most = int(choices.persons.min(initial=0)), int(choices.persons.max(initial=0))
    width = most - least + 1
    if choices.keys.shape[1] == 1 and (int(choices.keys.max(initial=0)) + 1) * width < 2**62:
        together = np.sort(choices.keys[:, 0] * width + (choices.persons - least))
        keys, persons = (together // width)[:, None], together % width + least
    else:
        order = np.lexsort((choices.persons, *choices.keys.T[::-1]))
        keys, persons = choices.keys[order], choices.persons[order]
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = np.any(keys[1:] != keys[:-1], axis=1)
    first = new.copy()
    first[1:] |= persons[1:] != persons[:-1]
    return keys[new], (np.cumsum(new) - 1)[first], persons[first]


def _added(one: PatternSupport | None, other: PatternSupport) -> PatternSupport:
    """Return the support of patterns of two sets of different persons."""
    if one is None:
        return other
    keys = np.concatenate([one.keys, other.keys])
    if len(keys) > _MOST:
        raise Exhausted(f"there are more than {_MOST:,} different patterns of known items", hint="know fewer items")
    order = _order(keys)
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = np.any(keys[order][1:] != keys[order][:-1], axis=1)
    firsts = np.flatnonzero(new)

    def total(left: Integers, right: Integers) -> Integers:
        return np.add.reduceat(np.concatenate([left, right])[order], firsts)

    return PatternSupport(
        keys=keys[order][new],
        persons=total(one.persons, other.persons),
        holders=tuple(map(total, one.holders, other.holders)),
    )


def _each_choice(forest: Forest, size: int) -> Iterator[Choices]:
    """Yield all choices of rows that are patterns, in batches of whole persons."""
    lengths = np.diff(forest.starts)
    batch: list[tuple[Integers, Integers]] = []
    held = 0
    for length in np.unique(lengths[lengths >= size]).tolist():
        people = np.flatnonzero(lengths == length)
        at_once = max(1, _BATCH // math.comb(length, size))
        for start in range(0, len(people), at_once):
            chosen = people[start : start + at_once]
            rows = _combinations(length, size)
            batch.append((chosen, rows))
            held += len(chosen) * len(rows)
            if held >= _BATCH:
                yield _choices(forest, batch)
                batch, held = [], 0
    if batch:
        yield _choices(forest, batch)


def _combinations(length: int, size: int) -> Integers:
    """Return all choices of so many of the first numbers, one per row."""
    if math.comb(length, size) > 32 * _BATCH:
        raise Exhausted(
            f"somebody has {length:,} items, which are {math.comb(length, size):,} choices of {size}",
            hint="bound the items of a person with `at_most`, or let fewer items be known",
        )
    flat = np.fromiter(
        itertools.chain.from_iterable(itertools.combinations(range(length), size)),
        dtype=np.int64,
        count=math.comb(length, size) * size,
    )
    return flat.reshape(-1, size)


def _choices(forest: Forest, batch: list[tuple[Integers, Integers]]) -> Choices:
    """Return choices of rows with their patterns, without those of which a row lies below another."""
    starts = forest.starts
    persons = np.concatenate([np.repeat(people, len(rows)) for people, rows in batch])
    places = np.concatenate(
        [(starts[people][:, None, None] + rows).reshape(-1, rows.shape[1]) for people, rows in batch]
    )
    if forest.deepest == 1:
        return Choices(persons=persons, rows=places, keys=pack(np.sort(forest.paths[places], axis=1), forest))
    size = places.shape[1]
    shared = {pair: _shared(forest, *places.T[list(pair)]) for pair in itertools.combinations(range(size), 2)}
    apart = np.ones(len(persons), dtype=np.bool_)
    for (i, j), depth in shared.items():
        apart &= depth < np.minimum(forest.depths[places[:, i]], forest.depths[places[:, j]])
    persons, places = persons[apart], places[apart]
    shared = {pair: depth[apart] for pair, depth in shared.items()}
    return Choices(persons=persons, rows=places, keys=_linked_keys(forest, places, shared))


def _shared(forest: Forest, one: Integers, other: Integers) -> Integers:
    """Return how many rows two rows have in common on their ways from the root."""
    same = [(at[one] == at[other]) & (at[one] >= 0) for at in forest.ancestors]
    return np.asarray(np.sum(same, axis=0), dtype=np.int64)


def _linked_keys(forest: Forest, places: Integers, shared: dict[tuple[int, int], Integers]) -> Integers:
    """Return the patterns: sorted paths, then the least of the lists of shared rows over all orders of equal paths."""
    size = places.shape[1]
    paths = forest.paths[places]
    order = np.argsort(paths, axis=1, kind="stable")
    paths = np.take_along_axis(paths, order, axis=1)
    base = forest.deepest + 1
    table = np.zeros((len(places), size, size), dtype=np.int64)
    for (i, j), depth in shared.items():
        table[:, i, j] = table[:, j, i] = depth
    each = np.arange(len(places))
    least: Integers | None = None
    for turned in itertools.permutations(range(size)):
        same = np.all(paths[:, list(turned)] == paths, axis=1)
        moved = order[:, list(turned)]
        links = np.zeros(len(places), dtype=np.int64)
        for i, j in itertools.combinations(range(size), 2):
            links = links * base + table[each, moved[:, i], moved[:, j]]
        links = np.where(same, links, np.iinfo(np.int64).max)
        least = links if least is None else np.minimum(least, links)
    assert least is not None  # noqa: S101 - there is at least the order as it is
    return pack(np.column_stack([paths, least]), forest, last=base ** math.comb(size, 2))


def pack(columns: Integers, forest: Forest, *, last: int = 1) -> Integers:
    """Return rows of numbers below the number of paths (the last one: below ``last``) in as few columns as fit."""
    width = forest.path_count
    widths = [width] * (columns.shape[1] - (last > 1)) + ([last] if last > 1 else [])
    packed: list[Integers] = []
    room = 0
    for column, each in zip(columns.T, widths, strict=True):
        if packed and room * each < 2**62:
            packed[-1] = packed[-1] * each + column
            room *= each
        else:
            packed.append(column.astype(np.int64))
            room = each
    return np.column_stack(packed)


def _order(keys: Integers) -> npt.NDArray[np.intp]:
    if keys.shape[1] == 1:
        return np.argsort(keys[:, 0], kind="stable")
    return np.lexsort(keys.T[::-1])


def _sorted_rows(keys: Integers) -> Integers:
    return np.asarray(keys[_order(keys)])


def _is_among(keys: Integers, wanted: Integers) -> Mask:
    """Return which rows are among some sorted rows."""
    if not len(wanted):
        return np.zeros(len(keys), dtype=np.bool_)
    places = np.minimum(_places(keys, wanted), len(wanted) - 1)
    return np.asarray(np.all(wanted[places] == keys, axis=1))


def _places(keys: Integers, wanted: Integers) -> Integers:
    """Return where rows stand among some sorted rows, or would stand."""
    if keys.shape[1] == 1:
        return np.searchsorted(wanted[:, 0], keys[:, 0]).astype(np.int64)
    together = np.concatenate([wanted, keys])
    order = np.lexsort((np.arange(len(together)), *together.T[::-1]))
    before = np.cumsum(order < len(wanted))
    places = np.empty(len(together), dtype=np.int64)
    places[order] = before
    found = places[len(wanted) :] - 1
    equal = (found >= 0) & np.all(wanted[np.maximum(found, 0)] == keys, axis=1)
    return np.where(equal, found, found + 1)
