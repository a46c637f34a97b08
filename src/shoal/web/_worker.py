"""What happens in a worker process: wait for the folder of a run, do what it says, write down what came out."""

from __future__ import annotations

import os
import secrets
import signal
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError
from shoal.web._store import now, read_json, write_json

__all__ = ["EXPLORATION", "KEY", "PLAN", "RELEASE", "STATUS", "main", "warm"]

STATUS, PLAN, COMPARISON = "status.json", "plan.toml", "comparison.json"
RELEASE, EXPLORATION, KEY = "release", "explore.json", "pseudonym.key"
#: seconds between two notes of progress
_PACE = 0.15


def main(line: Connection, scratch: str) -> None:
    """Do jobs until the app goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the app, which ends its workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    warm()
    while True:
        try:
            folder = Path(line.recv())
        except (EOFError, OSError):
            return
        _do(folder)
        line.send("done")


def warm() -> None:
    """Load the engine and all methods, which takes longer than many a run."""
    import pyarrow as pa

    import shoal

    people = shoal.read(pa.table({"age": [1, 1]}))
    age = shoal.Attribute(name="age", role=shoal.Role.QUASI_IDENTIFIER, kind=shoal.Kind.NUMERIC)
    shoal.draft(people)
    shoal.anonymize(people.with_schema(shoal.Schema(attributes=(age,))), shoal.KAnonymity(2)).table.to_arrow()


def _do(folder: Path) -> None:
    notes = _Notes(folder)
    try:
        notes.now("reading the table")
        about = read_json(folder / "about.json") or {}
        if about.get("kind") == "comparison":
            from shoal.web._compare import compare

            result = compare(about, read_json(folder / COMPARISON) or {}, notes)
            write_json(folder / EXPLORATION, result)
        else:
            _release(folder, about, notes)
        notes.end("done")
    except ShoalError as error:
        notes.end("failed", error)
    except Exception as error:
        notes.end("failed", error)


def _release(folder: Path, about: dict[str, Any], notes: _Notes) -> None:
    import shoal
    from shoal.web._explore import explore

    home = Path(about["table_folder"])
    plan = shoal.Plan.loads((folder / PLAN).read_text(encoding="utf-8"), folder=home)
    key = None
    if any(attribute.pseudonym for attribute in plan.schema):
        key = secrets.token_bytes(32)
        (folder / KEY).touch(mode=0o600)
        (folder / KEY).write_bytes(key)
    table = shoal.read(home / about["file"]).with_schema(plan.schema)
    release = plan.run(table, progress=notes, pseudonym_key=key)
    notes.now("writing and verifying the release")
    release.write(folder / RELEASE, csv=True)
    notes.now("preparing the pictures")
    write_json(folder / EXPLORATION, explore(table, release, folder / RELEASE))


class _Notes:
    """Writes down how far a run is, not too often."""

    def __init__(self, folder: Path) -> None:
        self._path, self._started, self._last = folder / STATUS, now(), 0.0

    def __call__(self, done: int, total: int, message: str, /) -> None:
        """Take progress from a method."""
        if time.monotonic() - self._last >= _PACE:
            self._write("running", int(done), int(total), message)

    def now(self, message: str) -> None:
        """Say what is done now."""
        self._write("running", 0, 0, message)

    def end(self, state: str, error: BaseException | None = None) -> None:
        """Say how it ended."""
        from shoal.web._errors import content

        problem = {} if error is None else {"error": content(error)}
        self._write(state, 0, 0, "", finished=now(), **problem)

    def _write(self, state: str, done: int, total: int, message: str, **more: object) -> None:
        self._last = time.monotonic()
        write_json(
            self._path,
            {"state": state, "done": done, "total": total, "message": message, "started": self._started, **more},
        )
