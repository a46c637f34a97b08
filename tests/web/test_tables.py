"""Tables and their columns."""

from __future__ import annotations

import shlex
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .conftest import CANARY, COLUMNS, K2, OCTETS, Browser, people


def test_an_uploaded_table_is_profiled_and_a_schema_drafted(browser: Browser) -> None:
    answer = browser.post("/api/tables?name=people.csv", content=people(), headers=OCTETS)
    assert answer.status_code == 201
    about = answer.json()
    assert about["records"] == 40
    assert [column["name"] for column in about["columns"]] == ["ssn", "age", "town", "illness"]
    schema = browser.get(f"/api/tables/{about['id']}/schema").json()
    assert schema["guessed"]
    assert schema["columns"][0]["role"] == "identifier"
    assert "guesses" in browser.get(f"/tables/{about['id']}").text


def test_a_parquet_file_is_read(browser: Browser, tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": list(range(30)), "town": ["a", "b", "c"] * 10}), tmp_path / "t.parquet")
    answer = browser.post("/api/tables?name=t.parquet", content=(tmp_path / "t.parquet").read_bytes(), headers=OCTETS)
    assert answer.json()["records"] == 30


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("report.pdf", b"%PDF-1.7", "not supported"),
        ("data.parquet", b"this is no parquet file", "not a Parquet file"),
        ("data.csv", b"", "data.csv"),
        ("data.csv", b"a,b\n1\n2,3,4\n", "data.csv"),
        ("data.csv.gz", b"not gzip", "data.csv.gz"),
    ],
)
def test_a_wrong_file_is_explained_by_its_own_name(browser: Browser, name: str, content: bytes, words: str) -> None:
    before = len(browser.get("/api/tables").json())
    answer = browser.post(f"/api/tables?name={name}", content=content, headers=OCTETS)
    assert answer.status_code == 422
    assert words in " ".join(answer.json()["problems"])
    assert "source." not in answer.text
    assert len(browser.get("/api/tables").json()) == before


@pytest.mark.parametrize("name", ["../../etc/x.csv", "..%2F..%2Fx.csv", "a%00b.csv", "C:\\x.csv", "<b>.csv"])
def test_a_clients_name_is_shown_but_never_a_path(browser: Browser, name: str, tmp_path: Path) -> None:
    answer = browser.post(f"/api/tables?name={name}", content=people(), headers=OCTETS)
    assert answer.status_code == 201
    about = answer.json()
    assert about["file"] == "source.csv"
    assert "/" not in about["name"]
    assert "<b>" not in browser.get("/").text


def test_what_was_done_to_read_a_file_is_said(browser: Browser) -> None:
    odd = browser.draft("Straße;;Straße\n1;ü;x\n2;ö;y\n".encode("cp1252"), "odd.csv")
    page = browser.get(f"/tables/{odd}").text
    assert "odd.csv: 2 columns have no name or a duplicate one and were renamed" in page
    assert "Read with encoding Windows-1252" in page
    assert "Read with" not in browser.get(f"/tables/{browser.draft()}").text, "as nearly all files are"


@pytest.mark.parametrize("name", ["R&D [2024] 'a'=#1.csv", "-x.csv", f"{'x' * 240}.csv"])
def test_commands_name_the_file_as_it_is_called(browser: Browser, name: str) -> None:
    table = browser.open(name=quote(name))
    plan = browser.post(f"/api/tables/{table}/plan", json=K2).json()
    assert repr(name) in plan["python"]
    assert shlex.split(plan["shell"])[2].removeprefix("./") == name


def test_every_cell_is_escaped_on_every_page(browser: Browser, table: str, run: str) -> None:
    for path in (f"/tables/{table}", f"/tables/{table}/risk", f"/tables/{table}/promise", f"/runs/{run}"):
        assert CANARY not in browser.get(path).text
    assert "&lt;script&gt;canary" in browser.get(f"/runs/{run}").text, "the records show the cell, escaped"


def test_hostile_column_names_are_escaped_too(browser: Browser) -> None:
    content = f"{CANARY},age\n" + "".join(f"{i % 3},{i}\n" for i in range(30))
    table = browser.post("/api/tables?name=x.csv", content=content.encode(), headers=OCTETS).json()["id"]
    columns = [{"role": "sensitive"}, {"role": "quasi-identifier", "kind": "numeric"}]
    assert browser.put(f"/api/tables/{table}/schema", json={"columns": columns}).status_code == 200
    for page in ("", "/risk", "/promise", "/compare"):
        assert CANARY not in browser.get(f"/tables/{table}{page}").text
    choice = {"promises": [{"model": "t-closeness", "parameters": {"attribute": CANARY, "t": 0.9}}]}
    run = browser.post(f"/api/tables/{table}/runs", json=choice).json()["id"]
    browser.wait(run)
    assert CANARY not in browser.get(f"/runs/{run}").text


