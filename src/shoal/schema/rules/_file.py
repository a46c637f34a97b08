"""Hierarchy tables in ARX format: one row per leaf, ``leaf;level1;...;*``, no header, UTF-8."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.copying import read_bytes
from shoal.errors import HierarchyError, Problems, counted, reason
from shoal.schema._domain import Kind
from shoal.schema._entry import text as words
from shoal.schema._rule import HierarchyRule, Level, RuledColumn, Tree, at
from shoal.schema._values import EncodedTexts, encode_texts, is_text, numbers, text

_LEAVES = "leaves of its hierarchy"
# generous: a label of a megabyte is a wrong file, not a label
_LONGEST_FIELD = 2**20
_MOST_LEVELS = 100
_DELIMITERS = ",;\t|"


@dataclass(frozen=True, slots=True, kw_only=True)
class FromFile(HierarchyRule):
    """A table in ARX format, one row per leaf: ``leaf;level1;...;*``. The path is relative to the schema's file."""

    name: ClassVar[str] = "file"
    lists_values: ClassVar[bool] = True
    path: str = field(metadata=at("file", words))
    delimiter: str = field(default=";", metadata=at("delimiter", words))

    def problems(self) -> Iterable[str]:
        return file_problems(self.name, self.path, self.delimiter)

    def explain(self) -> str:
        return f"the levels in `{self.path}`"

    @property
    def file(self) -> str | None:
        return self.path

    def with_path(self, path: str) -> Self:
        return replace(self, path=path)

    def tree(self, column: RuledColumn) -> Tree:
        """Return the levels of the file; every problem of it is reported at once."""
        subject = f"column `{column.name}`: its hierarchy `{self.path}`"
        problems = Problems()
        rows = _even(read_rows(column.folder / self.path, delimiter=self.delimiter, subject=subject), subject, problems)
        columns = [pa.array(values, pa.string()) for values in zip(*rows.cells, strict=True)]
        _check_labels(columns[1:], rows, subject, problems)
        order = None
        try:
            leaves = encode_texts(_leaves(columns[0], column))
            order = column.ranks(leaves.labels, _LEAVES)
        except HierarchyError as error:
            problems.take(error)
            leaves = encode_texts(columns[0])
        levels = [encode_texts(column) for column in columns[1:]]
        _check_nested([leaves, *levels], rows, subject, problems)
        problems.raise_as(HierarchyError)
        groups = [Level(groups=level.groups[leaves.first], labels=level.labels) for level in levels]
        return Tree(leaves=leaves.labels, levels=groups, ranks=order)


def _leaves(leaves: pa.StringArray, column: RuledColumn) -> pa.StringArray:
    """Write numbers as the data's numbers are written: ``5.0`` in the file is ``5``."""
    if column.kind is not Kind.NUMERIC or is_text(column.source):
        return leaves
    return text(pa.array(numbers(leaves, column.name, _LEAVES)))


def _even(rows: FileRows, subject: str, problems: Problems) -> FileRows:
    """Return the rows that are as long as the first one."""
    expected = len(rows.cells[0])
    even = [len(row) == expected for row in rows.cells]
    odd = [position for position, good in enumerate(even) if not good]
    if not odd:
        return rows
    problems.add(
        f"{subject}: the first row has {counted(expected, 'field')}, but {len(odd):,} of {len(rows):,} rows have more "
        f"or fewer ({rows.first(odd)})"
    )
    return rows.select(even)


def _check_labels(columns: list[pa.StringArray], rows: FileRows, subject: str, problems: Problems) -> None:
    for number, column in enumerate(columns, start=1):
        empty = _places(pc.equal(column, "").to_numpy(zero_copy_only=False))
        if empty:
            where = f"{counted(len(empty), 'row')} ({rows.first(empty)})"
            problems.add(f"{subject}: the label of level {number} is empty in {where}")


