"""The records and the columns at a glance."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal import tables

from .conftest import CANARY, OCTETS, Browser


def get(browser: Browser, table: str, **query: Any) -> dict[str, Any]:
    answer = browser.get(f"/api/tables/{table}/records", params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_records_are_sorted_as_numbers_and_paged(browser: Browser, table: str) -> None:
    found = get(browser, table, sort=1, descending=True, start=10, limit=3)
    assert [row[1] for row in found["rows"]] == ["49", "48", "47"]
    assert found["total"] == 40


def test_records_are_filtered_by_what_a_column_contains(browser: Browser, table: str) -> None:
    found = get(browser, table, column=3, contains="GOUT")
    assert found["total"] == 10
    assert {row[3] for row in found["rows"]} == {"gout"}
    assert get(browser, table, column=2, contains="%")["total"] == 0
    assert get(browser, table, column=2, contains=CANARY[:9])["total"] == 13


@pytest.mark.parametrize("query", [{"sort": 9}, {"column": 9, "contains": "x"}])
def test_a_column_that_is_not_there_is_told(browser: Browser, table: str, query: dict[str, Any]) -> None:
    assert browser.get(f"/api/tables/{table}/records", params=query).status_code == 404


def test_a_column_of_numbers_is_seen_in_round_bins_and_another_by_its_commonest_values(
    browser: Browser, table: str
) -> None:
    bins = browser.get(f"/api/tables/{table}/columns/1/values").json()["bins"]
    assert sum(each["records"] for each in bins) == 40
    assert {each["to"] - each["from"] for each in bins} == {2.0}
    assert bins[0]["from"] == 20
    top = browser.get(f"/api/tables/{table}/columns/3/values").json()["top"]
    assert [each["records"] for each in top] == [10] * 4


def test_a_file_is_read_as_the_person_says(browser: Browser) -> None:
    content = "a;b\n1,5;NA\n2,5;x\n".encode("utf-16")
    query = {"name": "odd.csv", "delimiter": ";", "decimal": ",", "missing": ["NA", ""]}
    answer = browser.post("/api/tables", params=query, content=content, headers=OCTETS)
    assert answer.status_code == 201, answer.text
    assert [each["name"] for each in answer.json()["columns"]] == ["a", "b"]
    assert answer.json()["reading"] == {"delimiter": ";", "decimal": ","}
    assert "NA" in browser.get(f"/api/tables/{answer.json()['id']}/schema.toml").text


def test_a_sheet_of_an_excel_file_is_opened(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip("python_calamine", reason="needs the extra `files`")
    pytest.importorskip("openpyxl", reason="needs the extra `files`")
    tables.write(shoal.read(pa.table({"age": [1, 2], "town": ["Ulm", "Rome"]})), tmp_path / "people.xlsx")
    content = (tmp_path / "people.xlsx").read_bytes()
    answer = browser.post("/api/tables?name=people.xlsx", content=content, headers=OCTETS)
    assert answer.status_code == 201, answer.text
    assert get(browser, answer.json()["id"])["rows"] == [["1", "Ulm"], ["2", "Rome"]]
    wrong = browser.post("/api/tables?name=people.xlsx&sheet=none", content=content, headers=OCTETS)
    assert wrong.status_code == 422
    assert "no sheet" in wrong.json()["problems"][0]


def test_a_spreadsheet_that_unpacks_to_very_much_is_refused(browser: Browser) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"<row/>" * (50 << 20))
    answer = browser.post("/api/tables?name=bomb.xlsx", content=packed.getvalue(), headers=OCTETS)
    assert answer.status_code == 422
    assert "unpacks" in answer.json()["problems"][0]
