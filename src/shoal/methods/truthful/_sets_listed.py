"""Classes of tables that follow from the schema alone, and their counts where no record shows them.

A class that the schema lists is there whether anybody is in it or not. So the number of its records less what trimming
takes off may be told even where it is not above zero and no record is shown: see Lemma 1 of
`shoal.methods.truthful.gaussian`, which is about that number. Classes with a value that the schema does not list would
tell by their name that somebody has it: they are shown by records or not at all.
"""

from __future__ import annotations

import datetime as dt
import io
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyarrow import csv

from shoal.hierarchies import Hierarchy, build, leaves_declared
from shoal.kernels import Codes, Integers
from shoal.schema import Attribute, Kind, Missing, Schema
from shoal.schema.rules import text
from shoal.tables import Frequencies, tally

#: The file with the counts of classes that no record shows.
HIDDEN = "hidden.csv"
#: Whole numbers and days between declared bounds are listed up to so many, and so are the classes of a table.
MOST_CLASSES = 10_000

#: The values of a class, as tables have them, and its count.
HiddenCounts = Mapping[tuple[str | None, ...], int]


@dataclass(frozen=True, slots=True)
class LeveledColumns:
    """Some columns, by position, each at a level."""

    columns: tuple[int, ...]
    levels: tuple[int, ...]


def countable(schema: Schema) -> dict[str, Hierarchy]:
    """Return the hierarchies of released columns whose values follow from the schema alone, made from it alone."""
    return hierarchies_from(schema, listed_values)


def hierarchies_from(schema: Schema, values_of: Callable[[Attribute], pa.Array | None]) -> dict[str, Hierarchy]:
    """Return the hierarchies of released columns that have these values besides those that the schema lists for them.

    A missing value is among them where the schema lets it be a value. Numbers that are not listed as they will be
    released, as 1.0 for 1, are left out.
    """
    made = {
        attribute.name: build(attribute, values, folder=schema.folder, missing=attribute.missing is Missing.CATEGORY)
        for attribute in schema
        if not attribute.role.names_someone and (values := values_of(attribute)) is not None
    }
    return {name: each for name, each in made.items() if schema[name].kind is not Kind.NUMERIC or _as_written(each)}


def _as_written(hierarchy: Hierarchy) -> bool:
    """Return whether the values of a column of numbers are listed as numbers are released: 1, not 1.0."""
    labels = [label for label in hierarchy.labels[0] if label is not None]
    try:
        return bool(text(pa.array([float(label) for label in labels], pa.float64())).to_pylist() == labels)
    except ValueError:
        return False


def listed_values(attribute: Attribute) -> pa.Array | None:
    """Return values that a hierarchy needs besides those that the schema lists for it itself; None without a list.

    Of numbers and days with bounds these are the whole numbers and days between, if there are not too many.
    """
    domain = attribute.domain
    low, high = (None, None) if domain is None else (domain.minimum, domain.maximum)
    if isinstance(low, dt.date) and isinstance(high, dt.date):
        days = np.arange(np.datetime64(low, "D"), np.datetime64(high, "D") + 1)
        return pa.array(days, pa.date32()) if len(days) <= MOST_CLASSES else None
    if leaves_declared(attribute):
        return pa.array([], pa.string())
    if attribute.kind is Kind.NUMERIC and isinstance(low, int | float) and isinstance(high, int | float):
        first, last = math.ceil(low), math.floor(high)
        return pa.array(range(first, last + 1), pa.int64()) if 0 <= last - first < MOST_CLASSES else None
    return None


def number_of_classes(hierarchies: Mapping[str, Hierarchy], levels: Mapping[str, int]) -> int | None:
    """Return how many classes the schema lists for columns at their levels; None where it does not, or too many."""
    if not all(name in hierarchies and level <= hierarchies[name].height for name, level in levels.items()):
        return None
    number = math.prod(len(hierarchies[name].labels[level]) for name, level in levels.items())
    return number if number <= MOST_CLASSES else None


