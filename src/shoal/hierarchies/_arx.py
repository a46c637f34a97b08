"""Hierarchy tables in ARX format: one row per leaf, ``leaf;level1;...;*``, no header, UTF-8."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import HierarchyError, OutputError, Problems
from shoal.hierarchies._column import Column, numbers, ranks
from shoal.hierarchies._file import Rows, first_rows, read_rows
from shoal.hierarchies._hierarchy import TOP, Hierarchy
from shoal.hierarchies._text import text
from shoal.hierarchies._tree import Level, Tree, grow
from shoal.schema import Attribute, FromFile, Kind, Provenance

__all__ = ["from_file", "read_arx", "write_arx"]

Integers = npt.NDArray[np.int64]


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
        The file: one row per leaf, from the leaf to the top, as many fields in every row. Where the last column is
        not ``*`` throughout, a level ``*`` is added above it.
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
    tree = _tree(path, attribute, delimiter=delimiter, source=pa.string())
    return grow(
        tree,
        attribute=attribute.name,
        provenance=Provenance.DECLARED,
        missing=missing,
        source=f"its hierarchy `{path.name}`",
    )


def write_arx(hierarchy: Hierarchy, path: str | os.PathLike[str], *, delimiter: str = ";") -> None:
    """Write a hierarchy in ARX format; the missing value, which the format cannot tell from a text, is left out."""
    size = hierarchy.size if hierarchy.missing is None else hierarchy.missing
    columns = [
        np.array(labels, dtype=object)[codes[:size]]
        for labels, codes in zip(hierarchy.labels, hierarchy.codes, strict=True)
    ]
    try:
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(zip(*columns, strict=True))
    except OSError as error:
        raise OutputError(f"the hierarchy cannot be written to `{path}`: {error.strerror}") from None


def from_file(column: Column, rule: FromFile) -> Tree:
    """Return the levels of a hierarchy file."""
    path = column.folder / rule.path
    return _tree(path, column.attribute, delimiter=rule.delimiter, source=column.source, shown=rule.path)


def _tree(path: Path, attribute: Attribute, *, delimiter: str, source: pa.DataType, shown: str | None = None) -> Tree:
    subject = f"column `{attribute.name}`: its hierarchy `{shown or path.name}`"
    rows = read_rows(path, delimiter=delimiter, subject=subject)
    _check_lengths(rows, subject)
    columns = [pa.array(values, pa.string()) for values in zip(*rows, strict=True)]
    leaves = _leaves(columns[0], attribute, source, subject)
    table = _Table(leaves=_encode(leaves), levels=[_encode(column) for column in _below_top(columns[1:])])
    _check_levels(table, columns, subject)
    kept = table.leaves.first
    return Tree(
        leaves=table.leaves.labels,
        levels=[Level(groups=level.groups[kept], labels=level.labels) for level in table.levels],
        ranks=ranks(table.leaves.labels, attribute, f"leaves of its hierarchy `{shown or path.name}`"),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Encoded:
    """A column of the file: the group of every row, the label of every group, the first row of every group."""

    groups: Integers
    labels: pa.StringArray
    first: Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Table:
    leaves: _Encoded
    levels: list[_Encoded]


def _encode(column: pa.StringArray) -> _Encoded:
    encoded = column.dictionary_encode()
    groups = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    # groups are numbered as they appear, so a first row is where the running maximum grows
    first = np.flatnonzero(np.diff(np.maximum.accumulate(groups), prepend=-1))
    return _Encoded(groups=groups, labels=encoded.dictionary, first=first)


def _leaves(leaves: pa.StringArray, attribute: Attribute, source: pa.DataType, subject: str) -> pa.StringArray:
    """Write numbers as the data's numbers are written: ``5.0`` in the file is ``5``."""
    if attribute.kind is not Kind.NUMERIC or pa.types.is_string(source) or pa.types.is_large_string(source):
        return leaves
    return text(pa.array(numbers(leaves, attribute.name, "leaves of its hierarchy")))


def _below_top(columns: list[pa.StringArray]) -> list[pa.StringArray]:
    if columns and pc.all(pc.equal(columns[-1], TOP)).as_py():
        return columns[:-1]
    return columns


def _check_lengths(rows: Rows, subject: str) -> None:
    expected = len(rows[0])
    odd = [number for number, row in enumerate(rows, start=1) if len(row) != expected]
    if odd:
        raise HierarchyError(
            f"{subject}: {len(odd):,} of {len(rows):,} rows do not have the {expected} fields of row 1 "
            f"({first_rows(odd)})"
        )


def _check_levels(table: _Table, columns: list[pa.StringArray], subject: str) -> None:
    problems = Problems()
    for number, column in enumerate(columns[1:], start=1):
        empty = _rows(pc.equal(column, "").to_numpy(zero_copy_only=False))
        if empty:
            problems.add(f"{subject}: {len(empty):,} labels of level {number} are empty ({first_rows(empty)})")
    fine = table.leaves
    for number, coarse in enumerate(table.levels, start=1):
        apart = _rows(coarse.groups != coarse.groups[fine.first][fine.groups])
        if apart and number == 1:
            problems.add(
                f"{subject}: {len(apart):,} rows repeat a leaf with another label at level 1 ({first_rows(apart)})"
            )
        elif apart:
            problems.add(
                f"{subject} is not nested: values that are together at level {number - 1} are apart at level {number} "
                f"in {len(apart):,} rows ({first_rows(apart)})"
            )
        fine = coarse
    problems.raise_as(HierarchyError)


def _rows(chosen: npt.NDArray[np.bool_]) -> list[int]:
    return (np.flatnonzero(chosen) + 1).tolist()
