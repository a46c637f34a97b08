"""A worker process: plans come in as lines of JSON, what came of them goes out the same way.

``python -m shoal.comparison._worker``. A process of its own, and not one of :mod:`multiprocessing`, so that a user's
script or notebook is not run again in it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["answer", "main"]


def main() -> None:
    """Answer every line of standard input until it ends."""
    # whatever libraries print must not get between the answers
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


def answer(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out the plan that is asked for; return figures, or why there are none."""
    from shoal.comparison._evaluate import evaluate, from_json
    from shoal.errors import ShoalError
    from shoal.plan import Plan

    try:
        plan = Plan.loads(asked["plan"], folder=Path(asked["folder"]))
        measured = evaluate(plan, from_json(asked["settings"]))
    except ShoalError as error:
        hint = f" ({error.hint})" if error.hint else ""
        return {"failure": "; ".join(error.problems) + hint}
    except MemoryError:
        return {"failure": "there is not enough memory", "passing": True}
    except Exception as error:  # its message may hold data
        if os.environ.get("SHOAL_DEBUG"):
            raise
        return {"failure": f"internal error: {type(error).__name__}", "passing": True}
    return {entry.name: _plain(getattr(measured, entry.name)) for entry in dataclasses.fields(measured)}


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else value


if __name__ == "__main__":
    main()
