"""Run plans side by side and compare what came of them.

Finished points can be kept on disk, one JSON file each, so that a comparison that was stopped goes on where it was. A
point is found again by a digest of everything that its figures depend on, so that none is mistaken for another.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal import __version__, stopping, tables, utility
from shoal.comparison._comparison import RISKS, UTILITIES, Comparison, Point, strengths
from shoal.comparison._evaluate import Settings, answer
from shoal.comparison._grid import DELTA, Candidate, Grid
from shoal.comparison._recommend import non_dominated, recommend
from shoal.errors import (
    Cancelled,
    MissingExtraError,
    OutputError,
    ParameterError,
    Problems,
    ShoalError,
    reason,
)
from shoal.plan import Plan
from shoal.tables import Table
from shoal.workers import Pool, Progress, WorkFailed
from shoal.writing import Scratch, write_file

#: seconds between two looks at whether the user stopped the work
_PATIENCE = 0.2
_UNFINISHED = "not finished when the comparison was stopped"
#: of the files of finished points
_FORMAT = 3
_BLOCK = 1 << 20


def compare(
    table: Any,
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
        The data, with its schema; a frame or the name of a file gets a drafted one.
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
    table = tables.described(table)
    assert table.schema is not None  # noqa: S101 - that is what `described` is for
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
    todo = [position for position, point in enumerate(points) if point.plan and not _is_finished(point)]
    if progress is not None:
        progress(len(points) - len(todo), len(points), "")
    with _stage_records(table, target, learn=learn, seed=seed, needed=bool(todo)) as staged:
        jobs = [
            {"plan": points[position].plan, "folder": str(table.schema.folder.absolute()), "settings": asdict(staged)}
            for position in todo
        ]
        finished = _run_all(jobs, processes or os.cpu_count() or 1, cancelled, deadline)
        for done, (job, found) in enumerate(finished, start=1):
            position = todo[job]
            points[position] = _add_answer(points[position], found)
            if not isinstance(found.exception(), WorkFailed):
                store.keep(points[position])
            if progress is not None:
                progress(len(points) - len(todo) + done, len(points), points[position].label)
    points = [point if _is_finished(point) else replace(point, failure=_UNFINISHED) for point in points]
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
    if target is not None and find_spec("sklearn") is None:
        raise MissingExtraError("scikit-learn", extra="learn")


def _point(number: int, candidate: Candidate, fingerprint: str, settings: Mapping[str, object]) -> Point:
    plan = candidate.plan
    point = Point(
        number=number,
        method=candidate.method,
        promises=candidate.promises,
        plan="",
        key="",
        failure=candidate.problem,
    )
    if plan is None:
        return point
    return replace(
        point,
        plan=plan.dumps(),
        key=point_key(plan, fingerprint, settings),
        private=plan.privacy is not None,
        strengths=strengths(plan),
    )


def _is_finished(point: Point) -> bool:
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


def _add_answer(point: Point, found: Future[Any]) -> Point:
    error = found.exception()
    if isinstance(error, ShoalError):
        hint = f" ({error.hint})" if error.hint else ""
        return replace(point, failure="; ".join(error.problems) + hint)
    return replace(point, **found.result())


@contextmanager
def _stage_records(table: Table, target: str | None, *, learn: bool, seed: int, needed: bool) -> Iterator[Settings]:
    """Put the records where all workers find them: a private folder that is removed at the end."""
    scratch = Scratch()
    try:
        parts = {"data": table}
        if needed and target is not None:
            parts["train"], parts["test"] = utility.hold_out(table, seed=seed)
        paths = {name: str(scratch.path / f"{name}.parquet") for name in parts}
        for name, part in parts.items() if needed else ():
            tables.write(part, paths[name])
        yield Settings(**paths, target=target, learn=learn, seed=seed)
    finally:
        scratch.remove()


class PointStore:
    """A folder of finished points, or nothing that remembers nothing."""

    def __init__(self, folder: str | Path | None) -> None:
        self._folder = None if folder is None else Path(folder)
        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OutputError(f"the folder `{self._folder.name}` cannot be created: {reason(error)}") from None

    def find(self, point: Point) -> Point | None:
        """Return a finished point with the same key, numbered as asked for; a damaged file counts as none."""
        if self._folder is None:
            return None
        try:
            content = json.loads((self._folder / f"{point.key}.json").read_text(encoding="utf-8"))
            if content.pop("format") != _FORMAT:
                return None
            found = Point.from_json(content)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return replace(found, number=point.number) if found.key == point.key else None

    def keep(self, point: Point) -> None:
        """Write a finished point; it is there whole or not at all."""
        if self._folder is None:
            return
        path = self._folder / f"{point.key}.json"
        content = json.dumps({"format": _FORMAT, **point.to_json()}, indent=2) + "\n"
        write_file(path, content.encode(), overwrite=True, told=False)


def input_fingerprint(table: Table) -> str:
    """Return a digest of the data: of the file's bytes and how it was read, else of the records in their order."""
    digest = hashlib.sha256()
    path = table.source.path
    if path is not None and path.exists():
        digest.update(json.dumps([table.source.kind, table.source.details]).encode())
        for file in sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]:
            _add_file(digest, file)
        return digest.hexdigest()
    _add_records(digest, table.to_arrow())
    return digest.hexdigest()


def point_key(plan: Plan, fingerprint: str, settings: Mapping[str, object]) -> str:
    """Return a digest of everything that the figures of a point depend on."""
    digest = hashlib.sha256(json.dumps([__version__, fingerprint, plan.dumps(), dict(settings)]).encode())
    for attribute in plan.schema:
        rule = attribute.hierarchy
        if rule is not None and rule.file is not None:
            _add_file(digest, plan.schema.folder / rule.file)
    return digest.hexdigest()[:32]


def _add_file(digest: hashlib._Hash, path: Path) -> None:
    digest.update(f"file {path.stat().st_size} ".encode())
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)


def _add_records(digest: hashlib._Hash, records: pa.Table) -> None:
    """Add records column by column, whatever chunks they come in."""
    digest.update(str(records.schema.remove_metadata()).encode())
    for column in records.columns:
        for start in range(0, len(column), _BLOCK):
            chunk = column.slice(start, _BLOCK).combine_chunks()
            whole = pa.concat_arrays(chunk.chunks) if isinstance(chunk, pa.ChunkedArray) else chunk
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, pa.schema([("c", whole.type)])) as writer:
                # a copy without an offset: slices of the same values must give the same bytes
                writer.write_batch(pa.record_batch([whole.take(pa.array(range(len(whole))))], names=["c"]))
            digest.update(sink.getvalue())
