"""How long the steps of the app take, as a browser sees them, best of three; and the processor time of the server.

A step feels instant under one second; those that take longer are named at the end. The work of a run is done by another
process, whose processor time is not shown. Mind the load: other programs on the machine make every step slower.
Run it as `python benchmarks/web.py [records ...]`; 30,000 records by default.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from shoal.web import Access, create_app

ORIGIN = "http://127.0.0.1"
OCTETS = {"content-type": "application/octet-stream"}


def people(records: int) -> bytes:
    """Return a table like a census: nine columns, five of them quasi-identifiers."""
    chance = random.Random(1)  # noqa: S311 - benchmark data
    lines = ["id,age,sex,region,education,occupation,income,illness,weight"]
    for number in range(records):
        place = int(chance.triangular(0, 99, 20))
        lines.append(
            f"{number},{int(chance.triangular(0, 99, 40))},{chance.choice('FM')},{place:02d},"
            f"level{chance.randrange(16)},job{int(chance.triangular(0, 14, 3))},{chance.randrange(10, 200) * 100},"
            f"ill{int(chance.triangular(0, 50, 0))},{chance.random():.3f}"
        )
    return ("\n".join(lines) + "\n").encode()


COLUMNS: list[dict[str, Any]] = [
    {"role": "identifier"},
    {"role": "quasi-identifier", "kind": "numeric", "hierarchy": {"intervals": [5, 10, 20, 40]}},
    {"role": "quasi-identifier"},
    {"role": "quasi-identifier", "hierarchy": {"mask": [1], "length": 2}},
    {"role": "quasi-identifier"},
    {"role": "quasi-identifier"},
    {"role": "insensitive"},
    {"role": "sensitive"},
    {"role": "insensitive"},
]
CHOICE = {"promises": [{"model": "k-anonymity", "parameters": {"k": 5}}]}


def measure(records: int, folder: Path) -> None:
    access = Access()
    app = create_app(folder, access=access, upload_limit=2**32)
    with TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}) as browser:
        browser.get(f"/?token={access.token}")
        content, found = people(records), {}

        def upload() -> None:
            answer = browser.post("/api/tables?name=people.csv", content=content, headers=OCTETS)
            found["table"] = answer.json()["id"]

        def confirm() -> None:
            answer = browser.put(f"/api/tables/{found['table']}/schema", json={"columns": COLUMNS})
            answer.raise_for_status()

        def risk() -> None:
            (folder / "tables" / found["table"] / "risk.json").unlink(missing_ok=True)
            browser.get(f"/tables/{found['table']}/risk").raise_for_status()

        def run() -> None:
            found["run"] = browser.post(f"/api/tables/{found['table']}/runs", json=CHOICE).json()["id"]
            while browser.get(f"/api/runs/{found['run']}").json()["status"]["state"] in ("waiting", "running"):
                time.sleep(0.01)
            browser.get(f"/api/runs/{found['run']}/exploration").raise_for_status()

        steps: dict[str, Callable[[], object]] = {
            "open a table: upload, profile, draft": upload,
            "page of the columns": lambda: browser.get(f"/tables/{found['table']}"),
            "preview the levels of a column": lambda: browser.post(
                f"/api/tables/{found['table']}/columns/1/preview", json=COLUMNS[1]
            ),
            "confirm the columns": confirm,
            "risk today": risk,
            "page of the promise": lambda: browser.get(f"/tables/{found['table']}/promise"),
            "check a choice": lambda: browser.post(f"/api/tables/{found['table']}/plan", json=CHOICE),
            "run until the release is verified": run,
            "page of the release": lambda: browser.get(f"/runs/{found['run']}"),
            "verify the release": lambda: browser.get(f"/api/runs/{found['run']}/verification"),
        }
        time.sleep(8)  # the engine and the first worker load ahead of time
        print(f"{records:,} records, {len(content) / 1e6:.1f} MB")
        repeats = 3 if records <= 100_000 else 1
        slow = []
        for name, step in steps.items():
            wall, processor = min(_timed(step) for _ in range(repeats))
            slow += [name] if wall >= 1 else []
            print(f"  {name:<40}{wall:7.2f} s {processor:7.2f} s", flush=True)
        print(
            f"  one second or more: {', '.join(slow) or 'nothing'}; load {os.getloadavg()[0]:.1f} of {os.cpu_count()}"
        )


def _timed(step: Callable[[], object]) -> tuple[float, float]:
    start, busy = time.perf_counter(), time.process_time()
    step()
    return time.perf_counter() - start, time.process_time() - busy


if __name__ == "__main__":
    for count in [int(text) for text in sys.argv[1:]] or [30_000]:
        with tempfile.TemporaryDirectory() as scratch:
            measure(count, Path(scratch))
