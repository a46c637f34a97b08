"""Apply a recoding to the records: look classes up, drop what is suppressed, forget the order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import ParameterError, Problems
from shoal.schema import Role
from shoal.tables._digest import hmac_pads, keyed_digest
from shoal.tables._encode import Encoded, key, order_tuples, tuple_keys
from shoal.tables._engine import quiet
from shoal.tables._recoding import Recoding
from shoal.tables._table import Table

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["apply", "sorted_by_values"]

Codes = npt.NDArray[np.int32]


def apply(
    table: Table,
    encoded: Encoded,
    recoding: Recoding,
    *,
    keep: Sequence[str] | None = None,
    key: bytes | None = None,
) -> Table:
    """Return the released table.

    Parameters
    ----------
    table, encoded
        The table, and what :func:`encode` made of it.
    recoding
        The class of every tuple and what each class releases.
    keep
        The columns to release besides the quasi-identifiers; all that are not identifiers where not given.
    key
        The secret key of the pseudonyms of identifiers that the schema marks ``pseudonym``. An identifier is released
        in no other way.

    Returns
    -------
    Table
        Quasi-identifiers that the recoding leaves unchanged keep their type, generalised ones are text; other columns
        are untouched. Records are ordered by all released columns, so that their order holds nothing of the input's.

    Notes
    -----
    Every quasi-identifier is joined with the small table of its distinct values; where the class of a record depends
    on several of them at once (suppression, local recoding) one more join looks its tuple up. A record whose tuple is
    not among the kept ones is never released, even if the source changed after it was encoded.
    """
    chosen = _columns(table, encoded, keep, key)
    lookup = _Lookup.of(encoded, recoding)
    with quiet(table.source.name):
        records = _recode(table, encoded, recoding, lookup)
        released = _pseudonyms(table, records, chosen, key)
        expression = sorted_by_values(released.select(*chosen))
    return replace(table, expression=expression, schema=None, left_out=0)


def sorted_by_values(expression: ir.Table) -> ir.Table:
    """Order records by all their columns."""
    import ibis

    return expression.order_by([ibis.asc(name) for name in expression.columns])


def _columns(table: Table, encoded: Encoded, keep: Sequence[str] | None, key: bytes | None) -> list[str]:
    schema = table.schema
    assert schema is not None  # noqa: S101 - encode asks for it
    problems = Problems()
    identifiers = set(schema.identifiers)
    pseudonyms = {name for name in identifiers if schema[name].pseudonym}
    kept = set(table.columns) - (identifiers - pseudonyms) if keep is None else set(keep)
    kept |= set(encoded.frequencies.attributes)
    for name in sorted(kept - set(table.columns)):
        problems.add(f"{table.source.name} has no column `{name}`")
    for name in sorted(kept & (identifiers - pseudonyms)):
        problems.add(f"column `{name}` is an identifier: it is not released")
    if key is None and kept & pseudonyms:
        problems.add("pseudonyms need a `key`")
    elif key is not None and len(key) < 16:
        problems.add("the `key` of pseudonyms must have at least 16 bytes")
    problems.raise_as(ParameterError)
    return [name for name in table.columns if name in kept]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Lookup:
    """How the released values are found.

    Parameters
    ----------
    by_value
        Per attribute: the label of every leaf, where that alone decides (-1 where no kept tuple has the leaf); None
        for an attribute that is unchanged, or whose label depends on the whole tuple.
    by_tuple
        The attributes whose label depends on the whole tuple.
    tuples
        Whether tuples have to be looked up at all.
    """

    by_value: tuple[Codes | None, ...]
    by_tuple: tuple[int, ...]
    tuples: bool

    @classmethod
    def of(cls, encoded: Encoded, recoding: Recoding) -> _Lookup:
        frequencies = encoded.frequencies
        present = frequencies.counts > 0
        kept = present & (recoding.classes >= 0)
        classes = recoding.classes[kept]
        by_value: list[Codes | None] = []
        by_tuple = []
        for j, hierarchy in enumerate(frequencies.hierarchies):
            by_value.append(None)
            if recoding.unchanged[j]:
                continue
            leaves, labels = frequencies.codes[kept, j], recoding.codes[classes, j]
            of_leaf = np.full(hierarchy.size, -1, dtype=np.int32)
            of_leaf[leaves] = labels
            if np.array_equal(of_leaf[leaves], labels):
                by_value[j] = of_leaf
            else:
                by_tuple.append(j)
        suppressed = bool(np.any(present & (recoding.classes < 0)))
        return cls(by_value=tuple(by_value), by_tuple=tuple(by_tuple), tuples=suppressed or bool(by_tuple))


def _recode(table: Table, encoded: Encoded, recoding: Recoding, lookup: _Lookup) -> ir.Table:
    records = table.expression
    leaves: list[str] = []
    released: dict[str, Any] = {}
    for j, dictionary in enumerate(encoded.dictionaries):
        of_leaf = lookup.by_value[j]
        if of_leaf is None and not lookup.tuples:
            continue
        staged: dict[str, Any] = {f"v{j}": dictionary.values}
        if lookup.tuples:
            staged[f"leaf{j}"] = pa.array(dictionary.codes.astype(np.int64))
            leaves.append(f"leaf{j}")
        if of_leaf is not None:
            labels = of_leaf[dictionary.codes]
            staged[f"label{j}"] = _labels(recoding, j, labels)
            released[dictionary.name] = f"label{j}"
        records = _join(table, records, dictionary.name, pa.table(staged))
    if lookup.tuples:
        records = _join_tuples(table, records, encoded, recoding, lookup, leaves)
        released |= {encoded.dictionaries[j].name: f"label{j}" for j in lookup.by_tuple}
    return records.mutate(**{name: records[label] for name, label in released.items()})


def _labels(recoding: Recoding, j: int, codes: Codes) -> pa.Array:
    known = pa.array(recoding.labels[j], pa.string())
    return known.take(pa.array(np.where(codes < 0, 0, codes), mask=codes < 0))


def _join(table: Table, records: ir.Table, name: str, rows: pa.Table) -> ir.Table:
    """Look the values of a column up in a staged table of distinct values (null is a value)."""
    value = rows.column_names[0]
    staged = table.engine.stage(rows)
    column = key(records[name])
    same = column.identical_to(staged[value]) if rows[value].null_count else column == staged[value]
    return records.inner_join(staged, [same]).drop(value)


def _join_tuples(
    table: Table, records: ir.Table, encoded: Encoded, recoding: Recoding, lookup: _Lookup, leaves: list[str]
) -> ir.Table:
    frequencies = encoded.frequencies
    sizes = [hierarchy.size for hierarchy in frequencies.hierarchies]
    kept = np.flatnonzero((frequencies.counts > 0) & (recoding.classes >= 0))
    codes = frequencies.codes[kept]
    order, new = order_tuples([codes[:, j] for j in range(len(sizes))], sizes)
    once = kept[order[new]]  # tuples that differ only in sensitive values have the same class
    keys = tuple_keys([frequencies.codes[once, j] for j in range(len(sizes))], sizes)
    staged: dict[str, Any] = {f"k{i}": pa.array(numbers) for i, numbers in enumerate(keys)}
    for j in lookup.by_tuple:
        staged[f"label{j}"] = _labels(recoding, j, recoding.codes[recoding.classes[once], j])
    tuples = table.engine.stage(pa.table(staged))
    same = [number == tuples[f"k{i}"] for i, number in enumerate(_tuple_keys(records, leaves, sizes))]
    if lookup.by_tuple:
        return records.inner_join(tuples, same)
    return records.semi_join(tuples, same)


def _tuple_keys(records: ir.Table, leaves: list[str], sizes: list[int]) -> list[Any]:
    """Return the twin of :func:`tuple_keys` as expressions."""
    keys: list[Any] = []
    capacity = 0
    for leaf, size in zip(leaves, sizes, strict=True):
        size = max(size, 1)
        if not keys or capacity * size >= 1 << 62:
            keys.append(records[leaf])
            capacity = size
        else:
            keys[-1] = keys[-1] * size + records[leaf]
            capacity *= size
    return keys


def _pseudonyms(table: Table, records: ir.Table, chosen: list[str], key: bytes | None) -> ir.Table:
    assert table.schema is not None  # noqa: S101 - encode asks for it
    names = [name for name in chosen if name in table.schema and table.schema[name].role is Role.IDENTIFIER]
    if not names or key is None:
        return records
    records = records.cross_join(table.engine.stage(hmac_pads(key)))
    return records.mutate(**{name: keyed_digest(table.engine, _text(records[name]), records) for name in names})


def _text(column: Any) -> Any:
    """Return identifiers as text; whole numbers without a decimal point, whatever their type."""
    if column.type().is_floating():
        whole = column == column.floor()
        return whole.ifelse(column.cast("int64").cast("string"), column.cast("string"))
    return column.cast("string")
