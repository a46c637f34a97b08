"""What happens in a worker process: do what the folder of a run says, and leave there what came of it."""

from __future__ import annotations

import secrets
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from shoal.web._store import read_json, write_json
from shoal.workers import Progress

__all__ = ["COMPARISON", "EXPLORATION", "KEY", "PLAN", "RELEASE", "do", "warm"]

PLAN, COMPARISON = "plan.toml", "comparison.json"
RELEASE, EXPLORATION, KEY = "release", "explore.json", "pseudonym.key"
#: where the points of a table are kept, so that a comparison that was stopped, or got more points, goes on
_POINTS = "comparison"


def do(job: dict[str, Any], progress: Progress) -> None:
    """Carry out the run in the folder that ``job`` names."""
    folder = Path(job["folder"])
    about = read_json(folder / "about.json") or {}
    progress(0, 0, "reading the table")
    if about.get("kind") == "comparison":
        wanted = read_json(folder / COMPARISON) or {}
        write_json(folder / EXPLORATION, _compare(about, wanted, progress))
    else:
        _release(folder, about, progress)


def warm() -> None:
    """Load the engine and all methods, which takes longer than many a run."""
    import pyarrow as pa

    import shoal

    people = shoal.read(pa.table({"age": [1, 1]}))
    age = shoal.Attribute(name="age", role=shoal.Role.QUASI_IDENTIFIER, kind=shoal.Kind.NUMERIC)
    shoal.draft(people)
    shoal.anonymize(people.with_schema(shoal.Schema(attributes=(age,))), shoal.KAnonymity(2)).table.to_arrow()


def _release(folder: Path, about: dict[str, Any], progress: Progress) -> None:
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
    release = plan.run(table, progress=progress, pseudonym_key=key)
    progress(0, 0, "writing and verifying the release")
    release.write(folder / RELEASE, csv=True)
    progress(0, 0, "preparing the pictures")
    write_json(folder / EXPLORATION, explore(table, release, folder / RELEASE))


def _compare(about: dict[str, Any], wanted: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Compare on the table that ``about`` names what ``wanted`` says; return all points and a recommendation."""
    import shoal
    from shoal import schema

    # a copy of the table, and the processes that make the releases, are to go when this process is stopped
    before = signal.signal(signal.SIGTERM, _leave)
    home = Path(about["table_folder"])
    table = shoal.read(home / about["file"]).with_schema(schema.loads(wanted["schema"], home))
    choice = wanted["choice"]
    found = shoal.compare(
        table,
        **choice,
        learn=choice["utility"] == "distinguishable",
        folder=home / _POINTS,
        progress=lambda done, total, label: progress(done, total, _words(done, total, label)),
    )
    signal.signal(signal.SIGTERM, before)
    return found.to_json()


def _words(done: int, total: int, label: str) -> str:
    made = f"{done:,} of {total:,} releases have been made and measured"
    return f"{made}; the last was {label}" if label else made


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(1)
