"""The release of a data set: its tables, steps and promises, made from a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from shoal.datasets import Dataset, DatasetSchema
from shoal.errors import RequirementError
from shoal.exact import fraction
from shoal.guarantees import NO_RANDOMNESS, Event, Guarantee, randomness
from shoal.kernels import Integers
from shoal.mechanisms import ObservedSource, RandomSource, SystemSource
from shoal.methods.base import Watch
from shoal.methods.nested._encode import EncodedDataset, encode_dataset
from shoal.methods.nested._plan import DatasetPlan
from shoal.methods.nested._prepare import prepare
from shoal.methods.nested._promises import promise_of
from shoal.methods.nested._ranks import rank_rows, rank_with_rows_below
from shoal.methods.nested._search import FoundRecoding, RecodingSearch
from shoal.methods.nested._steps import ItemsGeneralized, ItemsSuppressed, KeysReplaced


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DatasetResult:
    """The tables that leave, with what is promised of them."""

    plan: DatasetPlan
    #: The tables by name, with keys.
    tables: Mapping[str, pa.Table]
    guarantee: Guarantee
    found: FoundRecoding
    #: The rows that were anonymised; for the publisher alone.
    encoded: EncodedDataset = field(repr=False)


def recode_dataset(
    dataset: Dataset, plan: DatasetPlan, watch: Watch | None = None, source: RandomSource | None = None
) -> DatasetResult:
    """Make a data set keep the promises of a plan.

    Random numbers, where the plan asks for any, come from ``source``; by default the operating system's generator.

    Raises
    ------
    RequirementError
        If every recoding leaves out more than the plan allows.
    """
    watched: dict[str, list[str]] = {}
    for secret in plan.secrets:
        watched.setdefault(secret.column, []).append(secret.value)
    observed = ObservedSource(source or SystemSource(), pay=None)
    dataset, prepared = prepare(dataset, observed)
    encoded = encode_dataset(dataset, watched)
    certainty = min((secret.certainty for secret in plan.secrets), default=None)
    if dataset.persons < plan.promise.k:
        raise RequirementError(f"k = {plan.promise.k:,} persons are asked for, and there are {dataset.persons:,}")
    search = RecodingSearch(
        encoded=encoded,
        k=plan.promise.k,
        m=plan.promise.m,
        confidence=certainty,
        limit=fraction(plan.method.suppression_limit),
        single_items=plan.method.suppress == "items",
        effort=plan.method.effort,
        watch=watch or Watch(),
    )
    found = search.run()
    if found is None:
        raise RequirementError(
            f"no recoding was found that leaves out at most {float(fraction(plan.method.suppression_limit)):g} of the "
            f"persons and of the items, at k = {plan.promise.k} and {plan.promise.m} known items",
            hint="give hierarchies more levels, let fewer items be known, or raise the suppression limit",
        )
    mixable = [
        place
        for place, column in enumerate(encoded.columns)
        if column.full_name in plan.mixable and column.hierarchy.height > 1
    ]
    if mixable and plan.promise.m:
        found = search.refine(found, mixable)
    kept = _kept_rows(encoded, found)
    steps: list[Event] = [
        *plan.dropped,
        *prepared,
        ItemsGeneralized(
            columns=plan.known,
            levels=found.levels,
            heights=tuple(column.hierarchy.height for column in encoded.columns),
            mixed=tuple(encoded.columns[place].full_name for place in found.cuts),
        ),
        ItemsSuppressed(
            tables=tuple(dataset.rows),
            rows=tuple(len(rows) - len(kept[name]) for name, rows in dataset.rows.items()),
            of=tuple(len(rows) for rows in dataset.rows.values()),
        ),
        KeysReplaced(tables=tuple(dataset.rows)),
    ]
    guarantee = Guarantee(
        promises=tuple(promise_of(promise, plan.schema, plan.accepted) for promise in plan.promises),
        events=tuple(steps),
        randomness=randomness(cryptographic=observed.cryptographic) if observed.drawn else NO_RANDOMNESS,
    )
    tables = order_tables(dataset.schema, *_recoded(encoded, found, kept))
    return DatasetResult(plan=plan, tables=tables, guarantee=guarantee, found=found, encoded=encoded)


def _kept_rows(encoded: EncodedDataset, found: FoundRecoding) -> dict[str, Integers]:
    """Return the rows of every table that stay, ascending."""
    kept = {encoded.dataset.schema.root.name: np.sort(found.people)}
    for number, table in enumerate(encoded.dataset.schema.items):
        kept[table.name] = np.sort(encoded.rows[found.items[encoded.tables[found.items] == number]])
    return kept


def _recoded(
    encoded: EncodedDataset, found: FoundRecoding, kept: Mapping[str, Integers]
) -> tuple[dict[str, pa.Table], dict[str, Integers]]:
    """Return the released columns of the rows that stay, and the rows that these belong to."""
    labels = {
        (column.table, column.name): (column, level)
        for column, level in zip(encoded.columns, found.recoding, strict=True)
    }
    rows, parents = {}, {}
    for table in encoded.dataset.schema:
        content, places = encoded.dataset.rows[table.name], pa.array(kept[table.name])
        columns = {}
        for name in table.released:
            known = labels.get((table.name, name))
            values = content[name] if known is None else known[0].labels(known[1])
            columns[name] = values.take(places)
        for name, below in encoded.dataset.schema.size_columns(table.name).items():
            columns[name] = pa.array(encoded.dataset.count_below(below)[kept[table.name]])
        rows[table.name] = pa.table(columns) if columns else _without_columns(len(places))
        if table.parent is not None:
            above = encoded.dataset.parents[table.name][kept[table.name]]
            parents[table.name] = np.searchsorted(kept[table.parent], above).astype(np.int64)
    return rows, parents


def _without_columns(length: int) -> pa.Table:
    return pa.table({"": np.zeros(length, dtype=np.int8)}).select([])


def order_tables(
    described: DatasetSchema, rows: Mapping[str, pa.Table], parents: Mapping[str, Integers]
) -> dict[str, pa.Table]:
    """Return tables in the order of what they hold and what lies below, with keys that are places in this order.

    Rows are compared by their columns from left to right, missing values last, then by the sorted rows below them,
    table by table; items come in the order of the rows that they belong to.
    """
    lengths = {name: _length(rows, parents, described, name) for name in rows}
    ranks: dict[str, Integers] = {}
    for table in reversed(described.tables):
        content = rows[table.name]
        rank = rank_rows(content) if content.num_columns else np.zeros(lengths[table.name], dtype=np.int64)
        for below in described.below(table.name):
            rank = rank_with_rows_below(rank, parents[below.name], ranks[below.name])
        ranks[table.name] = rank
    places: dict[str, Integers] = {}
    ordered = {}
    for table in described:
        if table.parent is None:
            above, order = None, np.argsort(ranks[table.name], kind="stable")
        else:
            above = places[table.parent][parents[table.name]]
            order = np.lexsort((ranks[table.name], above))
        places[table.name] = np.empty(len(order), dtype=np.int64)
        places[table.name][order] = np.arange(1, len(order) + 1)
        keys = _keys(described, table.name, len(order), None if above is None else above[order])
        content = rows[table.name].take(pa.array(order)) if rows[table.name].num_columns else rows[table.name]
        ordered[table.name] = pa.table({**keys, **{name: content[name] for name in content.column_names}})
    return ordered


def _length(rows: Mapping[str, pa.Table], parents: Mapping[str, Integers], described: DatasetSchema, name: str) -> int:
    return len(rows[name]) if described[name].parent is None else len(parents[name])


def _keys(described: DatasetSchema, name: str, length: int, above: Integers | None) -> dict[str, pa.Array]:
    columns: dict[str, pa.Array] = {}
    for column in described.key_columns(name):
        is_parent = column == described.parent_column(name)
        columns[column] = pa.array(above if is_parent and above is not None else np.arange(1, length + 1), pa.int64())
    return columns
