"""Columns that follow from another column by a public rule, and combinations of values that cannot occur."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import Problems, SchemaError
from shoal.schema._entry import TomlTable, many, number, pairs, text, whole, word_or_number

#: A table of values and derived values is read whole; a larger one is no list of codes.
_LARGEST_FILE = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A public rule that gives the values of a column from those of another one.

    The column itself is neither released nor measured: it is computed again wherever records are made from a release.
    Exactly one of ``values``, ``level`` and ``cuts`` says how. A missing value gives a missing value.

    Parameters
    ----------
    source
        The column that it follows from; the key ``from`` in a schema file.
    values
        The derived value of every value, as pairs of text. A schema file may name a CSV ``file`` of two columns
        instead, with a header; it is read when the schema is.
    level
        A level of the hierarchy of the source: the label there is the derived value.
    cuts, labels
        Ascending numbers, and one label more than there are numbers: values below the first cut get the first label,
        values from the last cut on the last one.

    Examples
    --------
    >>> Derived(source="age", cuts=(18, 65), labels=("minor", "adult", "senior")).source
    'age'
    """

    source: str
    values: tuple[tuple[str, str], ...] | None = None
    level: int | None = None
    cuts: tuple[float, ...] | None = None
    labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        problems = Problems()
        rules = [name for name in ("values", "level", "cuts") if getattr(self, name) is not None]
        if len(rules) != 1:
            problems.add("`derived` takes exactly one of `values`, `file`, `level` and `cuts`")
        if self.level is not None and self.level < 1:
            problems.add(f"`level` of `derived` must be at least 1; got {self.level}")
        if (self.labels is None) != (self.cuts is None):
            problems.add("`cuts` and `labels` of `derived` go together")
        elif self.cuts is not None and self.labels is not None:
            ascending = all(a < b for a, b in zip(self.cuts, self.cuts[1:], strict=False))
            if not self.cuts or not ascending or not all(map(math.isfinite, self.cuts)):
                problems.add("`cuts` of `derived` must be finite numbers in ascending order")
            if len(self.labels) != len(self.cuts) + 1:
                problems.add(f"`labels` of `derived` must be {len(self.cuts) + 1}: one more than `cuts`")
        if self.values is not None and len(dict(self.values)) != len(self.values):
            problems.add("`values` of `derived` must name every value once")
        problems.raise_as(SchemaError)

    @classmethod
    def read(cls, entry: TomlTable, folder: Path) -> Derived | None:
        """Return the rule that a table of a schema file describes; None where it is wrong, which is then noted."""
        source = entry.get("from", text, required=True)
        values = entry.get("values", pairs(word_or_number, "a table of values and derived values"))
        file = entry.get("file", text)
        level = entry.get("level", whole)
        cuts = entry.get("cuts", many(number))
        labels = entry.get("labels", many(word_or_number))
        if not entry.close() or source is None:
            return None
        if file is not None:
            if values is not None:
                raise SchemaError("`derived` takes `values` or `file`, not both")
            values = tuple(_read_pairs(folder / file))
        return cls(source=source, values=values, level=level, cuts=cuts, labels=labels)

    def write(self) -> dict[str, object]:
        """Return the rule as a table of a schema file."""
        rule: dict[str, object] = {"from": self.source}
        if self.values is not None:
            rule["values"] = dict(self.values)
        if self.level is not None:
            rule["level"] = self.level
        if self.cuts is not None:
            rule |= {"cuts": self.cuts, "labels": self.labels}
        return rule


def _read_pairs(path: Path) -> Iterator[tuple[str, str]]:
    """Read a CSV file of two columns: a value and its derived value."""
    subject = f"the file `{path.name}` of `derived`"
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
            raise SchemaError(f"{subject} is missing, no regular file, or larger than 8 MiB")
        rows = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise SchemaError(f"{subject} cannot be read as CSV in UTF-8") from None
    wrong = [line for line, row in enumerate(rows, start=1) if len(row) != 2]
    if wrong or len(rows) < 2:
        where = f"line {wrong[0]} does not" if wrong else "it does not"
        raise SchemaError(f"{subject} must have a header and two columns; {where}")
    yield from ((value, derived) for value, derived in rows[1:])


def check_derived(rules: Mapping[str, Derived], columns: Mapping[str, bool], problems: Problems) -> None:
    """Note what is wrong with the derived columns of a schema together.

    Parameters
    ----------
    rules
        The rule of every derived column.
    columns
        For every column of the schema, whether it is left out of releases.
    """
    for name in rules:
        seen = [name]
        while (source := rules[seen[-1]].source) in rules and source not in seen:
            seen.append(source)
        if source in seen:
            problems.add(f"column `{name}`: `derived` goes round in a circle")
        elif source not in columns:
            problems.add(f"column `{name}`: it is derived from `{source}`, which the schema does not have")
        elif columns[source]:
            problems.add(
                f"column `{name}`: it is derived from `{source}`, which is left out of the release; "
                f"derive it from a column that is released"
            )