def test_the_risk_page_says_whose_risk_it_is(browser: Browser) -> None:
    content = "patient,home,age,town\n" + "".join(f"p{i // 3},h{i // 6},{20 + i % 5},Oslo\n" for i in range(60))
    table = browser.draft(content.encode(), "visits.csv")
    columns = [{"role": "person"}, {"role": "household"}, {"role": "quasi-identifier", "kind": "numeric"}]
    answer = browser.put(f"/api/tables/{table}/schema", json={"columns": [*columns, {"role": "quasi-identifier"}]})
    assert answer.status_code == 200, answer.text
    page = browser.get(f"/tables/{table}/risk").text
    assert "Whose risk is it?" in page
    assert "20 persons have a set of records that nobody else has" in page
    found = browser.get(f"/api/tables/{table}/risk").json()["people"]
    assert (found["persons"]["number"], found["households"]["number"], found["records"]["number"]) == (20, 10, 60)


def test_records_are_returned_as_text(browser: Browser, table: str) -> None:
    found = browser.get(f"/api/tables/{table}/records?limit=2&start=1").json()
    assert found["rows"] == [["1001", "21", "Oslo", "cold"], ["1002", "22", CANARY, "gout"]]


def test_deleting_a_table_removes_its_runs_and_files(browser: Browser) -> None:
    table = browser.open()
    run = browser.post(f"/api/tables/{table}/runs", json=K2).json()["id"]
    store = browser.app.state.context.store  # type: ignore[attr-defined]
    folders = [store.tables.path(table), store.runs.path(run)]
    assert browser.delete(f"/api/tables/{table}").status_code == 204
    assert not any(folder.exists() for folder in folders)
    assert browser.get(f"/tables/{table}").status_code == 404


def test_the_example_opens_with_declared_roles(browser: Browser) -> None:
    table = browser.post("/api/tables/example").json()["id"]
    schema = browser.get(f"/api/tables/{table}/schema").json()
    assert not schema["guessed"]
    assert schema["columns"][4]["hierarchy"] == {"file": "hierarchies/zip.csv"}
    preview = browser.post(f"/api/tables/{table}/columns/4/preview", json=schema["columns"][4]).json()
    assert preview["levels"][0] > preview["levels"][1] > preview["levels"][-1] == 1


def test_all_problems_of_a_schema_are_told_at_once(browser: Browser, table: str) -> None:
    wrong = [{"role": "boss"}, {"role": "sensitive", "kind": "date"}, {"role": "sensitive", "weight": -1}, COLUMNS[3]]
    answer = browser.put(f"/api/tables/{table}/schema", json={"columns": wrong})
    assert answer.status_code == 422
    assert len(answer.json()["problems"]) == 2
    text = browser.put(f"/api/tables/{table}/schema", json={"columns": [*COLUMNS[:2], {**wrong[1]}, COLUMNS[3]]}).text
    assert "town" in text
    assert "Oslo" not in text


def test_levels_are_previewed_before_they_are_saved(browser: Browser, table: str) -> None:
    column = {"role": "quasi-identifier", "hierarchy": {"groups": [{"Norway": ["Oslo", "Bergen"], "none": [CANARY]}]}}
    found = browser.post(f"/api/tables/{table}/columns/2/preview", json=column).json()
    assert found["levels"] == [3, 2, 1]
    assert ["Oslo", "Norway", "*"] in found["rows"]
    narrow = {"role": "quasi-identifier", "hierarchy": {"groups": [{"Norway": ["Oslo", "Bergen"]}]}}
    found = browser.post(f"/api/tables/{table}/columns/2/preview", json=narrow).json()
    assert "1 value" in found["outside"]


def test_a_hierarchy_is_uploaded_and_used(browser: Browser) -> None:
    table = browser.open()
    rows = f"Oslo;North;*\nBergen;North;*\n{CANARY};South;*\n".encode()
    rule = browser.put(f"/api/tables/{table}/columns/2/hierarchy", content=rows, headers=OCTETS).json()
    columns = [*COLUMNS[:2], {"role": "quasi-identifier", "hierarchy": rule}, COLUMNS[3]]
    assert browser.put(f"/api/tables/{table}/schema", json={"columns": columns}).status_code == 200
    run = browser.post(f"/api/tables/{table}/runs", json=K2).json()["id"]
    assert browser.wait(run)["state"] == "done"
    broken = browser.put(f"/api/tables/{table}/columns/2/hierarchy", content=b"Oslo;a;*\nOslo;b;*\n", headers=OCTETS)
    assert broken.status_code == 422
    assert "Oslo" not in broken.text


@pytest.mark.parametrize("path", ["/etc/passwd", "../../x.csv", "hierarchies/../schema.toml", "hierarchies/9.csv"])
@pytest.mark.parametrize("rule", ["file", "taxonomy"])
def test_no_path_of_a_client_is_opened(browser: Browser, table: str, path: str, rule: str) -> None:
    column = {"role": "quasi-identifier", "hierarchy": {rule: path}}
    answer = browser.post(f"/api/tables/{table}/columns/2/preview", json=column)
    assert answer.status_code == 422
    assert "uploaded first" in answer.json()["problems"][0]


