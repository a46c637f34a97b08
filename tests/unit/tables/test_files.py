"""Reading from files, frames, standard input and addresses: what is read, and what is refused, in clear words."""

from __future__ import annotations

import datetime as dt
import gc
import io
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import DataError, OutputError, ParameterError, SchemaError
from shoal.schema import Attribute, Kind, Schema
from shoal.tables import read, write

ROWS = pa.table({"age": [39, 40, None], "city": ["a", None, "c"]})


def test_a_file_of_another_kind_that_is_called_csv_is_named(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "a.csv")
    with pytest.raises(DataError, match=r"a.csv is not a CSV file: it begins as `.parquet` files do"):
        read(tmp_path / "a.csv")


def test_a_parquet_file_is_read(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet")
    assert table.to_arrow().equals(ROWS)
    assert table.source.kind == "parquet"


def test_a_folder_of_parquet_files_is_read(tmp_path: Path) -> None:
    (tmp_path / "parts" / "year=2024").mkdir(parents=True)
    pq.write_table(ROWS, tmp_path / "parts" / "1.parquet")
    pq.write_table(ROWS, tmp_path / "parts" / "2.parquet")
    assert read(tmp_path / "parts").count() == 6


@pytest.mark.parametrize("name", ["a.parquet", "parts"])
def test_the_names_of_folders_above_are_no_columns(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "year=2024"
    (folder / "parts").mkdir(parents=True)
    for path in (folder / "a.parquet", folder / "parts" / "1.parquet"):
        pq.write_table(ROWS, path)
    assert read(folder / name).to_arrow().equals(ROWS)


def test_a_file_name_is_not_a_pattern(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "a[1]*'?.parquet")
    pq.write_table(ROWS, tmp_path / "a1.parquet")
    assert read(tmp_path / "a[1]*'?.parquet").count() == 3


def test_a_folder_without_parquet_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder without Parquet files"):
        read(tmp_path)


def test_the_folder_one_is_in_has_a_name_and_its_files_are_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(ROWS, tmp_path / "1.parquet")
    monkeypatch.chdir(tmp_path)
    assert read(".").source.name == tmp_path.name
    pq.write_table(ROWS.rename_columns([f"{name}2" for name in ROWS.column_names]), tmp_path / "2.parquet")
    with pytest.raises(DataError, match=f"{tmp_path.name}: not all .* those of 1.parquet and 2.parquet differ"):
        read(".")


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1 not really PAR1", b"x" * 100])
def test_a_damaged_parquet_file_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(data)
    with pytest.raises(DataError, match="is not a Parquet file, or it is damaged"):
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize("place", [4, 100])
def test_a_parquet_file_damaged_inside_is_refused_when_it_is_read(tmp_path: Path, place: int) -> None:
    pq.write_table(pa.table({"a": [f"secret{i}" for i in range(10_000)]}), tmp_path / "a.parquet")
    data = bytearray((tmp_path / "a.parquet").read_bytes())
    data[place:4000] = bytes(4000 - place)
    (tmp_path / "a.parquet").write_bytes(data)
    with pytest.raises(DataError, match=r"a\.parquet: the file is damaged") as caught:
        read(tmp_path / "a.parquet").to_arrow()
    assert "secret" not in str(caught.value)


def test_a_parquet_file_with_a_name_twice_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="column `a` appears 2 times"):
        read(tmp_path / "a.parquet")


def test_a_column_may_have_the_name_of_a_row_number(tmp_path: Path) -> None:
    pq.write_table(pa.table({"file_row_number": [7]}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").to_arrow().to_pydict() == {"file_row_number": [7]}


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_text("x")
    with pytest.raises(DataError, match=r"format `.docx` is not supported"):
        read(tmp_path / "a.docx")


@pytest.mark.parametrize(
    "make", [pa.Table.to_pandas, pl.from_arrow, pa.Table.combine_chunks], ids=["pandas", "polars", "arrow"]
)
def test_frames_are_read(make: object) -> None:
    table = read(make(ROWS))  # type: ignore[operator]
    assert table.to_arrow()["city"].to_pylist() == ["a", None, "c"]
    assert table.to_arrow()["age"].to_pylist() == [39, 40, None]


def test_a_lazy_polars_frame_is_read() -> None:
    assert read(pl.LazyFrame({"a": [1]})).count() == 1


def test_frames_come_out_again() -> None:
    table = read(ROWS)
    assert isinstance(table.to_pandas(), pd.DataFrame)
    assert table.to_polars().equals(pl.from_arrow(ROWS))


def test_a_pandas_frame_with_a_name_twice_is_refused() -> None:
    with pytest.raises(DataError, match="column `a` appears 2 times"):
        read(pd.DataFrame([[1, 2]], columns=["a", "a"]))


@pytest.mark.parametrize("cells", [[1, "secret", b"x"], [1, 10**25]])
def test_a_pandas_frame_of_mixed_types_is_refused_without_its_values(cells: list[object]) -> None:
    with pytest.raises(DataError, match="several types") as caught:
        read(pd.DataFrame({"a": cells}))
    assert "secret" not in str(caught.value)


def test_a_frame_without_records_is_refused() -> None:
    with pytest.raises(DataError, match="has no records"):
        read(ROWS.slice(0, 0))


def test_half_floats_are_read_and_long_decimals_refused_by_name() -> None:
    from decimal import Decimal

    assert read(pa.table({"a": pa.array([np.float16(0.5)], pa.float16())})).to_arrow()["a"].to_pylist() == [0.5]
    with pytest.raises(DataError, match="column `a`: the type decimal256"):
        read(pa.table({"a": pa.array([Decimal(1)], pa.decimal256(50, 0))}))


@pytest.mark.parametrize("source", [3, None, [1, 2], {"a": [1]}, b"a.csv"])
def test_what_cannot_be_read_is_refused_by_type(source: object) -> None:
    with pytest.raises(DataError, match="Shoal cannot read a"):
        read(source)


class TestDuckDB:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
            connection.execute("CREATE TYPE mood AS ENUM ('fine', 'ill')")
            connection.execute("CREATE TABLE people AS SELECT 39 AS age, 'ill'::mood AS mood")
            connection.execute("CREATE SCHEMA ward")
            connection.execute("CREATE TABLE ward.beds AS SELECT range AS bed FROM range(3)")
            connection.execute("CREATE VIEW old AS SELECT * FROM people")
        return tmp_path / "a.duckdb"

    def test_a_table_is_read_by_name(self, file: Path) -> None:
        assert read(file, table="people").to_arrow().to_pylist() == [{"age": 39, "mood": "ill"}]
        assert read(file, table="ward.beds").count() == 3
        assert read(file, table="beds").count() == 3

    def test_a_view_is_read_by_name(self, file: Path) -> None:
        assert read(file, table="old").count() == 1

    def test_the_name_is_needed_where_there_are_several(self, file: Path) -> None:
        with pytest.raises(ParameterError, match="holds 3 tables; specify `table`"):
            read(file)

    def test_an_unknown_table_is_refused(self, file: Path) -> None:
        with pytest.raises(DataError, match="has no table `none`"):
            read(file, table="none")

    def test_another_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "a.duckdb").write_text("secret" * 10_000)
        with pytest.raises(DataError, match="cannot be opened as a DuckDB file") as caught:
            read(tmp_path / "a.duckdb")
        assert "secret" not in str(caught.value)

    def test_enumerations_are_encoded_as_text(self, file: Path) -> None:
        from shoal.schema import Role
        from shoal.tables import encode

        schema = Schema(
            attributes=(
                Attribute(name="age", role=Role.SENSITIVE, kind=Kind.NUMERIC),
                Attribute(name="mood", role=Role.QUASI_IDENTIFIER),
            )
        )
        frequencies = encode(read(file, table="people", schema=schema)).frequencies
        assert frequencies.hierarchies[0].labels[0] == ("ill",)


def test_a_schema_can_be_given_at_once() -> None:
    schema = Schema(attributes=(Attribute(name="age", kind=Kind.NUMERIC), Attribute(name="city")))
    assert read(ROWS, schema=schema).schema is schema
    with pytest.raises(SchemaError):
        read(ROWS, schema=Schema(attributes=(Attribute(name="age"),)))


def test_a_schema_can_be_given_as_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        '[columns.age]\nrole = "quasi-identifier"\nkind = "numeric"\n[columns.city]\nrole = "sensitive"\n'
    )
    assert read(ROWS, schema=tmp_path / "a.toml").schema is not None


@pytest.mark.parametrize("option", ["delimiter", "encoding", "decimal"])
def test_how_a_csv_file_is_written_is_not_asked_of_others(option: str) -> None:
    with pytest.raises(ParameterError, match=f"`{option}` of `read` applies only to CSV files"):
        read(ROWS, **{option: ","})


def test_a_table_name_is_for_databases(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    for source in (ROWS, tmp_path / "a.csv"):
        with pytest.raises(
            ParameterError, match="`table` of `read` applies only to Excel files, DuckDB files, PostgreSQL"
        ):
            read(source, table="a")


def test_days_and_numbers_of_a_frame_keep_their_types() -> None:
    table = read(pa.table({"d": [dt.date(2024, 1, 1)], "f": [0.5], "b": [True]}))
    assert table.types == {"d": "date", "f": "float64", "b": "boolean"}


CSV = b"age;city\n34;Bonn\n61;Berlin\n"


class Piped:
    """What a shell pipes in."""

    def __init__(self, content, *, terminal=False):
        self.buffer, self.terminal = io.BytesIO(content), terminal

    def isatty(self):
        return self.terminal


def parquet(rows):
    found = io.BytesIO()
    pq.write_table(pa.table(rows), found)
    return found.getvalue()


FILES = {
    "/people.csv": CSV,
    "/people": parquet({"age": [34, 61]}),
    "/store/people.csv": CSV,
    "/store/parts/year=2023/a.parquet": parquet({"age": [34]}),
    "/store/parts/year=2024/a.parquet": parquet({"age": [61]}),
}


class Server(BaseHTTPRequestHandler):
    """A web server with a few files and bad habits, which speaks as much of S3 as reading needs."""

    asked: ClassVar[list[str | None]] = []

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path, query = unquote(urlsplit(self.path).path), urlsplit(self.path).query
        self.asked.append(self.headers.get("Authorization"))
        if path.rstrip("/") == "/store" and "list-type" in query:
            self.answer(200, listing(query), "application/xml")
        elif path == "/page.csv":
            self.answer(200, b"<html>Please log in</html>", "text/html; charset=utf-8")
        elif path == "/short.csv":
            self.answer(200, CSV, "text/csv", length=len(CSV) + 7)
        elif path in FILES:
            start = int((self.headers.get("Range") or "bytes=0-")[6:].partition("-")[0])
            self.answer(206 if "Range" in self.headers else 200, FILES[path][start:], "application/octet-stream")
        else:
            self.answer(404, b"", "text/plain")

    def answer(self, code, content, kind, length=None):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_):
        pass


def listing(query):
    wanted = next((unquote(part[7:]) for part in query.split("&") if part.startswith("prefix=")), "")
    found = [(path[7:], len(content)) for path, content in FILES.items() if path.startswith(f"/store/{wanted}")]
    inner = "".join(
        f"<Contents><Key>{name}</Key><Size>{size}</Size><LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
        for name, size in found
    )
    return (
        f"<ListBucketResult><Name>store</Name><KeyCount>{len(found)}</KeyCount><IsTruncated>false</IsTruncated>"
        f"{inner}</ListBucketResult>"
    ).encode()


@pytest.fixture(scope="module")
def server():
    found = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found.server_address[1]
    found.shutdown()


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("content", "columns"),
    [(CSV, ("age", "city")), (FILES["/people"], ("age",)), (b'{"age": 34}\n{"age": 61}\n', ("age",))],
)
def test_standard_input_is_told_by_its_first_bytes(content, columns, monkeypatch):
    monkeypatch.setattr("sys.stdin", Piped(content))
    table = shoal.read("-")
    assert (table.columns, table.count()) == (columns, 2)


