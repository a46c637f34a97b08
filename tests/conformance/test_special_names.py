"""Tables whose columns are called by words of engines, of libraries and of Shoal itself, in every format and method."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from conformance.test_names_of_columns import _release, _values
from golden.cases import CASES
from reference.names import BLANK, SPECIAL, TWINS, internal_names, tables_of_names
from shoal.errors import DataError, OutputError, SchemaError
from shoal.schema import Attribute, Kind, Role, Schema
from shoal.tables import Table, in_order, number_records, write

SOURCE = Path(shoal.__file__).parent / "tables"
NAMES = (*SPECIAL, *internal_names(SOURCE))
TABLES = tables_of_names(NAMES, 80)
RECORDS = 5
#: what SPSS, Stata and SAS have reserved or cannot hold is refused by a sentence
STATISTICS = (".dta", ".sav", ".xpt")


def test_the_names_of_this_code_are_among_those_tried() -> None:
    assert {"records", "times", "c0", "word0", "other0", "whose"} <= set(NAMES)
    assert sum(map(len, TABLES)) == len(set(NAMES)) > 250


def _cell(row: int, column: int) -> str:
    return f"canary{row}x{column}"


def _rows(names: list[str]) -> pa.Table:
    columns = [[_cell(row, column) for row in range(RECORDS)] for column in range(len(names))]
    return pa.table(columns, names=names)


def _duckdb(rows: pa.Table, folder: Path) -> Table:
    path = folder / "t.duckdb"
    with duckdb.connect(path) as connection:
        connection.register("rows", rows.rename_columns([f"c{i}" for i in range(rows.num_columns)]))
        named = ", ".join(f'c{i} AS "{name.replace(chr(34), chr(34) * 2)}"' for i, name in enumerate(rows.column_names))
        connection.execute(f"CREATE TABLE t AS SELECT {named} FROM rows")
    return shoal.read(path)


def _written(suffix: str) -> Callable[[pa.Table, Path], Table]:
    def load(rows: pa.Table, folder: Path) -> Table:
        path = folder / f"t{suffix}"
        write(shoal.read(rows), path)
        return shoal.read(path)

    return load


def _parquet(rows: pa.Table, folder: Path) -> Table:
    pq.write_table(rows, folder / "t.parquet")
    return shoal.read(folder / "t.parquet")


LOADS: Mapping[str, Callable[[pa.Table, Path], Table]] = {
    "arrow": lambda rows, _: shoal.read(rows),
    "pandas": lambda rows, _: shoal.read(rows.to_pandas()),
    "duckdb": _duckdb,
    "parquet": _parquet,
    **{suffix: _written(suffix) for suffix in (".csv", ".jsonl", ".feather", ".xlsx")},
}


def _check(table: Table, rows: pa.Table) -> None:
    """Look at a table in all the ways that its engine has."""
    assert table.columns == tuple(rows.column_names)
    assert in_order(table).to_pydict() == rows.to_pydict()
    assert in_order(number_records(table.select(*table.columns[::-1]))).to_pydict() == rows.to_pydict()
    numbers = Schema(attributes=tuple(Attribute(name=name, kind=Kind.NUMERIC) for name in table.columns))
    with pytest.raises(SchemaError) as caught:
        table.with_schema(numbers)
    assert "canary" not in str(caught.value)
    assert len(caught.value.problems) == len(table.columns)
    if table.source.first_row is not None:
        row = f"(first in row {table.source.first_row})"
        assert all(problem.endswith(row) for problem in caught.value.problems)


@pytest.mark.parametrize("number", range(len(TABLES)))
@pytest.mark.parametrize("name", LOADS)
def test_records_come_back_under_every_name(name: str, number: int, tmp_path: Path) -> None:
    rows = _rows(TABLES[number])
    if name == ".xlsx":
        rows = rows.drop_columns([each for each in rows.column_names if each == "a\x01b"])
    table = LOADS[name](rows, tmp_path)
    _check(table, rows)
    if name == "arrow":
        assert [each.name for each in shoal.draft(table).schema] == rows.column_names
    write(table, tmp_path / "again.parquet")
    assert pq.read_table(tmp_path / "again.parquet").to_pydict() == rows.to_pydict()


def test_control_characters_are_refused_in_a_sheet(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="column `a\x01b`"):
        write(shoal.read(_rows(["a\x01b"])), tmp_path / "t.xlsx")
    with pytest.raises(OutputError, match="control characters, and some texts") as caught:
        write(shoal.read(pa.table({"a": ["canary\x01"]})), tmp_path / "t.xlsx")
    assert "canary" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", STATISTICS)
def test_names_that_a_statistics_package_cannot_hold_are_refused_together(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{suffix}"
    reserved = ["int", "using", "str20", "ALL", "and", "With", "_n", "_all"]
    for names in [*TABLES, reserved]:
        rows = _rows([*names, "plain"])
        try:
            write(shoal.read(rows), path)
        except OutputError as error:
            refused = [name for name in names if any(f"`{name}`" in problem for problem in error.problems)]
            assert refused
            assert not list(tmp_path.iterdir())
            rows = rows.drop_columns(refused)
            write(shoal.read(rows), path)
        assert shoal.read(path).to_arrow().to_pydict() == rows.to_pydict()
        path.unlink()


@pytest.mark.parametrize("twins", TWINS)
def test_names_that_engines_take_for_the_same_are_refused(twins: tuple[str, str], tmp_path: Path) -> None:
    rows = _rows([*twins, "other"])
    pq.write_table(rows, tmp_path / "t.parquet")
    for source in (rows, tmp_path / "t.parquet"):
        with pytest.raises(DataError, match="differ only in case") as caught:
            shoal.read(source)
        assert all(f"`{name}`" in str(caught.value) for name in twins)
        assert "rename" in str(caught.value)


@pytest.mark.parametrize("name", BLANK)
def test_a_name_that_shows_nothing_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="column 1 has no name"):
        shoal.read(_rows([name, "other"]))


def test_folders_of_a_partition_are_columns_with_names_like_others(tmp_path: Path) -> None:
    for name in ("rowid", "file_row_number"):
        for part in "ab":
            folder = tmp_path / name / f"{name}={part}"
            folder.mkdir(parents=True)
            pq.write_table(pa.table({"file_index": ["x", "y"]}), folder / "0.parquet")
        found = in_order(shoal.read(tmp_path / name))
        assert found.to_pydict() == {"file_index": ["x", "y"] * 2, name: ["a", "a", "b", "b"]}
    (tmp_path / "ours" / "__shoal_row__=1").mkdir(parents=True)
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "ours" / "__shoal_row__=1" / "0.parquet")
    with pytest.raises(DataError, match="reserved"):
        shoal.read(tmp_path / "ours")


#: one case of every method, and the forms that put columns of their own beside those of the table
METHODS = list({name.partition(",")[0]: name for name in reversed(CASES)}.values())
FORMS = ("generalize, aggregates", "bucketize, permuted", "suppress, wildcards", "truthful, persons")


@pytest.mark.parametrize(("place", "name"), list(enumerate(dict.fromkeys([*METHODS, *FORMS]))))
def test_every_method_releases_the_same_under_special_names(place: int, name: str, tmp_path: Path) -> None:
    case = dataclasses.replace(CASES[name], measures=("loss",), internal=False)
    columns = case.described(tmp_path).names
    taken = NAMES[place * 9 :] + NAMES[: place * 9]
    fresh = tables_of_names([*taken[:-1], "rowid"], len(columns) - 1)[0]
    names = dict(zip(columns, ["rowid", *(each for each in fresh if each != "rowid")], strict=False))
    released = _release(case, tmp_path, names)
    assert _values(released) == _values(_release(case, tmp_path, {}))
    assert shoal.verify(released.write(tmp_path / "release", csv=True)).passed


@pytest.mark.postgres
def test_records_come_back_from_a_server_under_every_name(postgres: str) -> None:
    from adbc_driver_postgresql import dbapi

    reserved = {"oid", "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"}
    for names in TABLES:
        rows = _rows([name for name in names if name not in reserved and len(name.encode()) < 64])
        with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("special", rows, mode="replace")
            connection.commit()
        _check(shoal.read(postgres, table="special"), rows)
    write(shoal.read(rows), postgres, name="copy")
    assert in_order(shoal.read(postgres, table="copy")).to_pydict() == rows.to_pydict()


@pytest.mark.spark
def test_records_come_back_from_spark_under_special_names(spark: Any) -> None:
    names = tables_of_names(["rowid", "_metadata", "monotonically_increasing_id", "a.b", "a`b", "*", "count", "é"], 20)[
        0
    ]
    rows = _rows(names)
    table = shoal.read(spark.createDataFrame(rows))
    assert table.columns == tuple(names)
    found = in_order(table)
    assert sorted(found.to_pylist(), key=str) == sorted(rows.to_pylist(), key=str)
    attributes = tuple(Attribute(name=name, role=Role.QUASI_IDENTIFIER) for name in names)
    plan = shoal.Plan(
        schema=Schema(attributes=attributes), models=(shoal.KAnonymity(RECORDS),), method=shoal.Generalize()
    )
    assert set(plan.run(table).table.to_arrow()[names[0]].to_pylist()) == {"*"}
