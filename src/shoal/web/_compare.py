"""Compare methods and strengths on a table of the app, as ``shoal.compare`` does."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.methods.recode import Progress

__all__ = ["compare"]

#: where the points of a table are kept, so that a comparison that was stopped, or got more points, goes on
POINTS = "comparison"


def compare(about: dict[str, Any], wanted: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Compare on the table that ``about`` names what ``wanted`` says; return all points and a recommendation."""
    import shoal
    from shoal import schema

    # the processes that make the releases end with this one
    before = signal.signal(signal.SIGTERM, _leave)
    home = Path(about["table_folder"])
    table = shoal.read(home / about["file"]).with_schema(schema.loads(wanted["schema"], home))
    choice = wanted["choice"]
    found = shoal.compare(
        table,
        **choice,
        learn=choice["utility"] == "distinguishable",
        folder=home / POINTS,
        progress=lambda done, total, label: progress(done, total, _words(done, total, label)),
    )
    signal.signal(signal.SIGTERM, before)
    return found.to_json()


def _words(done: int, total: int, label: str) -> str:
    made = f"{done:,} of {total:,} releases are made and measured"
    return f"{made}; the last was {label}" if label else made


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(1)
