"""Some records of a table as codes, from which drafts learn how columns depend on each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.relations import Relation, find_relations
from shoal.schema import ColumnProfile
from shoal.tables._engine import ROW, quiet
from shoal.tables._relations import TableQuery
from shoal.tables._table import Table

ColumnCodes = npt.NDArray[np.int64]

# a table with so few cells is looked at as a whole
_CELLS, _RECORDS = 20_000_000, 200_000
# of a larger one, so many records, or the records of so many values that repeat
_SAMPLE, _VALUES = 30_000, 3_000
# relations are looked for in so many records and cells; so few records may break them
_RELATED_RECORDS, _RELATED_CELLS, _ERRORS = 20_000, 300_000, 0.02
#: the draw that orders records, the same on every machine
_SEED = 33


def sampler(table: Table, profiles: Sequence[ColumnProfile]) -> Callable[[Sequence[str]], Mapping[str, ColumnCodes]]:
    """Return a function that returns records as codes per column, -1 for a missing value.

    Given names of columns, the records share their values with others; in a small table they are all records. Columns
    of lists and structures are left out. No value of the data is returned.
    """
    absent = {profile.name: profile.reading.missing_values for profile in profiles if profile.type != "other"}
    records = profiles[0].records if profiles else 0

    @cache
    def all_codes() -> Mapping[str, ColumnCodes]:
        return _codes(table, table.expression, absent)

    def records_sharing(names: Sequence[str]) -> Mapping[str, ColumnCodes]:
        if records <= _RECORDS and records * len(absent) <= _CELLS:
            return all_codes()
        return _codes(table, _repeating(table, names) if names else _spread(table, records), absent)

    return records_sharing


def relations_of_sample(table: Table, columns: Sequence[str]) -> tuple[Relation, ...]:
    """Return the relations between some columns, as some records from everywhere in a table show them."""
    names = [name for name in columns if not table.expression[name].type().is_nested()]
    number = table.count()
    if len(names) < 2 or not number:
        return ()
    records = min(_RELATED_RECORDS, max(_RELATED_CELLS // len(names), 2_000))
    rows = _spread(table, number, records).select(*names)
    with quiet(table.source.name):
        return find_relations(table.engine.fetch(rows), exceptions=_ERRORS)


def _spread(table: Table, records: int, wanted: int = _SAMPLE) -> TableQuery:
    """Return records from everywhere in the table, as far as its engine numbers them."""
    rows = table.expression
    if ROW in rows.columns:
        rows = rows.filter(rows[ROW] % max(1, records // wanted) == 0)
    return rows.limit(wanted)


def _repeating(table: Table, names: Sequence[str]) -> TableQuery:
    """Return the records of some values of columns that repeat."""
    rows = table.expression
    counted = rows.group_by(list(names)).aggregate(times=rows.count())
    shared = counted.filter(counted.times > 1, *(counted[name].notnull() for name in names))
    # values are chosen by their hashes: those next to each other may be of one place or year
    order = [shared[names[0]].cast("string").hash(), *(shared[name] for name in names)]
    return rows.semi_join(shared.order_by(order).limit(_VALUES), list(names)).limit(_SAMPLE)


def _codes(table: Table, rows: TableQuery, absent: Mapping[str, tuple[str, ...]]) -> Mapping[str, ColumnCodes]:
    with quiet(table.source.name):
        fetched = table.engine.fetch_encoded(rows.select(*absent))
    # neighbours are compared with each other, and a file that is sorted by a column must not make them alike in it
    order = np.random.default_rng(_SEED).permutation(len(fetched))
    return {name: _encoded(fetched[name], marks)[order] for name, marks in absent.items()}


def _encoded(column: pa.ChunkedArray, absent: tuple[str, ...]) -> ColumnCodes:
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    whole = column.unify_dictionaries().combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    codes = np.asarray(whole.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    if absent:
        marks = {mark.strip() for mark in absent}
        missing = [
            position for position, value in enumerate(whole.dictionary.to_pylist()) if str(value).strip() in marks
        ]
        codes[np.isin(codes, missing)] = -1
    return codes
