"""A check that cannot be carried out is no verdict."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.errors import Cancelled, OutputError
from shoal.schema import Attribute, Role, Schema

TOWN = Schema(attributes=(Attribute(name="town", role=Role.QUASI_IDENTIFIER),))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = shoal.read(pa.table({"town": ["Ulm", "Ulm", "Bonn", "Bonn"]}), schema=TOWN)
    return shoal.anonymize(table, shoal.KAnonymity(k=2)).write(tmp_path_factory.mktemp("verify") / "release")


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
