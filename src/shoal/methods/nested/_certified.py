"""The tables of a release of a data set as its certificate lists them, and the trees of their rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from shoal.datasets import DatasetSchema, TableSchema
from shoal.guarantees import Column, Data, DomainOrigin, column
from shoal.hierarchies import provenance
from shoal.kernels import Integers
from shoal.methods.nested._forest import Forest, dense_pairs
from shoal.methods.nested._plan import DatasetPlan
from shoal.schema import Kind, Role


def dataset_columns(plan: DatasetPlan, rows: Mapping[str, int]) -> tuple[Data, ...]:
    """Return what a certificate says of the released tables; ``rows`` are their numbers of rows."""
    found = []
    for table in plan.schema:
        keys = tuple(
            Column(name=name, role=Role.IDENTIFIER, kind=Kind.NUMERIC) for name in plan.schema.key_columns(table.name)
        )
        columns = tuple(column(table.columns[name]) for name in table.released)
        sizes = tuple(
            Column(name=name, role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC)
            for name in plan.schema.size_columns(table.name)
        )
        found.append(Data(file=f"{table.name}.parquet", records=rows[table.name], columns=(*keys, *columns, *sizes)))
    return tuple(found)


def dataset_domains(plan: DatasetPlan) -> tuple[DomainOrigin, ...]:
    """Return where the domains of the known columns came from, as ``table.column``."""
    return tuple(
        DomainOrigin(column=f"{table.name}.{name}", provenance=provenance(table.columns[name]))
        for table in plan.schema
        for name in table.known
    )


def forest_of_release(described: DatasetSchema, released: Mapping[str, pa.Table]) -> Forest:
    """Return released tables as trees: labels as they stand, links as the keys say."""
    owners = {described.root.name: np.arange(len(released[described.root.name]))}
    offsets: dict[str, int] = {}
    persons, parents, labels = [], [], []
    items = used = 0
    for table in described.items:
        above = released[table.name][described.parent_column(table.name) or ""].to_numpy().astype(np.int64) - 1
        owners[table.name] = owners[table.parent or ""][above]
        offsets[table.name] = items
        persons.append(owners[table.name])
        parents.append(above + offsets[table.parent] if table.parent in offsets else np.full(len(above), -1, np.int64))
        codes = _codes(described, table, released[table.name])
        labels.append(codes + used)
        items, used = items + len(above), used + int(codes.max(initial=-1)) + 1
    none = [np.zeros(0, dtype=np.int64)]
    person, parent, label = (np.concatenate(each or none).astype(np.int64) for each in (persons, parents, labels))
    # by person; tables come in the order of their levels, so that an item comes after the one that it lies below
    order = np.argsort(person, kind="stable")
    place = np.empty(len(order) + 1, dtype=np.int64)
    place[order], place[-1] = np.arange(len(order)), -1
    return Forest(
        classes=_codes(described, described.root, released[described.root.name]),
        persons=person[order],
        parents=place[parent[order]],
        labels=label[order],
    )


def _codes(described: DatasetSchema, table: TableSchema, rows: pa.Table) -> Integers:
    codes = np.zeros(len(rows), dtype=np.int64)
    for name in (*table.known, *described.size_columns(table.name)):
        values = rows[name].combine_chunks().dictionary_encode(null_encoding="encode")
        codes = dense_pairs(codes, values.indices.to_numpy().astype(np.int64))[0]
    return codes
