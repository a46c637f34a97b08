"""Worker processes: answers, crashes, and the end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shoal.comparison import _pool
from shoal.comparison._pool import run_all
from shoal.errors import Cancelled

ECHO = """
import json, os, sys, time
for line in sys.stdin:
    job = json.loads(line)
    if job["do"] == "die": os._exit(7)
    if job["do"] == "sleep": time.sleep(60)
    print(json.dumps({"seen": job["number"], "threads": os.environ["SHOAL_THREADS"]}), flush=True)
"""


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[subprocess.Popen[str]]:
    """Put a toy in the place of the worker; return the processes that were started."""
    script = tmp_path / "echo.py"
    script.write_text(ECHO)
    real, made = subprocess.Popen, []

    def toy(_command: list[str], **options: Any) -> subprocess.Popen[str]:
        made.append(real([sys.executable, str(script)], **options))
        return made[-1]

    monkeypatch.setattr(_pool.subprocess, "Popen", toy)
    return made


def _jobs(*todo: str) -> list[dict[str, Any]]:
    return [{"number": number, "do": do} for number, do in enumerate(todo)]


def test_every_job_is_answered_once() -> None:
    found = dict(run_all(_jobs(*["say"] * 7), 2))
    assert {position: answer["seen"] for position, answer in found.items()} == {i: i for i in range(7)}
    assert found[0]["threads"] == "1"


def test_a_process_that_dies_costs_one_job() -> None:
    found = dict(run_all(_jobs("say", "die", "say", "say"), 1))
    assert found[1] == {"failure": "the process that made the release ended (code 7)", "passing": True}
    assert [found[i]["seen"] for i in (0, 2, 3)] == [0, 2, 3]


def test_a_stop_ends_the_processes(started: list[subprocess.Popen[str]]) -> None:
    with pytest.raises(Cancelled):
        list(run_all(_jobs("sleep", "sleep"), 2, lambda: True))
    assert [process.poll() for process in started] == [-9, -9]


def test_the_processes_end_with_the_last_answer(started: list[subprocess.Popen[str]]) -> None:
    list(run_all(_jobs("say", "say", "say"), 2))
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)


def test_no_jobs_start_nothing() -> None:
    assert list(run_all([], 2)) == []


def test_a_worker_answers_wrong_plans_with_a_reason() -> None:
    from shoal.comparison._worker import answer

    said = answer({"plan": "shoal = 1", "folder": ".", "settings": {}})
    assert "no columns" in said["failure"]
    assert json.dumps(said)
