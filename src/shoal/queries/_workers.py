"""Threads that work for analysts: a few at a time for each, and every one pays for the processor time it took."""

from __future__ import annotations

import asyncio
import math
import queue
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

Result = TypeVar("Result")

# questions of one analyst that are worked on at the same time, and that may wait
RUNNING = 4
WAITING = 64
# whose allowance is remembered
REMEMBERED = 10_000


class TooOftenError(Exception):
    """Somebody has to wait, for so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = max(math.ceil(seconds), 1)


@dataclass(slots=True)
class Allowances:
    """Buckets of ``burst`` that fill at ``rate`` per second, one for each name; what is taken may lead into debt."""

    rate: float
    burst: float
    _levels: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def check(self, name: str) -> None:
        """Raise if nothing is left."""
        level = self._level(name)
        if level <= 0:
            raise TooOftenError((1e-3 - level) / self.rate)

    def take(self, name: str, amount: float) -> None:
        """Take an amount that was used."""
        self._levels[name] = (self._level(name) - amount, time.monotonic())
        self._levels.move_to_end(name)
        if len(self._levels) > REMEMBERED:
            self._levels.popitem(last=False)

    def _level(self, name: str) -> float:
        now = time.monotonic()
        level, before = self._levels.get(name, (self.burst, now))
        return min(level + (now - before) * self.rate, self.burst)


@dataclass(frozen=True, slots=True)
class WorkResult(Generic[Result]):
    """What became of some work: its result or its error, and the processor time that it took."""

    result: Result | None
    error: BaseException | None
    seconds: float

    def value(self) -> Result:
        """Return the result, or raise the error."""
        if self.error is not None:
            raise self.error
        return cast("Result", self.result)


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[], Any]
    done: asyncio.Future[WorkResult[Any]]
    loop: asyncio.AbstractEventLoop


class Workers:
    """Threads that end with the process: a server that is told to stop does not wait for them."""

    def __init__(self, threads: int = 32) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._most, self._started, self._busy = threads, 0, 0

    async def run(self, work: Callable[[], Result]) -> WorkResult[Result]:
        """Let a thread do some work."""
        loop = asyncio.get_running_loop()
        job = _Job(work, loop.create_future(), loop)
        if self._busy >= self._started < self._most:
            self._started += 1
            threading.Thread(target=self._work, daemon=True, name=f"vault-{self._started}").start()
        self._busy += 1
        self._jobs.put(job)
        return await job.done

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            outcome = _done(job)
            # a loop that was closed waits for nothing
            with suppress(RuntimeError):
                job.loop.call_soon_threadsafe(self._settle, job.done, outcome)
            del job, outcome

    def _settle(self, done: asyncio.Future[WorkResult[Any]], outcome: WorkResult[Any]) -> None:
        self._busy -= 1
        if not done.cancelled():
            done.set_result(outcome)


def _done(job: _Job) -> WorkResult[Any]:
    if job.done.cancelled():
        return WorkResult(None, None, 0.0)
    started = time.thread_time()
    try:
        result, error = job.work(), None
    except BaseException as raised:  # whoever waits for it decides
        result, error = None, raised
    return WorkResult(result, error, time.thread_time() - started)


class Lines:
    """The questions of each analyst in a line of its own, of which a few are worked on at the same time."""

    def __init__(self, running: int = RUNNING, waiting: int = WAITING) -> None:
        self._running, self._most = running, waiting
        self._semaphores: dict[str, asyncio.Semaphore] = {}
        self._waiting: Counter[str] = Counter()

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Wait for a turn; raise where too many wait."""
        if self._waiting[name] >= self._most:
            raise TooOftenError(1)
        semaphore = self._semaphores.setdefault(name, asyncio.Semaphore(self._running))
        self._waiting[name] += 1
        try:
            await semaphore.acquire()
        finally:
            self._waiting[name] -= 1
        try:
            yield
        finally:
            semaphore.release()
