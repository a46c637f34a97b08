"""Tables of statistics packages and databases: read in a process of their own, from the browser."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal import tables

from .conftest import K2, OCTETS, Browser

PEOPLE = pa.table({"age": [20 + i for i in range(30)], "town": [["Bergen", "Oslo"][i % 2] for i in range(30)]})


@pytest.mark.slow
def test_an_spss_file_is_opened_and_comes_back_with_its_codes(browser: Browser, tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="needs the extra `files`")
    frame = PEOPLE.to_pandas()
    frame["town"] = frame["town"].map({"Bergen": 1.0, "Oslo": 2.0})
    pyreadstat.write_sav(
        frame, str(tmp_path / "people.sav"), variable_value_labels={"town": {1.0: "Bergen", 2.0: "Oslo"}}
    )
    content = (tmp_path / "people.sav").read_bytes()
    answer = browser.post("/api/tables?name=people.sav", content=content, headers=OCTETS)
    assert answer.status_code == 201, answer.text
    found = answer.json()
    assert (found["name"], found["records"]) == ("people.sav", 30)
    assert any("value labels" in note for note in found["notes"])
    columns = [{"role": "quasi-identifier", "kind": "numeric", "hierarchy": {"intervals": [10, 20, 40]}}]
    columns.append({"role": "insensitive"})
    assert browser.put(f"/api/tables/{found['id']}/schema", json={"columns": columns}).status_code == 200
    choice = K2 | {"method": {"name": "generalize"}}
    run = browser.post(f"/api/tables/{found['id']}/runs", json=choice).json()["id"]
    assert browser.wait(run)["state"] == "done"
    assert "SPSS, as it came in" in browser.get(f"/runs/{run}").text
    (tmp_path / "back.sav").write_bytes(browser.get(f"/api/runs/{run}/export/sav").content)
    back, described = pyreadstat.read_sav(str(tmp_path / "back.sav"))
    assert set(back["town"]) == {1.0, 2.0}
    assert described.variable_value_labels["town"] == {1.0: "Bergen", 2.0: "Oslo"}


def test_a_stored_table_of_a_duckdb_file_is_chosen_and_opened(browser: Browser, tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.register("people", PEOPLE)
        connection.execute("CREATE TABLE patients AS SELECT * FROM people")
        connection.execute("CREATE TABLE others AS SELECT 1 AS a")
        connection.execute("CREATE VIEW passwords AS SELECT * FROM read_text('/etc/passwd')")
    content = (tmp_path / "clinic.duckdb").read_bytes()
    assert browser.post("/api/databases/file/tables", content=content, headers=OCTETS).json() == ["others", "patients"]
    opened = browser.post("/api/databases/file?table=patients", content=content, headers=OCTETS)
    assert opened.status_code == 201, opened.text
    assert opened.json()["records"] == 30
    view = browser.post("/api/databases/file?table=passwords", content=content, headers=OCTETS)
    assert view.status_code == 422


def test_what_is_no_database_is_told_without_its_address(browser: Browser) -> None:
    for path in ("/api/databases/tables", "/api/databases"):
        refused = browser.post(path, json={"address": "/etc/passwd", "table": "x"})
        assert refused.status_code == 422
        assert "postgresql://" in refused.text
    gone = browser.post("/api/databases/tables", json={"address": "postgresql://eve:sesame@127.0.0.1:1/clinic"})
    assert gone.status_code == 422
    assert "sesame" not in gone.text
    assert browser.post("/api/databases/file/tables", content=b"nothing", headers=OCTETS).status_code == 422
    wrong = browser.post("/api/tables?name=people.sav", content=b"nothing", headers=OCTETS)
    assert wrong.status_code == 422
    assert "people.sav" in wrong.text


def test_tables_of_a_database_are_listed_by_the_library(tmp_path: Path) -> None:
    with pytest.raises(shoal.ShoalError):
        tables.tables_of_database(tmp_path / "people.csv")
