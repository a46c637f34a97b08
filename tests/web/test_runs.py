"""Runs, releases, verification and comparison."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal import methods, schema
from shoal.methods.shorthand import in_short
from shoal.web._store import write_json

from .conftest import K2, OCTETS, Browser, people


def test_a_release_can_be_explored(browser: Browser, run: str) -> None:
    found = browser.get(f"/api/runs/{run}/exploration").json()
    assert found["after"]["smallest"] >= 2
    assert found["before"]["unique"] == 40
    assert found["search"]["solutions"][0]["levels"] == found["search"]["levels"]
    points = found["search"]["frontier"]
    chosen = next(point for point in points if point["levels"] == found["search"]["levels"])
    assert chosen["risk"] == pytest.approx(found["after"]["marketer"])
    assert not chosen["beaten"], "nothing is more useful"
    assert points[0] == chosen, "the best comes first"
    assert [point["value"] for point in points] == sorted(point["value"] for point in points)
    ages = next(each for each in found["tables"][0]["columns"] if each["name"] == "age")
    for side in ("original", "released"):
        assert sum(bar[side] for bar in ages["bars"]) == pytest.approx(1)
    assert "ssn" not in found["records"]["columns"]
    page = browser.get(f"/runs/{run}").text
    assert "Risk before and after" in page
    assert "shoal anonymize people.csv" in page


def test_a_release_says_the_risk_of_persons_and_households(browser: Browser) -> None:
    content = "patient,home,age,town\n" + "".join(f"p{i // 3},h{i // 6},{20 + i % 5},Oslo\n" for i in range(60))
    table = browser.draft(content.encode(), "visits.csv")
    roles = [{"role": "person"}, {"role": "household"}, {"role": "quasi-identifier", "kind": "numeric"}]
    assert browser.put(
        f"/api/tables/{table}/schema", json={"columns": [*roles, {"role": "quasi-identifier"}]}
    ).is_success
    run = browser.post(f"/api/tables/{table}/runs", json=K2).json()["id"]
    assert browser.wait(run)["state"] == "done"
    before, after = browser.get(f"/api/runs/{run}/exploration").json()["people"]
    assert (before["persons"]["number"], before["households"]["number"]) == (20, 10)
    assert after["persons"]["highest"] <= before["persons"]["highest"]
    page = browser.get(f"/runs/{run}").text
    assert "Risk of a person" in page
    assert "Risk of a household" in page
    assert "Unique if linked" in page
    assert "persons stood alone" in page


def test_records_before_and_after_are_those_of_the_release(browser: Browser, run: str, tmp_path: Path) -> None:
    content = browser.get(f"/api/runs/{run}/files/data.parquet").content
    (tmp_path / "data.parquet").write_bytes(content)
    released = shoal.read(tmp_path / "data.parquet").to_arrow()
    known = {tuple(map(str, row.values())) for row in released.to_pylist()}
    found = browser.get(f"/api/runs/{run}/exploration").json()["records"]
    after = [tuple(row["after"]) for row in found["rows"] if row["after"] is not None]
    assert after
    assert set(after) <= known


def test_the_whole_release_is_downloaded_and_verifies(browser: Browser, run: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(browser.get(f"/api/runs/{run}/release.zip").content)) as archive:
        archive.extractall(tmp_path)
    assert shoal.verify(tmp_path / "release").passed
    assert browser.get(f"/api/runs/{run}/verification").json()["passed"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_records_without_labels_are_downloaded_with_what_they_are(browser: Browser, run: str, ending: str) -> None:
    assert f'href="/runs/{run}/records.{ending}"' in browser.get(f"/runs/{run}").text
    with zipfile.ZipFile(io.BytesIO(browser.get(f"/runs/{run}/records.{ending}").content)) as archive:
        assert sorted(archive.namelist()) == [f"records.{ending}", f"records.{ending}.about.txt"]
        assert archive.read(f"records.{ending}.about.txt").startswith(b"Concrete records")
    assert browser.get(f"/runs/{run}/records.exe").status_code == 422


@pytest.mark.parametrize("name", ["../about.json", "..%2Fabout.json", "/etc/passwd", "nothing.txt", "%2e%2e/plan.toml"])
def test_only_files_of_the_release_are_downloaded(browser: Browser, run: str, name: str) -> None:
    assert browser.get(f"/api/runs/{run}/files/{name}").status_code == 404


def test_the_shown_python_does_the_same(
    browser: Browser, table: str, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "people.csv").write_bytes(people())
    (tmp_path / "people.schema.toml").write_text(browser.get(f"/api/tables/{table}/schema.toml").text)
    monkeypatch.chdir(tmp_path)
    script = browser.get(f"/api/runs/{run}").json()["python"]
    exec(compile(script, "script", "exec"), {})  # noqa: S102 - this is what the user would do
    ours = browser.get(f"/api/runs/{run}/files/data.parquet").content
    assert (tmp_path / "release" / "data.parquet").read_bytes() == ours


@pytest.mark.slow
def test_the_shown_shell_commands_do_the_same(browser: Browser, table: str, tmp_path: Path) -> None:
    """Also with importance of columns that the schema of the table does not have."""
    closeness = {"model": "t-closeness", "parameters": {"attribute": "illness", "t": 0.75}}
    odd = {"model": "entropy-l-diversity", "parameters": {"attribute": "illness", "l": 1.5}}
    method = {"name": "generalize", "parameters": {"suppression_limit": 0.2}}
    choice = {"promises": [*K2["promises"], closeness, odd], "method": method, "weights": {"age": 3}}
    run = browser.post(f"/api/tables/{table}/runs", json=choice).json()["id"]
    assert browser.wait(run)["state"] == "done"
    (tmp_path / "people.csv").write_bytes(people())
    with zipfile.ZipFile(io.BytesIO(browser.get(f"/api/runs/{run}/schema.zip").content)) as archive:
        archive.extractall(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = browser.get(f"/api/runs/{run}").json()["shell"]
    done = subprocess.run(["sh", "-e"], input=script, cwd=tmp_path, env=os.environ | {"PATH": path}, text=True)
    assert done.returncode == 0
    ours = browser.get(f"/api/runs/{run}/files/data.parquet").content
    assert (tmp_path / "release" / "data.parquet").read_bytes() == ours


def test_progress_comes_as_events_until_the_end(browser: Browser, table: str) -> None:
    run = browser.post(f"/api/tables/{table}/runs", json=K2).json()["id"]
    with browser.stream("GET", f"/api/runs/{run}/events") as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        states = [json.loads(line[6:])["state"] for line in events.iter_lines() if line.startswith("data: ")]
    assert states[-1] == "done"
    assert set(states) <= {"waiting", "running", "done"}


def test_a_promise_that_cannot_be_kept_says_what_could(browser: Browser) -> None:
    illnesses = ["flu"] * 36 + ["cold", "gout", "none", "angina"]
    rows = "".join(f"{i},{20 + i},Oslo,{illness}\n" for i, illness in enumerate(illnesses))
    table = browser.open(f"ssn,age,town,illness\n{rows}".encode(), "skewed.csv")
    many = {"promises": [{"model": "entropy-l-diversity", "parameters": {"attribute": "illness", "l": 4}}]}
    run = browser.post(f"/api/tables/{table}/runs", json=many).json()["id"]
    status = browser.wait(run)
    assert status["state"] == "failed"
    page = browser.get(f"/runs/{run}").text
    assert "What would help" in page
    assert f"/promise?run={run}" in page
    again = browser.get(f"/tables/{table}/promise?run={run}").text
    assert '"method": {"name": "specialize"' in again, "what was taken where no method was named"


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"promises": []}, "at least one promise"),
        ({"promises": [{"model": "k-anonymity", "parameters": {"k": 0}}]}, "`k` of `KAnonymity`"),
        ({"promises": [{"model": "k-anonymity", "parameters": {"k": "x", "z": 1}}]}, "no parameter `z`"),
        ({"promises": [{"model": "q-anonymity"}]}, "no model"),
        ({**K2, "method": {"name": "magic"}}, "no method `magic`"),
        ({**K2, "method": {"name": "generalize", "parameters": {"suppression_limit": 2}}}, "suppression_limit"),
        ({**K2, "measures": ["beauty"]}, "no quality measure `beauty`"),
        ({"promises": [{"model": "t-closeness", "parameters": {"attribute": "town", "t": 0.2}}]}, "not sensitive"),
    ],
)
def test_a_wrong_choice_is_explained_before_anything_runs(
    browser: Browser, table: str, choice: dict[str, Any], words: str
) -> None:
    for path in ("plan", "runs"):
        answer = browser.post(f"/api/tables/{table}/{path}", json=choice)
        assert answer.status_code == 422
        assert words in " ".join(answer.json()["problems"])


@pytest.fixture(scope="module")
def heavy(browser: Browser) -> str:
    """A table with so many combinations that looking through them takes a while."""
    columns = 9
    lines = [",".join(f"c{j}" for j in range(columns))]
    lines += [",".join(str((i * (7 + 2 * j) + i // (j + 1)) % 64) for j in range(columns)) for i in range(20_000)]
    table = browser.post("/api/tables?name=heavy.csv", content="\n".join(lines).encode(), headers=OCTETS).json()["id"]
    rule = {"intervals": [2, 4, 8, 16, 32]}
    column = {"role": "quasi-identifier", "kind": "numeric", "hierarchy": rule}
    assert browser.put(f"/api/tables/{table}/schema", json={"columns": [column] * columns}).status_code == 200
    return str(table)


def test_a_run_is_stopped_and_leaves_nothing_behind(browser: Browser, heavy: str, table: str) -> None:
    run = browser.post(f"/api/tables/{heavy}/runs", json=K2).json()["id"]
    until = time.monotonic() + 60
    while browser.get(f"/api/runs/{run}").json()["status"]["state"] == "waiting" and time.monotonic() < until:
        time.sleep(0.02)
    browser.post(f"/api/runs/{run}/cancel")
    status = browser.wait(run)
    assert status["state"] == "cancelled"
    folder = browser.app.state.context.store.runs.path(run)  # type: ignore[attr-defined]
    assert {path.name for path in folder.iterdir()} == {"about.json", "plan.toml", "status.json"}
    assert "Stopped" in browser.get(f"/runs/{run}").text
    again = browser.post(f"/api/tables/{table}/runs", json=K2).json()["id"]
    assert browser.wait(again)["state"] == "done", "the next run has a worker"


def test_a_run_that_is_deleted_while_it_works_does_not_come_back(browser: Browser, heavy: str) -> None:
    run = browser.post(f"/api/tables/{heavy}/runs", json=K2).json()["id"]
    until = time.monotonic() + 60
    while browser.get(f"/api/runs/{run}").json()["status"]["state"] == "waiting" and time.monotonic() < until:
        time.sleep(0.02)
    folder = browser.app.state.context.store.runs.path(run)  # type: ignore[attr-defined]
    assert browser.delete(f"/api/runs/{run}").status_code == 204
    assert not folder.exists()
    time.sleep(0.5)
    assert not folder.exists()
    assert browser.delete(f"/api/runs/{run}").status_code == 404


def test_no_answer_holds_a_path_of_this_machine(browser: Browser, table: str, run: str) -> None:
    folder = str(browser.app.state.context.store.folder)  # type: ignore[attr-defined]
    for path in (
        f"/api/runs/{run}",
        f"/api/tables/{table}",
        "/api/runs",
        f"/runs/{run}",
        f"/api/runs/{run}/exploration",
    ):
        assert folder not in browser.get(path).text, path


def test_a_full_disk_is_told_without_a_path(browser: Browser, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/secret/place")

    monkeypatch.setattr("shoal.web._context.Context.begin", full)
    answer = browser.post(f"/api/tables/{table}/runs", json=K2)
    assert answer.status_code == 507
    assert "no space left on the disk" in answer.json()["problems"][0]
    assert "secret" not in answer.text


def test_whoever_stands_alone_still_does_where_only_secrets_are_shuffled(browser: Browser, table: str) -> None:
    choice = {
        "promises": [{"model": "distinct-l-diversity", "parameters": {"attribute": "illness", "l": 2}}],
        "method": {"name": "anatomy"},
    }
    run = browser.post(f"/api/tables/{table}/runs", json=choice).json()["id"]
    assert browser.wait(run)["state"] == "done"
    found = browser.get(f"/api/runs/{run}/exploration").json()
    assert found["before"]["unique"] == 40
    row = re.search(r"People who stand alone</th>(.*?)</tr>", browser.get(f"/runs/{run}").text)
    assert row is not None
    assert re.findall(r">([\d,]+)<", row[1]) == ["40", "40"]


def test_what_was_done_is_found_after_a_restart(start: Callable[[Path], Browser], tmp_path: Path) -> None:
    first = start(tmp_path)
    table = first.open()
    done = first.post(f"/api/tables/{table}/runs", json=K2).json()["id"]
    first.wait(done)
    store = first.app.state.context.store  # type: ignore[attr-defined]
    about = first.get(f"/api/runs/{done}").json()

    def interrupted_run(**more: str) -> str:
        run = str(store.runs.new())
        store.runs.note(run, about | {"id": run} | more)
        folder = store.runs.path(run)
        (folder / "plan.toml").write_bytes((store.runs.path(done) / "plan.toml").read_bytes())
        (folder / "half-written").write_text("x")
        write_json(folder / "status.json", {"state": "running", "done": 1, "total": 2, "message": "x"})
        return run

    free, paid, orphan = interrupted_run(), interrupted_run(account="0" * 16), interrupted_run(table="f" * 16)
    first.__exit__(None, None, None)
    second = start(tmp_path)
    assert second.get(f"/api/runs/{done}").json()["status"]["state"] == "done"
    assert "Risk before and after" in second.get(f"/runs/{done}").text
    assert second.get(f"/tables/{table}/risk").status_code == 200
    assert second.wait(free)["state"] == "done", "what costs nothing is taken up again"
    assert second.get(f"/api/runs/{free}/verification").json()["passed"]
    assert not (store.runs.path(free) / "half-written").exists()
    for run, reason in ((paid, "closed before"), (orphan, "was deleted")):
        status = second.get(f"/api/runs/{run}").json()["status"]
        assert status["state"] == "failed"
        assert reason in status["error"]["problems"][0]


def test_identifiers_become_pseudonyms_with_a_key_of_their_own(browser: Browser) -> None:
    table = browser.open()
    columns = browser.get(f"/api/tables/{table}/schema").json()["columns"]
    columns[0]["pseudonym"] = True
    assert browser.put(f"/api/tables/{table}/schema", json={"columns": columns}).status_code == 200
    run = browser.post(f"/api/tables/{table}/runs", json=K2).json()["id"]
    assert browser.wait(run)["state"] == "done"
    assert len(browser.get(f"/api/runs/{run}/pseudonym.key").content) == 32
    assert "pseudonym.key" not in [file["name"] for file in browser.get(f"/api/runs/{run}/files").json()]


@pytest.mark.slow
def test_differential_privacy_is_offered_and_says_what_it_needs(browser: Browser, table: str) -> None:
    private = [{"model": "differential-privacy", "parameters": {"epsilon": 1, "delta": 1e-5}}]
    choice = {"promises": private, "method": {"name": "truthful"}}
    answer = browser.post(f"/api/tables/{table}/plan", json=choice)
    assert answer.status_code == 422
    assert "`town`" in " ".join(answer.json()["problems"])
    example = browser.post("/api/tables/example").json()["id"]
    assert "Truthful" in browser.post(f"/api/tables/{example}/plan", json=choice).json()["python"]
    run = browser.post(f"/api/tables/{example}/runs", json=choice).json()["id"]
    assert browser.wait(run)["state"] == "done"
    assert "must stay with you" in browser.get(f"/runs/{run}").text


@pytest.mark.slow
@pytest.mark.parametrize("method", methods.names())
def test_every_method_gives_a_page_or_says_what_it_needs(browser: Browser, table: str, method: str) -> None:
    closeness = {"model": "t-closeness", "parameters": {"attribute": "illness", "t": 0.5}}
    crowd = [{"model": in_short("k", method).name, "parameters": {"k": 2}}]
    promises = crowd if in_short("k", method).name != "k-anonymity" else [*crowd, closeness]
    choice = {"promises": promises, "method": {"name": method}}
    answer = browser.post(f"/api/tables/{table}/runs", json=choice)
    if answer.status_code == 422:
        assert answer.json()["problems"]
        return
    status = browser.wait(answer.json()["id"])
    page = browser.get(f"/runs/{answer.json()['id']}")
    assert page.status_code == 200
    if status["state"] == "done":
        assert "Risk before and after" in page.text
        assert ("can see who is in the table" in page.text) == (method in ("anatomy", "swap", "ir-swap"))
    else:
        assert not any("internal error" in problem for problem in status["error"]["problems"]), status


@pytest.fixture(scope="module")
def comparison(browser: Browser, table: str) -> str:
    """A comparison that is done."""
    wanted = {"k": [5, 2, 41], "t": {"illness": [0.9]}, "methods": ["generalize", "mondrian"]}
    run = str(browser.post(f"/api/tables/{table}/comparisons", json=wanted).json()["id"])
    assert browser.wait(run)["state"] == "done"
    return run


def test_methods_are_compared_as_the_library_does(
    browser: Browser, table: str, comparison: str, tmp_path: Path
) -> None:
    found = browser.get(f"/api/runs/{comparison}/exploration").json()
    assert [(point["method"], point["promises"]) for point in found["points"]][:3] == [
        ("generalize", "k = 2, t(illness) = 0.9"),
        ("generalize", "k = 5, t(illness) = 0.9"),
        ("generalize", "k = 41, t(illness) = 0.9"),
    ]
    assert "the table has 40" in found["points"][2]["failure"]
    assert found["recommended"] in found["best"]
    page = browser.get(f"/runs/{comparison}").text
    for words in ("Methods side by side", "Recommendation", f"Take point {found['recommended']}", "No release", "<svg"):
        assert words in page
    assert "shoal compare people.csv --schema people.schema.toml" in page
    assert "--t illness=0.9" in page
    (tmp_path / "people.csv").write_bytes(people())
    declared = schema.loads(browser.get(f"/api/tables/{table}/schema.toml").text, tmp_path)
    again = shoal.compare(
        shoal.read(tmp_path / "people.csv").with_schema(declared),
        k=(2, 5, 41),
        t={"illness": (0.9,)},
        methods=("generalize", "mondrian"),
        learn=False,
    )
    assert [point.risk for point in again.points] == [point["risk"] for point in found["points"]]
    assert list(again.reasons) == found["reasons"]


def test_the_plan_of_a_point_is_downloaded_and_used(
    browser: Browser, table: str, comparison: str, tmp_path: Path
) -> None:
    answer = browser.get(f"/api/runs/{comparison}/points/2/plan.zip")
    assert answer.status_code == 200
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist() == ["plan.toml"]
        archive.extractall(tmp_path)
    assert shoal.Plan.load(tmp_path / "plan.toml").models[0] == shoal.KAnonymity(5)
    page = browser.get(f"/tables/{table}/promise?run={comparison}&point=2")
    assert page.status_code == 200
    assert '"k": 5' in page.text
    for number in (0, 99):
        assert browser.get(f"/api/runs/{comparison}/points/{number}/plan.zip").status_code in (404, 422)


def test_a_plan_of_a_point_and_the_schema_bring_their_hierarchies_along(browser: Browser) -> None:
    example = browser.post("/api/tables/example").json()["id"]
    wanted = {"k": [5], "methods": ["generalize"]}
    run = browser.post(f"/api/tables/{example}/comparisons", json=wanted).json()["id"]
    assert browser.wait(run)["state"] == "done"
    for path, name in (("points/1/plan.zip", "plan.toml"), ("schema.zip", "discharges.schema.toml")):
        answer = browser.get(f"/api/runs/{run}/{path}")
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            assert {name, "hierarchies/zip.csv"} <= set(archive.namelist())
    assert f"/api/runs/{run}/schema.zip" in browser.get(f"/runs/{run}").text, "of then, not of now"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"k": [2]}, "nothing to compare"),
        ({}, "something to promise"),
        ({"k": [2], "methods": ["magic"]}, "no method `magic`"),
        ({"k": [2], "methods": ["generalize"], "risk": "luck"}, "`risk` must be one of"),
        ({"k": [2], "methods": ["generalize"], "t": {"town": [0.2]}}, "not sensitive"),
        (
            {
                "k": [*range(1, 13)],
                "t": {"illness": [i / 12 for i in range(12)]},
                "methods": ["generalize", "mondrian"],
            },
            "at most 200",
        ),
    ],
)
def test_a_comparison_that_makes_no_sense_is_explained(
    browser: Browser, table: str, wanted: dict[str, Any], words: str
) -> None:
    answer = browser.post(f"/api/tables/{table}/comparisons", json=wanted)
    assert answer.status_code == 422
    assert words in " ".join(answer.json()["problems"])


def test_a_comparison_is_stopped_with_all_of_its_processes_and_goes_on(browser: Browser, heavy: str) -> None:
    before = set(_workers())
    wanted = {"k": [2, 3, 4], "methods": ["generalize"]}
    run = browser.post(f"/api/tables/{heavy}/comparisons", json=wanted).json()["id"]
    until = time.monotonic() + 60
    while not set(_workers()) - before and time.monotonic() < until:
        time.sleep(0.05)
    assert set(_workers()) - before
    browser.post(f"/api/runs/{run}/cancel")
    assert browser.wait(run)["state"] == "cancelled"
    until = time.monotonic() + 60
    while set(_workers()) - before and time.monotonic() < until:
        time.sleep(0.05)
    assert not set(_workers()) - before, "the processes that made the releases end with it"


def _workers() -> list[str]:
    """Return the processes that make releases for comparisons."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if b"shoal.comparison._evaluate" in path.read_bytes():
                found.append(path.parent.name)
    return found


