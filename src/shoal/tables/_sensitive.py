"""Number the values of sensitive attributes, in their order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.hierarchies import Hierarchy, leaf_codes, text
from shoal.schema import Attribute, Kind, Schema
from shoal.tables._classes import SensitiveAttribute
from shoal.tables._columns import Codes, Column, column_hierarchies

__all__ = ["sensitive_codes"]


def sensitive_codes(
    schema: Schema, columns: list[Column]
) -> tuple[tuple[SensitiveAttribute, ...], list[tuple[Codes, int]]]:
    """Return the attributes, and per attribute the code of every tuple and the number of codes."""
    attributes, codes = [], []
    for column in columns:
        declared = schema[column.name]
        attribute, leaves = _without_hierarchy(declared, column)
        if declared.hierarchy is not None:
            (hierarchy,) = column_hierarchies(schema, [column])
            by_tree = leaf_codes(hierarchy, column.values)
            # the order of a tree that puts values together which are apart would make them look closer
            if not attribute.ordered or bool(np.all(np.diff(leaves[np.argsort(by_tree)]) >= 0)):
                attribute, leaves = _with_hierarchy(declared, hierarchy), by_tree
        attributes.append(attribute)
        codes.append((leaves[column.indices], attribute.size))
    return tuple(attributes), codes


def _with_hierarchy(declared: Attribute, hierarchy: Hierarchy) -> SensitiveAttribute:
    return SensitiveAttribute(
        name=declared.name,
        size=hierarchy.size,
        ordered=declared.kind is not Kind.CATEGORICAL,
        labels=hierarchy.labels[0],
        hierarchy=hierarchy,
    )


def _without_hierarchy(declared: Attribute, column: Column) -> tuple[SensitiveAttribute, Codes]:
    """Number the distinct values in their order, the missing one last."""
    written = text(column.values)
    ranks = _order(declared, column.values, written)
    # values with the same text are the same value
    order = np.lexsort((written.is_null().to_numpy(zero_copy_only=False).astype(np.int8), ranks))
    labels = written.take(pa.array(order)).to_pylist()
    new = np.array(
        [label != before for label, before in zip(labels, [object(), *labels], strict=False)], dtype=np.int32
    )
    codes = np.empty(len(labels), dtype=np.int32)
    codes[order] = np.cumsum(new, dtype=np.int32) - 1
    distinct = tuple(label for label, first in zip(labels, new, strict=True) if first)
    ordered = declared.kind is not Kind.CATEGORICAL
    return SensitiveAttribute(name=declared.name, size=len(distinct), ordered=ordered, labels=distinct), codes


def _order(declared: Attribute, values: pa.Array, written: pa.Array) -> npt.NDArray[np.int64]:
    """Return the rank of every value: by number, by day, as declared, else by text; null last."""
    if declared.kind is Kind.ORDINAL:
        assert declared.domain is not None  # noqa: S101 - Attribute asks for it
        keys = pc.index_in(written, value_set=pa.array(declared.domain.values, pa.string()), skip_nulls=True)
    elif declared.kind is Kind.CATEGORICAL:
        keys = written
    else:
        keys = values
    ranks = pc.rank(keys, sort_keys="ascending", tiebreaker="dense")
    return np.asarray(ranks.to_numpy(), dtype=np.int64)