def test_risk_follows_the_schema(browser: Browser) -> None:
    table = browser.open()
    assert browser.get(f"/api/tables/{table}/risk").json()["reidentification"]["unique"] == 40
    columns = [COLUMNS[0], {"role": "insensitive"}, *COLUMNS[2:]]
    browser.put(f"/api/tables/{table}/schema", json={"columns": columns})
    assert browser.get(f"/api/tables/{table}/risk").json()["reidentification"]["unique"] == 0


def test_how_days_are_written_is_said_at_the_import(browser: Browser) -> None:
    body = "day,town\n" + "".join(f"0{1 + i % 9}/0{1 + i % 7}/202{i % 5},Oslo\n" for i in range(40))
    path = "/api/tables?name=days.csv&dates=mm/dd/yyyy"
    table = browser.post(path, content=body.encode(), headers=OCTETS).json()["id"]
    day = browser.get(f"/api/tables/{table}/schema").json()["columns"][0]
    assert (day["kind"], day["date_format"]) == ("date", "mm/dd/yyyy")
    refused = browser.post("/api/tables?name=days.csv&dates=weekly", content=body.encode(), headers=OCTETS)
    assert refused.status_code == 422
    assert "dd.mm.yyyy" in refused.json()["problems"][0]


def test_a_sheet_without_records_names_the_others(browser: Browser, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra `files`")
    book = openpyxl.Workbook()
    book.active.title = "About"
    data = book.create_sheet("Data 2024")
    for row in (["age", "town"], [31, "Oslo"], [32, "Bergen"]):
        data.append(row)
    book.save(tmp_path / "book.xlsx")
    body = (tmp_path / "book.xlsx").read_bytes()
    refused = browser.post("/api/tables?name=book.xlsx&sheet=About", content=body, headers=OCTETS)
    assert refused.status_code == 422
    assert "Data 2024" in refused.json()["hint"]
    made = browser.post("/api/tables?name=book.xlsx", content=body, headers=OCTETS)
    assert made.json()["records"] == 2


def test_what_stands_for_nothing_is_not_shown_as_a_common_value(browser: Browser) -> None:
    body = "town\n" + "n/a\n" * 30 + "Oslo\n" * 5 + "Bergen\n" * 3
    table = browser.draft(body.encode(), "towns.csv")
    top = browser.get(f"/api/tables/{table}/columns/0/values").json()["top"]
    assert [each["value"] for each in top] == ["Oslo", "Bergen"]


def test_the_risk_of_a_large_table_is_measured_while_its_page_is_there(browser: Browser) -> None:
    table = browser.open(people(40_000), "many.csv")
    assert "Counting who looks alike" in browser.get(f"/tables/{table}/risk").text
    assert browser.get(f"/api/tables/{table}/risk").status_code == 200
    assert "stand out?" in browser.get(f"/tables/{table}/risk").text


def test_sets_of_values_that_were_not_looked_for_are_not_said_to_be_none(browser: Browser) -> None:
    names = ",".join(f"town{j}" for j in range(9))
    rows = [",".join(f"{i * (j + 3) % 5}" for j in range(9)) for i in range(9)]
    table = browser.draft("\n".join([names, *rows]).encode())
    columns = [{"role": "quasi-identifier"}] * 9
    assert browser.put(f"/api/tables/{table}/schema", json={"columns": columns}).status_code == 200
    assert len(browser.get(f"/api/tables/{table}/risk").json()["special"]["by_size"]) == 3
    assert "have a set of at most 3 values that no other record has" in browser.get(f"/tables/{table}/risk").text


def test_special_uniques_are_shown_and_the_risk_of_every_record_is_a_file_without_values(browser: Browser) -> None:
    table = browser.open()
    found = browser.get(f"/api/tables/{table}/risk").json()["special"]
    assert found["scored"] == 40
    page = browser.get(f"/tables/{table}/risk").text
    assert "What makes people stand out" in page
    assert "have a set of values that no other record has" in page
    answer = browser.get(f"/api/tables/{table}/risk/records.csv")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"].startswith("attachment")
    lines = answer.text.splitlines()
    assert len(lines) == 41
    assert "prosecutor_risk" in lines[0]
    assert CANARY not in answer.text


def test_a_draft_uses_relations_and_rounds_as_the_program_does(browser: Browser) -> None:
    rows = [f"{50 + n % 37},{n * 7 % 53},{50 + n % 37 + n * 7 % 53},{1000 + 13 * n}" for n in range(400)]
    table = browser.draft("\n".join(["age,debt,income,salary", *rows]).encode(), "people.csv")
    reasons = {each["name"]: each["reason"] for each in browser.get(f"/api/tables/{table}").json()["columns"]}
    assert "`income` = `age` + `debt`" in reasons["income"]
    assert "rounded to multiples of" in reasons["salary"]
