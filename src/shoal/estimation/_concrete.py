"""A generalised release as records that any program reads: every label becomes one of the values below it.

Drawn from what the release itself says, never from the original, so every promise carries over, also for whoever holds
both. The number of records of every class stays; rows are in random order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, Problems
from shoal.estimation._below import ValuesBelow, values_below
from shoal.estimation._impossible import ImpossibleRules, refuse_if_contradicted
from shoal.estimation._records import replace_rows
from shoal.estimation._together import draw_together
from shoal.hierarchies import derive_columns
from shoal.kernels import Floats, Integers
from shoal.schema import Role, Schema
from shoal.schema.conditions import holds, members
from shoal.schema.rules import is_text

_ATTEMPTS = 50


@dataclass(frozen=True, eq=False)
class ConcreteRecords:
    """What `concrete_records` returns.

    Parameters
    ----------
    rows
        The records.
    drawn
        The columns whose values were drawn below labels.
    impossible
        How many records the rules of the schema call impossible whatever is drawn below their labels.
    """

    rows: pa.Table
    drawn: tuple[str, ...]
    impossible: int


def concrete_records(rows: pa.Table, schema: Schema, *, seed: int | None = None) -> ConcreteRecords:
    """Return the records of a release with a value in place of every label.

    Parameters
    ----------
    rows
        The released records.
    schema
        What the columns are.
    seed
        Draws the same values again; by default they are drawn from the system's randomness.

    Raises
    ------
    InputError
        If a column has labels and nothing says which values they stand for; all such columns are named at once.
    """
    generator = np.random.default_rng(seed)  # which the system seeds where none is given
    columns = {name: rows[name].combine_chunks() for name in rows.column_names}
    labelled: dict[str, _LabelledColumn] = {}
    problems = Problems()
    for name, column in columns.items():
        if name in schema and is_text(column.type) and not schema[name].role.names_someone:
            try:
                labelled[name] = _LabelledColumn.of(column, name, schema)
            except InputError as error:
                for problem in error.problems:
                    problems.add(problem)
    problems.raise_as(
        InputError, hint="declare the `values`, bounds or a hierarchy of these columns in the schema, or drop them"
    )
    exact = {name: _codes(column) for name, column in columns.items() if name not in labelled and _tells(name, schema)}
    classes = [name for name in labelled if schema[name].role is Role.QUASI_IDENTIFIER]
    described = {name: (each.codes, each.below, each.shares) for name, each in labelled.items()}
    cells = (
        draw_together(described, exact, classes, generator)
        if len(rows)
        else {name: _codes(columns[name]) for name in labelled}
    )
    values = columns | {name: each.below.draw_values(cells[name], generator) for name, each in labelled.items()}
    values, impossible = _without_impossible(values, labelled, schema, generator)
    order = pa.array(generator.permutation(len(rows)))
    names = [*rows.column_names, *(name for name in values if name not in columns)]
    written = pa.table({name: values[name] for name in names}).take(order)
    return ConcreteRecords(written, tuple(name for name, each in labelled.items() if each.is_coarse), impossible)


def _codes(column: pa.Array) -> Integers:
    encoded = column.dictionary_encode("encode")
    order = np.argsort(pc.array_sort_indices(encoded.dictionary).to_numpy())
    return np.asarray(order[encoded.indices.to_numpy(zero_copy_only=False)], dtype=np.int64)


def _tells(name: str, schema: Schema) -> bool:
    """Return whether the values of a released column may tell about others: not keys, nor numbers of classes."""
    return name in schema and not schema[name].role.names_someone


@dataclass(frozen=True, eq=False)
class _LabelledColumn:
    """A released column of labels, and the values below them."""

    codes: Integers
    below: ValuesBelow
    shares: Floats

    @classmethod
    def of(cls, column: pa.Array, name: str, schema: Schema) -> _LabelledColumn:
        encoded = column.dictionary_encode("encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        labels = encoded.dictionary.to_pylist()
        below = values_below(schema[name], labels, folder=schema.folder)
        return cls(codes, below, below.shares(np.bincount(codes, minlength=len(labels))))

    @property
    def is_coarse(self) -> bool:
        """Whether some label stands for more than one value."""
        below = self.below
        if below.lows is not None and below.highs is not None:
            wide = below.highs - below.lows > (1 if below.whole else 0)
            if any(wide[first:last].any() for first, last in zip(below.first, below.last, strict=True)):
                return True
        return bool((below.last - below.first > 1).any())

    def draw(self, rows: Integers, generator: np.random.Generator) -> pa.Array:
        """Return a value for each of these records."""
        return self.below.draw_values(self.below.draw_cells(self.codes[rows], self.shares, generator), generator)


def _without_impossible(
    values: dict[str, pa.Array], labelled: dict[str, _LabelledColumn], schema: Schema, generator: np.random.Generator
) -> tuple[dict[str, pa.Array], int]:
    """Draw the values of impossible records again, and return how many stay impossible whatever is drawn."""
    rules = ImpossibleRules.of(schema, [*values])
    values = values | derive_columns(schema, values)
    broken: Integers = np.array([], dtype=np.int64)
    for _ in range(_ATTEMPTS):
        broken = np.flatnonzero(rules.violated(values)) if rules.conditions else broken
        if not len(broken):
            return values, 0
        again = {name: each.draw(broken, generator) for name, each in labelled.items()}
        released = {name: column for name, column in values.items() if name not in again}
        rest = {name: column.take(pa.array(broken)) for name, column in released.items()}
        again |= derive_columns(schema, again | rest)
        values = replace_rows(values, broken, again)
    for place, condition in rules.conditions:
        member = lambda part: members(part.values, values[part.attribute])  # noqa: E731
        refuse_if_contradicted(place, float(holds(condition, member).mean()))
    return values, len(broken)
