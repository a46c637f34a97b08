"""Honest releases verify in both verifiers, whatever method, records, place and version of a writer made them."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import shoal
from forgeries import forger
from forgeries.test_parts import _Parts
from golden.artefacts import release
from golden.cases import CASES, Case

ROOT = Path(__file__).parents[2]
#: so many releases are tried
NUMBER = int(os.environ.get("SHOAL_HONEST", "200"))
#: how other versions of writers may write the same records
WRITERS: tuple[dict[str, Any], ...] = (
    {"version": "1.0"},
    {"version": "2.4", "use_dictionary": False},
    {"data_page_version": "2.0", "compression": "snappy"},
    {"row_group_size": 50, "write_page_checksum": True},
    {"compression": "none", "write_statistics": False},
    {"data_page_size": 300, "dictionary_pagesize_limit": 100},
)


def _varied(case: Case, draw: random.Random) -> Case:
    """Return a case with some of its records, whose confidential values changed places, and other random numbers."""
    rows = case.table()
    rows = rows.take(sorted(draw.sample(range(len(rows)), draw.randint(len(rows) * 2 // 3, len(rows)))))
    for name in ("diagnosis", "charge", "class pain", "nights"):
        if name in rows.column_names and draw.random() < 0.5:
            order = draw.sample(range(len(rows)), len(rows))
            rows = rows.set_column(rows.column_names.index(name), name, rows[name].take(order))
    return replace(case, table=lambda: rows, seed=draw.randrange(1_000), csv=draw.random() < 0.4)


def _write(made: shoal.Release, folder: Path, case: Case, draw: random.Random) -> str:
    """Write a release in one of several ways, and return its name."""
    way = draw.choice(("as usual", "in parts", "another writer"))
    with pytest.MonkeyPatch.context() as patch:
        if way == "in parts":
            patch.setattr(shoal.tables, "site_of", lambda _: _Parts())
        made.write(folder, csv=case.csv, verifier=draw.random() < 0.2)
    if way == "another writer":
        options = {"compression": "zstd", **draw.choice(WRITERS)}
        for data in (forger.read(folder)["data"], *forger.read(folder)["further_data"]):
            rows = pq.read_table(folder / data["file"])
            pq.write_table(rows.replace_schema_metadata(None), folder / data["file"], store_schema=False, **options)
        forger.edit(folder, lambda content: None)
    return way


def _second_verdicts(folders: list[Path]) -> dict[str, dict[str, Any]]:
    """Return what the code of the page says of folders, by their names; nothing where its tools are not there."""
    if shutil.which("node") is None or not (ROOT / "verifier" / "node_modules").is_dir():
        return {}
    told = subprocess.run(
        ["node", "cli.js", *map(str, folders)], cwd=ROOT / "verifier", capture_output=True, text=True, check=True
    )
    return {Path(found["folder"]).name: found for found in map(json.loads, told.stdout.splitlines())}


@pytest.mark.deep
def test_random_honest_releases_verify_in_both(tmp_path: Path, record_property: Any) -> None:
    tried: Counter[str] = Counter()
    failed: list[object] = []
    names = list(CASES)
    for start in range(0, NUMBER, 50):
        codes, batch = {}, []
        for number in range(start, min(start + 50, NUMBER)):
            draw = random.Random(number)
            name = names[number % len(names)] if number < len(names) else draw.choice(names)
            case = _varied(CASES[name], draw)
            place = tmp_path / str(number)
            place.mkdir()
            try:
                made, _ = release(case, place)
            except shoal.ShoalError:  # that these records cannot keep the promise is an answer, too
                tried["refused"] += 1
                continue
            folder = place / f"release-{number}"
            way = _write(made, folder, case, draw)
            found = shoal.verify(folder)
            tried[way] += 1
            codes[folder.name] = (name, found.outcome.exit_code)
            failed += [] if found.passed else [(number, name, way, [str(x) for x in found.checks if not x.passed])]
            batch.append(folder)
        for label, verdict in _second_verdicts(batch).items():
            tried["in the page"] += 1
            bad = [each for each in verdict["findings"] if each["status"] == "fails"]
            failed += [(label, codes[label], bad)] if verdict["outcome"] not in ("holds", "partly") else []
        for folder in batch:
            shutil.rmtree(folder)
    record_property("honest releases", json.dumps(tried))
    assert sum(tried[way] for way in ("as usual", "in parts", "another writer")) > NUMBER * 3 // 4
    assert not failed