def test_nothing_piped_in_is_one_clear_error(monkeypatch, scratch):
    monkeypatch.setattr("sys.stdin", Piped(b""))
    with pytest.raises(DataError, match="standard input is empty"):
        shoal.read("-")
    monkeypatch.setattr("sys.stdin", Piped(b"", terminal=True))
    with pytest.raises(DataError, match="nothing is piped in"):
        shoal.read("-")
    assert list(scratch.iterdir()) == []


def test_a_file_of_the_web_is_read_and_its_copy_removed_with_the_table(server, scratch):
    table = shoal.read(f"http://127.0.0.1:{server}/people.csv?token=hush")
    assert table.to_arrow().to_pydict() == {"age": ["34", "61"], "city": ["Bonn", "Berlin"]}
    assert table.source.name == "people.csv"
    assert shoal.read(f"http://127.0.0.1:{server}/people").to_arrow().to_pydict() == {"age": [34, 61]}
    del table
    gc.collect()
    assert list(scratch.iterdir()) == []


def test_a_password_is_sent_and_never_shown(server, scratch):
    Server.asked.clear()
    with pytest.raises(DataError, match="answers 404") as raised:
        shoal.read(f"http://anna:hush@127.0.0.1:{server}/no.csv?token=quiet")
    assert Server.asked == ["Basic YW5uYTpodXNo"]
    assert not {"hush", "quiet"} & set(str(raised.value).replace("=", " ").split())
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("page.csv", "is a web page"),
        ("short.csv", "stopped after|breaks off"),
        ("no.csv", "the server answers 404"),
    ],
)
def test_what_is_not_the_whole_file_is_refused(server, scratch, place, message):
    with pytest.raises(DataError, match=message):
        shoal.read(f"http://127.0.0.1:{server}/{place}")
    assert list(scratch.iterdir()) == []


