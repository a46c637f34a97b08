"""The search for relations between the columns of a table."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import ParameterError
from shoal.relations._choice import choose_relations
from shoal.relations._elapsed import Elapsed
from shoal.relations._formulas import Formulas
from shoal.relations._linear import Linear
from shoal.relations._pairs import Pairs
from shoal.relations._relation import Relation
from shoal.relations._support import SAMPLE, Sides, Support, weigh
from shoal.relations._view import Array, ColumnView, view_columns

#: the draws that choose records and permute columns: the same relations are found on every machine
_SEED = 19


class ArrowSource(Protocol):
    """What can be read as an Arrow table: a :class:`shoal.Table`."""

    def to_arrow(self) -> pa.Table:
        """Return the records."""


def find_relations(
    table: ArrowSource | pa.Table, *, exceptions: float = 0.01, across: Collection[str] | None = None
) -> tuple[Relation, ...]:
    """Return the relations between the columns of a table, those that say most first.

    Columns of text are read as numbers or dates where 98 % of their values are. A relation counts if all compared
    records but a share ``exceptions`` follow it, up to the rounding of the file, and if ten times more of them break it
    as soon as one of its columns is permuted.

    Parameters
    ----------
    table
        A :class:`shoal.Table` or an Arrow table, with or without a schema.
    exceptions
        The share of records that may break a relation, in [0, 0.1]: typing errors.
    across
        Columns; only relations between some of them and some of the others are looked for.

    Notes
    -----
    Cost: O(records) for each pair of columns that is a candidate on a sample of 20,000 records, O(columns^2) formulas.
    Of wide tables only the formulas that fit a few records best are decided.

    Examples
    --------
    >>> import pyarrow
    >>> table = pyarrow.table({"net": range(100), "tax": [n % 7 for n in range(100)]})
    >>> table = table.append_column("gross", pyarrow.array([n + n % 7 for n in range(100)]))
    >>> [relation.formula for relation in find_relations(table)]
    ['`gross` = `net` + `tax`']
    """
    if not 0 <= exceptions <= 0.1:
        raise ParameterError(f"`exceptions` must be in [0, 0.1]; got {exceptions}.")
    records = table if isinstance(table, pa.Table) else table.to_arrow()
    draws = np.random.default_rng(_SEED)
    views = [view for view in view_columns(records) if view.size > 1]
    rows = np.arange(len(records))
    if len(records) > SAMPLE:
        rows = np.sort(draws.choice(len(records), SAMPLE, replace=False))
    sides = Sides(None if across is None else frozenset(across))
    equal = _find_equal(records, views, rows, exceptions, draws, sides)
    repeated = {relation.target for relation in equal}
    views = [view for view in views if view.name not in repeated]
    shuffled = draws.permutation(rows)
    numeric = [view for view in views if view.numbers is not None]
    relations = [
        *Pairs(views, exceptions, draws, rows, sides).find(),
        *Formulas(numeric, exceptions, draws, shuffled, sides).find(),
        *Elapsed(numeric, exceptions, draws, shuffled, sides).find(),
        *Linear([view for view in numeric if not view.is_date], exceptions, draws, shuffled, sides).find(),
    ]
    return tuple(choose_relations([*equal, *relations]))


def _find_equal(
    records: pa.Table, views: list[ColumnView], rows: Array, exceptions: float, draws: np.random.Generator, sides: Sides
) -> list[Relation]:
    """Return the columns that equal an earlier one."""
    firsts: list[ColumnView] = []
    equal = []
    for view in views:
        for first in firsts:
            if not sides.join(first, view):
                continue
            support = _weigh_equality(records, first, view, rows[:2000], draws)
            if support is None or support.broken > 0.05 * support.records:
                continue
            support = _weigh_equality(records, first, view, np.arange(len(records)), draws)
            if support is not None and support.holds(exceptions):
                formula = f"`{view.name}` equals `{first.name}`"
                names = (view.name, first.name)
                equal.append(
                    Relation(
                        kind="equal",
                        target=view.name,
                        inputs=(first.name,),
                        formula=formula,
                        share=support.share,
                        records=support.records,
                        gives=names,
                    )
                )
                break
        else:
            firsts.append(view)
    return equal


def _weigh_equality(
    records: pa.Table, a: ColumnView, b: ColumnView, rows: Array, draws: np.random.Generator
) -> Support | None:
    """Return the evidence that two columns are equal, or None if they cannot be compared."""
    present = rows[(a.codes[rows] >= 0) & (b.codes[rows] >= 0)]
    if not len(present):
        return None
    if a.numbers is not None and b.numbers is not None:
        if a.is_date != b.is_date:
            return None
        first, second = a.numbers[present], b.numbers[present]
    elif a.numbers is None and b.numbers is None:
        codes = pa.chunked_array([_texts(records, a, present), _texts(records, b, present)]).dictionary_encode()
        first, second = (chunk.indices.to_numpy(zero_copy_only=False) for chunk in codes.unify_dictionaries().chunks)
    else:
        return None
    return weigh(lambda x, y: x != y, first, second, draws=draws)


def _texts(records: pa.Table, view: ColumnView, rows: Array) -> pa.Array:
    column = records.column(view.name).take(pa.array(rows)).cast(pa.string())
    return pc.utf8_lower(pc.utf8_trim_whitespace(column)).combine_chunks()
