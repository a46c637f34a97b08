"""Series whose releases were changed so that a joint crowd only seems to be one; verification must refuse each."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.series.conftest import SCHEMA, crowd_of, table_of

import shoal
from shoal.series import CROWD_LIST, CROWDS
from shoal.verification._series import check_series
from shoal.writing import digest

Forgery = Callable[[Path, Path], None]


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with three releases of a series."""
    place = tmp_path_factory.mktemp("releases")
    make_releases(place)
    return place


def make_releases(place: Path, *, newcomers: int = 7) -> list[Path]:
    """Write three releases of a series, in which people come and one leaves, and return their folders."""
    study = shoal.Series.create(place / "study", key="id")
    models = (shoal.KAnonymity(3), shoal.series.SeriesKAnonymity(3, show_crowds=True))
    plan = shoal.Plan(schema=SCHEMA, models=models, method=shoal.methods.Specialize(suppression_limit=1))
    later = crowd_of(18 + newcomers)
    versions = [crowd_of(18), later, {key: row for key, row in later.items() if key != "p2"}]
    for number, people in enumerate(versions, start=1):
        plan.run(table_of(people), series=study).write(place / f"r{number}")
    return [place / f"r{number}" for number in (1, 2, 3)]


def _outcome(folder: Path, *after: Path) -> tuple[bool, str]:
    found = shoal.verify(folder, after=after)
    return found.passed, "; ".join(f"{check.subject}: {check.detail}" for check in found.checks if not check.passed)


def test_a_sound_series_passes_and_says_what_it_cannot_see(releases: Path) -> None:
    found = shoal.verify(releases / "r3", after=[releases / "r1", releases / "r2"])
    assert found.passed
    assert found.outcome.exit_code == 4
    told = str(found)
    assert "rows declared new" in told
    assert "the series was not checked" not in told
    assert "the series was not checked" in str(shoal.verify(releases / "r3"))


def _resign(folder: Path, before: Path | None = None) -> None:
    """Make the fingerprints fit again, as a forger would, and the name of the certificate before."""
    place = folder / "certificate.json"
    said = json.loads(place.read_text())
    for file in said["files"]:
        file["sha256"], file["bytes"] = digest(folder / file["name"])
    if before is not None:
        for step in said["steps"]:
            if step["step"] == "continued":
                step["after"] = digest(before / "certificate.json")[0]
    place.write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n")


def _lines(folder: Path, name: str, change: Callable[[list[str]], list[str]]) -> None:
    place = folder / name
    head, *lines = place.read_text().splitlines()
    place.write_text("\n".join([head, *change(lines)]) + "\n")


def _moved(now: Path, before: Path) -> None:
    del before
    _lines(now, CROWDS, lambda lines: [next(each for each in lines if each != lines[0]), *lines[1:]])


def _invented_parent(now: Path, before: Path) -> None:
    del before
    _lines(now, CROWD_LIST, lambda lines: [lines[0].replace(f",{lines[0].split(',')[1]},", ",99,", 1), *lines[1:]])


def _empty_part(now: Path, before: Path) -> None:
    """Declare a part that is not shown and below k to be nobody."""
    del before
    _lines(now, CROWD_LIST, lambda lines: [each for each in lines if not each.endswith("frozen")])


def _too_small(now: Path, before: Path) -> None:
    del before

    def change(lines: list[str]) -> list[str]:
        number, parent, people, state = lines[0].split(",")
        parts = [f"{number},{parent},{int(people) - 1},{state}", f"777,{parent},1,absent"]
        return [*parts, *lines[1:]]

    _lines(now, CROWD_LIST, change)


def _changed_row(now: Path, before: Path) -> None:
    """Change the illness in a frozen row."""
    del before
    frozen = {line.split(",")[0] for line in (now / CROWD_LIST).read_text().splitlines() if line.endswith("frozen")}
    place = (now / CROWDS).read_text().splitlines()[1:].index(next(iter(frozen)))
    rows = pq.read_table(now / "data.parquet")
    values = rows["illness"].to_pylist()
    values[place] = "plague"
    changed = rows.set_column(rows.column_names.index("illness"), "illness", pa.array(values))
    pq.write_table(changed.replace_schema_metadata(None), now / "data.parquet", store_schema=False)


def _everybody_new(now: Path, before: Path) -> None:
    del before
    _lines(now, CROWD_LIST, lambda lines: [",".join([each.split(",")[0], "", *each.split(",")[2:]]) for each in lines])


@pytest.mark.parametrize(
    ("forgery", "match"),
    [
        (_moved, "crowd"),
        (_invented_parent, "parent"),
        (_empty_part, "joint crowds|parts"),
        (_too_small, "fewer than 3|as many rows"),
        (_changed_row, "frozen row"),
        (_everybody_new, "parts|numbers|not shown"),
    ],
)
def test_forged_crowds_are_refused(releases: Path, tmp_path: Path, forgery: Forgery, match: str) -> None:
    shutil.copytree(releases / "r3", tmp_path / "r3")
    forgery(tmp_path / "r3", releases / "r2")
    _resign(tmp_path / "r3")
    assert not _outcome(tmp_path / "r3", releases / "r2")[0]
    failed = [check for check in check_series(tmp_path / "r3", [releases / "r2"]) if not check.passed]
    assert any(re.search(match, f"{check.subject}: {check.detail}") for check in failed), failed


@pytest.mark.parametrize("line", ["99,,100,absent", "99,7,100,absent"])
def test_nobody_hides_in_crowds_that_the_first_release_invents(releases: Path, tmp_path: Path, line: str) -> None:
    """People invented as absent in the first release could make newcomers of the second look known."""
    shutil.copytree(releases / "r1", tmp_path / "r1")
    shutil.copytree(releases / "r2", tmp_path / "r2")
    _lines(tmp_path / "r1", CROWD_LIST, lambda lines: [*lines, line])
    _resign(tmp_path / "r1")
    _lines(tmp_path / "r2", CROWD_LIST, lambda lines: [*lines, "98,99,100,absent"])
    _resign(tmp_path / "r2", tmp_path / "r1")
    found = check_series(tmp_path / "r2", [tmp_path / "r1"])
    assert [check.subject for check in found if not check.passed] == ["series, release 1, rows"]


def test_an_exchanged_release_is_refused(releases: Path, tmp_path: Path) -> None:
    shutil.copytree(releases / "r1", tmp_path / "r1")
    place = tmp_path / "r1" / "certificate.json"
    said = json.loads(place.read_text())
    said["created"] = "2020-01-01T00:00:00Z"
    place.write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n")
    passed, told = _outcome(releases / "r2", tmp_path / "r1")
    assert not passed
    assert "names another certificate" in told


def test_releases_in_another_order_or_with_one_missing_are_refused(releases: Path) -> None:
    assert "later number" in _outcome(releases / "r1", releases / "r2")[1]
    assert "does not follow release 1" in _outcome(releases / "r3", releases / "r1")[1]


def test_releases_without_crowds_cannot_be_checked(tmp_path: Path) -> None:
    study = shoal.Series.create(tmp_path / "study", key="id")
    for number in (10, 14):
        table = table_of(crowd_of(number))
        shoal.anonymize(table, k=2, series=study, method=shoal.methods.Specialize()).write(tmp_path / f"r{number}")
    passed, told = _outcome(tmp_path / "r14", tmp_path / "r10")
    assert not passed
    assert "does not show its joint crowds" in told
