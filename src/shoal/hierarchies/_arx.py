"""Hierarchies as files in ARX format: one row per leaf, ``leaf;level1;...;*``, no header, UTF-8."""

from __future__ import annotations

import csv
import os
from collections.abc import Container
from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal.errors import OutputError
from shoal.hierarchies._hierarchy import Hierarchy, grow
from shoal.schema import Attribute, FromFile, Provenance
from shoal.schema.rules import RuledColumn


def read_arx(
    path: str | os.PathLike[str],
    *,
    attribute: str | Attribute | None = None,
    delimiter: str = ";",
    missing: bool = False,
) -> Hierarchy:
    """Read a hierarchy in ARX format.

    Parameters
    ----------
    path
        The file: one row per leaf, from the leaf to the top, as many fields in every row. Where the last column has
        more than one label, a level ``*`` is added above it.
    attribute
        The column's name or description; the file's stem where it is not given. Leaves of a numeric or date column
        are put in ascending order, those of an ordinal one in declared order, others stay as in the file; leaves of
        one group are always put together.
    missing
        Whether to add a leaf for the missing value.

    Raises
    ------
    HierarchyError
        With every problem of the file: rows of different lengths, empty labels, a leaf with two sets of ancestors,
        levels that are not nested. Row numbers and counts are given, never the content.
    """
    path = Path(path)
    if not isinstance(attribute, Attribute):
        attribute = Attribute(name=attribute or path.stem)
    rule = FromFile(path=path.name, delimiter=delimiter)
    none = pa.array([], pa.string())
    column = RuledColumn(
        name=attribute.name,
        kind=attribute.kind,
        domain=attribute.domain,
        values=none,
        leaves=none,
        counts=np.empty(0, dtype=np.int64),
        source=pa.string(),
        folder=path.parent,
    )
    return grow(
        rule.tree(column),
        attribute=attribute.name,
        provenance=Provenance.DECLARED,
        missing=missing,
        source=rule.source(attribute.domain),
    )


def write_arx(
    hierarchy: Hierarchy,
    path: str | os.PathLike[str],
    *,
    delimiter: str = ";",
    only: Container[str | None] | None = None,
) -> None:
    """Write a hierarchy in ARX format; the missing value, which the format cannot tell from a text, is left out.

    ``only`` are the values to write, where not all may be seen.
    """
    size = hierarchy.size if hierarchy.missing is None else hierarchy.missing
    shown = [leaf for leaf in range(size) if only is None or hierarchy.labels[0][leaf] in only]
    columns = [
        np.array(labels, dtype=object)[codes[shown]]
        for labels, codes in zip(hierarchy.labels, hierarchy.codes, strict=True)
    ]
    # the writer leaves a lone carriage return unquoted, which readers take for the end of a row
    returns = any("\r" in label for labels in hierarchy.labels for label in labels if label is not None)
    try:
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(
                file,
                delimiter=delimiter,
                lineterminator="\n",
                quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL,
            )
            writer.writerows(zip(*columns, strict=True))
    except OSError as error:
        raise OutputError(f"the hierarchy cannot be written to `{path}`: {error.strerror}") from None