def _check_nested(levels: list[EncodedTexts], rows: FileRows, subject: str, problems: Problems) -> None:
    """Compare every row with the first row that has the same label one level below."""
    for number, (fine, coarse) in enumerate(itertools.pairwise(levels), start=1):
        apart = _places(coarse.groups != coarse.groups[fine.first][fine.groups])
        if not apart:
            continue
        where = f"{counted(len(apart), 'row')} ({rows.first(apart)})"
        if number == 1:
            problems.add(f"{subject}: a leaf of an earlier row has a different label at level 1 in {where}")
        else:
            problems.add(
                f"{subject} is not nested: values that are together at level {number - 1} are separate at level "
                f"{number} in {where}"
            )


def _places(chosen: npt.NDArray[np.bool_]) -> list[int]:
    return np.flatnonzero(chosen).tolist()


@dataclass(frozen=True, slots=True, repr=False)
class FileRows:
    """The rows of a file that are not blank, and where each stands in it, from 1."""

    cells: list[list[str]]
    numbers: list[int]

    def __len__(self) -> int:
        return len(self.cells)

    def select(self, wanted: Sequence[bool]) -> FileRows:
        """Return the rows that are wanted."""
        return FileRows(list(itertools.compress(self.cells, wanted)), list(itertools.compress(self.numbers, wanted)))

    def first(self, positions: Sequence[int]) -> str:
        """Say where the first few of some rows stand."""
        shown = ", ".join(f"{self.numbers[position]:,}" for position in positions[:5])
        return f"row{'s' if len(positions) > 1 else ''} {shown}{', ...' if len(positions) > 5 else ''}"


def read_rows(path: Path, *, delimiter: str, subject: str) -> FileRows:
    """Return the rows of a UTF-8 file, blank lines left out; messages call it ``subject``."""
    try:
        content = read_bytes(path, follow=True)
    except FileNotFoundError:
        raise HierarchyError(f"{subject} does not exist", hint="paths are relative to the schema's folder") from None
    except OSError as error:
        raise HierarchyError(f"{subject} cannot be read: {reason(error)}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HierarchyError(
            f"{subject} is not UTF-8 text (line {content[: error.start].count(10) + 1})", hint="save it as UTF-8"
        ) from None
    rows = _parse(text, delimiter, subject)
    if max(map(len, rows.cells), default=0) > _MOST_LEVELS:
        raise HierarchyError(f"{subject} has rows of more than {_MOST_LEVELS} fields", hint="check `delimiter`")
    if not len(rows):
        raise HierarchyError(f"{subject} is empty")
    others = [other for other in _DELIMITERS if other != delimiter and all(other in row[0] for row in rows.cells)]
    if max(map(len, rows.cells)) == 1 and others:
        raise HierarchyError(
            f"{subject} has only one field per row with the delimiter {delimiter!r}",
            hint=f"every row contains {others[0]!r}; set `delimiter`",
        )
    return rows


def canonical_file(rule: HierarchyRule, folder: Path) -> bytes:
    """Return the file of a rule as a release holds it: each row once, each cell quoted only where it must be."""
    delimiter = str(getattr(rule, "delimiter", ";"))
    rows = read_rows(folder / str(rule.file), delimiter=delimiter, subject=f"the hierarchy `{rule.file}`")
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=delimiter, lineterminator="\n").writerows(dict.fromkeys(map(tuple, rows.cells)))
    return written.getvalue().encode()


def _parse(text: str, delimiter: str, subject: str) -> FileRows:
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        cells = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except (csv.Error, TypeError, ValueError):
        raise HierarchyError(f"{subject} is not a text file with the delimiter {delimiter!r}") from None
    finally:
        csv.field_size_limit(before)
    return FileRows(cells, list(range(1, len(cells) + 1))).select([bool(row) for row in cells])


def file_problems(name: str, path: str, delimiter: str) -> Iterable[str]:
    """Say what is wrong with a path and a delimiter, without looking at the file."""
    if not path:
        yield f"`path` of a `{name}` hierarchy must not be empty"
    if len(delimiter) != 1 or delimiter in '"\r\n':
        yield f"`delimiter` of a `{name}` hierarchy must be a single character other than a quote or a line break"