def listed_classes(hierarchies: Mapping[str, Hierarchy], levels: Mapping[str, int]) -> Iterator[tuple[str | None, ...]]:
    """Return all classes that the schema lists for columns at their levels, in a fixed order."""
    if number_of_classes(hierarchies, levels) is None:
        return iter(())
    return itertools.product(*(hierarchies[name].labels[level] for name, level in levels.items()))


@dataclass(frozen=True, eq=False)
class ListedClasses:
    """The records of a table beside the classes that the schema lists."""

    frequencies: Frequencies
    hierarchies: Mapping[str, Hierarchy]

    def levels(self, table: LeveledColumns) -> dict[str, int]:
        names = self.frequencies.attributes
        return {names[j]: level for j, level in zip(table.columns, table.levels, strict=True)}

    def number(self, table: LeveledColumns) -> int | None:
        """Return how many classes of a table the schema lists."""
        return number_of_classes(self.hierarchies, self.levels(table))

    def counts(self, table: LeveledColumns) -> Integers:
        """Return the number of records of every listed class of a table."""
        leaves = [
            self.codes(j, level)[self.frequencies.hierarchies[j].codes[level]][self.frequencies.codes[:, j]]
            for j, level in zip(table.columns, table.levels, strict=True)
        ]
        places, number = self._places(table, leaves), self.number(table)
        inside = places >= 0
        return tally(places[inside], self.frequencies.counts[inside], 0 if number is None else number)

    def places(self, table: LeveledColumns, codes: Codes) -> Integers:
        """Return the places of some classes of the data, by their codes, among those listed; -1 for none of them."""
        known = [self.codes(j, level) for j, level in zip(table.columns, table.levels, strict=True)]
        return self._places(table, [own[codes[:, place]] for place, own in enumerate(known)])

    def codes(self, column: int, level: int) -> Integers:
        """Return, for the values of a column in the data at a level, their codes in what is listed; -1 for none."""
        hierarchy = self.frequencies.hierarchies[column]
        listed = {label: code for code, label in enumerate(self.hierarchies[hierarchy.attribute].labels[level])}
        return np.array([listed.get(label, -1) for label in hierarchy.labels[level]], dtype=np.int64)

    def _places(self, table: LeveledColumns, columns: Sequence[Integers]) -> Integers:
        places: Integers = np.zeros(len(columns[0]), dtype=np.int64)
        for (name, level), own in zip(self.levels(table).items(), columns, strict=True):
            size = len(self.hierarchies[name].labels[level])
            places = np.where((places < 0) | (own < 0), -1, places * size + own)
        return places


# -- the file


def written_hidden(tables: Mapping[str, HiddenCounts]) -> str:
    """Return the text of the file: the table, the count, and the values of the class in the order of its columns.

    Values stand in quotes; what is missing, or what a table has no column for, is empty.
    """
    rows = [(file, count, labels) for file, counts in tables.items() for labels, count in counts.items()]
    width = max((len(labels) for _, _, labels in rows), default=1)
    columns: dict[str, pa.Array] = {
        "table": pa.array([file for file, _, _ in rows], pa.string()),
        "count": pa.array([count for _, count, _ in rows], pa.int64()),
    }
    for place in range(width):
        values = [labels[place] if place < len(labels) else None for _, _, labels in rows]
        columns[f"value {place + 1}"] = pa.array(values, pa.string())
    written = io.BytesIO()
    csv.write_csv(pa.table(columns), written)
    return written.getvalue().decode()


def read_hidden(written: str, widths: Mapping[str, int]) -> Mapping[str, HiddenCounts]:
    """Read what `written_hidden` wrote; ``widths`` says how many columns each table has.

    Raises
    ------
    ValueError, TypeError, KeyError
        If it is anything else.
    """
    names = written.partition("\n")[0].replace('"', "").split(",")
    rows = csv.read_csv(
        io.BytesIO(written.encode()),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()) | {"count": pa.int64()},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    hidden: dict[str, dict[tuple[str | None, ...], int]] = {file: {} for file in widths}
    if rows.column_names[:2] != ["table", "count"] or rows["count"].null_count:
        raise ValueError("a count is missing")
    for file, count, *labels in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        hidden[file][tuple(labels[: widths[file]])] = count
    if written_hidden(hidden) != written:
        raise ValueError("not as such a file is written")
    return hidden
