"""Ctrl-C at a terminal: the first ends the search with the best so far, the second ends everything."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import shoal

pty = pytest.importorskip("pty", reason="needs a terminal")

SCHEMA = "shoal = 1\n" + "".join(
    f'[columns.c{j}]\nrole = "quasi-identifier"\nkind = "numeric"\nhierarchy = {{ intervals = [2, 4, 8, 16, 32] }}\n'
    for j in range(9)
)


@pytest.fixture
def heavy(tmp_path):
    """A table whose lattice takes far longer to search than any test."""
    return made(tmp_path, 5_000)


def made(folder, rows):
    lines = [",".join(f"c{j}" for j in range(9))]
    lines += [",".join(str((i * (7 + 2 * j) + i // (j + 1)) % 64) for j in range(9)) for i in range(rows)]
    (folder / "heavy.csv").write_text("\n".join(lines) + "\n")
    (folder / "heavy.schema.toml").write_text(SCHEMA)
    return folder


def pressed(folder, *arguments, times, until):
    """Run the program at a terminal, press Ctrl-C once ``until`` is shown, and return its exit code and output."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal", *arguments],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0),
    )
    os.close(theirs)
    shown, left = b"", times
    while True:
        try:
            shown += os.read(ours, 4096)
        except OSError:  # the terminal is closed with the program
            break
        wanted = until if left == times else b"Stopping the search"
        if left and wanted in shown:
            os.write(ours, b"\x03")
            left -= 1
    os.close(ours)
    return process.wait(60), shown.decode(errors="replace")


def test_the_first_press_writes_the_best_release_so_far_and_says_its_gap(heavy):
    code, shown = pressed(
        heavy,
        *("anonymize", "heavy.csv", "--k", "5", "--method", "generalize", "--time-limit", "0", "--output", "release"),
        times=1,
        until=b"nodes checked, best",
    )
    assert code == 0, shown
    assert "you stopped the search" in shown
    assert "The search stopped before it was done" in shown
    assert shoal.verify(heavy / "release").passed


def test_the_second_press_ends_at_once_and_nothing_is_written(tmp_path):
    folder = made(tmp_path, 100_000)
    for each in range(5):  # the release may be there before the second press is
        code, shown = pressed(
            folder,
            *("anonymize", "heavy.csv", "--k", "5", "--method", "generalize", "--time-limit", "0"),
            *("--output", f"release{each}"),
            times=2,
            until=b"nodes checked",
        )
        if code != 0:
            break
        assert shoal.verify(folder / f"release{each}").passed
    assert code == 130, shown
    assert "nothing was written" in shown
    assert not (folder / f"release{each}").exists()


def test_a_comparison_keeps_the_points_that_are_finished(heavy):
    table = shoal.read(heavy / "heavy.csv", schema=heavy / "heavy.schema.toml")
    found = shoal.compare(table, k=(2, 3), methods=("generalize",), learn=False, processes=1, time_limit=1e-6)
    assert [point.failure for point in found.points] == ["not finished when the comparison was stopped"] * 2
    assert found.recommended is None
