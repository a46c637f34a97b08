"""Releases whose tables are folders of parts, as a cluster writes them: verified as others are, and forged so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from forgeries import forger
from shoal.schema import Attribute, Flat, Role, Schema
from shoal.tables import Table, _sites

PART = "data.parquet/part-00001.parquet"
COPY = "data.csv/part-00001.csv"


class _Parts(_sites.Here):
    """Two tasks of a cluster, on this machine."""

    def write(self, table: Table, path: Path, *, csv: bool) -> dict[str, tuple[str, int]]:
        rows = table.to_arrow()
        halves = (rows.slice(0, len(rows) // 2), rows.slice(len(rows) // 2))
        with _sites._attempts(path.parent) as (attempts, _):
            made = [{**_sites._write_groups(attempts, [half]), "task": task} for task, half in enumerate(halves)]
            known = _sites._name_files(path, made, attempts)
            if csv:
                copies = [{**_sites._write_csv(str(path.parent / name)), "task": i} for i, name in enumerate(known)]
                known |= _sites._name_files(path.with_suffix(".csv"), copies, attempts)
        return known

    def each(self, look: Callable[[str], Mapping[str, Any]], paths: Sequence[Path]) -> list[Mapping[str, Any]]:
        return [look(str(path)) for path in paths]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_releases(tmp_path_factory.mktemp("parts"))


def make_releases(folder: Path) -> Path:
    """Return the folder with releases in parts, and one in a single file."""
    rows = pa.table({"town": [f"town {i % 5}" for i in range(60)], "illness": [f"illness {i % 7}" for i in range(60)]})
    schema = Schema(
        attributes=(
            Attribute(name="town", role=Role.QUASI_IDENTIFIER, hierarchy=Flat()),
            Attribute(name="illness", role=Role.SENSITIVE),
        )
    )
    table = shoal.read(rows, schema=schema)
    one = shoal.anonymize(table, shoal.KAnonymity(5), method=shoal.Generalize())
    two = shoal.anonymize(table, shoal.DistinctLDiversity("illness", 3), method=shoal.methods.Anatomy())
    one.write(folder / "whole", csv=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shoal.tables, "site_of", lambda _: _Parts())
        one.write(folder / "generalize", csv=True)
        two.write(folder / "anatomy")
    return folder


def test_a_release_in_parts_holds_the_same_records_and_verifies(written: Path) -> None:
    parts, whole = (pq.read_table(written / name / "data.parquet") for name in ("generalize", "whole"))
    assert parts.to_pydict() == whole.to_pydict()
    assert (written / "generalize" / PART).is_file()
    assert (written / "generalize" / COPY).is_file()
    assert shoal.verify(written / "generalize").passed
    assert (
        shoal.released(written / "generalize").to_arrow().to_pydict()
        == shoal.released(written / "whole").to_arrow().to_pydict()
    )


def test_the_view_of_two_tables_in_parts_runs(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shoal.verify(written / "anatomy").passed
    monkeypatch.chdir(written / "anatomy")
    connection = duckdb.connect()
    connection.execute(Path("joined.sql").read_text(encoding="utf-8"))
    (total,) = connection.execute("SELECT sum(probability) FROM joined").fetchone() or (None,)
    assert total == pytest.approx(60)


def _rewritten(folder: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.read_table(folder / PART)), folder / PART)


def _renumbered(folder: Path) -> None:
    (folder / PART).rename(folder / PART.replace("1.p", "2.p"))
    forger.edit(
        folder,
        lambda content: [
            entry.update(name=entry["name"].replace("00001.parquet", "00002.parquet")) for entry in content["files"]
        ],
    )


def _left_out(folder: Path) -> None:
    (folder / COPY).unlink()
    forger.edit(folder, lambda content: content.update(files=[x for x in content["files"] if x["name"] != COPY]))


def _exchanged(folder: Path) -> None:
    """Let each of the two parts, and of their copies, take the name of the other."""
    for second in (folder / PART, folder / COPY):
        first = second.with_name(second.name.replace("1.", "0."))
        third = second.rename(second.with_name("third"))
        first.rename(second)
        third.rename(first)


FORGERIES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a part is gone": (lambda folder: (folder / PART).unlink(), "the file is missing"),
    "a part too many": (
        lambda folder: (folder / PART.replace("1.p", "2.p")).write_bytes((folder / PART).read_bytes()),
        "not part of the release",
    ),
    "another order of columns": (
        lambda folder: _rewritten(folder, lambda rows: rows.select(rows.column_names[::-1])),
        "its columns are not those of the other parts",
    ),
    "another type": (
        lambda folder: _rewritten(folder, lambda rows: rows.set_column(1, "illness", rows["illness"].cast("binary"))),
        "its columns are not those of the other parts",
    ),
    "metadata": (
        lambda folder: _rewritten(folder, lambda rows: rows.replace_schema_metadata({"who": "Ann"})),
        "it holds more than records",
    ),
    "parts in another order": (_exchanged, "an order that is not the one of their values"),
    "numbers with a gap": (_renumbered, "not a file that a release of this plan has"),
    "a copy of half of the records": (_left_out, "not the records of data.parquet"),
    "a folder beside": (lambda folder: (folder / "more").mkdir(), "not a folder of a release"),
    "a folder in the folder": (lambda folder: (folder / "data.parquet" / "x=1").mkdir(), "not a folder of a release"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_parts_are_refused(forgery: str, written: Path, tmp_path: Path) -> None:
    change, said = FORGERIES[forgery]
    folder = forger.copied(written / "generalize", tmp_path / "forged")
    change(folder)
    # fingerprints and pages fit what is there
    forger.edit(folder, lambda content: None, pages=(folder / PART).exists())
    found = shoal.verify(folder)
    assert not found.passed
    assert said in " ".join(str(found).split())
