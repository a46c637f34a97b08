"""Runs in worker processes: what the app keeps track of, and what a worker does.

How far a run is, and what came of it, is noted in its folder, so that a restart finds it and takes it up again.
Stopping a run ends its process at once: a release appears whole or not at all, so nothing half-done is left behind.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import Cancelled, ParameterError, presentable
from shoal.web._store import NotFound, Store, now, read_json, write_json
from shoal.workers import Job, Pool, Progress

if TYPE_CHECKING:
    from shoal import Release
    from shoal.rehearsal import HollowRelease

STATUS, PLAN, COMPARISON, WAYS = "status.json", "plan.toml", "comparison.json", "ways.json"
RELEASE, EXPLORATION, KEY = "release", "explore.json", "pseudonym.key"
#: where the points of a table are kept, so that a comparison that was stopped, or got more points, goes on
_POINTS = "comparison"
ENDED = ("done", "failed", "cancelled")
_KEPT = ("about.json", PLAN, COMPARISON, STATUS, WAYS)
_WAITING = {"state": "waiting", "done": 0, "total": 0, "message": ""}
_ELSEWHERE = {
    "problems": ["this run comes from a saved project: its promise is here, its data is not"],
    "hint": "run it again on this table",
}
_MAYBE_PAID = "the account of the table says whether it was paid: what is spent stays spent"
_INTERRUPTED = {
    "problems": ["the app was closed before this run was done; nothing was written"],
    "hint": "run it again; it was not taken up by itself, because it may have been paid",
}
_TABLE_GONE = {"problems": ["the table of this run was deleted before it was done"], "hint": None}


def status(folder: Path) -> dict[str, Any]:
    """Return how far the run in ``folder`` is."""
    return read_json(folder / STATUS) or _WAITING


def set_aside(folder: Path) -> None:
    """Note that the run in ``folder`` comes from a project, and that its data is not here."""
    _give_up(folder, "cancelled", _ELSEWHERE)


class Jobs:
    """Runs jobs, a few at a time, and stops them."""

    def __init__(self, store: Store, *, workers: int | None = None) -> None:
        self._store, self._closed = store, False
        self._lock = threading.Lock()
        self._jobs: dict[str, tuple[Job, threading.Event]] = {}
        self._pool = Pool(
            do,
            prepare=warm,
            processes=workers or max(2, (os.cpu_count() or 2) // 2),
            environment={"TMPDIR": str(store.scratch.absolute())},
        )
        for about in reversed(list(store.runs.all())):
            if status(store.runs.path(about["id"]))["state"] not in ENDED:
                self._take_up(about)

    def warm(self) -> None:
        """Start a worker ahead of time."""
        self._pool.warm()

    def submit(self, identity: str, table: Path) -> None:
        """Start the run with this id, on the table in a folder, as soon as a worker is free."""
        folder = self._store.runs.path(identity)
        write_json(folder / STATUS, _WAITING)
        started = now()

        def note(done: int, total: int, message: str) -> None:
            running = {"state": "running", "done": done, "total": total, "message": message, "started": started}
            with contextlib.suppress(OSError):  # the run was deleted
                write_json(folder / STATUS, running)

        work = {"folder": str(folder.absolute()), "table": str(table.absolute())}
        if account := self._store.runs.about(identity).get("account"):
            work["account"] = str(self._store.account(account).absolute())
        job = self._pool.submit(work, progress=note)
        noted = threading.Event()
        with self._lock:
            self._jobs[identity] = job, noted

        def end(answer: Future[Any]) -> None:
            try:
                self._end(identity, folder, answer)
            finally:
                noted.set()

        job.answer.add_done_callback(end)

    def _take_up(self, about: dict[str, Any]) -> None:
        """Begin a run again that was not done when the app was closed; what an account pays for is not paid twice."""
        folder = self._store.runs.path(about["id"])
        if about.get("account"):
            _give_up(folder, "failed", _INTERRUPTED)
            return
        try:
            table = self._store.tables.path(str(about.get("table")))
        except NotFound:
            _give_up(folder, "failed", _TABLE_GONE)
            return
        _clear(folder)
        self.submit(about["id"], table)

    def stop(self, identity: str, *, wait: bool = False) -> None:
        """Stop a run; one that has ended stays as it is.

        Who deletes its files waits until its process is gone, or they would come back.
        """
        with self._lock:
            job, noted = self._jobs.get(identity, (None, None))
        if job is not None:
            job.stop()
        if wait and noted is not None:
            noted.wait(timeout=10)

    def close(self) -> None:
        """End all workers; what was not done is marked at the next start."""
        self._closed = True
        self._pool.close()

    def _end(self, identity: str, folder: Path, answer: Future[Any]) -> None:
        with self._lock:
            self._jobs.pop(identity, None)
        error = answer.exception()
        if self._closed and error is not None:
            return
        with contextlib.suppress(OSError):  # the run was deleted, or the disk is full
            if error is None:
                write_json(folder / STATUS, {**status(folder), "state": "done", "message": "", "finished": now()})
            else:
                told = presentable(error)
                state = "cancelled" if isinstance(error, Cancelled) else "failed"
                _give_up(folder, state, {"problems": list(told.problems), "hint": told.hint})


def _give_up(folder: Path, state: str, error: dict[str, Any]) -> None:
    """Remove what is not whole, and say why."""
    _clear(folder)
    if (read_json(folder / "about.json") or {}).get("account"):
        error = error | {"hint": "; ".join(filter(None, (error.get("hint"), _MAYBE_PAID)))}
    write_json(folder / STATUS, {**status(folder), "state": state, "finished": now(), "error": error})


def _clear(folder: Path) -> None:
    """Remove what a run wrote, but for what it was asked for and how far it is."""
    for path in folder.iterdir():
        if path.name not in _KEPT:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def do(job: dict[str, Any], progress: Progress) -> None:
    """Carry out the run in the folder that ``job`` names."""
    folder = Path(job["folder"])
    about = read_json(folder / "about.json") or {}
    progress(0, 0, "reading the table")
    if about.get("kind") == "comparison":
        wanted = read_json(folder / COMPARISON) or {}
        write_json(folder / EXPLORATION, _compare(Path(job["table"]), about, wanted, progress))
    else:
        _release(folder, Path(job["table"]), about, job.get("account"), progress)


def warm() -> None:
    """Load the engine and all methods, which takes longer than many a run."""
    import pyarrow as pa

    import shoal

    people = shoal.read(pa.table({"age": [1, 1]}))
    age = shoal.Attribute(name="age", role=shoal.Role.QUASI_IDENTIFIER, kind=shoal.Kind.NUMERIC)
    shoal.draft(people)
    shoal.anonymize(people.with_schema(shoal.Schema(attributes=(age,))), shoal.KAnonymity(2)).table.to_arrow()


def _release(folder: Path, home: Path, about: dict[str, Any], account: str | None, progress: Progress) -> None:
    import shoal
    from shoal.rehearsal import HollowRelease
    from shoal.web._explore import explore
    from shoal.web._linked import LINKED, write_linked

    plan = shoal.Plan.loads((folder / PLAN).read_text(encoding="utf-8"), folder=home)
    key = None
    if any(attribute.pseudonym for attribute in plan.schema):
        key = secrets.token_bytes(32)
        (folder / KEY).touch(mode=0o600)
        (folder / KEY).write_bytes(key)
    table = shoal.read(home / about["file"], **about.get("reading", {})).with_schema(plan.schema)
    payer = None if account is None else shoal.Account.open(account)
    release = plan.run(table, progress=progress, pseudonym_key=key, account=payer)
    progress(0, 0, "writing and verifying the release")
    try:
        release.write(folder / RELEASE, csv=True)
    except HollowRelease as error:
        progress(0, 0, "looking for ways out")
        write_json(folder / WAYS, _ways_out(release, error))
        raise
    progress(0, 0, "preparing the pictures")
    write_linked(table, release, folder / LINKED)
    write_json(folder / EXPLORATION, explore(table, release, folder / RELEASE))


def _ways_out(release: Release, error: HollowRelease) -> dict[str, Any]:
    """Return the columns that make a release hollow, and the steps to which they may be rounded, if they can be."""
    culprits = [] if error.rehearsal is None else list(error.rehearsal.culprits)
    steps: dict[str, float] = {}
    with contextlib.suppress(ParameterError):
        steps = release.finest_steps(*culprits)
    return {"columns": culprits, "steps": steps}


def _compare(home: Path, about: dict[str, Any], wanted: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Compare on the table in ``home`` what ``wanted`` says; return all points and a recommendation."""
    import shoal
    from shoal import schema

    table = shoal.read(home / about["file"], **about.get("reading", {})).with_schema(
        schema.loads(wanted["schema"], home)
    )
    choice = wanted["choice"]
    comparison = shoal.compare(
        table,
        **choice,
        learn=choice["utility"] == "distinguishable",
        folder=home / _POINTS,
        progress=lambda done, total, label: progress(done, total, _words(done, total, label)),
    )
    return comparison.to_json()


def _words(done: int, total: int, label: str) -> str:
    made = f"{done:,} of {total:,} releases have been made and measured"
    return f"{made}; the last was {label}" if label else made
