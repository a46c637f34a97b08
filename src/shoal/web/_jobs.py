"""Long work in processes of its own: progress and results in the folder of the run, so that a restart finds them.

A worker is started ahead of time, for importing the engine takes longer than many runs. Stopping a run ends its
process at once: a release appears whole or not at all, so nothing half-done can be left behind.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from shoal.errors import Cancelled
from shoal.web._store import Store, now, read_json, write_json
from shoal.web._worker import STATUS, main

__all__ = ["ENDED", "Jobs", "status"]

ENDED = ("done", "failed", "cancelled")
_KEPT = ("about.json", "plan.toml", "comparison.json", STATUS)
_DIED = {
    "problems": ["the process that did the work was ended from outside; nothing was written"],
    "hint": "was there enough memory?",
}
_INTERRUPTED = {
    "problems": ["the app was closed before this run was done; nothing was written"],
    "hint": "run it again",
}


def status(folder: Path) -> dict[str, Any]:
    """Return how far the run in ``folder`` is."""
    return read_json(folder / STATUS) or {"state": "waiting", "done": 0, "total": 0, "message": ""}


class Jobs:
    """Runs jobs, a few at a time, and stops them."""

    def __init__(self, store: Store, *, workers: int | None = None) -> None:
        self._store = store
        self._threads = ThreadPoolExecutor(workers or max(2, (os.cpu_count() or 2) // 2), thread_name_prefix="job")
        self._context = multiprocessing.get_context("spawn")
        self._lock = threading.Lock()
        self._idle: list[tuple[SpawnProcess, Connection]] = []
        self._busy: dict[str, SpawnProcess] = {}
        self._stopped: set[str] = set()
        self._closed = False
        self._mark_interrupted()

    def warm(self) -> None:
        """Start a worker ahead of time."""
        with self._lock:
            if not self._idle and not self._closed:
                self._idle.append(self._start())

    def submit(self, identity: str) -> None:
        """Start the run with this id as soon as a worker is free."""
        write_json(self._store.runs.path(identity) / STATUS, {"state": "waiting", "done": 0, "total": 0, "message": ""})
        self._threads.submit(self._work, identity)

    def stop(self, identity: str) -> None:
        """Stop a run; one that has ended stays as it is."""
        folder = self._store.runs.path(identity)
        with self._lock:
            if status(folder)["state"] in ENDED:
                return
            self._stopped.add(identity)
            process = self._busy.get(identity)
            if process is not None:
                process.terminate()
            else:
                self._end(folder, "cancelled", {"problems": list(Cancelled().problems), "hint": None})

    def close(self) -> None:
        """End all workers."""
        with self._lock:
            self._closed = True
            running = [process for process, _ in self._idle] + list(self._busy.values())
            for process in running:
                process.terminate()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in running:
            process.join(5)

    def _work(self, identity: str) -> None:
        folder = self._store.runs.folder / identity
        with self._worker(identity) as found:
            if found is None:
                return
            process, line = found
            try:
                line.send(str(folder))
                line.recv()  # until the job is done, or the worker is gone
            except (EOFError, OSError):
                process.join(5)
        if not folder.is_dir() or status(folder)["state"] in ENDED:
            return
        if identity in self._stopped:
            self._end(folder, "cancelled", {"problems": list(Cancelled().problems), "hint": None})
        elif not self._closed:
            self._end(folder, "failed", _DIED)

    @contextmanager
    def _worker(self, identity: str) -> Iterator[tuple[SpawnProcess, Connection] | None]:
        with self._lock:
            if self._closed or identity in self._stopped:
                found = None
            else:
                found = self._idle.pop() if self._idle else self._start()
                self._busy[identity] = found[0]
        try:
            yield found
        finally:
            with self._lock:
                self._busy.pop(identity, None)
                if found is not None and not self._closed:
                    self._idle.append(found if found[0].is_alive() else self._start())

    def _start(self) -> tuple[SpawnProcess, Connection]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=main, args=(theirs, str(self._store.scratch)), daemon=True)
        process.start()
        theirs.close()
        return process, ours

    def _end(self, folder: Path, state: str, error: dict[str, Any]) -> None:
        for path in folder.iterdir():
            if path.name not in _KEPT:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        write_json(folder / STATUS, {**status(folder), "state": state, "finished": now(), "error": error})

    def _mark_interrupted(self) -> None:
        for about in self._store.runs.all():
            folder = self._store.runs.path(about["id"])
            if status(folder)["state"] not in ENDED:
                self._end(folder, "failed", _INTERRUPTED)
