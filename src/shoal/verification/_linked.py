"""Count again how many persons show every pattern of known items: a computation of its own.

Nothing here is shared with the search, which chooses rows and compares their ways to the root. Here patterns are built
from the deepest tables up: those of a row are its label with a bag of patterns of rows below it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.errors import Exhausted
from shoal.kernels import Integers, Mask

#: bags of rows that are looked at together, and the most that one row may have
_BATCH, _MOST = 1 << 21, 1 << 27


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkedTable:
    """A table of a data set: what is known of its rows, and the rows of the parent that they belong to."""

    #: A number for every row, from 0 on, equal where all known columns are.
    labels: Integers
    #: The name of the parent and the row of it that every row belongs to; none for the table of the persons.
    parent: str | None = None
    owners: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PatternCounts:
    """Every pattern that somebody shows: its number of known items, and the persons who show it."""

    sizes: Integers
    persons: Integers
    #: Those of the persons who have each of the secret values.
    holders: tuple[Integers, ...]

    def fewest(self, most: int) -> list[int]:
        """Return for 0, 1, ... known items the fewest persons who show a pattern of at most so many."""
        return [int(self.persons[self.sizes <= size].min(initial=np.iinfo(np.int64).max)) for size in range(most + 1)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Options:
    """Patterns of which some rows are the highest row, each once for every such row; sorted by owner, then by row."""

    owners: Integers
    rows: Integers
    patterns: Integers
    sizes: Integers


class TooMany(Exception):
    """More bags of known items would be made than there is room for."""


@dataclass(slots=True)
class _Room:
    """How many bags may still be made."""

    bags: float

    def take(self, number: int) -> None:
        self.bags -= number
        if self.bags < 0:
            raise TooMany


def count_patterns(
    tables: Mapping[str, LinkedTable], most: int, secrets: Sequence[Mask] = (), *, room: float = math.inf
) -> PatternCounts:
    """Count the persons who show every pattern of at most ``most`` known rows.

    Parameters
    ----------
    tables
        The tables by name, that of the persons first, and every other one after its parent.
    most
        How many rows are known at most; the rows above known ones are known as well.
    secrets
        Of each secret value, which persons have it.
    room
        How many bags of rows may be looked at; `TooMany` is raised where there are more.
    """
    left = _Room(room)
    below: dict[str, list[tuple[Integers, Integers, Integers, Integers]]] = {}
    contents: dict[str, list[tuple[Integers, Integers]]] = {}
    used = 0
    for name, table in reversed([*tables.items()]):
        options = _joined(below.pop(name, []))
        if table.parent is None:
            return _count_people(table.labels, options, most, secrets, left)
        content = _contents(table.labels, contents.pop(name, [])) + used
        rows, bags, sizes = _bags_of_rows(len(table.labels), options, most, left)
        pairs, patterns = np.unique(np.stack([table.labels[rows], bags], axis=1), axis=0, return_inverse=True)
        kept = _first_copies(table.owners, content, most)[rows]
        below.setdefault(table.parent, []).append(
            (table.owners[rows][kept], rows[kept] + used, patterns.ravel()[kept] + used, np.maximum(sizes, 1)[kept])
        )
        contents.setdefault(table.parent, []).append((table.owners, content))
        used += max(len(pairs), len(table.labels)) + 1
    raise AssertionError("one table has no parent")


def _joined(parts: Sequence[tuple[Integers, Integers, Integers, Integers]]) -> _Options:
    none = np.zeros(0, dtype=np.int64)
    owners, rows, patterns, sizes = (
        np.concatenate([part[place] for part in parts] or [none]).astype(np.int64) for place in range(4)
    )
    order = np.lexsort((patterns, rows, owners))
    return _Options(owners=owners[order], rows=rows[order], patterns=patterns[order], sizes=sizes[order])


def _contents(labels: Integers, below: Sequence[tuple[Integers, Integers]]) -> Integers:
    """Return a number for every row, equal where the row and all below it are."""
    content = labels.astype(np.int64)
    for owners, codes in below:
        order = np.lexsort((codes, owners))
        owners, codes = owners[order], codes[order]
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        lists, numbers = np.zeros(len(labels), dtype=np.int64), dict[bytes, int]()
        for owner, start, end in zip(owners[starts].tolist(), starts, [*starts[1:], len(owners)], strict=False):
            lists[owner] = numbers.setdefault(codes[start:end].tobytes(), len(numbers) + 1)
        content = np.unique(content * (len(numbers) + 1) + lists, return_inverse=True)[1].ravel()
    return content.astype(np.int64)


def _first_copies(owners: Integers, contents: Integers, most: int) -> Mask:
    """Return which rows are among the first ``most`` ones of an owner with the same content: no pattern uses more."""
    order = np.lexsort((contents, owners))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (owners[order][1:] != owners[order][:-1]) | (contents[order][1:] != contents[order][:-1])
    places = np.arange(len(order))
    kept = np.empty(len(order), dtype=np.bool_)
    kept[order] = places - np.maximum.accumulate(np.where(new, places, 0)) < most
    return kept


def _bags_of_rows(number: int, options: _Options, most: int, room: _Room) -> tuple[Integers, Integers, Integers]:
    """Return rows with every bag of patterns that they show below them, each once; and the size of the bag."""
    each = np.arange(number)
    if not len(options.rows) or not most:
        return each, np.zeros(number, dtype=np.int64), np.zeros(number, dtype=np.int64)
    found = [*_bags(options, most, room)]
    owners = np.concatenate([each, *(part[0] for part in found)])
    bags = np.concatenate([np.zeros((number, most), dtype=np.int64), *(part[1] for part in found)])
    sizes = np.concatenate([np.zeros(number, dtype=np.int64), *(part[2] for part in found)])
    codes = np.unique(bags, axis=0, return_inverse=True)[1].ravel()
    _, first = np.unique(np.stack([owners, codes], axis=1), axis=0, return_index=True)
    return owners[first], codes[first], sizes[first]


def _count_people(
    labels: Integers, options: _Options, most: int, secrets: Sequence[Mask], room: _Room
) -> PatternCounts:
    weights = [np.ones(len(labels), dtype=np.int64), *(having.astype(np.int64) for having in secrets)]
    alone = [np.bincount(labels, weights=each).astype(np.int64) for each in weights]
    shown = np.flatnonzero(alone[0])
    sizes, counts = np.zeros(len(shown), dtype=np.int64), [each[shown] for each in alone]
    width, kinds = int(options.patterns.max(initial=0)) + 2, int(labels.max(initial=0)) + 1
    merged: tuple[Integers, list[Integers]] | None = None
    for owners, bags, size in _bags(options, most, room) if most else ():
        keys = _packed(np.column_stack([size, labels[owners], bags]), [most + 1, kinds, *[width] * most])
        order = np.lexsort((owners, *keys.T[::-1]))
        keys, owners = keys[order], owners[order]
        new = np.ones(len(keys), dtype=np.bool_)
        new[1:] = np.any(keys[1:] != keys[:-1], axis=1)
        first = new.copy()
        first[1:] |= owners[1:] != owners[:-1]
        places, persons = (np.cumsum(new) - 1)[first], owners[first]
        here = [np.bincount(places, weights=each[persons]).astype(np.int64) for each in weights]
        merged = _added(merged, keys[new], here)
    if merged is not None:
        factor = _room([most + 1, kinds, *[width] * most])
        sizes = np.concatenate([sizes, merged[0][:, 0] // factor])
        counts = [np.concatenate(pair) for pair in zip(counts, merged[1], strict=True)]
    return PatternCounts(sizes=sizes, persons=counts[0], holders=tuple(counts[1:]))


def _added(
    merged: tuple[Integers, list[Integers]] | None, keys: Integers, counts: list[Integers]
) -> tuple[Integers, list[Integers]]:
    """Return the counts of patterns of two sets of different persons."""
    if merged is None:
        return keys, counts
    together = np.concatenate([merged[0], keys])
    order = np.lexsort(together.T[::-1])
    together = together[order]
    new = np.ones(len(together), dtype=np.bool_)
    new[1:] = np.any(together[1:] != together[:-1], axis=1)
    first = np.flatnonzero(new)
    summed = [np.add.reduceat(np.concatenate(pair)[order], first) for pair in zip(merged[1], counts, strict=True)]
    return together[new], summed


def _bags(options: _Options, most: int, room: _Room) -> Iterator[tuple[Integers, npt.NDArray[np.int64], Integers]]:
    """Yield owners with bags of 1 to ``most`` patterns of different rows, as sorted numbers above 0, and their sizes.

    A bag may come several times for an owner; all those of an owner come together.
    """
    number = len(options.rows)
    starts = np.flatnonzero(np.diff(options.owners, prepend=-1))
    ends = np.append(starts[1:], number)
    # of m patterns there are at most as many bags as choices of m of the options
    lengths = (ends - starts).astype(np.float64)
    work = np.cumsum(sum(lengths**size / math.factorial(size) for size in range(1, most + 1)))
    at = 0
    while at < len(starts):
        done = work[at - 1] if at else 0.0
        until = max(at + 1, int(np.searchsorted(work, done + 4 * _BATCH / most, side="right")))
        yield from _bags_between(options, int(starts[at]), int(ends[until - 1]), most, room)
        at = until


def _bags_between(
    options: _Options, start: int, end: int, most: int, room: _Room
) -> Iterator[tuple[Integers, npt.NDArray[np.int64], Integers]]:
    owners, rows = options.owners[start:end], options.rows[start:end]
    patterns, sizes = options.patterns[start:end] + 1, options.sizes[start:end]
    places = np.arange(end - start)
    # the first option of the next row, and of the next owner
    after_row = np.searchsorted(_row_numbers(owners, rows), _row_numbers(owners, rows), side="right")
    after_owner = np.searchsorted(owners, owners, side="right")
    bags, last, total = patterns[:, None], places, sizes
    found = [(owners, bags, total)]
    for _ in range(1, most):
        more = after_owner[last] - after_row[last]
        room.take(int(more.sum()))
        if int(more.sum()) > _MOST:
            raise Exhausted(f"a row has more than {_MOST:,} bags of known items below it", hint="know fewer items")
        held = np.repeat(np.arange(len(last)), more)
        next_ = np.arange(len(held)) - np.repeat(np.cumsum(more) - more, more) + after_row[last][held]
        fits = total[held] + sizes[next_] <= most
        held, next_ = held[fits], next_[fits]
        bags = np.column_stack([bags[held], patterns[next_]])
        last, total = next_, total[held] + sizes[next_]
        found.append((owners[last], bags, total))
    padded = []
    for _, bag, _ in found:
        full = np.zeros((len(bag), most), dtype=np.int64)
        full[:, : bag.shape[1]] = bag
        full.sort(axis=1)
        padded.append(full)
    kept = np.concatenate([each[2] for each in found]) <= most
    yield (
        np.concatenate([each[0] for each in found])[kept],
        np.concatenate(padded)[kept],
        np.concatenate([each[2] for each in found])[kept],
    )


def _row_numbers(owners: Integers, rows: Integers) -> Integers:
    """Return ascending numbers of sorted rows."""
    return np.cumsum(np.append(False, (owners[1:] != owners[:-1]) | (rows[1:] != rows[:-1])))[: len(rows)]


def _packed(columns: Integers, widths: Sequence[int]) -> Integers:
    """Return rows of numbers below some widths in as few columns as fit, in the same order."""
    packed: list[Integers] = []
    room = 1
    for column, width in zip(columns.T, widths, strict=True):
        if packed and room * width < 2**62:
            packed[-1], room = packed[-1] * width + column, room * width
        else:
            packed.append(column.astype(np.int64))
            room = width
    return np.column_stack(packed)


def _room(widths: Sequence[int]) -> int:
    """Return the factor of the first number in the first packed column."""
    room, first = 1, widths[0]
    for width in widths[1:]:
        if first * room * width >= 2**62:
            break
        room *= width
    return room
