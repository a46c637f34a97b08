"""Honest releases verify in both verifiers, whatever method, records, place and version of a writer made them."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from forgeries import forger, second
from forgeries import test_datasets as datasets
from forgeries import test_series as series
from forgeries.test_parts import _Parts
from golden.artefacts import release
from golden.cases import CASES, Case

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


def _write_dataset(draw: random.Random, place: Path) -> list[Path]:
    """Write a release of people with rows in two other tables, if its promise can be kept."""
    people = [{"id": str(number), "age": draw.choice([20, 40, 60])} for number in range(draw.randint(60, 150))]
    stays: list[dict[str, object]] = []
    drugs: list[dict[str, str]] = []
    for person in people:
        for _ in range(draw.randint(0, 3)):
            ward, illness = draw.choice("ab"), draw.choice(["flu", "cold", None])
            drugs += [{"stay": str(len(stays)), "drug": draw.choice("xy")} for _ in range(draw.randint(0, 2))]
            stays.append({"stay": str(len(stays)), "id": person["id"], "ward": ward, "illness": illness})
    rows = {"people": people, "stays": stays, "drugs": drugs}
    known = draw.randint(0, 2)
    more = draw.choice(["", 'size = "stays"\n', "at_most = 2\n", 'at_most = 2\nsize = "number of stays"\n'])
    schema = datasets.SCHEMA.replace("[tables.stays.columns.ward]", f"{more}[tables.stays.columns.ward]")
    secret = {"secrets": {"stays.illness": ["flu"]}, "confidence": 0.9} if draw.random() < 0.5 else {}
    made = shoal.anonymize_dataset(
        {name: pa.Table.from_pylist(content) for name, content in rows.items()},
        k=draw.randint(2, 4),
        known_items=known,
        schema=shoal.datasets.loads(schema),
        method=shoal.RecodeItems(suppression_limit=0.6, suppress=draw.choice(["items", "persons"])),
        **secret,
    )
    return [made.write(place / "release", csv=draw.random() < 0.5)]


def _write_case(name: str, draw: random.Random, place: Path) -> tuple[str, list[Path]]:
    """Write a release of a case, or those of a data set or a series, and say in which way."""
    if name == "data set":
        return name, _write_dataset(draw, place)
    if name == "series":
        return name, series.make_releases(place, newcomers=draw.randint(0, 12))
    case = _varied(CASES[name], draw)
    made, _ = release(case, place)
    return _write(made, place / "release", case, draw), [place / "release"]


@pytest.mark.deep
def test_random_honest_releases_verify_in_both(tmp_path: Path, record_property: Any) -> None:
    tried: Counter[str] = Counter()
    failed: list[object] = []
    names = [*CASES, "data set", "series"]
    number = releases = 0
    while releases < NUMBER:
        verdicts: dict[Path, str] = {}
        for _ in range(50):
            draw = random.Random(number)
            name = names[number % len(names)] if number < len(names) else draw.choice([*names, "data set", "data set"])
            place = tmp_path / str(number)
            place.mkdir()
            number += 1
            try:
                way, folders = _write_case(name, draw, place)
            except shoal.ShoalError:  # that these records cannot keep the promise is an answer, too
                tried["refused"] += 1
                continue
            for folder in folders:
                found = shoal.verify(folder)
                tried[way] += 1
                verdicts[folder] = f"{number - 1}, {name}, {way}"
                wrong = [str(check) for check in found.checks if not check.passed]
                failed += [(verdicts[folder], wrong)] if wrong else []
        for folder, verdict in second.verdicts([*verdicts]).items() if second.CAN_RUN else ():
            tried["in the page"] += 1
            bad = [each for each in verdict["findings"] if each["status"] == "fails"]
            failed += [(verdicts[folder], bad)] if verdict["outcome"] not in ("holds", "partly") else []
        for folder in verdicts:
            shutil.rmtree(folder)
        releases += len(verdicts)
        assert tried["refused"] < number / 4
    record_property("honest releases", json.dumps(tried))
    assert not failed
