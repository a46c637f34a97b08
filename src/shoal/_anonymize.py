"""The short way: read, anonymise, verify."""

from __future__ import annotations

from collections.abc import Callable

from shoal import methods, tables
from shoal.errors import SchemaError
from shoal.methods import AnyMethod
from shoal.methods.recode import Progress
from shoal.plan import Plan
from shoal.promises import Requirement
from shoal.release import Release
from shoal.schema import Draft
from shoal.schema import draft as draft_schema
from shoal.tables import Table

__all__ = ["anonymize", "draft"]


def anonymize(
    table: Table,
    *models: Requirement,
    method: AnyMethod | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    pseudonym_key: bytes | None = None,
    population: Table | None = None,
) -> Release:
    """Turn a table into a release that keeps the promises ``models``.

    Parameters
    ----------
    table
        A table with a schema, from :func:`shoal.read`.
    *models
        What to promise, for example ``shoal.KAnonymity(5)``; at least one.
    method
        How to change the data; by default :class:`shoal.Generalize`, or :class:`shoal.Truthful` for
        :class:`shoal.DifferentialPrivacy`.
    progress, cancelled, pseudonym_key, population
        See :meth:`shoal.Plan.run`.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> people = shoal.read(pyarrow.table({"age": [31, 34, 38, 52], "illness": ["flu", "flu", "cold", "cold"]}))
    >>> age = shoal.Attribute(
    ...     name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.Intervals(widths=(20, 40))
    ... )
    >>> schema = shoal.Schema(attributes=(age, shoal.Attribute(name="illness", role="sensitive")))
    >>> release = shoal.anonymize(people.with_schema(schema), shoal.KAnonymity(2), method=shoal.Generalize())
    >>> release.records
    4
    """
    if table.schema is None:
        raise SchemaError(
            "the table has no schema, so nobody said which columns identify people",
            hint="give `schema=` to `shoal.read`, or use `shoal.draft(table).schema` after looking at it",
        )
    plan = Plan(schema=table.schema, models=models, method=method or methods.default(models))
    return plan.run(table, progress=progress, cancelled=cancelled, pseudonym_key=pseudonym_key, population=population)


def draft(table: Table) -> Draft:
    """Propose a schema for ``table`` and say why; a person must look at it before it is relied on."""
    return draft_schema(tables.profile(table), table.count())
