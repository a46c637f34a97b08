"""Risk by what an intruder knows: every small set of quasi-identifiers, before and after."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.risk._boxes import Boxes
from shoal.risk._pair import Pair

__all__ = ["Combination", "Crowds", "combinations"]

#: distinct records times sets of columns that are worth counting
_WORK = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowds:
    """How records hide among those that agree with them in some columns.

    Parameters
    ----------
    unique
        The records that agree with no other.
    smallest
        The fewest records that agree; 0 without records.
    average
        The share of records that an intruder finds who knows these columns of everybody: groups over records.
    """

    unique: int
    smallest: int
    average: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """The risk from some columns, in a table and in its release.

    Parameters
    ----------
    columns
        What the intruder knows.
    original, released
        How records hide before and after; a released value is what is written, so records agree in ``[20, 30)``.
    """

    columns: tuple[str, ...]
    original: Crowds
    released: Crowds


def combinations(pair: Pair, *, most: int = 3) -> tuple[Combination, ...]:
    """Measure every set of at most ``most`` quasi-identifiers, the most telling first.

    Records are counted, also where a person has several. Larger sets are left out where there are so many of them, or
    so many distinct records, that counting would take minutes. Cost: O(sets * distinct records).

    Examples
    --------
    >>> import pyarrow, shoal
    >>> columns = [shoal.Attribute(name=name, role="quasi-identifier") for name in ("sex", "town")]
    >>> people = pyarrow.table({"sex": ["f", "f", "m", "m"], "town": ["a", "b", "a", "a"]})
    >>> table = shoal.read(people).with_schema(shoal.Schema(attributes=tuple(columns)))
    >>> made = shoal.read(pyarrow.table({"sex": ["*"] * 4, "town": ["a", "b", "a", "a"]}))
    >>> [(each.columns, each.original.unique, each.released.unique) for each in combinations(Pair.of(table, made))]
    [(('sex', 'town'), 2, 1), (('town',), 1, 1), (('sex',), 0, 0)]
    """
    known = pair.quasi_identifiers
    work = max(len(pair.original), len(pair.released), 1)
    sets: list[tuple[int, ...]] = []
    for size in range(1, min(most, len(known)) + 1):
        if size > 1 and (len(sets) + math.comb(len(known), size)) * work > _WORK:
            break
        sets += list(itertools.combinations(known, size))
    found = [_combination(pair, columns) for columns in sets]
    return tuple(sorted(found, key=lambda each: (-each.original.unique, -each.original.average, each.columns)))


def _combination(pair: Pair, columns: Sequence[int]) -> Combination:
    return Combination(
        columns=tuple(pair.axes[column].name for column in columns),
        original=_crowds(pair.original, columns),
        released=_crowds(pair.released, columns),
    )


def _crowds(boxes: Boxes, columns: Sequence[int]) -> Crowds:
    sizes = boxes.only(columns).counts
    return Crowds(
        unique=int(np.count_nonzero(sizes == 1)),
        smallest=int(sizes.min()) if len(sizes) else 0,
        average=len(sizes) / max(int(sizes.sum()), 1),
    )
