"""Releases of several tables that somebody changed who knows Shoal: every fingerprint and page fits again.

Verification must refuse each, and must say why.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import shoal
from shoal import datasets, tables
from shoal.dataset_release import figures_of
from shoal.errors import ShoalError
from shoal.guarantees import CERTIFICATE, load
from shoal.methods.nested import DatasetPlan, order_tables
from shoal.methods.steps import KINDS, read_steps
from shoal.report import dataset_report, dataset_summary
from shoal.writing import digest

SCHEMA = """
shoal = 1
[tables.people]
key = "id"
[tables.people.columns.age]
role = "quasi-identifier"
kind = "numeric"
minimum = 0
maximum = 99
hierarchy = { intervals = [10, 20] }
[tables.stays]
parent = "people"
key = "stay"
[tables.stays.columns.ward]
role = "quasi-identifier"
values = ["a", "b", "c"]
[tables.stays.columns.illness]
role = "sensitive"
values = ["flu", "cold", "burn"]
[tables.drugs]
parent = "stays"
[tables.drugs.columns.drug]
role = "quasi-identifier"
values = ["x", "y"]
"""
Tables = dict[str, pa.Table]
K = 3


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a release; do not change it."""
    return make_release(tmp_path_factory.mktemp("datasets"))


def make_release(folder: Path) -> Path:
    """Write a release of 3-anonymous people with two known items, and return its folder."""
    draw = np.random.default_rng(3)
    ages, stays, drugs = [], [], []
    for person in range(200):
        ages.append({"id": str(person), "age": int(draw.integers(20, 60) // 20 * 20)})
        for _ in range(int(draw.integers(0, 4))):
            number = str(len(stays))
            stays.append(
                {
                    "stay": number,
                    "id": str(person),
                    "ward": str(draw.choice(["a", "b"])),
                    "illness": str(draw.choice(["flu", "cold"])),
                }
            )
            drugs += [{"stay": number, "drug": str(draw.choice(["x", "y"]))} for _ in range(int(draw.integers(0, 3)))]
    source = {name: pa.Table.from_pylist(rows) for name, rows in (("people", ages), ("stays", stays), ("drugs", drugs))}
    made = shoal.anonymize_dataset(
        source, k=K, known_items=2, schema=datasets.loads(SCHEMA), method=shoal.RecodeItems(suppression_limit=0.2)
    )
    return made.write(folder / "release", csv=True)


def _read(folder: Path) -> Tables:
    plan = DatasetPlan.load(folder / "plan.toml")
    return {table.name: tables.reread(folder / f"{table.name}.parquet").to_arrow() for table in plan.schema}


def _refit(folder: Path, changed: Tables | None = None, edit: Callable[[dict[str, Any]], None] | None = None) -> None:
    """Write changed tables, and let certificate, summary, report, copies and fingerprints fit, as far as can be had."""
    plan = DatasetPlan.load(folder / "plan.toml")
    content = json.loads((folder / CERTIFICATE).read_text())
    for name, rows in (changed or {}).items():
        (folder / f"{name}.parquet").unlink()
        tables.write(tables.reread(rows), folder / f"{name}.parquet")
        (folder / f"{name}.csv").unlink(missing_ok=True)
        content["files"] = [entry for entry in content["files"] if entry["name"] != f"{name}.csv"]
        for data in (content["data"], *content["further_data"]):
            if data["file"] == f"{name}.parquet":
                data["records"] = len(rows)
    for step in content["steps"]:
        if step["step"] == "items-suppressed" and changed:
            number = dict(zip(step["tables"], range(9), strict=False))
            for name, rows in changed.items():
                step["rows"][number[name]] = max(0, step["of"][number[name]] - len(rows))
                step["of"][number[name]] = step["rows"][number[name]] + len(rows)
            step["description"] = KINDS[step["step"]].from_fields(step).describe()
    if edit is not None:
        edit(content)
    for again in range(2):
        for entry in content["files"]:
            if (folder / entry["name"]).is_file():
                entry["sha256"], entry["bytes"] = digest(folder / entry["name"])
        (folder / CERTIFICATE).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        if again:
            break
        try:
            certificate = load(folder / CERTIFICATE)
            figures = figures_of(plan, _read(folder), read_steps(certificate.steps))
            (folder / "summary.txt").write_text(dataset_summary(certificate, plan, figures))
            (folder / "report.html").write_text(dataset_report(certificate, plan, figures))
        except (ShoalError, LookupError, ValueError):
            continue


def _ordered(folder: Path, content: Tables, parents: dict[str, Any]) -> Tables:
    plan = DatasetPlan.load(folder / "plan.toml")
    rows = {name: content[name].select(list(plan.schema.shown_columns(name))) for name in content}
    return order_tables(plan.schema, rows, parents)


def _parents(content: Tables) -> dict[str, Any]:
    return {
        "stays": content["stays"]["id"].to_numpy().astype(np.int64) - 1,
        "drugs": content["drugs"]["stay"].to_numpy().astype(np.int64) - 1,
    }


def _set(rows: pa.Table, name: str, place: int, value: object) -> pa.Table:
    values = rows[name].to_pylist()
    values[place] = value
    return rows.set_column(rows.column_names.index(name), name, pa.array(values, rows.schema.field(name).type))


def parent_missing(folder: Path) -> None:
    stays = _read(folder)["stays"]
    _refit(folder, {"stays": _set(stays, "id", len(stays) - 1, 10_000)})


def key_reused(folder: Path) -> None:
    stays = _read(folder)["stays"]
    _refit(folder, {"stays": _set(stays, "stay", 1, 1)})


def item_added(folder: Path) -> None:
    """A stay in ward c, which nobody else has, with order, keys and numbers as they would be."""
    content = _read(folder)
    parents = _parents(content)
    row = {name: [value] for name, value in zip(content["stays"].column_names, (0, 0, "c", "burn"), strict=True)}
    content["stays"] = pa.concat_tables([content["stays"], pa.table(row, schema=content["stays"].schema)])
    parents["stays"] = np.append(parents["stays"], 0)
    _refit(folder, _ordered(folder, content, parents))


def person_added(folder: Path) -> None:
    """Somebody of an age that nobody else has."""
    content = _read(folder)
    parents = _parents(content)
    row = pa.table({"id": [0], "age": [_other_label(content)]}, schema=content["people"].schema)
    content["people"] = pa.concat_tables([content["people"], row])
    _refit(folder, _ordered(folder, content, parents))


def _other_label(content: Tables) -> str:
    label = content["people"]["age"][0].as_py()
    return {"20": "80", "40": "80", "[20, 30)": "[80, 90)", "[20, 40)": "[80, 100)"}[label]


def bags_reordered(folder: Path) -> None:
    """Two persons change places with all that is theirs."""
    content = _read(folder)
    first, last = 1, len(content["people"])
    turned = {first: last, last: first}
    owners = [turned.get(owner, owner) for owner in content["stays"]["id"].to_pylist()]
    order = np.argsort(owners, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(1, len(order) + 1)
    stays = content["stays"].set_column(1, "id", pa.array(owners)).take(pa.array(order))
    stays = stays.set_column(0, "stay", pa.array(np.arange(1, len(order) + 1)))
    drugs = content["drugs"].set_column(0, "stay", pa.array(place[_parents(content)["drugs"]]))
    drugs = drugs.sort_by([("stay", "ascending"), ("drug", "ascending")])
    ages = content["people"]["age"].to_pylist()
    ages[first - 1], ages[last - 1] = ages[last - 1], ages[first - 1]
    people = content["people"].set_column(1, "age", pa.array(ages))
    _refit(folder, {"people": people, "stays": stays, "drugs": drugs})


def link_moved(folder: Path) -> None:
    """A drug is given in another stay; order and keys fit again."""
    content = _read(folder)
    parents = _parents(content)
    parents["drugs"][0] = len(content["stays"]) - 1
    parents["drugs"][1:4] = len(content["stays"]) - 1
    _refit(folder, _ordered(folder, content, parents))


def label_invented(folder: Path) -> None:
    content = _read(folder)
    label = content["people"]["age"][0].as_py()
    ages = pc.replace_substring(content["people"]["age"], label, "[20, 37)")
    content["people"] = content["people"].set_column(1, "age", ages)
    _refit(folder, _ordered(folder, content, _parents(content)))


def another_level_said(folder: Path) -> None:
    def edit(content: dict[str, Any]) -> None:
        step = next(each for each in content["steps"] if each["step"] == "items-generalized")
        step["levels"][0] = step["levels"][0] - 1 if step["levels"][0] else 1
        step["description"] = KINDS[step["step"]].from_fields(step).describe()

    _refit(folder, edit=edit)


def value_outside_its_domain(folder: Path) -> None:
    content = _read(folder)
    content["stays"] = _set(content["stays"], "illness", 0, "Ann Miller")
    _refit(folder, _ordered(folder, content, _parents(content)))


def fewer_left_out(folder: Path) -> None:
    def edit(content: dict[str, Any]) -> None:
        step = next(each for each in content["steps"] if each["step"] == "items-suppressed")
        step["rows"][1] += 1
        step["description"] = KINDS[step["step"]].from_fields(step).describe()

    _refit(folder, edit=edit)


def more_left_out_than_allowed(folder: Path) -> None:
    def edit(content: dict[str, Any]) -> None:
        step = next(each for each in content["steps"] if each["step"] == "items-suppressed")
        step["of"][0] += 10_000
        step["rows"][0] += 10_000
        step["description"] = KINDS[step["step"]].from_fields(step).describe()

    _refit(folder, edit=edit)


def step_missing(folder: Path) -> None:
    _refit(folder, edit=lambda content: content["steps"].pop())


def larger_k_said(folder: Path) -> None:
    def edit(content: dict[str, Any]) -> None:
        content["promises"][0]["parameters"]["k"] = 50
        content["promises"][0]["statement"] = content["promises"][0]["statement"].replace("least 3", "least 50")

    _refit(folder, edit=edit)


def larger_k_planned(folder: Path) -> None:
    """Plan, certificate and pages say k = 50."""
    path = folder / "plan.toml"
    path.write_text(path.read_text().replace("k = 3", "k = 50"))
    larger_k_said(folder)


def more_items_planned(folder: Path) -> None:
    """Plan, certificate and pages say that five items may be known."""
    path = folder / "plan.toml"
    path.write_text(path.read_text().replace("m = 2", "m = 5"))

    def edit(content: dict[str, Any]) -> None:
        kind = shoal.KnownItems(k=K, m=5)
        content["promises"][0] |= {
            "parameters": kind.parameters(),
            "statement": kind.statement_for(DatasetPlan.load(path).schema),
            "assumptions": list(kind.assumptions()),
        }

    _refit(folder, edit=edit)


def assumption_missing(folder: Path) -> None:
    _refit(folder, edit=lambda content: content["promises"][0]["assumptions"].pop(1))


def promise_missing(folder: Path) -> None:
    path = folder / "plan.toml"
    path.write_text(path.read_text().replace("[[promises]]", "[[unknown]]"))
    _fingerprint(folder)


def column_added(folder: Path) -> None:
    people = _read(folder)["people"]
    _refit(folder, {"people": people.append_column("name", pa.array(["Ann"] * len(people)))})


def file_added(folder: Path) -> None:
    (folder / "names.csv").write_text("name\nAnn\n")
    _refit(folder, edit=lambda content: content["files"].append({"name": "names.csv", "sha256": "0" * 64, "bytes": 0}))


def table_missing(folder: Path) -> None:
    (folder / "drugs.parquet").unlink()
    _refit(folder, edit=lambda content: content["further_data"].pop())


def copy_changed(folder: Path) -> None:
    path = folder / "stays.csv"
    path.write_text(path.read_text().replace("flu", "cold", 1))
    _refit(folder)


def page_changed(folder: Path) -> None:
    _refit(folder)
    path = folder / "report.html"
    path.write_text(path.read_text().replace("finds at least 3", "finds at least 300"))
    _fingerprint(folder)


def _fingerprint(folder: Path) -> None:
    content = json.loads((folder / CERTIFICATE).read_text())
    for entry in content["files"]:
        entry["sha256"], entry["bytes"] = digest(folder / entry["name"])
    (folder / CERTIFICATE).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def budget_added(folder: Path) -> None:
    _refit(folder, edit=lambda content: content.update(budget={"epsilon": "1", "delta": "0"}))


def values_of_another_type(folder: Path) -> None:
    content = _read(folder)
    content["stays"] = content["stays"].set_column(3, "illness", content["stays"]["illness"].cast(pa.binary()))
    _refit(folder, _ordered(folder, content, _parents(content)))


def hierarchy_with_a_name_in_its_name(folder: Path) -> None:
    """A hierarchy file for the wards, which says what the plan said, but is called after somebody."""
    (folder / "hierarchies").mkdir()
    (folder / "hierarchies" / "vera-hill.csv").write_text("a;*\nb;*\nc;*\n")
    said = 'hierarchy = { file = "hierarchies/vera-hill.csv" }'
    path = folder / "plan.toml"
    path.write_text(path.read_text().replace('values = ["a", "b", "c"]', said))
    plan = DatasetPlan.load(path)
    path.write_text(plan.dumps())

    def edit(content: dict[str, Any]) -> None:
        content["files"].append({"name": "hierarchies/vera-hill.csv", "sha256": "", "bytes": 0})
        content["files"].sort(key=lambda entry: str(entry["name"]))
        content["schema_sha256"] = hashlib.sha256(datasets.dumps(plan.schema).encode()).hexdigest()

    _refit(folder, edit=edit)


def single_rows_left_out_though_only_persons_may_be(folder: Path) -> None:
    path = folder / "plan.toml"
    path.write_text(path.read_text().replace('suppress = "items"', 'suppress = "persons"'))
    _refit(folder)


def randomness_said(folder: Path) -> None:
    _refit(
        folder, edit=lambda content: content.update(randomness="the cryptographic generator of the operating system")
    )


FORGERIES = {
    parent_missing: "keys",
    key_reused: "keys",
    item_added: "known-items k = 3, m = 2",
    person_added: "known-items k = 3, m = 2",
    bags_reordered: "order",
    link_moved: "known-items k = 3, m = 2",
    label_invented: "labels",
    another_level_said: "labels",
    value_outside_its_domain: "values",
    fewer_left_out: "steps",
    more_left_out_than_allowed: "steps",
    step_missing: "steps",
    larger_k_said: "known-items k = 3, m = 2",
    larger_k_planned: "known-items k = 50, m = 2",
    more_items_planned: "known-items k = 3, m = 5",
    assumption_missing: "known-items k = 3, m = 2",
    promise_missing: "plan.toml",
    column_added: "tables",
    file_added: "names.csv",
    table_missing: "tables",
    copy_changed: "stays.csv",
    page_changed: "report.html",
    budget_added: "nothing else",
    randomness_said: "nothing else",
    values_of_another_type: "values",
    hierarchy_with_a_name_in_its_name: "hierarchies",
    single_rows_left_out_though_only_persons_may_be: "steps",
}


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_verification_refuses(forge: Callable[[Path], None], release: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(release, tmp_path / "release"))
    forge(folder)
    found = shoal.verify(folder)
    failed = [check.subject for check in found.checks if not check.passed]
    assert not found.passed
    assert FORGERIES[forge] in failed, failed


def test_what_is_only_written_again_verifies(release: Path, tmp_path: Path) -> None:
    """The forger's tools make no difference by themselves."""
    folder = Path(shutil.copytree(release, tmp_path / "release"))
    _refit(folder, _read(folder))
    found = shoal.verify(folder)
    assert found.passed, [check for check in found.checks if not check.passed]
    assert found.outcome.exit_code == 0


def test_columns_without_declared_values_are_named_as_not_checked(tmp_path: Path) -> None:
    people = pa.table({"id": list("abcd"), "age": [20] * 4})
    stays = pa.table({"stay": list("wxyz"), "id": list("abcd"), "ward": list("aabb"), "illness": list("pppp")})
    schema = datasets.loads(SCHEMA.replace('values = ["flu", "cold", "burn"]\n', "").partition("[tables.drugs]")[0])
    made = shoal.anonymize_dataset({"people": people, "stays": stays}, k=2, known_items=1, schema=schema)
    found = shoal.verify(made.write(tmp_path / "release"))
    assert found.passed
    assert [check.subject for check in found.checks if "values of" in check.subject] == ["values of `stays.illness`"]


def test_releases_of_several_tables_are_no_series(release: Path) -> None:
    with pytest.raises(ShoalError, match="as a series"):
        shoal.verify(release, after=[release])
