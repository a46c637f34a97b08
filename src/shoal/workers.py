"""Long work in processes of its own: progress, answers, stops, and what happens when a process dies.

A worker is ``python -m shoal.workers MODULE:FUNCTION``. It takes jobs as lines of JSON and answers in the same way:
any number of ``{"progress": [done, total, message]}``, then ``{"value": ...}`` or ``{"error": ...}``. It is not a
process of :mod:`multiprocessing`, so that a user's script or notebook is not run again in it. A worker ends with the
process that started it, even in the middle of a job. No message holds a cell value of the data.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TextIO

from shoal import stopping
from shoal.errors import Cancelled, ShoalError, presentable

__all__ = ["Job", "Pool", "Progress", "WorkFailed"]

Progress = Callable[[int, int, str], None]
Work = Callable[[dict[str, Any], Progress], Any]

#: seconds between two notes of progress
_PACE = 0.15
#: seconds that a worker has to tidy up when it is stopped
_GRACE = 5.0


class WorkFailed(ShoalError):
    """The work failed for a reason that another try may not meet: its process died, no memory, a defect."""


@dataclass(slots=True, eq=False)
class Job:
    """A job that was handed to a pool: its answer is to come, and it can be stopped."""

    #: What the work returned, or the error that it raised: always a :class:`ShoalError`.
    answer: Future[Any] = field(default_factory=Future)
    stopped: bool = False
    _begun: bool = False
    _worker: _Worker | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def stop(self) -> None:
        """Stop the job, whatever it does; its answer is then :class:`Cancelled`."""
        with self._lock:
            if self.stopped or self.answer.done():
                return
            self.stopped = True
            if self._worker is not None:
                self._worker.end()
            waiting = not self._begun
        if waiting:
            self.answer.set_exception(Cancelled())

    def _begin(self) -> bool:
        with self._lock:
            self._begun = not self.stopped
            return self._begun

    def _use(self, worker: _Worker | None) -> None:
        with self._lock:
            if self.stopped and worker is not None:
                raise Cancelled
            self._worker = worker


class Pool:
    """A few worker processes, started when they are needed and used again; one that dies is replaced.

    The function ``work`` does the jobs: it takes one and a callback for progress and returns plain values. ``prepare``
    is called in every worker at its start, to load what the work needs. Both must be importable. ``environment`` are
    variables of the worker processes beside those of this one.
    """

    def __init__(
        self,
        work: Work,
        *,
        prepare: Callable[[], None] | None = None,
        processes: int,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        functions = [work] if prepare is None else [work, prepare]
        self._names = [f"{each.__module__}:{each.__qualname__}" for each in functions]
        self._environment = {**os.environ, "PYTHONWARNINGS": "ignore", **(environment or {})}
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="shoal-worker")
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._jobs: set[Job] = set()
        self._closed = False

    def warm(self) -> None:
        """Start a worker ahead of time: loading what it needs may take longer than a job."""
        with self._lock:
            if not self._idle and not self._closed:
                self._idle.append(_Worker(self._names, self._environment))

    def submit(self, job: dict[str, Any], *, progress: Progress | None = None) -> Job:
        """Hand over a job, which begins as soon as a worker is free.

        ``progress`` is called from another thread.
        """
        handed = Job()
        with self._lock:
            self._jobs.add(handed)
        self._threads.submit(self._carry_out, handed, job, progress)
        return handed

    def close(self) -> None:
        """End all workers, whatever they do."""
        with self._lock:
            self._closed = True
            jobs, idle = list(self._jobs), self._idle
            self._idle = []
        for each in jobs:
            each.stop()
        for worker in idle:
            worker.end()
        self._threads.shutdown(wait=True)
        for worker in idle:
            worker.wait()

    def _carry_out(self, handed: Job, job: dict[str, Any], progress: Progress | None) -> None:
        worker: _Worker | None = None
        try:
            if not handed._begin():
                return
            worker = self._take()
            handed._use(worker)
            value = worker.ask(job, progress)
        except BaseException as error:
            handed.answer.set_exception(Cancelled() if handed.stopped else presentable(error))
        else:
            handed.answer.set_result(value)
        finally:
            handed._use(None)
            self._give_back(handed, worker)

    def _take(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise Cancelled
            while self._idle:
                worker = self._idle.pop()
                if worker.process.poll() is None:
                    return worker
            return _Worker(self._names, self._environment)

    def _give_back(self, handed: Job, worker: _Worker | None) -> None:
        with self._lock:
            self._jobs.discard(handed)
            usable = worker is not None and worker.usable and not handed.stopped and not self._closed
            if usable and worker is not None:
                self._idle.append(worker)
        if worker is not None and not usable:
            worker.end()
            worker.wait()


class _Worker:
    """One process, and the pipe to it."""

    def __init__(self, names: list[str], environment: Mapping[str, str]) -> None:
        self.usable = False
        self.process = subprocess.Popen(  # noqa: S603 - this Python, on functions of ours
            [sys.executable, "-m", "shoal.workers", *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("SHOAL_DEBUG") else subprocess.DEVNULL,
            env=environment,
            text=True,
            encoding="utf-8",
        )

    def ask(self, job: dict[str, Any], progress: Progress | None) -> Any:
        """Hand over a job and return its answer."""
        self.usable = False
        self._write(job)
        while "progress" in (said := self._read()):
            if progress is not None:
                progress(*said["progress"])
        self.usable = True
        if "error" not in said:
            return said["value"]
        kind = WorkFailed if said["error"]["passing"] else ShoalError
        raise kind(said["error"]["problems"], hint=said["error"]["hint"])

    def _write(self, job: dict[str, Any]) -> None:
        assert self.process.stdin is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(OSError):  # the process is gone, which reading tells
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None  # noqa: S101 - it is a pipe
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            raise WorkFailed(
                f"the worker process ended before it had finished (exit code {code})",
                hint="was there enough memory?",
            )
        return dict(json.loads(line))

    def end(self) -> None:
        """Ask the process to end; it has a few seconds to tidy up."""
        self.usable = False
        self.process.terminate()
        killer = threading.Timer(_GRACE, self.process.kill)
        killer.daemon = True
        killer.start()

    def wait(self) -> None:
        """Return when the process is gone."""
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # what was not written is gone with the process
                    stream.close()


def _serve(work: Work, prepare: Callable[[], None] | None = None) -> None:
    """Do jobs from standard input until it ends: what a worker process does."""
    # whatever libraries print must not get between the answers
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    jobs: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(jobs,), daemon=True).start()
    if prepare is not None:
        prepare()
    while True:
        _say(answers, _done(work, json.loads(jobs.get()), _Notes(answers)))


def _read(jobs: queue.SimpleQueue[str]) -> None:
    """Pass jobs on; when there can be no more, nobody waits for an answer either."""
    for line in sys.stdin:
        jobs.put(line)
    stopping.stop()


def _done(work: Work, job: dict[str, Any], progress: Progress) -> dict[str, Any]:
    try:
        return {"value": work(job, progress)}
    except Exception as error:
        told = presentable(error)
        passing = not isinstance(error, ShoalError)
        return {"error": {"problems": list(told.problems), "hint": told.hint, "passing": passing}}


def _say(answers: TextIO, said: dict[str, Any]) -> None:
    answers.write(json.dumps(said) + "\n")
    answers.flush()


class _Notes:
    """Tells how far a job is, not too often."""

    def __init__(self, answers: TextIO) -> None:
        self._answers, self._last = answers, 0.0

    def __call__(self, done: int, total: int, message: str, /) -> None:
        if time.monotonic() - self._last >= _PACE or not total:
            self._last = time.monotonic()
            _say(self._answers, {"progress": [int(done), int(total), message]})


def _find(name: str) -> Any:
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


def _main() -> int:
    _serve(*map(_find, sys.argv[1:]))
    return 0


if __name__ == "__main__":
    # Ctrl-C is for whoever started us, who then ends us
    stopping.run(_main, say=lambda _left: None, ignored=("SIGINT", "SIGHUP"))