def test_addresses_that_lead_nowhere_are_one_clear_error(scratch):
    for address in ("http://127.0.0.1:1/people.csv", "https://", "http://[", "http://host:port/people.csv"):
        with pytest.raises(DataError, match=r"cannot be read|incomplete"):
            shoal.read(address)
    assert list(scratch.iterdir()) == []


def test_files_and_partitioned_folders_of_a_store_are_read(server, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "hush")
    where = f"?endpoint_override=127.0.0.1:{server}&scheme=http&region=eu-west-1"
    assert shoal.read(f"s3://store/people.csv{where}").count() == 2
    parts = shoal.read(f"s3://store/parts{where}").to_arrow().to_pydict()
    assert sorted(zip(parts["year"], parts["age"], strict=True)) == [("2023", 34), ("2024", 61)]
    with pytest.raises(DataError, match=r"s3://store/no\.csv does not exist, or you are not allowed to see it"):
        shoal.read(f"s3://store/no.csv{where}")


@pytest.mark.skipif(os.name != "posix", reason="names are bytes")
@pytest.mark.parametrize("name", [os.fsdecode(b"o\xff"), "o\0x"])
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx", ".sav", ".dta", ".jsonl"])
def test_names_that_libraries_cannot_be_told_are_refused(tmp_path: Path, name: str, ending: str) -> None:
    rows = shoal.read(pa.table({"a": [1, 2]}))
    for place in (tmp_path / f"{name}{ending}", tmp_path / name / f"a{ending}"):
        with pytest.raises(OutputError, match="is not UTF-8 text"):
            write(rows, place)
        with pytest.raises(DataError, match="is not UTF-8 text"):
            shoal.read(place)
    assert list(tmp_path.iterdir()) == []


def test_json_lines_in_another_encoding_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes('{"town": "K\u00f6ln"}\n'.encode("latin-1"))
    with pytest.raises(DataError, match=r"a.jsonl is not UTF-8 text"):
        shoal.read(tmp_path / "a.jsonl")
