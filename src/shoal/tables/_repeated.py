"""Records of which few are different: each is there once with its number of copies, until it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal.kernels import Counts
from shoal.tables._engine import OURS, quiet
from shoal.tables._expressions import least, numbers_from
from shoal.tables._relations import Select, TableQuery
from shoal.tables._table import Table

#: The column of a counted record that says how often it is there.
COPIES = f"{OURS}copies__"
_START, _COPY, _ORDER = f"{OURS}start__", f"{OURS}copy__", f"{OURS}order__"
_LIST = 1 << 20  # copies that an engine lists at a time
_GROUP = 1 << 20  # records of a row group: what memory holds at a time
Part = tuple[pa.RecordBatch, Counts]


def repeat_records(counted: TableQuery) -> TableQuery:
    """Return every record as often as its column :data:`COPIES` says."""
    names = [name for name in counted.columns if name != COPIES]
    # a list of all copies of one record might not fit in memory
    parts = counted.mutate(**{_START: numbers_from(0, counted[COPIES], _LIST).unnest()})
    own = least(parts[COPIES] - parts[_START], _LIST)
    records = parts.mutate(**{_COPY: numbers_from(0, own).unnest()}).select(*names)
    records.counted = counted
    return records


def repeat(table: Table, rows: pa.Table, counts: Counts) -> Table:
    """Return a table, on the engine of ``table``, that holds every one of ``rows`` so many times, sorted by values.

    Lazy: records are made while they are written, so memory does not grow with the counts.

    Examples
    --------
    >>> import shoal
    >>> on = shoal.read(pa.table({"any": [1]}))
    >>> repeat(on, pa.table({"town": ["Ulm", None]}), np.array([2, 1])).to_arrow()["town"].to_pylist()
    ['Ulm', 'Ulm', None]
    """
    counted = rows.append_column(COPIES, pa.array(counts, pa.int64()))
    counted = counted.sort_by([(name, "ascending") for name in rows.column_names])
    numbered = counted.append_column(_ORDER, pa.array(np.arange(len(rows), dtype=np.int64)))
    with quiet(table.source.name):
        staged = table.engine.stage(numbered)
        expression = repeat_records(staged.order_by(_ORDER).select(*rows.column_names, COPIES))
    return replace(table, expression=expression, schema=None, left_out=0)


def counted_form(expression: TableQuery) -> TableQuery | None:
    """Return the counted records behind an expression that only chooses among the columns of :func:`repeated`."""
    query = expression
    while query.counted is None:
        if not isinstance(query, Select) or not query.chooses:
            return None
        (query,) = query.parents
    return query.counted.select(*expression.columns, COPIES)


def writable(schema: pa.Schema) -> bool:
    """Return whether Arrow stores columns of these types as any engine does."""
    kinds = pa.types
    plain = (kinds.is_string, kinds.is_large_string, kinds.is_integer, kinds.is_float64, kinds.is_boolean)
    return all(any(test(each.type) for test in (*plain, kinds.is_date32)) for each in schema)


def write_repeated(reader: pa.RecordBatchReader, path: Path) -> None:
    """Write counted records as often as they are there, in their order, to one Parquet file.

    Only different records come out of the engine, and a text is stored once for each group of rows: less than a third
    of the time that engines take to repeat and to store them. What a group does not hold is not in its dictionary.
    """
    import pyarrow.parquet as pq

    schema = pa.schema([(each.name, _storage_type(each.type)) for each in reader.schema if each.name != COPIES])
    with pq.ParquetWriter(path, schema, compression="zstd", store_schema=False) as file:
        for parts in _groups(reader):
            file.write_table(_copy_parts(parts, schema), row_group_size=_GROUP)


def _storage_type(kind: pa.DataType) -> pa.DataType:
    return pa.dictionary(pa.int32(), kind) if pa.types.is_string(kind) or pa.types.is_large_string(kind) else kind


def _groups(reader: pa.RecordBatchReader) -> Iterator[list[Part]]:
    """Divide counted records so that each group stands for as many records as a row group holds."""
    waiting: list[Part] = []
    room = _GROUP
    for batch in reader:
        copies = batch.column(COPIES).to_numpy().astype(np.int64)
        rows = batch.drop_columns([COPIES])
        while len(copies):
            ends = np.cumsum(copies)
            cut = int(np.searchsorted(ends, room))
            if cut == len(copies):
                waiting.append((rows, copies))
                room -= int(ends[-1])
                break
            over = int(ends[cut]) - room
            waiting.append((rows.slice(0, cut + 1), np.append(copies[:cut], copies[cut] - over)))
            yield waiting
            waiting, room = [], _GROUP
            copies, rows = copies[cut:].copy(), rows.slice(cut)
            copies[0] = over
            if not over:
                copies, rows = copies[1:], rows.slice(1)
    if waiting:
        yield waiting


def _copy_parts(parts: list[Part], schema: pa.Schema) -> pa.Table:
    rows = pa.Table.from_batches([batch for batch, _ in parts]).combine_chunks()
    copies = np.concatenate([times for _, times in parts])
    positions = pa.array(np.repeat(np.arange(len(copies), dtype=np.int32), copies))
    columns = [
        (column.dictionary_encode() if pa.types.is_dictionary(each.type) else column).take(positions)
        for column, each in zip(rows.columns, schema, strict=True)
    ]
    return pa.table(columns, schema=schema)
