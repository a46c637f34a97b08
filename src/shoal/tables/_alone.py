"""Records that one released column singles out, and classes in which everybody has the same value."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.tables._engine import key, quiet
from shoal.tables._table import Table

__all__ = ["alike", "alone"]


def alone(table: Table, column: str) -> int:
    """Return the number of records that share their value of a column with no other record."""
    records = table.expression
    counted = records.group_by(value=key(records[column])).aggregate(times=records.count())
    single = counted.filter(counted.value.notnull() & (counted.times == 1))
    with quiet(table.source.name):
        return int(table.engine.fetch(single.aggregate(records=single.count()))["records"][0].as_py())


def alike(table: Table, by: Sequence[str], column: str) -> int:
    """Return the number of records whose class, by some columns, has one value of another column."""
    records = table.expression
    chosen = records.select(*(key(records[name]).name(f"q{i}") for i, name in enumerate(by)), secret=records[column])
    classes = chosen.group_by([f"q{i}" for i in range(len(by))]).aggregate(
        times=chosen.count(), different=chosen.secret.nunique(), present=chosen.secret.count()
    )
    same = classes.filter((classes.different == 0) | ((classes.different == 1) & (classes.present == classes.times)))
    with quiet(table.source.name):
        found = table.engine.fetch(same.aggregate(records=same.times.sum()))["records"][0].as_py()
    return int(found or 0)
