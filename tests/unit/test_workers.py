"""Worker processes: answers, progress, stops, crashes, and the end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import Cancelled, ParameterError, ShoalError
from shoal.workers import Pool, Progress, WorkFailed

CANARY = "canary-7431"


def toy(job: dict[str, Any], progress: Progress) -> Any:
    """Do what a job says, in a worker."""
    match job["do"]:
        case "die":
            os._exit(7)
        case "sleep":
            time.sleep(60)
        case "refuse":
            raise ParameterError("this cannot be", hint="try that")
        case "break":
            raise ValueError(CANARY)
        case "count":
            for done in range(3):
                progress(done, 0, f"{done} done")
        case "print":
            print("noise")  # noqa: T201 - libraries do
    return {"pid": os.getpid(), "number": job.get("number"), "told": os.environ.get("TOLD")}


def prepare() -> None:
    """Say that a worker was prepared."""
    os.environ["TOLD"] = os.environ.get("TOLD", "") + "+prepared"


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool(toy, prepare=prepare, processes=2, environment={"TOLD": "hello", "PYTHONPATH": _path()})
    assert made._environment["PYTHONWARNINGS"] == "ignore"
    yield made
    made.close()


def _path() -> str:
    return os.pathsep.join([str(Path(__file__).parent), *sys.path])


@pytest.mark.slow
def test_every_job_is_answered_by_a_prepared_worker_and_workers_are_used_again(pool: Pool) -> None:
    jobs = [pool.submit({"do": "print", "number": number}) for number in range(6)]
    answers = [job.answer.result() for job in jobs]
    assert [answer["number"] for answer in answers] == list(range(6))
    assert {answer["told"] for answer in answers} == {"hello+prepared"}
    assert len({answer["pid"] for answer in answers}) <= 2


def test_a_warm_worker_takes_the_first_job(pool: Pool) -> None:
    pool.warm()
    (worker,) = pool._idle
    assert pool.submit({"do": "say"}).answer.result()["pid"] == worker.process.pid


def test_progress_is_told(pool: Pool) -> None:
    notes: list[tuple[int, int, str]] = []
    pool.submit({"do": "count"}, progress=lambda *note: notes.append(note)).answer.result()
    assert notes == [(0, 0, "0 done"), (1, 0, "1 done"), (2, 0, "2 done")]


def test_errors_of_ours_keep_their_words_and_others_only_their_place(pool: Pool) -> None:
    with pytest.raises(ShoalError, match="this cannot be") as refused:
        pool.submit({"do": "refuse"}).answer.result()
    assert refused.value.hint == "try that"
    assert not isinstance(refused.value, WorkFailed)
    with pytest.raises(WorkFailed, match="internal error: ValueError") as broken:
        pool.submit({"do": "break"}).answer.result()
    assert CANARY not in str(broken.value)


@pytest.mark.slow
def test_a_process_that_dies_costs_one_job(pool: Pool) -> None:
    jobs = [pool.submit({"do": do}) for do in ("say", "die", "say", "say")]
    with pytest.raises(WorkFailed, match=r"ended before it had finished \(exit code 7\)"):
        jobs[1].answer.result()
    assert all(jobs[number].answer.result() for number in (0, 2, 3))


def test_a_worker_that_died_while_idle_is_replaced(pool: Pool) -> None:
    pool.warm()
    (worker,) = pool._idle
    worker.process.kill()
    worker.process.wait()
    assert pool.submit({"do": "say"}).answer.result()["pid"] != worker.process.pid


def test_a_running_and_a_waiting_job_are_stopped_at_once(pool: Pool) -> None:
    jobs = [pool.submit({"do": "sleep"}) for _ in range(3)]
    jobs[2].stop()
    assert isinstance(jobs[2].answer.exception(0), Cancelled)
    while len([job for job in jobs if job._worker is not None]) < 2:
        time.sleep(0.01)
    jobs[0].stop()
    jobs[1].stop()
    for job in jobs:
        assert isinstance(job.answer.exception(120), Cancelled)
    assert pool.submit({"do": "say"}).answer.result(), "the next job has a worker"
    jobs[0].stop()


def test_closing_ends_what_runs(pool: Pool) -> None:
    jobs = [pool.submit({"do": "sleep"}) for _ in range(4)]
    while not any(job._worker is not None for job in jobs):
        time.sleep(0.01)
    processes = [job._worker.process for job in jobs if job._worker is not None]
    pool.close()
    assert all(isinstance(job.answer.exception(0), Cancelled) for job in jobs)
    assert all(process.poll() is not None for process in processes)


def test_a_worker_ends_with_whoever_started_it_even_in_the_middle_of_a_job() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal.workers", f"{__name__}:toy"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": _path()},
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write('{"do": "sleep"}\n')
    process.stdin.flush()
    threading.Timer(0.5, process.stdin.close).start()
    assert process.wait(30) != 0
    if process.stdout is not None:
        process.stdout.close()
