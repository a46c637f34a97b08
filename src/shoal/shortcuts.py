"""The short ways to a release and to a schema: one call each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from shoal import methods, tables
from shoal.errors import ParameterError
from shoal.exact import Number
from shoal.guarantees import Requirement
from shoal.methods import Method, Progress, promises
from shoal.methods.shorthand import asked_in_short, every_short_name
from shoal.plan import Plan, schema_under
from shoal.release import Payer, Release
from shoal.schema import Draft, Schema
from shoal.series import Series
from shoal.tables import Table, Wishes

__all__ = ["anonymize", "draft"]


def anonymize(
    table: Any,
    *models: Requirement,
    k: int | None = None,
    l: Mapping[str, int] | None = None,  # noqa: E741
    t: Mapping[str, float] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    keep: Sequence[str] = (),
    also: Sequence[str] = (),
    drop: Sequence[str] = (),
    person: str | None = None,
    schema: Schema | str | Path | None = None,
    method: Method | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    pseudonym_key: bytes | None = None,
    population: Table | None = None,
    account: Payer | None = None,
    series: Series | None = None,
) -> Release:
    """Turn a table into a release that keeps promises.

    Parameters
    ----------
    table
        A table from :func:`shoal.read`; an Arrow, pandas or polars frame, a DuckDB relation, or the name of a file.
        A frame, or a file without a schema file beside it, gets a drafted schema: a warning says what was assumed, and
        what only a person can decide is an error that names the argument which decides it.
    *models
        What to promise, for example ``shoal.KAnonymity(5)``.
    k, l, t, epsilon, delta
        The same in short: ``k=5``, ``l={"diagnosis": 3}``, ``t={"diagnosis": 0.2}``, ``epsilon=1, delta="1e-6"``.
        Differential privacy needs declared domains, never a draft.
    keep, also, drop, person
        See :func:`shoal.draft`.
    schema
        What the columns mean, or a schema file.
    method
        How to change the data; by default the method that loses least under the promises, with a limit of time:
        :class:`shoal.methods.Specialize` in most cases; for :class:`shoal.DifferentialPrivacy`
        :class:`shoal.methods.Truthful`, and
        :class:`shoal.methods.TruthfulTables` where there are more than four columns.
    progress, cancelled, pseudonym_key, population, account, series
        See :meth:`shoal.Plan.run`.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> people = shoal.read(pyarrow.table({"age": [31, 34, 38, 52], "illness": ["flu", "flu", "cold", "cold"]}))
    >>> age = shoal.Attribute(
    ...     name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.schema.Intervals(widths=(20, 40))
    ... )
    >>> schema = shoal.Schema(attributes=(age, shoal.Attribute(name="illness", role="sensitive")))
    >>> release = shoal.anonymize(people.with_schema(schema), k=2, method=shoal.Generalize())
    >>> release.frame.num_rows
    4
    """
    asked = (*models, *_short(models, k, l or {}, t or {}, epsilon, delta))
    wishes = Wishes(keep=keep, also=also, drop=drop, person=person)
    data = tables.described(table, wishes, schema=schema, prepare=partial(schema_under, models=asked))
    assert data.schema is not None  # noqa: S101 - that is what `described` is for
    plan = Plan(schema=data.schema, models=asked, method=method or methods.default(asked, schema=data.schema))
    release = plan.run(
        data,
        progress=progress,
        cancelled=cancelled,
        pseudonym_key=pseudonym_key,
        population=population,
        account=account,
        series=series,
    )
    return replace(release, origin=data.source.kind)


def _short(
    models: Sequence[object],
    k: int | None,
    l: Mapping[str, int],  # noqa: E741
    t: Mapping[str, float],
    epsilon: Number | None,
    delta: Number | None,
) -> tuple[Requirement, ...]:
    """Return the promises that are asked for in short."""
    if not all(isinstance(each, Requirement) for each in models):
        raise ParameterError("promises are values such as shoal.KAnonymity(5).", hint="or write k=5")
    if delta is not None and epsilon is None:
        raise ParameterError("`delta` goes with `epsilon`.")
    for name, given in (("l", l), ("t", t)):
        if not isinstance(given, Mapping):
            raise ParameterError(f"`{name}` takes columns with numbers.", hint=f'{name}={{"diagnosis": 3}}')
    short = every_short_name({"k": k, "l": l, "t": t, "epsilon": epsilon})
    asked = asked_in_short(short, more={"delta": delta})
    return tuple(promises.from_parameters(name, parameters) for name, parameters in asked)


def draft(
    table: Any,
    *,
    private: bool = False,
    keep: Sequence[str] = (),
    also: Sequence[str] = (),
    drop: Sequence[str] = (),
    person: str | None = None,
) -> Draft:
    """Propose a schema for a table and say why; a person must look at it before it is relied on.

    Parameters
    ----------
    table
        A table from :func:`shoal.read`; an Arrow, pandas or polars frame, a DuckDB relation, or the name of a file.
    private
        Look at the names of the columns and at nothing else: a template for differential privacy, with what is
        publicly known of such columns, to be filled in by a person.
    keep
        The columns that the purpose needs, by their names or words in them; all others are left out. Without it, all
        columns stay that are recognised.
    also
        Columns that stay as well, such as one whose meaning the draft does not know.
    drop
        Words: columns that have one of them in their names are left out.
    person
        The column that says whose record it is, or ``records`` where every record stands for another person.
    """
    return tables.draft_schema(table, Wishes(keep=keep, also=also, drop=drop, person=person), private=private)
