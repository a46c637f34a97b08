"""Disks that are full or may not be written: nothing is answered, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.queries import LedgerError, Loss, Session
from shoal.queries.ledger import Ledger
from shoal.schema import Attribute, Domain, Kind, Schema

AGE = Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=120))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return the folder of a real file system of 512 KB."""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs the right to mount a file system")
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if done.returncode:
        pytest.skip("needs the right to mount a file system")
    yield folder
    # lazily: what a failed test left open must not keep the disk
    subprocess.run(["umount", "-l", str(folder)], check=True)


def session(path: Path) -> Session:
    people = shoal.read(pa.table({"age": list(range(100))}), schema=Schema(attributes=(AGE,)))
    return Session(people, 1000, ledger=path)


def fill(path: Path) -> None:
    """Write until the disk is full."""
    file = os.open(path, os.O_CREAT | os.O_WRONLY)
    with suppress(OSError):
        while True:
            os.write(file, bytes(4096))
    os.close(file)


def test_a_full_disk_refuses_and_a_freed_one_goes_on(small_disk: Path) -> None:
    asking = session(small_disk / "ledger")
    asking.count(epsilon="0.1")
    fill(small_disk / "filler")
    answered = 1
    with pytest.raises(LedgerError, match="nothing is answered"):
        for _ in range(10_000):
            asking.count("age >= 40 and age < 60 or age = 3", epsilon="0.001")
            answered += 1
    with pytest.raises(LedgerError):
        asking.count(epsilon="0.001")
    (small_disk / "filler").unlink()
    asking.count(epsilon="0.1")
    asking._desk.book.close()  # type: ignore[attr-defined]
    entries = Ledger.open(small_disk / "ledger").entries()
    spent = sum(entry.content["event"] == "spend" for entry in entries)
    assert answered + 1 <= spent <= answered + 3


def test_a_disk_that_became_read_only_refuses(small_disk: Path) -> None:
    asking = session(small_disk / "ledger")
    asking.count(epsilon="0.1")
    asking._desk.book.close()  # type: ignore[attr-defined]
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    try:
        with pytest.raises(LedgerError):
            session(small_disk / "ledger")
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    assert session(small_disk / "ledger").standing.spent == Loss.of("0.1")


def test_a_folder_without_permission_refuses(tmp_path: Path) -> None:
    if os.name != "posix" or os.geteuid() == 0:
        pytest.skip("needs a user who is not root")
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(LedgerError):
        session(folder / "ledger")
