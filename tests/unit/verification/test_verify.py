"""A check that cannot be carried out is no verdict."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import Cancelled, OutputError, Undecided
from shoal.guarantees import CERTIFICATE, load
from shoal.schema import Attribute, Role, Schema
from shoal.verification._files import compared

TOWN = Schema(attributes=(Attribute(name="town", role=Role.QUASI_IDENTIFIER),))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = shoal.read(pa.table({"town": ["Ulm", "Ulm", "Bonn", "Bonn"]}), schema=TOWN)
    return shoal.anonymize(table, shoal.KAnonymity(k=2)).write(tmp_path_factory.mktemp("verify") / "release")


def test_a_folder_may_be_called_as_a_file_is(tmp_path: Path) -> None:
    table = shoal.read(pa.table({"town": ["Ulm", "Ulm", "Bonn", "Bonn"]}), schema=TOWN)
    made = shoal.anonymize(table, shoal.KAnonymity(k=2)).write(tmp_path / "release.csv", csv=True)
    assert shoal.verify(made).passed


def test_names_of_columns_that_look_like_values_are_names_in_the_copy(tmp_path: Path) -> None:
    rows = pa.table({"10": [1, 1, 2, 2], "2": [2020, 2021, 2020, 2021], "a\nb": ["x", "y", "x", "y"]})
    known = shoal.Attribute(name="10", role=shoal.Role.QUASI_IDENTIFIER)
    schema = shoal.Schema(attributes=(known, shoal.Attribute(name="2"), shoal.Attribute(name="a\nb")))
    folder = shoal.anonymize(shoal.read(rows, schema=schema), shoal.KAnonymity(k=2)).write(tmp_path / "r", csv=True)
    assert shoal.verify(folder).passed
    copy = folder / "data.csv"
    copy.write_bytes(copy.read_bytes().replace(b"10,2", b"10,3", 1))
    assert compared(str(copy))["same"] is False


@pytest.mark.parametrize("name", ["summary.txt", "report.html"])
def test_a_file_that_is_no_text_any_more_fails(release: Path, tmp_path: Path, name: str) -> None:
    forged = shutil.copytree(release, tmp_path / "forged")
    (forged / name).write_bytes(b"\xff")
    assert {check.subject for check in shoal.verify(forged).checks if not check.passed} == {name}


def test_a_machine_without_room_for_temporary_files_is_not_the_release_s_fault(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(release / "missing"))
    with pytest.raises(OutputError, match="TMPDIR"):
        shoal.verify(release)


def test_a_check_that_was_stopped_is_not_the_release_s_fault(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_: shoal.Table) -> int:
        raise Cancelled

    monkeypatch.setattr(shoal.Table, "count", stop)
    with pytest.raises(Cancelled):
        shoal.verify(release)


def test_a_promise_whose_check_was_stopped_is_not_one_that_fails(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shoal.KAnonymity, "keep", raising(Cancelled()))
    with pytest.raises(Cancelled):
        shoal.verify(release)


@pytest.mark.parametrize(
    ("place", "error", "why"),
    [
        ("shoal.tables._duckdb.DuckDBEngine._interruptible", MemoryError(), "not enough memory"),
        ("shoal.tables._duckdb.DuckDBEngine._interruptible", duckdb.IOException("No space left on device"), "is full"),
        ("shoal.verification._files._occurring", pa.ArrowMemoryError("malloc of size 64 failed"), "not enough memory"),
        ("shoal.models.KAnonymity.keep", pa.ArrowMemoryError("malloc of size 64 failed"), "not enough memory"),
        ("shoal.verification._files.digest", OSError(errno.EIO, "Input/output error"), "input/output error"),
        ("shoal.plan.read_bytes", OSError(errno.EMFILE, "Too many open files"), "too many open files"),
    ],
)
def test_what_the_machine_lacks_is_no_verdict(
    release: Path, monkeypatch: pytest.MonkeyPatch, place: str, error: Exception, why: str
) -> None:
    monkeypatch.setattr(place, raising(error))
    with pytest.raises(Undecided, match=f"could not be completed: .*{why}") as raised:
        shoal.verify(release)
    assert raised.value.exit_code == 5
    assert "says nothing about the release" in str(raised.value)


def raising(error: Exception) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail


def test_values_of_unusual_types_are_sorted_written_and_looked_at_as_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with duckdb.connect(tmp_path / "people.duckdb") as base:
        odd = "unnest(['0.0', '-0.0', 'nan', 'inf', NULL]::DOUBLE[]) AS odd"
        base.execute(f"CREATE TABLE people AS SELECT {odd}, town, uuid() AS own FROM unnest(['Ulm', 'Bonn']) t(town)")
    roles = {"town": Role.QUASI_IDENTIFIER, "odd": Role.INSENSITIVE, "own": Role.INSENSITIVE}
    schema = Schema(attributes=tuple(Attribute(name=name, role=role) for name, role in roles.items()))
    table = shoal.read(tmp_path / "people.duckdb", table="people", schema=schema)
    folder = shoal.anonymize(table, shoal.KAnonymity(k=2)).write(tmp_path / "release", csv=True)
    assert shoal.verify(folder).passed
    rows = pq.read_table(folder / "data.parquet")
    digests = {entry.name: (entry.sha256, entry.bytes) for entry in load(folder / CERTIFICATE).files}
    pq.write_table(rows.take([1, 0, *range(2, len(rows))]), folder / "data.parquet", store_schema=False)
    monkeypatch.setattr("shoal.verification._files.digest", lambda path: digests.get(path.name, ("", 0)))
    assert any("an order that is not the one of their values" in check.detail for check in shoal.verify(folder).checks)


@pytest.mark.parametrize("method", [shoal.Generalize(), shoal.methods.Mdav()], ids=lambda method: method.name)
def test_a_release_of_copies_is_flagged_by_its_publisher_and_its_reader(
    method: shoal.methods.Method, tmp_path: Path
) -> None:
    attributes = (
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind="numeric"),
        Attribute(name="ill", role=Role.SENSITIVE),
    )
    people = [{"age": 20 + place, "ill": "xyz"[place % 3]} for place in range(30)]
    for copies in (1, 3):
        table = shoal.read(pa.Table.from_pylist(people * copies), schema=Schema(attributes=attributes))
        release = shoal.anonymize(table, shoal.KAnonymity(3), method=method)
        checks = shoal.verify(release.write(tmp_path / f"{copies}")).checks
        flagged = [check for check in checks if check.subject == "copies"]
        assert [check.shown for check in flagged] == [False] * (copies == 3)
        assert any("a crowd of copies" in sentence for sentence in release.attention) == (copies == 3)
