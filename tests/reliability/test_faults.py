"""Every system call on the way of a release and of a spending fails once, and the power fails between any two.

Nothing is half-written, nothing that was answered is lost, no budget is overspent, and what is said is true.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.queries.ledger import Ledger, Loss

from . import power

HERE = Path(__file__).parent
#: one in so many faults is tried; 1 tries all
STRIDE = int(os.environ.get("SHOAL_FAULTS_STRIDE", "23"))
#: where there are few
SHORT = min(STRIDE, 11)
#: what a machine says of itself, not of the files that it holds
MACHINE = (errno.EIO, errno.ENOSPC, errno.EMFILE, errno.ENOMEM)
Faulty = Callable[..., dict[str, Any]]

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faulty]:
    """Return a function that does a piece of work with a fault in it."""
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, HERE / "faults.c", "-ldl"], check=True)
    process = subprocess.Popen(
        [sys.executable, str(HERE / "faulty.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # left closed, as by xdist, its number would be the journal's, and words go there
        text=True,
        env={**os.environ, "LD_PRELOAD": str(library)},
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def work(name: str, folder: Path, **fault: object) -> dict[str, Any]:
        process.stdin.write(json.dumps({"work": name, "folder": str(folder), **fault}) + "\n")
        process.stdin.flush()
        return dict(json.loads(process.stdout.readline()))

    yield work
    process.stdin.close()
    process.wait()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Return a folder with a ledger of which two entries are left to spend."""
    folder = tmp_path / "books"
    folder.mkdir()
    made = Ledger.create(folder / "ledger", budget=Loss.of(2))
    made.set_budget("alice", Loss.of(2))
    made.close()
    return folder


def check_release(told: dict[str, Any], folder: Path) -> None:
    assert "broken" not in told, told
    left = sorted(path.name for path in folder.iterdir())
    if "done" in told:
        assert left == ["made"]
        assert shoal.verify(folder / "made").passed
    else:
        assert left == [], told
        assert "internal error" not in told["refused"]
        assert "Hint: this is a defect" not in told["refused"], told


def faults(total: int) -> range:
    return range(1, total + 1, STRIDE)


def test_a_release_is_whole_or_not_there_whichever_call_fails(tmp_path: Path, faulty: Faulty) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    total = faulty("release", folder)["counted"]
    assert total > 80
    tried = happened = refused = 0
    for number in faults(total):
        shutil.rmtree(folder)
        folder.mkdir()
        told = faulty("release", folder, number=number, error=(errno.EIO, errno.ENOSPC)[number % 2])
        check_release(told, folder)
        tried, happened, refused = tried + 1, happened + told["fired"], refused + ("refused" in told)
    print(f"release: {tried} of {total} calls failed, {happened} faults happened, {refused} refused")  # noqa: T201
    assert happened > tried * 0.9


def test_a_disk_that_is_full_at_any_byte(tmp_path: Path, faulty: Faulty) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    faulty("release", folder)
    size = sum(path.stat().st_size for path in (folder / "made").rglob("*") if path.is_file())
    for part in range(0, 20, SHORT):
        shutil.rmtree(folder)
        folder.mkdir()
        told = faulty("release", folder, room=size * part // 20)
        check_release(told, folder)
        assert "no space left" in told["refused"] or "disk is full" in told["refused"], told


@pytest.mark.parametrize("kind", ["engine", "disk", "memory"])
def test_an_engine_that_fails(tmp_path: Path, faulty: Faulty, kind: str) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    for number in range(1, 13, SHORT):
        told = faulty("release", folder, engine=kind, number=number)
        check_release(told, folder)
        assert "a cell value" not in str(told)
        shutil.rmtree(folder)
        folder.mkdir()


@pytest.mark.deep
def test_a_check_that_the_machine_cannot_complete_says_nothing_against_the_release(
    tmp_path: Path, faulty: Faulty
) -> None:
    faulty("release", tmp_path)
    whole = faulty("verify", tmp_path)
    assert whole["done"] == "passed"
    failing = [{"number": number, "error": MACHINE[number % len(MACHINE)]} for number in faults(whole["counted"])]
    failing += [{"engine": kind, "number": number} for kind in ("disk", "memory") for number in range(1, 13, SHORT)]
    undecided = 0
    for fault in failing:
        told = faulty("verify", tmp_path, **fault)
        assert "broken" not in told, told
        if "refused" in told:
            undecided += 1
            assert told["code"] == 5
            assert "could not be completed" in told["refused"]
        else:
            assert told["done"] == "passed"
    print(f"verify: {len(failing)} faults, {undecided} checks not completed, none failed")  # noqa: T201
    assert undecided > len(failing) / 2


def spent(folder: Path) -> int:
    opened = Ledger.open(folder / "ledger")
    try:
        return sum(entry.content["event"] == "spend" for entry in opened.entries())
    finally:
        opened.close()


def test_a_spending_is_recorded_or_refused_whichever_call_fails(ledger: Path, faulty: Faulty, tmp_path: Path) -> None:
    shutil.copytree(ledger, tmp_path / "first")
    total = faulty("spend", tmp_path / "first")["counted"]
    tried = answered = 0
    for number in range(1, total + 1):
        folder = tmp_path / f"books-{number}"
        shutil.copytree(ledger, folder)
        told = faulty("spend", folder, number=number, error=(errno.EIO, errno.ENOSPC)[number % 2])
        assert "broken" not in told, told
        recorded = spent(folder)
        assert recorded <= 1
        assert recorded == 1 or "done" not in told
        again = [faulty("spend", folder) for _ in range(3)]
        assert spent(folder) == 2  # of the budget, never more
        assert sum("done" in each for each in again) == 2 - recorded
        tried, answered = tried + 1, answered + ("done" in told)
        shutil.rmtree(folder)
    print(f"spending: {tried} of {total} calls failed, {answered} answered all the same")  # noqa: T201


def test_a_ledger_forgets_no_answer_when_the_power_fails(ledger: Path, faulty: Faulty, tmp_path: Path) -> None:
    disk = power.Disk.of(ledger)
    assert "done" in faulty("spend_often", ledger, journal=str(tmp_path / "journal"))
    changes = [each for each in power.journal(tmp_path / "journal") if not each.path.endswith("-shm")]
    assert sum(each.what == "sync" for each in changes) >= 8
    answers = [number for number, each in enumerate(changes) if "answered-" in each.path and each.what == "create"]
    tried = 0
    for done, files in power.states(disk, changes, rounds=max(1, 4 // STRIDE), seed=1):
        target = tmp_path / "after"
        power.put({name: content for name, content in files.items() if "answered" not in name}, ledger, target)
        given = sum(number < done for number in answers)
        assert given <= spent(target) <= 4
        shutil.rmtree(target)
        tried += 1
    print(f"ledger: {tried} states of the disk after a loss of power")  # noqa: T201


def test_a_release_that_is_there_after_a_loss_of_power_verifies(faulty: Faulty, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    disk = power.Disk()
    assert "done" in faulty("release", folder, journal=str(tmp_path / "journal"))
    changes = power.journal(tmp_path / "journal")
    tried = there = 0
    for _, files in power.states(disk, changes, rounds=1, seed=2):
        tried += 1
        made = {name: content for name, content in files.items() if f"{folder}/made/" in name}
        if made:
            there += 1
            if there <= 6:
                target = tmp_path / "after"
                power.put(made, folder, target)
                failed = [each for each in shoal.verify(target / "made").checks if not each.passed]
                assert failed == []
                shutil.rmtree(target)
    print(f"release: {tried} states of the disk after a loss of power, {there} with the release")  # noqa: T201
    assert there
