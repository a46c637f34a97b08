"""The lattice of a table: a node is one level per quasi-identifier, and its release is a recoding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.hierarchies import Hierarchy
from shoal.kernels.recoding import group
from shoal.models import Classes, Histogram, Model, keep
from shoal.models._classes import tally
from shoal.tables import Frequencies, Recoding, SensitiveAttribute

__all__ = ["Lattice", "Levels", "View", "recoding_of"]

Levels = tuple[int, ...]
Codes = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: Coarser tables kept to roll up from, in rows times attributes; 32 million codes are 128 MB.
_STORE = 2**25


class Lattice:
    """The nodes of one table, and their equivalence classes.

    The classes of a node are gathered from the distinct tuples of the table or, where :meth:`prepare` stored one, from
    the smaller table of a node below it.
    """

    def __init__(self, frequencies: Frequencies) -> None:
        self.frequencies = frequencies
        self.heights = frequencies.heights
        self.nodes = math.prod(height + 1 for height in self.heights)
        self._maps: dict[tuple[int, int, int], Codes] = {}
        self._tables = [Table.of(frequencies)]
        self._asked: dict[Levels, int] = {}

    @property
    def bottom(self) -> Levels:
        """The node in which every value is as it was."""
        return (0,) * len(self.heights)

    @property
    def top(self) -> Levels:
        """The node in which every value is ``*``."""
        return self.heights

    def view(self, levels: Levels) -> View:
        """Return the classes of a node."""
        return View(self, self._source(levels), levels)

    def prepare(self, levels: Levels) -> None:
        """Note that nodes above ``levels`` are about to be viewed; store its table once that seems worth it."""
        asked = self._asked[levels] = self._asked.get(levels, 0) + 1
        if asked != 2:  # a single node is cheaper to gather directly
            return
        source = self._source(levels)
        if source.levels == levels:
            return
        table = source.rolled_up(self, levels)
        if table.rows <= 0.7 * source.rows:
            self._tables.append(table)
            while sum(kept.columns.size for kept in self._tables[1:]) > _STORE and len(self._tables) > 2:
                del self._tables[1]

    def mappings(self, low: Levels, high: Levels) -> list[Codes]:
        """Return, per attribute, the codes at ``high`` of the codes at ``low``."""
        return [self._mapping(j, *ends) for j, ends in enumerate(zip(low, high, strict=True))]

    def widths(self, levels: Levels) -> list[int]:
        """Return the number of values of every attribute at a node."""
        return [len(h.labels[level]) for h, level in zip(self.frequencies.hierarchies, levels, strict=True)]

    def _mapping(self, attribute: int, low: int, high: int) -> Codes:
        key = (attribute, low, high)
        found = self._maps.get(key)
        if found is None:
            hierarchy = self.frequencies.hierarchies[attribute]
            found = np.zeros(len(hierarchy.labels[low]), dtype=np.int32)
            found[hierarchy.codes[low]] = hierarchy.codes[high]
            self._maps[key] = found
        return found

    def _source(self, levels: Levels) -> Table:
        fitting = (table for table in self._tables if all(map(int.__le__, table.levels, levels)))
        return min(fitting, key=lambda table: table.rows)

    def recoding(self, levels: Levels, models: Sequence[Model]) -> Recoding:
        """Return the release of a node, in which the classes that violate a model are suppressed."""
        view = View(self, self._tables[0], levels)
        kept = keep(models, view.classes([attribute.name for attribute in self.frequencies.sensitive], population=True))
        return recoding_of(self.frequencies, levels, view.labels, view.codes(), kept)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """The distinct tuples of a node, sensitive values included; one column per row of the arrays."""

    levels: Levels
    columns: Codes
    sensitive: Codes
    counts: Counts
    population: Counts | None

    @classmethod
    def of(cls, frequencies: Frequencies) -> Table:
        """Return the table of the lowest node."""
        return cls(
            levels=(0,) * len(frequencies.hierarchies),
            columns=np.ascontiguousarray(frequencies.codes.T),
            sensitive=np.ascontiguousarray(frequencies.sensitive_codes.T),
            counts=frequencies.counts,
            population=frequencies.population,
        )

    @property
    def rows(self) -> int:
        """The number of distinct tuples."""
        return len(self.counts)

    def rolled_up(self, lattice: Lattice, levels: Levels) -> Table:
        """Return the table of a node above this one."""
        maps, sizes = lattice.mappings(self.levels, levels), lattice.widths(levels)
        extra = [attribute.size for attribute in lattice.frequencies.sensitive]
        groups = group(
            np.concatenate([self.columns, self.sensitive]),
            [*maps, *(np.arange(size, dtype=np.int32) for size in extra)],
            [*sizes, *extra],
            self.counts,
            labels=self.population is not None,
        )
        columns = np.empty((len(maps), len(groups.first)), dtype=np.int32)
        for column, mapping, target in zip(self.columns, maps, columns, strict=True):
            target[:] = mapping[column[groups.first]]
        population = None
        if self.population is not None:
            assert groups.labels is not None  # noqa: S101 - asked for
            population = tally(groups.labels, self.population, len(groups.first))
        return Table(
            levels=levels,
            columns=columns,
            sensitive=self.sensitive[:, groups.first],
            counts=groups.totals,
            population=population,
        )


class View:
    """The classes of one node. What is costly is computed when asked for."""

    def __init__(self, lattice: Lattice, table: Table, levels: Levels) -> None:
        self.levels = levels
        self._frequencies, self._table = lattice.frequencies, table
        self._maps, self._widths = lattice.mappings(table.levels, levels), lattice.widths(levels)
        self._labels: Codes | None = None
        groups = group(table.columns, self._maps, self._widths, table.counts)
        self._first, self.sizes = groups.first, groups.totals
        # Classes that only the population holds are not classes of the table.
        self._present = None if table.population is None else self.sizes > 0
        if self._present is not None:
            self._first, self.sizes = self._first[self._present], self.sizes[self._present]

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def labels(self) -> Codes:
        """The class of every row of the table this view was gathered from; -1 where it holds no records."""
        if self._labels is None:
            groups = group(self._table.columns, self._maps, self._widths, self._table.counts, labels=True)
            labels = groups.labels
            assert labels is not None  # noqa: S101 - asked for
            if self._present is not None:
                labels = np.where(self._present, np.cumsum(self._present) - 1, -1).astype(np.int32)[labels]
            self._labels = labels
        return self._labels

    def codes(self, chosen: Mask | None = None) -> Codes:
        """Return the codes of the classes, or of the ``chosen`` ones."""
        first = self._first if chosen is None else self._first[chosen]
        codes = np.empty((len(first), len(self._maps)), dtype=np.int32, order="F")
        for j, (mapping, column) in enumerate(zip(self._maps, self._table.columns, strict=True)):
            codes[:, j] = mapping[column[first]]
        return codes

    def classes(self, sensitive: Iterable[str] = (), *, codes: bool = True, population: bool = False) -> Classes:
        """Return the classes with what is asked for."""
        wanted = set(sensitive)
        histograms = {
            attribute.name: self._histogram(attribute, column)
            for attribute, column in zip(self._frequencies.sensitive, self._table.sensitive, strict=True)
            if attribute.name in wanted
        }
        return Classes(
            sizes=self.sizes,
            sensitive=histograms,
            codes=self.codes() if codes else None,
            population=self._population() if population else None,
        )

    def _histogram(self, attribute: SensitiveAttribute, column: Codes) -> Histogram:
        labels, counts = self.labels, self._table.counts
        if self._present is not None:
            chosen = counts > 0
            labels, column, counts = labels[chosen], column[chosen], counts[chosen]
        sizes = (len(self), attribute.size)
        maps = [np.arange(size, dtype=np.int32) for size in sizes]
        groups = group(np.stack([labels, column]), maps, sizes, counts)
        offsets = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(np.bincount(labels[groups.first], minlength=len(self)), out=offsets[1:])
        return Histogram(attribute=attribute, offsets=offsets, codes=column[groups.first], counts=groups.totals)

    def _population(self) -> Counts | None:
        if self._table.population is None:
            return None
        labels = self.labels
        return tally(labels[labels >= 0], self._table.population[labels >= 0], len(self))


def recoding_of(frequencies: Frequencies, levels: Sequence[int], labels: Codes, codes: Codes, kept: Mask) -> Recoding:
    """Return the recoding of a node, given the class of every tuple, the codes of the classes and what is kept."""
    numbers = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    at_level: list[tuple[Hierarchy, int]] = list(zip(frequencies.hierarchies, levels, strict=True))
    return Recoding(
        attributes=frequencies.attributes,
        classes=numbers[labels].astype(np.int32),
        codes=codes[kept],
        labels=tuple(hierarchy.labels[level] for hierarchy, level in at_level),
        shares=tuple(hierarchy.shares[level] for hierarchy, level in at_level),
        depths=tuple(
            np.full(len(hierarchy.labels[level]), level / max(hierarchy.height, 1)) for hierarchy, level in at_level
        ),
        unchanged=tuple(level == 0 for level in levels),
        levels=tuple(int(level) for level in levels),
    )
