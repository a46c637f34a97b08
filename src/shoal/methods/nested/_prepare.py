"""Preparation of a data set: dates as days since the first, bounded bags, shifted dates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.datasets import Dataset, DatasetSchema
from shoal.errors import Problems, SchemaError
from shoal.guarantees import Event
from shoal.kernels import Integers, Mask
from shoal.mechanisms import RandomSource
from shoal.methods.nested._steps import DatesShifted, DaysCounted, ItemsBounded

#: values of a text column that are looked at for dates
_LOOKED_AT = 2000
_DATE = r"\b(\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4})\b"


def day_columns(described: DatasetSchema) -> tuple[str, ...]:
    """Return the columns that become days since the first date of a person, as ``table.column``."""
    return tuple(f"{table.name}.{name}" for table in described for name in table.days_since_first)


def bounded_tables(described: DatasetSchema) -> dict[str, int]:
    """Return the tables of which only so many rows may belong to a row of the parent."""
    return {table.name: table.at_most for table in described if table.at_most is not None}


def count_days(dataset: Dataset) -> Dataset:
    """Return a data set with days in place of dates, counted from the first date of the same person in any table."""
    owners = persons_of_rows(dataset)
    first = np.full(dataset.persons, np.iinfo(np.int64).max)
    columns = [(table.name, name) for table in dataset.schema for name in table.days_since_first]
    numbers = {}
    for table, name in columns:
        dates = dataset.rows[table][name].combine_chunks()
        present = dates.is_valid().to_numpy(zero_copy_only=False)
        days = dates.cast(pa.int32()).fill_null(0).to_numpy().astype(np.int64)
        np.minimum.at(first, owners[table][present], days[present])
        numbers[table, name] = (days, present)
    rows = dict(dataset.rows)
    for (table, name), (days, present) in numbers.items():
        since = np.where(present, days - np.where(present, first[owners[table]], 0), 0)
        column = pa.array(since, pa.int64(), mask=~present)
        rows[table] = rows[table].set_column(rows[table].column_names.index(name), name, column)
    return replace(dataset, rows=rows)


def persons_of_rows(dataset: Dataset) -> dict[str, Integers]:
    """Return the person that every row belongs to."""
    owners = {dataset.schema.root.name: np.arange(dataset.persons)}
    for table in dataset.schema.items:
        owners[table.name] = owners[table.parent or ""][dataset.parents[table.name]]
    return owners


def prepare(dataset: Dataset, source: RandomSource) -> tuple[Dataset, list[Event]]:
    """Return the data set that is anonymised, and the steps that made it."""
    steps: list[Event] = []
    if names := day_columns(dataset.schema):
        dataset = count_days(dataset)
        steps.append(DaysCounted(columns=names))
    if bounds := bounded_tables(dataset.schema):
        before = {name: len(rows) for name, rows in dataset.rows.items()}
        for name, most in bounds.items():
            dataset = _without(dataset, name, _beyond(dataset.parents[name], most, source))
        rows = tuple(before[name] - len(dataset.rows[name]) for name in dataset.rows)
        steps.append(
            ItemsBounded(tables=tuple(bounds), at_most=tuple(bounds.values()), left_out=rows, of=tuple(before.values()))
        )
    if dataset.schema.shift_dates is not None:
        dataset, columns = _shifted(dataset, dataset.schema.shift_dates, source)
        steps.append(DatesShifted(columns=columns, at_most=dataset.schema.shift_dates or 0))
    return dataset, steps


def _beyond(parents: Integers, most: int, source: RandomSource) -> Mask:
    """Return which rows are left out so that at most so many belong to one row, each as likely as the others."""
    order = np.lexsort((source.uint64(len(parents)), parents))
    places = np.arange(len(order))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = parents[order][1:] != parents[order][:-1]
    beyond = np.empty(len(order), dtype=np.bool_)
    beyond[order] = places - np.maximum.accumulate(np.where(first, places, 0)) >= most
    return beyond


def _without(dataset: Dataset, name: str, gone: Mask) -> Dataset:
    """Return a data set without some rows of a table and all rows below these."""
    lost = {name: gone}
    rows, parents = dict(dataset.rows), dict(dataset.parents)
    for table in dataset.schema.items:
        if table.parent in lost and table.name != name:
            lost[table.name] = lost[table.parent][dataset.parents[table.name]]
    for each, left_out in lost.items():
        rows[each] = rows[each].filter(pa.array(~left_out))
        parents[each] = parents[each][~left_out]
        above = dataset.schema[each].parent or ""
        if above in lost:
            parents[each] = (np.cumsum(~lost[above]) - 1)[parents[each]]
    return replace(dataset, rows=rows, parents=parents)


def shifted_columns(described: DatasetSchema, types: Mapping[str, pa.Schema]) -> tuple[str, ...]:
    """Return the released columns that hold dates, as ``table.column``."""
    return tuple(
        f"{table.name}.{name}"
        for table in described
        for name in table.released
        if name not in table.days_since_first and pa.types.is_temporal(types[table.name].field(name).type)
    )


def _shifted(dataset: Dataset, most: int, source: RandomSource) -> tuple[Dataset, tuple[str, ...]]:
    """Return a data set in which all dates of a person are shifted by one number of days."""
    _refuse_texts(dataset)
    # no promise rests on these numbers: the remainder of 64 bits is uniform up to one in 2**50
    offsets = (source.uint64(dataset.persons) % np.uint64(2 * most + 1)).astype(np.int64) - most
    owners, rows = persons_of_rows(dataset), dict(dataset.rows)
    columns = shifted_columns(dataset.schema, {name: content.schema for name, content in rows.items()})
    for column in columns:
        table, _, name = column.partition(".")
        values = rows[table][name].combine_chunks()
        days = pa.array(offsets[owners[table]], pa.int64())
        if pa.types.is_date(values.type):
            moved = pc.add(values.cast(pa.date32()).cast(pa.int32()), days.cast(pa.int32())).cast(pa.date32())
        else:
            moved = pc.add(values, pc.multiply(days, 86_400).cast(pa.duration("s")).cast(pa.duration(values.type.unit)))
        rows[table] = rows[table].set_column(rows[table].column_names.index(name), name, moved)
    return replace(dataset, rows=rows), columns


def _refuse_texts(dataset: Dataset) -> None:
    """Refuse columns of text that hold dates, and times of day: they would show by how much dates were shifted."""
    problems = Problems()
    for table in dataset.schema:
        for name in table.released:
            values = dataset.rows[table.name][name]
            subject = f"table `{table.name}`, column `{name}`"
            if pa.types.is_time(values.type) or pa.types.is_duration(values.type):
                problems.add(f"{subject}: it holds times, which cannot be shifted by days; leave it out")
            if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
                continue
            seen = values.drop_null()[:_LOOKED_AT]
            if (
                len(seen)
                and pc.any(pc.match_substring_regex(seen, r"\b(\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4})\b")).as_py()
            ):
                problems.add(f'{subject}: it holds dates as text, which would not be shifted; give it kind = "date"')
    problems.raise_as(SchemaError)
