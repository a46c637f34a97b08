"""Worker processes, and the threads that talk to them."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shoal.errors import Cancelled

__all__ = ["run_all"]

#: seconds between two looks at whether the user stopped the work
_PATIENCE = 0.2


def run_all(
    jobs: Sequence[dict[str, Any]], processes: int, cancelled: Callable[[], bool] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Carry out jobs side by side; yield the position and the answer of each as it is done.

    Raises
    ------
    Cancelled
        If ``cancelled()`` became true; the workers are ended.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for position in range(len(jobs)):
        waiting.put(position)
    done: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()
    workers = [_Worker(jobs, waiting, done) for _ in range(min(processes, len(jobs)))]
    try:
        left = len(jobs)
        while left:
            if cancelled is not None and cancelled():
                raise Cancelled("Stopped; the points that were finished are kept where a folder was given.")
            try:
                found = done.get(timeout=_PATIENCE)
            except queue.Empty:
                continue
            left -= 1
            yield found
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """One process and the thread that feeds it; a process that dies is replaced."""

    def __init__(
        self,
        jobs: Sequence[dict[str, Any]],
        waiting: queue.SimpleQueue[int],
        done: queue.SimpleQueue[tuple[int, dict[str, Any]]],
    ) -> None:
        self._jobs, self._waiting, self._done = jobs, waiting, done
        self._ended = False
        self._process = self._start()
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """End the process, whatever it does."""
        self._ended = True
        self._process.kill()
        self._thread.join()
        _close(self._process)

    def _start(self) -> subprocess.Popen[str]:
        # several processes share the processors: one thread each
        environment = {"SHOAL_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **os.environ}
        return subprocess.Popen(
            [sys.executable, "-m", "shoal.comparison._worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("SHOAL_DEBUG") else subprocess.DEVNULL,
            env=environment,
            text=True,
            encoding="utf-8",
        )

    def _feed(self) -> None:
        while not self._ended:
            try:
                position = self._waiting.get_nowait()
            except queue.Empty:
                return
            answer = self._ask(self._jobs[position])
            if answer is None and not self._ended:
                code = self._process.wait()
                answer = {"failure": f"the process that made the release ended (code {code})", "passing": True}
                _close(self._process)
                self._process = self._start()
            if answer is not None:
                self._done.put((position, answer))

    def _ask(self, job: dict[str, Any]) -> dict[str, Any] | None:
        assert self._process.stdin is not None  # noqa: S101 - both are pipes
        assert self._process.stdout is not None  # noqa: S101
        try:
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            return json.loads(line) if line else None
        except (OSError, ValueError):
            return None


def _close(process: subprocess.Popen[str]) -> None:
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):  # the process is gone, and what was not written with it
                stream.close()
