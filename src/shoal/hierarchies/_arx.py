"""Hierarchy tables in ARX format: one row per leaf, ``leaf;level1;...;*``, no header, UTF-8."""

from __future__ import annotations

import csv
import itertools
import os
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import HierarchyError, OutputError, Problems
from shoal.hierarchies._column import Column, numbers, ranks
from shoal.hierarchies._file import Rows, read_rows
from shoal.hierarchies._hierarchy import TOP, Hierarchy
from shoal.hierarchies._text import counted, is_text, text
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
    tree = _tree(path, attribute, delimiter=delimiter, source=pa.string(), shown=path.name)
    return grow(
        tree,
        attribute=attribute.name,
        provenance=Provenance.DECLARED,
        missing=missing,
        source=f"its hierarchy `{path.name}`",
    )


def write_arx(
    hierarchy: Hierarchy,
    path: str | os.PathLike[str],
    *,
    delimiter: str = ";",
    only: Container[str | None] | None = None,
) -> None:
    """Write a hierarchy in ARX format; the missing value, which the format cannot tell from a text, is left out.

    Parameters
    ----------
    hierarchy, path, delimiter
        What to write, and how.
    only
        The values to write, where not all may be seen.
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


def from_file(column: Column, rule: FromFile) -> Tree:
    """Return the levels of a hierarchy file."""
    path = column.folder / rule.path
    return _tree(path, column.attribute, delimiter=rule.delimiter, source=column.source, shown=rule.path)


def _tree(path: Path, attribute: Attribute, *, delimiter: str, source: pa.DataType, shown: str) -> Tree:
    subject = f"column `{attribute.name}`: its hierarchy `{shown}`"
    problems = Problems()
    rows = _even(read_rows(path, delimiter=delimiter, subject=subject), subject, problems)
    columns = [pa.array(values, pa.string()) for values in zip(*rows.cells, strict=True)]
    _check_labels(columns[1:], rows, subject, problems)
    try:
        leaves = _encode(_leaves(columns[0], attribute, source))
        order = ranks(leaves.labels, attribute, "leaves of its hierarchy")
    except HierarchyError as error:
        for problem in error.problems:
            problems.add(problem)
        leaves = _encode(columns[0])
    levels = [_encode(column) for column in _below_top(columns[1:])]
    _check_nested(leaves, levels, rows, subject, problems)
    problems.raise_as(HierarchyError)
    groups = [Level(groups=level.groups[leaves.first], labels=level.labels) for level in levels]
    return Tree(leaves=leaves.labels, levels=groups, ranks=order)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Encoded:
    """A column of the file: the group of every row, the label of every group, the first row of every group."""

    groups: Integers
    labels: pa.StringArray
    first: Integers


def _encode(column: pa.StringArray) -> _Encoded:
    encoded = column.dictionary_encode()
    groups = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    # groups are numbered as they appear, so a first row is where the running maximum grows
    first = np.flatnonzero(np.diff(np.maximum.accumulate(groups), prepend=-1))
    return _Encoded(groups=groups, labels=encoded.dictionary, first=first)


def _leaves(leaves: pa.StringArray, attribute: Attribute, source: pa.DataType) -> pa.StringArray:
    """Write numbers as the data's numbers are written: ``5.0`` in the file is ``5``."""
    if attribute.kind is not Kind.NUMERIC or is_text(source):
        return leaves
    return text(pa.array(numbers(leaves, attribute.name, "leaves of its hierarchy")))


def _below_top(columns: list[pa.StringArray]) -> list[pa.StringArray]:
    if columns and pc.all(pc.equal(columns[-1], TOP)).as_py():
        return columns[:-1]
    return columns


def _even(rows: Rows, subject: str, problems: Problems) -> Rows:
    """Return the rows that are as long as the first one."""
    expected = len(rows.cells[0])
    even = [len(row) == expected for row in rows.cells]
    odd = [place for place, good in enumerate(even) if not good]
    if not odd:
        return rows
    problems.add(
        f"{subject}: the first row has {counted(expected, 'field')}, but {len(odd):,} of {len(rows):,} rows have more "
        f"or fewer ({rows.first(odd)})"
    )
    return rows.chosen(even)


def _check_labels(columns: list[pa.StringArray], rows: Rows, subject: str, problems: Problems) -> None:
    for number, column in enumerate(columns, start=1):
        empty = _places(pc.equal(column, "").to_numpy(zero_copy_only=False))
        if empty:
            where = f"{counted(len(empty), 'row')} ({rows.first(empty)})"
            problems.add(f"{subject}: the label of level {number} is empty in {where}")


def _check_nested(leaves: _Encoded, levels: list[_Encoded], rows: Rows, subject: str, problems: Problems) -> None:
    """Compare every row with the first row that has the same label one level below."""
    for number, (fine, coarse) in enumerate(itertools.pairwise([leaves, *levels]), start=1):
        apart = _places(coarse.groups != coarse.groups[fine.first][fine.groups])
        if not apart:
            continue
        where = f"{counted(len(apart), 'row')} ({rows.first(apart)})"
        if number == 1:
            problems.add(f"{subject}: a leaf that stood before has another label at level 1 in {where}")
        else:
            problems.add(
                f"{subject} is not nested: values that are together at level {number - 1} are apart at level {number} "
                f"in {where}"
            )


def _places(chosen: npt.NDArray[np.bool_]) -> list[int]:
    return np.flatnonzero(chosen).tolist()
