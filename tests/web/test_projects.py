"""Runs are named and set side by side; projects are saved and opened again."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Iterator

import pytest

from shoal.errors import DataError
from shoal.web._pages import figures, verdict
from shoal.web.api import projects

from .conftest import CANARY, K2, OCTETS, Browser


def test_runs_are_named_and_set_side_by_side(browser: Browser, table: str, run: str) -> None:
    other = browser.post(f"/api/tables/{table}/runs", json={**K2, "method": {"name": "mondrian"}}).json()["id"]
    assert browser.wait(other)["state"] == "done"
    named = browser.patch(f"/api/runs/{other}", json={"name": "second <b>"})
    assert named.json()["name"] == "second <b>"
    text = browser.get(f"/tables/{table}/runs?run={run}&run={other}").text
    assert "second &lt;b&gt;" in text
    assert text.count("<td>mondrian</td>") >= 2  # in the list and beside the other run, or more by other tests
    assert "Average risk of being found" in text
    assert "<svg" in text
    assert CANARY not in text


def test_the_page_of_a_table_without_runs_says_what_to_do(browser: Browser) -> None:
    assert "Nothing has been run yet" in browser.get(f"/tables/{browser.open()}/runs").text


def test_a_project_is_saved_without_data_and_opened_on_the_same_columns(browser: Browser, table: str, run: str) -> None:
    assert browser.get(f"/api/runs/{run}").json()["status"]["state"] == "done"
    saved = browser.get(f"/api/tables/{table}/project.zip").content
    with zipfile.ZipFile(io.BytesIO(saved)) as archive:
        names = archive.namelist()
        assert "schema.toml" in names
        assert "runs/1/plan.toml" in names
        assert CANARY.encode() not in b"".join(map(archive.read, names)), "no cell of the data"
    fresh = browser.draft()
    answer = browser.put(f"/api/tables/{fresh}/project", content=saved, headers=OCTETS)
    assert answer.status_code == 200, answer.text
    mine = browser.get(f"/api/tables/{table}/schema").json()
    assert answer.json()["columns"] == mine["columns"]
    restored = browser.get(f"/api/runs?table={fresh}").json()
    assert restored
    assert all(each["restored"] and each["status"]["state"] == "cancelled" for each in restored)
    assert any(each["choice"]["promises"] == K2["promises"] for each in restored)
    assert "from a project" in browser.get(f"/tables/{fresh}/runs").text
    assert "From a project" in browser.get(f"/runs/{restored[0]['id']}").text
    chosen = browser.get(f"/tables/{fresh}/promise").text
    assert '"model": "k-anonymity"' in chosen


def test_a_project_with_a_damaged_run_changes_nothing(browser: Browser, table: str) -> None:
    saved = io.BytesIO(browser.get(f"/api/tables/{table}/project.zip").content)
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("runs/999/plan.toml", b"\xff\xfe")
    fresh = browser.draft()
    before = browser.get(f"/api/tables/{fresh}/schema").json()
    answer = browser.put(f"/api/tables/{fresh}/project", content=saved.getvalue(), headers=OCTETS)
    assert (answer.status_code, answer.json()["problems"]) == (422, ["run 999 of the project cannot be read"])
    assert browser.get(f"/api/tables/{fresh}/schema").json() == before
    assert browser.get(f"/api/runs?table={fresh}").json() == []


def test_a_project_brings_its_hierarchies_along(browser: Browser) -> None:
    table = browser.post("/api/tables/example").json()["id"]
    saved = browser.get(f"/api/tables/{table}/project.zip").content
    other = browser.post("/api/tables/example").json()["id"]
    assert browser.put(f"/api/tables/{other}/project", content=saved, headers=OCTETS).status_code == 200


def zipped(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return packed.getvalue()


@pytest.mark.parametrize(
    "content", [b"", b"PK nothing", zipped(), zipped(schema_dot_toml=b"\xff"), zipped(____schema_dot_toml=b"shoal = 1")]
)
def test_what_is_no_project_is_told(browser: Browser, table: str, content: bytes) -> None:
    before = browser.get(f"/api/tables/{table}/schema").json()
    answer = browser.put(f"/api/tables/{table}/project", content=content, headers=OCTETS)
    assert answer.status_code == 422
    assert "internal error" not in answer.text
    assert browser.get(f"/api/tables/{table}/schema").json() == before


def test_the_verdict_comes_first_and_says_what_needs_attention(browser: Browser, table: str, run: str) -> None:
    all_alike = {"promises": [{"model": "k-anonymity", "parameters": {"k": 40}}]}
    erased = browser.post(f"/api/tables/{table}/runs", json=all_alike).json()["id"]
    assert browser.wait(erased)["state"] == "done"
    assert (
        "<code><bdi>age</bdi></code> is <code><bdi>*</bdi></code> in every record."
        in browser.get(f"/runs/{erased}").text
    )
    found = browser.get(f"/api/runs/{run}/exploration").json()
    found["tables"] = [{"records": records} for records in (0, 9, 31)]
    assert verdict(found)["lost"].startswith("Each of the 3 tables has 0 to 31 of 40 records")
    assert "in the table where people are easiest to find 0 do" in verdict(found)["alone"]
    assert dict(figures(found))["Records released"] == "each of 3 tables has 0 to 31"
    text = browser.get(f"/runs/{run}").text
    assert text.index("Who is protected") < text.index("Risk before and after")
    assert "40 stood alone in what others may know; in the release 0 do." in text


def damaged(packed: bytes, tries: int) -> Iterator[bytes]:
    chance = random.Random(1)
    for _ in range(tries):
        broken = bytearray(packed)
        for _ in range(chance.randint(1, 4)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        yield bytes(broken)


def test_damaged_projects_are_refused_in_words() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.toml", "shoal = 1\n" * 50)
        archive.writestr("hierarchies/age.csv", "1;2;*\n" * 100)
    problems = []
    for broken in damaged(packed.getvalue(), 3000):
        try:
            projects.unpacked(broken)
        except DataError as error:
            problems += error.problems
    assert len(problems) > 1000
    assert all("not a saved project" in each or "unpack" in each for each in problems)


@pytest.mark.parametrize("packing", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_projects_that_are_packed_in_other_ways_are_refused(packing: int) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", packing) as archive:
        archive.writestr("schema.toml", "shoal = 1\n")
    with pytest.raises(DataError, match="not a saved project"):
        projects.unpacked(packed.getvalue())


def arx(criterion: str = "3-anonymity") -> bytes:
    """Return an invented project of ARX for the columns ssn, age, town and illness."""
    roles = {"ssn": "IDENTIFYING", "age": "QUASI_IDENTIFYING", "town": "INSENSITIVE", "illness": "SENSITIVE"}
    entries = "".join(
        f"<assigment><name>{name}</name><type>{role}_ATTRIBUTE</type>"
        f"<datatype>{'Integer' if name == 'age' else 'String'}</datatype>"
        + ("<ref>hierarchies/age.csv</ref><min>All</min><max>All</max>" if name == "age" else "")
        + "</assigment>"
        for name, role in roles.items()
    )
    config = (
        "<config><suppressTuplesInNonAnonymousOutput>true</suppressTuplesInNonAnonymousOutput>"
        "<practicalMonotonicity>false</practicalMonotonicity><relativeMaxOutliers>0.25</relativeMaxOutliers>"
        f"<metric>Loss (0.5)</metric><criteria><criterion>{criterion}</criterion></criteria></config>"
    )
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("metadata.xml", "<metadata><version>3.9.1</version><vocabulary>2.0</vocabulary></metadata>")
        file.writestr("project.xml", "<project><name>A study</name><separator>,</separator></project>")
        file.writestr("input/config.xml", config)
        file.writestr("input/definition.xml", f"<definition>{entries}</definition>")
        ages = "".join(f"{age},{age // 10}0s,*\n" for age in range(20, 60))
        file.writestr("input/hierarchies/age.csv", ages)
    return archive.getvalue()


def test_an_arx_project_brings_roles_hierarchies_and_the_promise(browser: Browser) -> None:
    table = browser.draft()
    taken = browser.put(f"/api/tables/{table}/arx", content=arx(), headers=OCTETS)
    assert taken.status_code == 200, taken.text
    assert [each["role"] for each in taken.json()["columns"]] == [
        "identifier",
        "quasi-identifier",
        "insensitive",
        "sensitive",
    ]
    assert '"k": 3' in browser.get(f"/tables/{table}/promise").text
    unknown = browser.put(f"/api/tables/{table}/arx", content=arx("17-magic"), headers=OCTETS)
    assert unknown.status_code == 422
    assert browser.put(f"/api/tables/{table}/arx", content=b"nothing", headers=OCTETS).status_code == 422
