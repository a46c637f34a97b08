"""The work of one worker process: carry out a plan and measure the release."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import risk, schema, tables, utility
from shoal.errors import DataError, MissingExtraError, RequirementError
from shoal.estimation import WEIGHT
from shoal.methods.base import Part
from shoal.methods.truthful import Trimmed
from shoal.models import Classes
from shoal.plan import Plan
from shoal.release import Release
from shoal.risk import UNIT, Pair, Reidentification
from shoal.tables import Table
from shoal.workers import Progress

#: records that classifiers look at; half the default, since there is one run per point
_LEARN = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings that all points of a comparison share, as plain values that a job carries to a worker."""

    #: The Parquet files of the table and, to measure prediction, of its two parts.
    data: str
    train: str | None = None
    test: str | None = None
    #: The column to predict, or None.
    target: str | None = None
    #: Whether to train classifiers.
    learn: bool = True
    #: Of all draws of the measurements.
    seed: int = 0


def answer(job: Mapping[str, Any], _progress: Progress) -> dict[str, Any]:
    """Carry out the plan of a job and measure the release; return what a :class:`Point` says of it."""
    plan = Plan.loads(job["plan"], folder=Path(job["folder"]))
    settings = Settings(**job["settings"])
    started = time.perf_counter()
    release = plan.run(tables.read(settings.data))
    released = _in_memory(plan, release)
    seconds = time.perf_counter() - started
    rehearsal = release.rehearse()
    original = _original(settings.data, plan.schema.folder, schema.dumps(plan.schema))
    pair, weighted = released.pairs(original)
    shows_members = plan.method.shows_members
    return {
        "seconds": seconds,
        "records": release.records,
        "shows_members": shows_members,
        "found": None if rehearsal is None else rehearsal.success,
        "hollow": rehearsal is not None and rehearsal.hollow,
        "risk": _risk(pair, release.after if shows_members else None, settings.seed),
        "utility": {
            **_utility(weighted, settings),
            "coverage": utility.coverage(pair if released.counted is not None else weighted),
            "suppressed": 1 - release.records / pair.original.records,
            "prediction": _prediction(plan, settings),
        },
    }


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
        return join_by_class(*release.parts)
    trimmed = any(isinstance(event, Trimmed) for event in release.guarantee.events) and not release.parts
    return JoinedRecords(
        table=tables.read(release.table.to_arrow()), counted=tables.read(release.weighted()) if trimmed else None
    )


@lru_cache(maxsize=1)
def _original(data: str, folder: Path, described: str) -> Pair:
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
    distinguishable = None
    if settings.learn:
        with contextlib.suppress(MissingExtraError):
            learned = utility.propensity(pair, limit=_LEARN, shuffles=2, seed=settings.seed)
            distinguishable = learned.distinguishable
    return {
        "queries": utility.query_error(pair, seed=settings.seed).mean,
        "distributions": float(np.mean([distribution.total_variation for distribution in utility.distributions(pair)])),
        "associations": utility.associations(pair).difference,
        "distinguishable": distinguishable,
    }


def _prediction(plan: Plan, settings: Settings) -> float | None:
    """Release the training part, learn from it, and return the share of predictive power that is lost.

    An analyst takes the best of several models, on the release and on the originals alike.
    """
    if settings.target is None or settings.train is None or settings.test is None:
        return None
    train = tables.read(settings.train).with_schema(plan.schema, allow_empty=True)
    prediction = utility.prediction(
        train,
        _in_memory(plan, plan.run(tables.read(settings.train))).table,
        tables.read(settings.test),
        settings.target,
        limit=_LEARN,
        seed=settings.seed,
    )
    zero, best = prediction[0].zero, max(each.original for each in prediction)
    return 1 - (max(each.released for each in prediction) - zero) / (best - zero) if best > zero else None


#: rows that a joined table has at most, but for a few values of everybody: joining a class of 1,000 gives a million
_ROWS = 400_000
_FEWEST = 8
_LIKELY, _STANDS_FOR = "shoal: probability", "shoal: stands for"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedRecords:
    """Released records in memory."""

    #: The records; of two tables, every person with values of the class, and two columns: how likely it is, and how
    #: many values of the class it stands for.
    table: Table
    #: Whether they were in two tables.
    separated: bool = False
    #: The records with the number of records that each stands for, where some were left out at random.
    counted: Table | None = None

    def pairs(self, original: Pair) -> tuple[Pair, Pair]:
        """Return the table with this release: as candidates for an intruder, and as shares for an analyst."""
        if not self.separated:
            pair = original.with_release(self.table)
            return pair, pair if self.counted is None else original.with_release(self.counted, weights=WEIGHT)
        several = original.with_release(self.table, weights=_STANDS_FOR)
        counts = np.maximum(np.rint(several.released.counts / UNIT), 1).astype(np.int64)
        candidates = replace(several, released=replace(several.released, counts=counts))
        return candidates, original.with_release(self.table, weights=_LIKELY)


def join_by_class(identifying: Part, confidential: Part, *, rows: int = _ROWS, seed: int = 0) -> JoinedRecords:
    """Join two tables by their class: every person with every value of the class, or with some where that is too much.

    Where a class has more values than there is room for, a person gets every so many-th of the values in order, from a
    random start: the share of each value of the first confidential column stays as it is in the class, to one in the
    number taken.
    Cost: O(people * values taken).
    """
    people, values = identifying.table.to_arrow(), confidential.table.to_arrow()
    link = identifying.class_column or ""
    columns = [name for name in values.column_names if name != link]
    values = values.sort_by([(link, "ascending"), *((name, "ascending") for name in columns[:1])])
    people = people.sort_by(link)
    classes, starts, sizes = np.unique(values[link].to_numpy(), return_index=True, return_counts=True)
    of = np.searchsorted(classes, people[link].to_numpy())
    taken = np.minimum(sizes[of], max(_FEWEST, rows // max(people.num_rows, 1)))
    person = np.repeat(np.arange(people.num_rows), taken)
    position = np.arange(len(person)) - np.repeat(np.cumsum(taken) - taken, taken)
    shift = np.random.default_rng(seed).random(people.num_rows)[person]
    size, number = sizes[of][person], taken[person]
    chosen = starts[of][person] + np.minimum((position + shift) * size / number, size - 1).astype(np.int64)
    table = people.drop_columns([link]).take(pa.array(person))
    for name in columns:
        table = table.append_column(name, values[name].take(pa.array(chosen)))
    table = table.append_column(_LIKELY, pa.array(1 / number)).append_column(_STANDS_FOR, pa.array(size / number))
    return JoinedRecords(table=tables.read(table), separated=True)
