"""A forecast of the cost of a planned series of releases, by a rehearsal on the table at hand."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal import methods, tables
from shoal.errors import ParameterError, RequirementError
from shoal.models import KAnonymity
from shoal.plan import Plan
from shoal.schema import Role
from shoal.series import Leavers, Series, SeriesKAnonymity
from shoal.tables import Table

__all__ = ["SeriesForecast", "forecast_series"]

#: classes of so many times k people are tried
FACTORS = (1, 2, 5, 10)
#: a share of stale people that is worth larger classes
MOST_STALE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesForecast:
    """A forecast for one class size of a series."""

    class_size: int
    #: For each release: the loss, that of a release on its own (None for the first), and the shares of people in the
    #: table whose row is stale, and who are not shown.
    loss: tuple[float, ...]
    alone: tuple[float | None, ...]
    stale: tuple[float, ...]
    hidden: tuple[float, ...]


def forecast_series(
    table: Table,
    *,
    key: str,
    k: int,
    releases: int = 5,
    newcomers: float = 0.1,
    leavers: float = 0.1,
    policy: str = Leavers.FROZEN.value,
    sizes: Sequence[int] = (),
    seed: int = 0,
) -> list[SeriesForecast]:
    """Rehearse a series on a table, for several sizes of classes.

    Parameters
    ----------
    table
        The first version, with its schema.
    key
        The column that says who somebody is.
    k, releases
        The promise, and how many releases are planned.
    newcomers, leavers
        Which share of the people of a version is new in the next, and is no longer there, in [0, 1). Newcomers are
        drawn like people of the table, leavers without regard to anything.
    policy
        What becomes of leavers: ``frozen`` or ``suppressed``.
    sizes
        The sizes of classes to be tried; 1, 2, 5 and 10 times k where not given.

    Notes
    -----
    Cost: as many releases as are planned, for each size. Nothing is kept. The forecast knows no changes of values, and
    people who come or leave together (a ward that closes) cost less than it says.
    """
    if not 1 <= releases <= 50 or not 0 <= newcomers < 1 or not 0 <= leavers < 1:
        raise ParameterError("`releases` must be in [1, 50], `newcomers` and `leavers` in [0, 1).")
    if table.schema is None or key not in table.schema or table.schema[key].role not in (Role.IDENTIFIER, Role.PERSON):
        raise ParameterError(f'column `{key}` needs the role "identifier" or "person" in the schema of the table.')
    schema = table.schema
    rows = tables.in_order(table)
    # what they give away is decided when the release is made; here nothing leaves
    as_they_are = tuple(each.name for each in schema if not each.role.tells_who)
    forecasts = []
    for size in sizes or [factor * k for factor in FACTORS]:
        models = (KAnonymity(k), SeriesKAnonymity(k, policy, size))
        method = methods.default(models, {"suppression_limit": 1})
        plan = Plan(schema=schema, models=models, method=method, measures=("loss",), accepted=as_they_are)
        try:
            forecasts.append(_forecast_series(plan, rows, key, size, releases, newcomers, leavers, seed))
        except RequirementError:
            continue
    return forecasts


def choose_forecast(forecasts: Sequence[SeriesForecast]) -> SeriesForecast | None:
    """Return the finest classes of which the second release leaves few stale or hidden; None where none does."""
    for forecast in forecasts:
        if len(forecast.stale) < 2 or forecast.stale[1] + forecast.hidden[1] <= MOST_STALE:
            return forecast
    return None


def _forecast_series(
    plan: Plan, rows: pa.Table, key: str, size: int, releases: int, newcomers: float, leavers: float, seed: int
) -> SeriesForecast:
    draws = np.random.default_rng(seed)
    people, next_key = np.arange(len(rows)), len(rows)
    keys = np.arange(len(rows))
    figures: list[tuple[float, float | None, float, float]] = []
    with tempfile.TemporaryDirectory() as place:
        study = Series.create(Path(place) / "series", key=key)
        for number in range(releases):
            names = pa.array([f"p{key}" for key in keys])
            version = rows.take(pa.array(people))
            version = version.set_column(version.column_names.index(key), key, names)
            release = plan.run(tables.read(version).with_schema(plan.schema), series=study)
            release.write(Path(place) / f"r{number}")
            entry = study.entries[-1]
            stale = (entry.frozen - entry.leavers) / len(people)
            figures.append((entry.loss or 0.0, entry.alone, stale, entry.hidden / len(people)))
            stays = draws.random(len(people)) >= leavers
            coming = draws.integers(len(rows), size=round(newcomers * len(people)))
            people = np.concatenate([people[stays], coming])
            keys = np.concatenate([keys[stays], next_key + np.arange(len(coming))])
            next_key += len(coming)
    loss, alone, shares, hidden = zip(*figures, strict=True)
    return SeriesForecast(class_size=size, loss=loss, alone=alone, stale=shares, hidden=hidden)
