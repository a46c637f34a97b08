"""Whatever is sent is bounded: bodies, unpacked files, columns, rules."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .conftest import OCTETS, Browser
from .test_projects import damaged


def test_a_body_in_chunks_is_bounded_too(browser: Browser, table: str) -> None:
    sent = 0

    def chunks() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(64):
            sent += 1
            yield b" " * (1 << 20)

    answer = browser.post(f"/api/tables/{table}/plan", content=chunks(), headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert "larger than" in answer.json()["problems"][0]


def test_a_small_file_that_unpacks_to_very_much_is_refused(browser: Browser) -> None:
    content = gzip.compress(b"a\n" + b"1\n" * (160 << 20), 9)
    answer = browser.post("/api/tables?name=bomb.csv.gz", content=content, headers=OCTETS)
    assert answer.status_code == 422
    assert "unpacks" in answer.json()["problems"][0]
    assert not [each for each in browser.get("/api/tables").json() if each["name"] == "bomb.csv.gz"]


def test_an_ordinary_packed_file_is_taken(browser: Browser) -> None:
    lines = b"a,b\n" + b"".join(b"%d,%d\n" % (i % 7, i % 3) for i in range(5000))
    assert browser.draft(gzip.compress(lines), "small.csv.gz")


def test_a_parquet_file_of_absurdly_many_records_is_refused(browser: Browser, tmp_path: Path) -> None:
    block = pa.table({"a": pa.array([1], pa.int8()).take(pa.array([0] * 1_000_000))})
    with pq.ParquetWriter(tmp_path / "many.parquet", block.schema, use_dictionary=True) as writer:
        for _ in range(260):
            writer.write_table(block)
    content = (tmp_path / "many.parquet").read_bytes()
    answer = browser.post("/api/tables?name=many.parquet", content=content, headers=OCTETS)
    assert answer.status_code == 422
    assert "records" in answer.json()["problems"][0]


def test_a_table_of_very_many_columns_is_refused_with_a_way_on(browser: Browser) -> None:
    content = (",".join(f"c{i}" for i in range(5000)) + "\n" + ",".join(["1"] * 5000) + "\n").encode()
    answer = browser.post("/api/tables?name=wide.csv", content=content, headers=OCTETS)
    assert answer.status_code == 422
    assert "5,000 columns" in answer.json()["problems"][0]
    assert "command" in answer.json()["hint"]


@pytest.mark.parametrize(
    "rule",
    [
        {"intervals": list(range(1, 2000))},
        {"intervals": [1e-300, 1e300]},
        {"intervals": [10**400]},
        {"intervals": [5], "origin": 10**400},
        {"intervals": [10.0, 20.0], "origin": 1.7e308},
        {"cuts": [[0.001 * i for i in range(100_000)]]},
        {"cuts": [[1, 2]] * 5000},
        {"quantiles": [10**9, 10]},
        {"mask": [1, 2], "length": 10**12},
        {"mask": list(range(1, 5000)), "length": 5000},
        {"groups": [{f"g{i}": [f"v{i}"] for i in range(300)}] * 300},
        {"taxonomy": {f"n{i}": f"n{i + 1}" for i in range(20_000)}},
        {"taxonomy": {"a" * 100_000: "b"}},
    ],
)
def test_rules_of_absurd_size_are_refused_at_once(browser: Browser, table: str, rule: dict[str, Any]) -> None:
    kind = "numeric" if {"intervals", "cuts", "quantiles"} & set(rule) else "categorical"
    column = {"role": "quasi-identifier", "kind": kind, "hierarchy": rule}
    number = 1 if kind == "numeric" else 2
    answer = browser.post(f"/api/tables/{table}/columns/{number}/preview", json=column)
    assert answer.status_code in (200, 422), answer.text
    assert answer.elapsed.total_seconds() < 20
    assert "internal error" not in answer.text


@pytest.mark.parametrize("name", ["t.xlsx", "t.csv.gz"])
def test_damaged_files_are_refused_in_words(browser: Browser, name: str) -> None:
    content = io.BytesIO()
    book = openpyxl.Workbook()
    for row in (["a", "b"], *([i, f"x{i % 5}"] for i in range(30))):
        book.active.append(row)
    book.save(content)
    packed = content.getvalue() if name == "t.xlsx" else gzip.compress(b"a,b\n" + b"1,2\n" * 300)
    for broken in damaged(packed, 25):
        answer = browser.post(f"/api/tables?name={name}", content=broken, headers=OCTETS)
        assert answer.status_code in (201, 422), answer.text


def test_a_workbook_without_sheets_is_refused_in_words(browser: Browser) -> None:
    content = io.BytesIO()
    openpyxl.Workbook().save(content)
    emptied = io.BytesIO()
    with zipfile.ZipFile(content) as full, zipfile.ZipFile(emptied, "w") as archive:
        for each in full.namelist():
            text = full.read(each)
            archive.writestr(each, re.sub(rb"<sheets>.*</sheets>", b"<sheets/>", text))
    answer = browser.post("/api/tables?name=none.xlsx", content=emptied.getvalue(), headers=OCTETS)
    assert (answer.status_code, answer.json()["problems"]) == (422, ["none.xlsx has no sheets."])


@pytest.mark.parametrize(
    "numbers",
    [[-1.7e308, 1.7e308, 0, 1, 2, 3, 4, 5], [1e300 + i * 1e284 for i in range(9)], [5e-324 * i for i in range(9)]],
)
def test_numbers_that_no_bins_can_hold_get_no_histogram(browser: Browser, numbers: list[float]) -> None:
    table = browser.draft(("a,b\n" + "".join(f"{number!r},1\n" for number in numbers)).encode())
    columns = [{"role": "quasi-identifier", "kind": "numeric"}, {"role": "insensitive"}]
    assert browser.put(f"/api/tables/{table}/schema", json={"columns": columns}).status_code == 200
    answer = browser.get(f"/api/tables/{table}/columns/0/values")
    assert answer.status_code == 200, answer.text
    assert answer.json()["bins"] == []
