"""Runs in worker processes: how far they are is noted in their folders, so that a restart finds it.

Stopping a run ends its process at once: a release appears whole or not at all, so nothing half-done is left behind.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from shoal.errors import Cancelled, presentable
from shoal.web._store import Store, now, read_json, write_json
from shoal.web._work import COMPARISON, PLAN, do, warm
from shoal.workers import Job, Pool

__all__ = ["ENDED", "Jobs", "status"]

STATUS = "status.json"
ENDED = ("done", "failed", "cancelled")
_KEPT = ("about.json", PLAN, COMPARISON, STATUS)
_WAITING = {"state": "waiting", "done": 0, "total": 0, "message": ""}
_INTERRUPTED = {
    "problems": ["the app was closed before this run was done; nothing was written"],
    "hint": "run it again",
}


def status(folder: Path) -> dict[str, Any]:
    """Return how far the run in ``folder`` is."""
    return read_json(folder / STATUS) or _WAITING


class Jobs:
    """Runs jobs, a few at a time, and stops them."""

    def __init__(self, store: Store, *, workers: int | None = None) -> None:
        self._store, self._closed = store, False
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._pool = Pool(
            do,
            prepare=warm,
            processes=workers or max(2, (os.cpu_count() or 2) // 2),
            environment={"TMPDIR": str(store.scratch.absolute())},
        )
        for about in store.runs.all():
            folder = store.runs.path(about["id"])
            if status(folder)["state"] not in ENDED:
                _give_up(folder, "failed", _INTERRUPTED)

    def warm(self) -> None:
        """Start a worker ahead of time."""
        self._pool.warm()

    def submit(self, identity: str) -> None:
        """Start the run with this id as soon as a worker is free."""
        folder = self._store.runs.path(identity)
        write_json(folder / STATUS, _WAITING)
        started = now()

        def note(done: int, total: int, message: str) -> None:
            running = {"state": "running", "done": done, "total": total, "message": message, "started": started}
            with contextlib.suppress(OSError):  # the run was deleted
                write_json(folder / STATUS, running)

        job = self._pool.submit({"folder": str(folder.absolute())}, progress=note)
        with self._lock:
            self._jobs[identity] = job
        job.answer.add_done_callback(lambda answer: self._end(identity, folder, answer))

    def stop(self, identity: str) -> None:
        """Stop a run; one that has ended stays as it is."""
        with self._lock:
            job = self._jobs.get(identity)
        if job is not None:
            job.stop()

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
        with contextlib.suppress(OSError):  # the run was deleted
            if error is None:
                write_json(folder / STATUS, {**status(folder), "state": "done", "message": "", "finished": now()})
            else:
                told = presentable(error)
                state = "cancelled" if isinstance(error, Cancelled) else "failed"
                _give_up(folder, state, {"problems": list(told.problems), "hint": told.hint})


def _give_up(folder: Path, state: str, error: dict[str, Any]) -> None:
    """Remove what is not whole, and say why."""
    for path in folder.iterdir():
        if path.name not in _KEPT:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    write_json(folder / STATUS, {**status(folder), "state": state, "finished": now(), "error": error})
