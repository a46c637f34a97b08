"""Carry out one plan and measure the release: what a worker process does."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from shoal import risk, schema, tables, utility
from shoal.comparison._joined import JoinedRecords, joined
from shoal.errors import DataError, MissingExtraError, RequirementError
from shoal.models import Classes
from shoal.plan import Plan
from shoal.release import Release
from shoal.risk import Pair, Reidentification
from shoal.workers import Progress

__all__ = ["Measured", "Settings", "answer", "as_json", "evaluate", "from_json"]

#: records that classifiers look at; half the default, since there is one run per point
_LEARN = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What all points of a comparison share.

    Parameters
    ----------
    data, train, test
        The Parquet files of the table and, to measure prediction, of its two parts.
    target
        The column to predict, or None.
    learn
        Whether to train classifiers.
    seed
        Of all draws of the measurements.
    """

    data: Path
    train: Path | None = None
    test: Path | None = None
    target: str | None = None
    learn: bool = True
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came of a plan; see :class:`Point`."""

    seconds: float
    records: int
    shows_members: bool
    risk: Mapping[str, float | None]
    utility: Mapping[str, float | None]


def answer(job: Mapping[str, Any], _progress: Progress) -> dict[str, Any]:
    """Carry out the plan of a job; return its figures as plain values."""
    plan = Plan.loads(job["plan"], folder=Path(job["folder"]))
    measured = evaluate(plan, from_json(job["settings"]))
    return {entry.name: getattr(measured, entry.name) for entry in dataclasses.fields(measured)}


def evaluate(plan: Plan, settings: Settings) -> Measured:
    """Carry out ``plan`` and measure the release."""
    started = time.perf_counter()
    release = plan.run(tables.read(settings.data))
    released = _in_memory(plan, release)
    seconds = time.perf_counter() - started
    original = _original(settings.data, plan.schema.folder, schema.dumps(plan.schema))
    pair, weighted = released.pairs(original)
    shows_members = plan.method.shows_members
    return Measured(
        seconds=seconds,
        records=release.records,
        shows_members=shows_members,
        risk=_risk(pair, release.after if shows_members else None, settings.seed),
        utility={
            **_utility(weighted, settings),
            "coverage": utility.coverage(weighted),
            "suppressed": 1 - release.records / pair.original.records,
            "prediction": _prediction(plan, settings),
        },
    )


def _in_memory(plan: Plan, release: Release) -> JoinedRecords:
    """Return the released records; lazy ones would be computed again for every figure."""
    wanted = [attribute.name for attribute in plan.schema if not attribute.role.names_someone]
    absent = [name for name in wanted if name not in release.table.columns]
    if absent and release.parts:
        raise DataError(
            f"the release consists of {len(release.parts)} tables that are not meant to be joined, so its figures "
            f"cannot be compared with those of single tables"
        )
    if not release.records:
        raise RequirementError("the release has no records: all were suppressed")
    if len(release.parts) == 2:
        return joined(*release.parts)
    return JoinedRecords(table=tables.read(release.table.to_arrow()))


@lru_cache(maxsize=1)
def _original(data: Path, folder: Path, described: str) -> Pair:
    table = tables.read(data).with_schema(schema.loads(described, folder))
    return Pair.of(table, table)


def _risk(pair: Pair, classes: Reidentification | None, seed: int) -> dict[str, float | None]:
    """Measure the risk of a release; ``classes`` where equal quasi-identifiers are not what a class is."""
    classes = classes or risk.reidentification(Classes(sizes=pair.released.only(pair.quasi_identifiers).counts))
    linked = risk.linkage(pair, seed=seed)
    inferred = [attack.risk for attack in risk.inference(pair, seed=seed)]
    return {
        "average": classes.marketer,
        "highest": classes.prosecutor,
        "linked": linked[-1].linked,
        "partial": linked[(len(linked) + 1) // 2 - 1].worst_linked,
        "inference": max(inferred) if inferred else None,
        "singling-out": risk.singling_out(pair, seed=seed).risk,
    }


def _utility(pair: Pair, settings: Settings) -> dict[str, float | None]:
    return {
        "queries": utility.query_error(pair, seed=settings.seed).mean,
        "distributions": float(np.mean([each.total_variation for each in utility.distributions(pair)])),
        "associations": utility.associations(pair).difference,
        "distinguishable": _distinguishable(pair, settings),
    }


def _distinguishable(pair: Pair, settings: Settings) -> float | None:
    if not settings.learn:
        return None
    try:
        return utility.propensity(pair, limit=_LEARN, shuffles=2, seed=settings.seed).distinguishable
    except MissingExtraError:
        return None


def _prediction(plan: Plan, settings: Settings) -> float | None:
    """Release the training part, learn from it, and return the share of predictive power that is lost.

    An analyst takes the best of several models, on the release and on the originals alike.
    """
    if settings.target is None or settings.train is None or settings.test is None:
        return None
    train = tables.read(settings.train).with_schema(plan.schema, allow_empty=True)
    found = utility.prediction(
        train,
        _in_memory(plan, plan.run(tables.read(settings.train))).table,
        tables.read(settings.test),
        settings.target,
        limit=_LEARN,
        seed=settings.seed,
    )
    zero, best = found[0].zero, max(each.original for each in found)
    return 1 - (max(each.released for each in found) - zero) / (best - zero) if best > zero else None


def as_json(settings: Settings) -> dict[str, Any]:
    """Return settings as plain values."""
    return {
        "data": str(settings.data),
        "train": None if settings.train is None else str(settings.train),
        "test": None if settings.test is None else str(settings.test),
        "target": settings.target,
        "learn": settings.learn,
        "seed": settings.seed,
    }


def from_json(content: Mapping[str, Any]) -> Settings:
    """Read what :func:`as_json` gave."""
    paths = {name: None if content[name] is None else Path(content[name]) for name in ("train", "test")}
    return Settings(
        data=Path(content["data"]),
        target=content["target"],
        learn=content["learn"],
        seed=content["seed"],
        **paths,
    )