def _files(browser: Browser, run: str) -> dict[str, bytes]:
    names = [file["name"] for file in browser.get(f"/api/runs/{run}/files").json()]
    return {name: browser.get(f"/api/runs/{run}/files/{name}").content for name in names}


def _verify(browser: Browser, files: dict[str, bytes]) -> Any:
    identity = browser.post("/api/verifications").json()["id"]
    for name, content in files.items():
        path = f"/api/verifications/{identity}/files?name={name}"
        assert browser.put(path, content=content, headers=OCTETS).status_code == 204
    answer = browser.post(f"/api/verifications/{identity}/check")
    assert browser.delete(f"/api/verifications/{identity}").status_code == 204
    return answer


def test_an_uploaded_release_is_verified(browser: Browser, run: str) -> None:
    files = _files(browser, run)
    assert _verify(browser, files).json()["passed"]
    files["data.csv"] += b"x"
    found = _verify(browser, files).json()
    assert not found["passed"]
    assert {check["subject"] for check in found["checks"] if not check["passed"]} == {"data.csv"}


def test_a_folder_without_a_certificate_is_explained(browser: Browser) -> None:
    answer = _verify(browser, {"data.csv": b"a\n1\n"})
    assert answer.status_code == 409
    assert "certificate" in answer.json()["problems"][0]


@pytest.mark.parametrize("name", ["../x.csv", "/etc/x.csv", "a/b/c.csv", ".h.csv", "x.py", "a%2F..%2Fb.csv", "a.db"])
def test_files_that_no_release_has_are_refused(browser: Browser, name: str) -> None:
    identity = browser.post("/api/verifications").json()["id"]
    answer = browser.put(f"/api/verifications/{identity}/files?name={name}", content=b"x", headers=OCTETS)
    assert answer.status_code == 422
