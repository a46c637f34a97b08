"""Rows of a delimited text file, with every problem counted and no cell shown."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import HierarchyError

__all__ = ["Rows", "read_rows"]

# generous: a label of a megabyte is a wrong file, not a label
_LONGEST_FIELD = 2**20
_DELIMITERS = ",;\t|"


@dataclass(frozen=True, slots=True, repr=False)
class Rows:
    """The rows of a file that are not blank, and where each stands in it, from 1."""

    cells: list[list[str]]
    numbers: list[int]

    def __len__(self) -> int:
        return len(self.cells)

    def chosen(self, wanted: Sequence[bool]) -> Rows:
        """Return the rows that are wanted."""
        return Rows(list(itertools.compress(self.cells, wanted)), list(itertools.compress(self.numbers, wanted)))

    def first(self, positions: Sequence[int]) -> str:
        """Say where the first few of some rows stand."""
        shown = ", ".join(f"{self.numbers[position]:,}" for position in positions[:5])
        return f"row{'s' if len(positions) > 1 else ''} {shown}{', ...' if len(positions) > 5 else ''}"


def read_rows(path: Path, *, delimiter: str, subject: str) -> Rows:
    """Return the rows of a UTF-8 file, blank lines left out.

    Parameters
    ----------
    subject
        How messages call the file: "column `zip`: its hierarchy `zip.csv`".
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise HierarchyError(f"{subject} does not exist", hint="paths start at the schema's folder") from None
    except OSError as error:
        raise HierarchyError(f"{subject} cannot be read: {error.strerror}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HierarchyError(
            f"{subject} is not UTF-8 text (line {content[: error.start].count(10) + 1})", hint="save it as UTF-8"
        ) from None
    rows = _parse(text, delimiter, subject)
    if not len(rows):
        raise HierarchyError(f"{subject} is empty")
    if max(map(len, rows.cells)) == 1 and (other := _other_delimiter(rows, delimiter)):
        raise HierarchyError(
            f"{subject} has one field per row with the delimiter {delimiter!r}",
            hint=f"every row holds {other!r}; set `delimiter`",
        )
    return rows


def _parse(text: str, delimiter: str, subject: str) -> Rows:
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        cells = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except (csv.Error, TypeError, ValueError):
        raise HierarchyError(f"{subject} is not a text file of rows with the delimiter {delimiter!r}") from None
    finally:
        csv.field_size_limit(before)
    return Rows(cells, list(range(1, len(cells) + 1))).chosen([bool(row) for row in cells])


def _other_delimiter(rows: Rows, delimiter: str) -> str | None:
    return next((d for d in _DELIMITERS if d != delimiter and all(d in row[0] for row in rows.cells)), None)
