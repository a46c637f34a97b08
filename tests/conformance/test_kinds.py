"""Every line of the page about types, on real servers and files: kept exactly, converted, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from reference.kinds import ARROW, EXCEL, POSTGRES, POSTGRES_TYPES, SAS, SPARK, SPSS, STATA, Kind, page
from shoal.errors import DataError, SchemaError
from shoal.schema import Attribute, Schema
from shoal.tables import Table

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "types.md"
SCHEMA = Schema(attributes=(Attribute(name="v", role="insensitive"),))
WRITERS = {".dta": "write_dta", ".sav": "write_sav", ".xpt": "write_xport"}


def test_the_page_says_what_these_tests_try() -> None:
    assert PAGE.read_text("utf-8") == page()


def check(kind: Kind, load: Callable[[], Table]) -> None:
    """Read the values of a kind and compare them with what the page says."""
    if kind.read is None:
        with pytest.raises((DataError, SchemaError), match="column `v`") as caught:
            load().with_schema(SCHEMA)
        assert kind.note.partition(",")[0] in str(caught.value)
        return
    found = load().to_arrow()["v"].to_pylist()
    # as text, not-a-number is itself, and zeros have signs
    assert sorted(map(repr, map(_in_utc, found))) == sorted(map(repr, kind.read))


def _in_utc(value: Any) -> Any:
    import datetime as dt

    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) and value.tzinfo else value


def _ids(kinds: list[Kind]) -> Iterator[Any]:
    return (pytest.param(kind, id=kind.name) for kind in kinds)


@pytest.mark.parametrize("kind", _ids(ARROW))
def test_kinds_of_arrow(kind: Kind) -> None:
    check(kind, lambda: shoal.read(pa.table({"v": kind.given})))


@pytest.mark.parametrize("kind", _ids([each for each in ARROW if each.described and each.note[:2] == "in"]))
def test_days_that_python_cannot_hold_are_refused_by_drafts(kind: Kind) -> None:
    rows = pa.table({"v": kind.given})
    if pa.types.is_time(kind.given.type):
        pytest.skip("drafts take times for texts")
    with pytest.raises(DataError, match="column `v`: 1 value is infinite"):
        shoal.draft(rows)


@pytest.mark.postgres
def test_kinds_of_postgresql(postgres: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        for statement in POSTGRES_TYPES:
            cursor.execute(statement)
        for place, kind in enumerate(POSTGRES):
            cursor.execute(f"CREATE TABLE kind{place} (v {kind.type})")
            cursor.execute(f"INSERT INTO kind{place} VALUES {kind.given}")
        connection.commit()
    for place, kind in enumerate(POSTGRES):
        check(kind, lambda place=place: shoal.read(postgres, table=f"kind{place}"))  # type: ignore[misc]
        if "note counts" in kind.note:
            assert "column `v`: 1 value of more digits" in shoal.read(postgres, table=f"kind{place}").notes[0]


@pytest.mark.spark
def test_kinds_of_spark(spark: Any) -> None:
    for kind in SPARK:
        frame = spark.sql(f"SELECT CAST(v AS {kind.type}) AS v FROM VALUES {kind.given} AS t(v)")
        check(kind, lambda frame=frame: shoal.read(frame))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        pytest.param(ending, kind, id=f"{ending} {kind.name}")
        for ending, kinds in ((".dta", STATA), (".sav", SPSS), (".xpt", SAS))
        for kind in kinds
    ],
)
def test_kinds_of_statistics_packages(ending: str, kind: Kind, tmp_path: Path) -> None:
    pandas, pyreadstat = pytest.importorskip("pandas"), pytest.importorskip("pyreadstat")
    path = tmp_path / f"a{ending}"
    getattr(pyreadstat, WRITERS[ending])(pandas.DataFrame({"v": kind.given}), str(path), **kind.options)
    check(kind, lambda: shoal.read(path))


@pytest.mark.parametrize("kind", _ids(EXCEL))
def test_kinds_of_excel(kind: Kind, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["v", "number"])
    for row, value in enumerate(kind.given):
        book.active.append([value, row])
        if kind.type:
            book.active.cell(row + 2, 1).number_format = kind.type
    book.save(tmp_path / "a.xlsx")
    check(kind, lambda: shoal.read(tmp_path / "a.xlsx"))
