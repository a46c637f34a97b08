"""Truthful differential privacy, literally: one record at a time, one tree at a time."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.hierarchies import Hierarchy
from shoal.methods.truthful._scores import Setting
from shoal.methods.truthful._survival import SCALE, Survival
from shoal.schema import Provenance
from shoal.tables import Frequencies

Record = tuple[int, ...]
Cell = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Column:
    """A hierarchy: ``levels[l][leaf]`` is the value of a leaf at level l; the last level has one value."""

    levels: tuple[tuple[int, ...], ...]

    @property
    def height(self) -> int:
        return len(self.levels) - 1

    @property
    def leaves(self) -> int:
        return len(self.levels[0])

    def below(self, level: int, value: int) -> list[int]:
        """Return the values of the next level down that lie in a value."""
        pairs = zip(self.levels[level - 1], self.levels[level], strict=True)
        return sorted({fine for fine, coarse in pairs if coarse == value})

    def share(self, level: int, value: int) -> float:
        covered = sum(each == value for each in self.levels[level])
        return (covered - 1) / max(self.leaves - 1, 1) if level < self.height else 1.0

    def hierarchy(self, name: str) -> Hierarchy:
        sizes = [max(level) + 1 for level in self.levels]
        return Hierarchy(
            attribute=name,
            labels=tuple(
                tuple("*" if number == self.height else f"{number}:{value}" for value in range(size))
                for number, size in enumerate(sizes)
            ),
            codes=tuple(np.array(level, dtype=np.int32) for level in self.levels),
            shares=tuple(
                np.array([self.share(number, value) for value in range(size)]) for number, size in enumerate(sizes)
            ),
            leaves=tuple(np.bincount(level) for level in self.levels),
            provenance=Provenance.DECLARED,
        )


def frequencies(columns: Sequence[Column], records: Sequence[Record]) -> Frequencies:
    """Return the distinct records with their counts, as encoding does."""
    counted = sorted(Counter(records).items())
    return Frequencies(
        hierarchies=tuple(column.hierarchy(f"c{number}") for number, column in enumerate(columns)),
        codes=np.asfortranarray(
            np.array([record for record, _ in counted], dtype=np.int32).reshape(len(counted), len(columns))
        ),
        counts=np.array([count for _, count in counted], dtype=np.int64),
        sensitive_codes=np.zeros((len(counted), 0), dtype=np.int32),
    )


def setting(columns: Sequence[Column], records: Sequence[Record], *, beta: Fraction, k: int) -> Setting:
    return Setting(
        frequencies=frequencies(columns, records),
        low=(0,) * len(columns),
        high=tuple(column.height for column in columns),
        beta=beta,
        k=k,
        weights={},
    )


def classes(columns: Sequence[Column], records: Sequence[Record], levels: Sequence[int]) -> Counter[Record]:
    """Return the classes of a node with their sizes."""
    return Counter(
        tuple(column.levels[level][leaf] for column, level, leaf in zip(columns, levels, record, strict=True))
        for record in records
    )


def nodes(columns: Sequence[Column]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(column.height + 1) for column in columns))


def worth(survival: Survival, size: int) -> int:
    last = len(survival.table) - 1
    return int(survival.table[size]) if size <= last else int(survival.table[last]) + survival.slope * (size - last)


def quality(columns: Sequence[Column], levels: Sequence[int], values: Sequence[int]) -> int:
    """Return sum_j floor(w (1 - share) 2^12) with equal weights, each at most floor(w 2^12)."""
    weight = 1.0 / len(columns)
    return sum(
        min(
            math.floor(weight * (1 - column.share(level, value)) * SCALE),
            math.floor(weight * SCALE),
        )
        for column, level, value in zip(columns, levels, values, strict=True)
    )


def granularity(columns: Sequence[Column], records: Sequence[Record], levels: Sequence[int], survival: Survival) -> int:
    """Return the expected-quality score of a node."""
    return sum(
        worth(survival, size) * quality(columns, levels, values)
        for values, size in classes(columns, records, levels).items()
    )


def trees(columns: Sequence[Column], cell: Cell) -> list[tuple[Fraction, frozenset[Cell]]]:
    """Return every tree below a cell, with its probability before any data is seen, as the set of its cells."""
    splits = [number for number, (level, _) in enumerate(cell) if level > 0]
    if not splits:
        return [(Fraction(1), frozenset([cell]))]
    found = [(Fraction(1, 2), frozenset([cell]))]
    for number in splits:
        level, value = cell[number]
        children = [
            (*cell[:number], (level - 1, below), *cell[number + 1 :]) for below in columns[number].below(level, value)
        ]
        for chosen in itertools.product(*(trees(columns, child) for child in children)):
            prior = Fraction(1, 2 * len(splits)) * math.prod(part for part, _ in chosen)
            found.append((prior, frozenset().union(*(cells for _, cells in chosen))))
    return found


def inside(columns: Sequence[Column], records: Sequence[Record], cell: Cell) -> int:
    """Return how many records lie in a cell."""
    return sum(
        all(
            column.levels[level][leaf] == value
            for column, leaf, (level, value) in zip(columns, record, cell, strict=True)
        )
        for record in records
    )
