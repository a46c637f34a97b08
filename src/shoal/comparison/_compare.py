"""Run plans side by side and compare what came of them."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal import stopping, tables, utility
from shoal.comparison._comparison import Comparison
from shoal.comparison._evaluate import Settings, answer, as_json
from shoal.comparison._frontier import non_dominated
from shoal.comparison._grid import DELTA, Candidate, Grid
from shoal.comparison._point import RISKS, UTILITIES, Point, strengths
from shoal.comparison._recommend import recommend
from shoal.comparison._store import PointStore, input_fingerprint, point_key
from shoal.errors import Cancelled, MissingExtraError, ParameterError, Problems, SchemaError, ShoalError
from shoal.tables import Table
from shoal.workers import Pool, Progress, WorkFailed
from shoal.writing import Scratch

#: seconds between two looks at whether the user stopped the work
_PATIENCE = 0.2
_UNFINISHED = "not finished when the comparison was stopped"


def compare(
    table: Table,
    *,
    k: Sequence[int] = (),
    l: Mapping[str, Sequence[float]] | None = None,  # noqa: E741
    t: Mapping[str, Sequence[float]] | None = None,
    epsilon: Sequence[float] = (),
    delta: float = DELTA,
    methods: Sequence[str] | None = None,
    always: Sequence[tuple[str, Mapping[str, object]]] = (),
    suppression_limit: float | None = None,
    risk: str = "average",
    utility: str = "queries",
    highest_risk: float | None = None,
    target: str | None = None,
    learn: bool = True,
    folder: str | Path | None = None,
    processes: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Comparison:
    """Carry out many plans on one table, measure every release, and say which one to take.

    Every method is tried with every combination of the parameters that it keeps, in processes of their own. A point
    that fails, because no release keeps its promise or because its domains are not declared, is listed with the reason.

    Parameters
    ----------
    table
        The data, with its schema.
    k, l, t
        Values of k; values of l and t per sensitive column: ``t={"diagnosis": (0.2, 0.5)}``.
    epsilon, delta
        Values of epsilon for differential privacy, and its delta.
    methods
        Names of methods; all that keep what is asked for, where not given.
    always
        Promises, by name and parameters, that every plan without differential privacy makes besides.
    suppression_limit
        For the methods that have one.
    risk, utility
        The two figures of the frontier: names of :data:`RISKS` and :data:`UTILITIES`. All figures are measured anyway.
    highest_risk
        The risk that must not be exceeded; it decides the recommendation.
    target
        A column that analysts predict: part of the records are held out, and models are trained on releases of the
        rest. Each plan is then carried out twice.
    learn
        Whether to measure with classifiers; needs scikit-learn, without which these figures are left out.
    folder
        Where finished points are kept: a comparison that was stopped, or got more points, goes on from there. It holds
        figures that were computed from the original data, so it is not for publication.
    processes
        How many points to work on side by side; all processors where not given.
    seed
        Of the draws of the measurements.
    time_limit
        Seconds after which the comparison makes do with the points that are finished; the others are listed as not
        finished.
    progress, cancelled
        As in :meth:`shoal.Plan.run`.
    """
    deadline = math.inf if time_limit is None else time.monotonic() + time_limit
    if table.schema is None:
        raise SchemaError("the table has no schema, so Shoal does not know which columns identify people")
    grid = Grid(
        k=k,
        l=l or {},
        t=t or {},
        epsilon=epsilon,
        delta=delta,
        methods=methods,
        always=always,
        suppression_limit=suppression_limit,
    )
    _check(table, risk, utility, highest_risk, target, processes, time_limit)
    candidates = grid.candidates(table.schema)
    store = PointStore(folder)
    settings = {"target": target, "learn": learn, "seed": seed}
    fingerprint = input_fingerprint(table)
    points = [_point(number, candidate, fingerprint, settings) for number, candidate in enumerate(candidates, start=1)]
    points = [store.find(point) or point for point in points]
    todo = [position for position, point in enumerate(points) if point.plan and not _finished(point)]
    if progress is not None:
        progress(len(points) - len(todo), len(points), "")
    with _staged(table, target, learn=learn, seed=seed, needed=bool(todo)) as staged:
        jobs = [
            {"plan": points[position].plan, "folder": str(table.schema.folder.absolute()), "settings": as_json(staged)}
            for position in todo
        ]
        finished = _run_all(jobs, processes or os.cpu_count() or 1, cancelled, deadline)
        for done, (job, found) in enumerate(finished, start=1):
            position = todo[job]
            points[position] = _answered(points[position], found)
            if not isinstance(found.exception(), WorkFailed):
                store.keep(points[position])
            if progress is not None:
                progress(len(points) - len(todo) + done, len(points), points[position].label)
    points = [point if _finished(point) else replace(point, failure=_UNFINISHED) for point in points]
    recommended, reasons = recommend(points, risk, utility, highest_risk=highest_risk)
    return Comparison(
        points=tuple(points),
        risk=risk,
        utility=utility,
        best=non_dominated(points, risk, utility),
        recommended=recommended,
        reasons=reasons,
        records=table.count(),
        seed=seed,
        folder=table.schema.folder.absolute(),
    )


def _check(
    table: Table,
    risk: str,
    utility: str,
    highest: float | None,
    target: str | None,
    processes: int | None,
    time_limit: float | None,
) -> None:
    problems = Problems()
    if time_limit is not None and not time_limit > 0:
        problems.add(f"`time_limit` of `compare` must be a positive number of seconds; got {time_limit}")
    for name, value, known in (("risk", risk, RISKS), ("utility", utility, UTILITIES)):
        if value not in known:
            problems.add(f"`{name}` of `compare` must be one of {', '.join(known)}; got {value!r}")
    if highest is not None and not 0 <= highest <= 1:
        problems.add(f"`highest_risk` of `compare` must be in [0, 1]; got {highest}")
    if target is not None and target not in table.columns:
        problems.add(f"`target` of `compare` must be a column; there is no `{target}`")
    if target is None and utility == "prediction":
        problems.add("`utility` of `compare` cannot be prediction without a `target`")
    if processes is not None and processes < 1:
        problems.add(f"`processes` of `compare` must be at least 1; got {processes}")
    problems.raise_as(ParameterError)
    if target is not None:
        _require_learn()


def _require_learn() -> None:
    from importlib.util import find_spec

    if find_spec("sklearn") is None:
        raise MissingExtraError("scikit-learn", extra="learn")


def _point(number: int, candidate: Candidate, fingerprint: str, settings: Mapping[str, object]) -> Point:
    if candidate.plan is None:
        return Point(
            number=number,
            method=candidate.method,
            promises=candidate.promises,
            plan="",
            key="",
            failure=candidate.problem,
        )
    return Point(
        number=number,
        method=candidate.method,
        promises=candidate.promises,
        plan=candidate.plan.dumps(),
        key=point_key(candidate.plan, fingerprint, settings),
        private=candidate.plan.privacy is not None,
        strengths=strengths(candidate.plan),
    )


def _finished(point: Point) -> bool:
    return point.failure is not None or bool(point.risk)


def _run_all(
    jobs: Sequence[dict[str, Any]], processes: int, cancelled: Callable[[], bool] | None, deadline: float
) -> Iterator[tuple[int, Future[Any]]]:
    """Carry out jobs side by side; yield the position and the answer of each that is done in time."""
    # several processes share the processors: one thread each
    threads = {name: os.environ.get(name, "1") for name in ("SHOAL_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    pool = Pool(answer, processes=max(min(processes, len(jobs)), 1), environment=threads)
    try:
        waiting = {pool.submit(job).answer: position for position, job in enumerate(jobs)}
        while waiting and not stopping.enough() and time.monotonic() < deadline:
            if cancelled is not None and cancelled():
                raise Cancelled("Stopped; finished points are kept if a folder was given.")
            for each in wait(waiting, timeout=_PATIENCE, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(each), each
    finally:
        pool.close()


def _answered(point: Point, found: Future[Any]) -> Point:
    error = found.exception()
    if isinstance(error, ShoalError):
        hint = f" ({error.hint})" if error.hint else ""
        return replace(point, failure="; ".join(error.problems) + hint)
    figures = found.result()
    return replace(
        point,
        seconds=float(figures["seconds"]),
        records=int(figures["records"]),
        shows_members=bool(figures["shows_members"]),
        risk=dict(figures["risk"]),
        utility=dict(figures["utility"]),
    )


@contextmanager
def _staged(table: Table, target: str | None, *, learn: bool, seed: int, needed: bool) -> Iterator[Settings]:
    """Put the records where all workers find them: a private folder that is removed at the end."""
    scratch = Scratch()
    try:
        folder = scratch.path
        data = folder / "data.parquet"
        settings = Settings(data=data, target=target, learn=learn, seed=seed)
        if needed:
            tables.write(table, data)
            if target is not None:
                train, test = utility.hold_out(table, seed=seed)
                settings = replace(settings, train=folder / "train.parquet", test=folder / "test.parquet")
                tables.write(train, folder / "train.parquet")
                tables.write(test, folder / "test.parquet")
        yield settings
    finally:
        scratch.remove()
