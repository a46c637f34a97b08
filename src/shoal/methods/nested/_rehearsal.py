"""The attack of the publisher on a release of several tables, before it leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.datasets import Dataset
from shoal.kernels import Integers
from shoal.methods.nested._encode import EncodedDataset
from shoal.methods.nested._prepare import persons_of_rows
from shoal.methods.nested._search import FoundRecoding
from shoal.rehearsal import Rehearsal, combine_rehearsals, rehearse, sample_classes

#: rows of whole classes that are attacked
_ROWS = 50_000


def rehearse_dataset(
    encoded: EncodedDataset, found: FoundRecoding, k: int, accepted: Sequence[str] = ()
) -> Rehearsal | None:
    """Attack a release of several tables as somebody would who knows the exact known columns of everybody.

    For every table, with the columns of the rows above, somebody looks for the rows of a person among those with the
    same labels; and for persons, one row for each, with the first and last values and the number of the items. See
    `shoal.rehearsal.rehearse`. None where no column is released as it is, or too few classes are left.
    """
    forest = encoded.forest(found.recoding)
    kept_people = np.zeros(forest.size, dtype=np.bool_)
    kept_people[found.people] = True
    kept_items = np.zeros(len(forest), dtype=np.bool_)
    kept_items[found.items] = True
    dataset = encoded.dataset
    owners = persons_of_rows(dataset)
    attacks: list[tuple[pa.Table, pa.Table, Integers, Integers | None]] = []
    for number, table in enumerate(dataset.schema.items):
        mine = np.flatnonzero(encoded.tables == number)
        classes = np.full(len(dataset.rows[table.name]), -1, dtype=np.int64)
        classes[encoded.rows[mine]] = np.where(kept_items[mine], forest.paths[mine], -1)
        rows = sample_classes(classes, _ROWS)
        known, released = _joined(dataset, table.name, rows)
        attacks.append((known, released, classes[rows], owners[table.name][rows]))
    classes = np.where(kept_people, forest.classes, -1)
    rows = sample_classes(classes, _ROWS)
    known, released = _one_row_each(dataset, rows)
    attacks.append((known, released, classes[rows], None))
    rehearsed = [
        rehearse(
            known,
            released,
            classes,
            risk=1 / k,
            accepted=[name for name in released.column_names if _column(name) in accepted],
            persons=persons,
            tests=len(attacks),
        )
        for known, released, classes, persons in attacks
        if released.num_columns and known.num_columns
    ]
    return combine_rehearsals([each for each in rehearsed if each is not None])


def culprit_columns(rehearsal: Rehearsal) -> tuple[str, ...]:
    """Return the columns that tell whose rows are whose, as ``table.column``."""
    return tuple(dict.fromkeys(map(_column, rehearsal.culprits)))


def _column(name: str) -> str:
    return name.partition(" ")[0]


def _joined(dataset: Dataset, name: str, rows: Integers) -> tuple[pa.Table, pa.Table]:
    """Return what is known of some rows and the rows above, and what is released of them as it is."""
    known: dict[str, pa.ChunkedArray] = {}
    released: dict[str, pa.ChunkedArray] = {}
    table, places = dataset.schema[name], rows
    while True:
        for column in (*table.known, *table.released):
            held = known if column in table.known else released
            held[f"{table.name}.{column}"] = dataset.rows[table.name][column].take(pa.array(places))
        if table.parent is None:
            return pa.table(known), pa.table(released)
        table, places = dataset.schema[table.parent], dataset.parents[table.name][places]


def _one_row_each(dataset: Dataset, people: Integers) -> tuple[pa.Table, pa.Table]:
    """Return a row for each of some persons: their columns, and the least and greatest values of their items."""
    own_known, own_released = _joined(dataset, dataset.schema.root.name, people)
    known, released = (dict(zip(each.column_names, each.columns, strict=True)) for each in (own_known, own_released))
    place = np.full(dataset.persons, -1, dtype=np.int64)
    place[people] = np.arange(len(people))
    owners = persons_of_rows(dataset)
    for table in dataset.schema.items:
        mine = place[owners[table.name]]
        rows = np.flatnonzero(mine >= 0)
        for column in table.released:
            values = dataset.rows[table.name][column].take(pa.array(rows))
            if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or _is_day(values.type)):
                continue
            held = pa.table({"person": mine[rows], "value": values}).group_by("person")
            ends = held.aggregate([("value", "min"), ("value", "max")])
            at = pc.index_in(pa.array(np.arange(len(people))), ends["person"].combine_chunks())
            for end in ("min", "max"):
                summary = ends[f"value_{end}"].take(at)
                held_in = known if column in table.known else released
                held_in[f"{table.name}.{column} {end}"] = summary
    return pa.table(known), pa.table(released)


def _is_day(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))
