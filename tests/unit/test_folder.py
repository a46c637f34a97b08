"""The folder of a release has one class that knows its files."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import shoal
from shoal.errors import PlanError, Undecided
from shoal.folder import PLAN, REPORT, SUMMARY, ReleaseFolder, neighbouring_releases
from shoal.guarantees import CERTIFICATE

SOURCE = Path(shoal.__file__).parent
#: plans of runs, of imported projects and of comparisons are no files of a release
OTHER_PLANS = {"arx.py", "web/_jobs.py", "web/api/runs.py", "web/api/compare.py", "cli/_import.py"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import pyarrow as pa

    ages = pa.table({"age": [20, 21, 22, 23] * 5, "illness": ["flu", "cold"] * 10})
    age = shoal.Attribute(name="age", role="quasi-identifier", kind="numeric")
    schema = shoal.Schema(attributes=(age, shoal.Attribute(name="illness", role="sensitive")))
    release = shoal.Plan(schema=schema, models=(shoal.KAnonymity(4),)).run(shoal.read(ages))
    return release.write(tmp_path_factory.mktemp("releases") / "release", csv=True)


def test_a_release_has_the_files_that_its_plan_and_certificate_allow(folder: Path) -> None:
    release = ReleaseFolder(folder)
    assert {*release.file_names()} == {"data.parquet", "data.csv", PLAN, SUMMARY, REPORT, CERTIFICATE}
    assert {*release.file_names()} - {CERTIFICATE} <= release.allowed_files()
    assert not release.allowed_files() & {"data.xlsx", "joined.sql", "population.parquet", "hidden.csv"}


def test_what_was_read_is_not_read_again(folder: Path) -> None:
    release = ReleaseFolder(folder)
    assert release.plan is release.plan
    assert release.tables["data.parquet"] is release.open()
    assert release.steps is ReleaseFolder(folder, steps=release.steps).steps


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(Undecided, match="there is no certificate"):
        ReleaseFolder(tmp_path).certificate  # noqa: B018
    with pytest.raises(PlanError, match="cannot be read"):
        ReleaseFolder(tmp_path).plan  # noqa: B018
    assert ReleaseFolder(tmp_path).read_text(SUMMARY) is None


def test_releases_of_a_table_with_the_same_columns_are_named(folder: Path) -> None:
    beside = folder.parent / "next"
    assert neighbouring_releases(beside, ["age", "illness"]) == [folder.name]
    assert neighbouring_releases(beside, ["age", "illness", "town"]) == []
    assert neighbouring_releases(folder, ["age", "illness"]) == []


@pytest.mark.parametrize(
    "plan",
    [
        "[columns",
        "columns = 3",
        "promises = [1]\n[columns.age]",
        '[[promises]]\nmodel = "differential-privacy"\n[columns.age]',
        "#" * (1 << 21) + "\n[columns.age]",
    ],
)
def test_neighbours_that_are_private_or_cannot_be_read_are_passed_over(tmp_path: Path, plan: str) -> None:
    folder = tmp_path / "earlier"
    folder.mkdir()
    (folder / CERTIFICATE).touch()
    (folder / PLAN).write_text(plan)
    assert neighbouring_releases(tmp_path / "next", ["age"]) == []
    (folder / PLAN).write_text('[[promises]]\nmodel = "k-anonymity"\n[columns.age]')
    assert neighbouring_releases(tmp_path / "next", ["age"]) == ["earlier"]


def test_no_other_module_names_the_files_of_a_release() -> None:
    names = {PLAN, SUMMARY, REPORT, "signature.json", CERTIFICATE}
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.value}"
        for path in SOURCE.rglob("*.py")
        if path.name not in ("folder.py", "_certificate.py") and str(path.relative_to(SOURCE)) not in OTHER_PLANS
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert not found, "\n".join(found)
