"""Aspects of released values: which are missing, the parts of a text, the last digits of a number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from shoal.rehearsal._signals import BothSides, Signal, exact_signals, learned_signals
from shoal.relations import ColumnView, view_columns

Array = np.ndarray

#: the share of missing values, at least and at most, that can tell something
_SOME = 0.01
#: parts of a text, letters or digits; as many in nearly all of the texts
_PART = re.compile(r"[^\W\d_]+|\d+")
_FEWEST_PARTS, _MOST_PARTS, _ALIKE = 2, 5, 0.95
#: different numbers of a column whose last two digits are looked at, and how many hundreds they must span
_NUMBERS, _HUNDREDS = 150, 5
#: different texts that are taken apart
_TEXTS = 20_000


@dataclass(frozen=True, slots=True)
class Aspects:
    """Columns made of released ones, each with the column that it is made of."""

    views: dict[str, ColumnView]
    columns: dict[str, str]
    table: pa.Table
    #: Those that say which values are missing.
    missing: frozenset[str]

    @classmethod
    def of(cls, released: pa.Table, views: Mapping[str, ColumnView], taken: frozenset[str]) -> Aspects:
        """Return the aspects of released columns, under names that no column has."""
        arrays: dict[str, pa.Array] = {}
        columns: dict[str, str] = {}
        missing = set()
        for name, view in views.items():
            for what, values in _aspects_of(released.column(name), view):
                own = f"{name} ({what})"
                while own in taken or own in arrays:
                    own += " "
                arrays[own], columns[own] = values, name
                if what == "missing":
                    missing.add(own)
        table = pa.table(arrays) if arrays else pa.table({"": pa.nulls(len(released))}).select([])
        made = {view.name: view for view in view_columns(table)}
        return cls({name: view for name, view in made.items() if view.size > 1}, columns, table, frozenset(missing))

    def signals(self, knowledge: BothSides, known: pa.Table, train: Array, kind: str) -> list[Signal]:
        """Return what an intruder reads off the aspects, as signals of the columns that they are made of."""
        if not self.views:
            return []
        both = BothSides(known=knowledge.known, released=self.views)
        made = self.table.select(list(self.views))
        records = pa.table([*known.columns, *made.columns], names=[*known.column_names, *made.column_names])
        signals = exact_signals(both, records, train)
        absent = {name: view for name, view in self.views.items() if name in self.missing}
        if kind == "learned" and absent:
            signals += learned_signals(BothSides(known=knowledge.known, released=absent), train)
        return [self._renamed(signal) for signal in signals]

    def _renamed(self, signal: Signal) -> Signal:
        columns = tuple(dict.fromkeys(self.columns[name] for name in signal.columns))
        return replace(signal, columns=columns)  # type: ignore[type-var]


def _aspects_of(column: pa.ChunkedArray, view: ColumnView) -> Iterator[tuple[str, pa.Array]]:
    absent = view.codes < 0
    if _SOME <= absent.mean() <= 1 - _SOME:
        yield "missing", pa.array(np.where(absent, "yes", "no"))
    if view.numbers is None:
        yield from _parts(column, view)
    elif not view.is_date and view.unit > 0 and view.size >= _NUMBERS:
        steps = np.rint(view.numbers / view.unit)
        if np.nanmax(steps) - np.nanmin(steps) >= 100 * _HUNDREDS and np.nanmax(np.abs(steps)) < 2**53:
            yield "last digits", pa.array(np.abs(steps) % 100, from_pandas=True)


def _parts(column: pa.ChunkedArray, view: ColumnView) -> Iterator[tuple[str, pa.Array]]:
    """Return the words and numbers in the texts of a column, where nearly all texts have as many."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)) or view.size > _TEXTS:
        return
    encoded = column.combine_chunks().dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    parts = [_PART.findall(text) for text in encoded.dictionary.to_pylist()]
    counts = np.array([len(each) for each in parts])
    if not len(counts):
        return
    usual = int(np.bincount(counts).argmax())
    if not _FEWEST_PARTS <= usual <= _MOST_PARTS or np.mean(counts == usual) < _ALIKE:
        return
    for place in range(usual):
        texts = pa.array([each[place] if len(each) == usual else None for each in parts], pa.string())
        yield f"part {place + 1}", texts.take(encoded.indices)
