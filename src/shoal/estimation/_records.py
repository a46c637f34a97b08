"""Records drawn from the pool of a release of many tables: in the columns and types that the schema declares.

They are computed from the release alone, so they cost no privacy. They are synthetic: nobody in them need exist.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, ParameterError
from shoal.estimation._below import ValuesBelow, values_below
from shoal.estimation._impossible import ImpossibleRules
from shoal.fitting import Codes, Margins
from shoal.hierarchies import derive_columns
from shoal.kernels import Floats, Integers
from shoal.schema import Schema

#: As many records as can be asked for.
MOST_RECORDS = 50_000_000
#: How often the values of a record that turns out to be impossible are drawn again.
_ATTEMPTS = 50


def draw_records(
    margins: Margins,
    codes: Codes,
    weights: Floats,
    schema: Schema,
    number: int,
    generator: np.random.Generator,
) -> pa.Table:
    """Return so many records drawn from a weighted pool, in random order.

    Parameters
    ----------
    margins
        The tables of the release.
    codes, weights
        The pool: codes at the lowest released level of every column.
    schema
        What the columns are, which follow from others, and what is impossible.
    """
    if not 1 <= number <= MOST_RECORDS:
        raise ParameterError(f"`number` of records must be in [1, {MOST_RECORDS:,}]; got {number:,}.")
    drawn = codes[generator.permutation(_draw_rows(codes, weights, number, generator))]
    columns = _Columns(margins, schema)
    rules = ImpossibleRules.of(schema, margins.names)
    values = columns.draw(drawn, generator)
    for attempt in range(_ATTEMPTS):
        broken = np.flatnonzero(rules.violated(values)) if rules.conditions else np.array([], dtype=np.int64)
        if not len(broken):
            break
        if attempt >= _ATTEMPTS // 2:  # no values of these codes seem to do: take other records
            drawn[broken] = codes[generator.choice(len(codes), len(broken), p=weights / weights.sum())]
        values = replace_rows(values, broken, columns.draw(drawn[broken], generator))
    else:
        raise InputError(
            "the rules of `impossible` in the schema leave hardly any record possible", hint="correct or remove them"
        )
    return pa.table({name: values[name] for name in schema.names if name in values})


def _draw_rows(codes: Codes, weights: Floats, number: int, generator: np.random.Generator) -> Integers:
    """Return rows of the pool by systematic sampling: at even steps through their weights, sorted by their values."""
    order = np.lexsort(codes.T[::-1])
    sums = np.cumsum(weights[order])
    steps = (np.arange(number) + generator.random()) * (sums[-1] / number)
    return np.asarray(order[np.minimum(np.searchsorted(sums, steps, side="right"), len(order) - 1)])


class _Columns:
    """Turns codes at the lowest released levels into values of the columns, with those derived from them."""

    def __init__(self, margins: Margins, schema: Schema) -> None:
        self._margins, self._schema = margins, schema
        self._below: list[tuple[str, ValuesBelow, Floats]] = []
        for hierarchy, low in zip(margins.hierarchies, margins.lows, strict=True):
            labels = hierarchy.labels[low]
            below = values_below(schema[hierarchy.attribute], labels, folder=schema.folder)
            shares = below.shares(np.zeros(len(labels), dtype=np.int64))
            self._below.append((hierarchy.attribute, below, shares))

    def draw(self, codes: Codes, generator: np.random.Generator) -> dict[str, pa.Array]:
        """Return a value of every column for every record."""
        values = {
            name: below.draw_values(below.draw_cells(codes[:, place], shares, generator), generator)
            for place, (name, below, shares) in enumerate(self._below)
        }
        return values | derive_columns(self._schema, values)


def replace_rows(
    columns: Mapping[str, pa.Array], rows: Integers, values: Mapping[str, pa.Array]
) -> dict[str, pa.Array]:
    """Return columns with other values in some rows; columns that have none stay as they are."""
    size = len(next(iter(columns.values())))
    mask = np.zeros(size, dtype=np.bool_)
    mask[rows] = True
    return {
        name: pc.replace_with_mask(column, pa.array(mask), values[name].cast(column.type)) if name in values else column
        for name, column in columns.items()
    }
