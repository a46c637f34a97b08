"""Every byte of a Parquet file is one that its records need: what no reader shows is found, and honest files pass."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.verification import _pages
from shoal.verification._files import looked_at
from shoal.verification._pages import Hidden, check_bytes
from shoal.verification._parquet import Damaged

ROWS = pa.table(
    {
        "town": [f"town {i % 37}" for i in range(3000)],
        "age": [None if i % 11 == 0 else i * 7919 % 1000 for i in range(3000)],
        "charge": [i % 90 * 0.37 for i in range(3000)],
        "zero": [-0.0, 0.0] * 1500,
        "ill": [True, None, False] * 1000,
        "empty": pa.nulls(3000, pa.string()),
    }
)
WRITERS: dict[str, dict[str, Any]] = {
    "plain values": {"use_dictionary": False},
    "pages of version 2": {"data_page_version": "2.0"},
    "the first version": {"version": "1.0"},
    "Snappy": {"compression": "snappy"},
    "nothing compressed": {"compression": "none"},
    "small groups": {"row_group_size": 700},
    "small pages": {"data_page_size": 500},
    "a small dictionary": {"dictionary_pagesize_limit": 200},
    "checksums": {"write_page_checksum": True},
    "no statistics": {"write_statistics": False},
}


def _write(path: Path, rows: pa.Table, **options: Any) -> Path:
    pq.write_table(rows, path, store_schema=False, **{"compression": "zstd", **options})
    return path


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("records", [0, 1, 3000])
def test_what_arrow_writes_is_accounted_for(name: str, records: int, tmp_path: Path) -> None:
    check_bytes(_write(tmp_path / "a.parquet", ROWS.slice(0, records), **WRITERS[name]))


@pytest.mark.parametrize("present", [1, 62, 20_500])
def test_pages_without_a_value_repeat_minima_and_maxima_of_the_page_before(present: int, tmp_path: Path) -> None:
    values = pa.array(["5"] * present + [None] * 60_000, pa.string())
    rows = pa.table({"war": values.dictionary_encode()})
    check_bytes(_write(tmp_path / "a.parquet", rows))


@pytest.mark.parametrize("values", [["5", "2"], ["a", "b", "c"]])
def test_pages_with_a_missing_value_may_have_minima_and_maxima_of_the_whole_dictionary(
    values: list[str], tmp_path: Path
) -> None:
    """Arrow takes a page for one of all values if it has all but one of them, and a missing value."""
    column = pa.array([*values, *[None] * 40_000, *values[:-1]], pa.string())
    check_bytes(_write(tmp_path / "a.parquet", pa.table({"war": column.dictionary_encode()})))


@pytest.mark.parametrize("records", [0, 1, 255, 257, 130_000])
def test_what_duckdb_writes_is_accounted_for(records: int, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    with duckdb.connect() as engine:
        engine.execute(
            "CREATE TABLE a AS SELECT hash(x) % 7 AS a, 'town ' || hash(x) % 90 AS b,"
            " hash(x) % 5000 * 0.37::DOUBLE AS c, CASE WHEN x % 3 > 0 THEN hash(x) % 400 END AS d,"
            " DATE '2020-01-01' + (x % 300)::INT AS e, x % 2 = 0 AS f,"
            f" x::DECIMAL(12, 2) AS g, NULL::VARCHAR AS h FROM range({records}) AS t(x) ORDER BY ALL"
        )
        engine.execute(f"COPY a TO '{path}' (FORMAT parquet, COMPRESSION zstd, WRITE_BLOOM_FILTER false)")
    check_bytes(path)


def _exchange(path: Path, old: bytes, new: bytes, *, last: bool = False) -> Path:
    content = path.read_bytes()
    place = content.rindex(old) if last else content.index(old)
    path.write_bytes(content[:place] + new + content[place + len(old) :])
    return path


def test_a_number_in_a_dictionary_that_no_record_has_is_found(tmp_path: Path) -> None:
    rows = pa.table({"income": pa.array([5, 5, 5, 48_211], pa.int64())})
    path = _write(tmp_path / "a.parquet", rows, compression="none", write_statistics=False)
    check_bytes(path)
    _exchange(path, b"\x01\x03\x08", b"\x01\x03\x00")  # the one index of the last value becomes that of the first
    assert pq.read_table(path)["income"].to_pylist() == [5, 5, 5, 5]
    with pytest.raises(Hidden, match="no record has"):
        check_bytes(path)


@pytest.mark.parametrize("last", [True, False])
def test_a_name_among_minima_and_maxima_is_found(last: bool, tmp_path: Path) -> None:
    rows = pa.table({"fruit": ["apple", "apple", "plum"]})
    path = _write(tmp_path / "a.parquet", rows, compression="none", use_dictionary=False)
    places = path.read_bytes().count(b"apple")
    assert places > 3, "the value itself twice, and minima of the page and of the column"
    assert looked_at(str(path))["hidden"] is None
    _exchange(path, b"apple", b"Vera!", last=last)
    assert looked_at(str(path))["hidden"] == "minima and maxima that are not those of the records"


def test_a_bloom_filter_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE a AS SELECT 'town ' || range % 90 AS town FROM range(3000)")
        engine.execute(f"COPY a TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
    with pytest.raises(Hidden, match="fields"):
        check_bytes(path)


@pytest.mark.parametrize("hidden", [1, 500])
def test_bytes_of_no_column_are_found(hidden: int, tmp_path: Path) -> None:
    path = _write(tmp_path / "a.parquet", ROWS)
    content = path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    path.write_bytes(content[:-footer] + b"x" * hidden + content[-footer:])
    with pytest.raises(Hidden, match="no column"):
        check_bytes(path)


def test_bytes_behind_the_footer_are_found(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.parquet", ROWS)
    content, note = path.read_bytes(), b"Vera Hill"
    length = int.from_bytes(content[-8:-4], "little") + len(note)
    path.write_bytes(content[:-8] + note + struct.pack("<I", length) + b"PAR1")
    assert pq.read_table(path).num_rows == 3000
    with pytest.raises(Damaged):
        check_bytes(path)


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "gzip"},
        {"compression": "brotli"},
        {"write_page_index": True},
        {"store_schema": True},
        {"sorting_columns": [pq.SortingColumn(0)]},
        {"column_encoding": "DELTA_BINARY_PACKED", "use_dictionary": False},
    ],
)
def test_what_no_writer_of_releases_does_is_refused(options: dict[str, Any], tmp_path: Path) -> None:
    rows = pa.table({"age": pa.array([3, 1, 2] * 50, pa.int64())})
    pq.write_table(rows, tmp_path / "a.parquet", **{"store_schema": False, "compression": "zstd", **options})
    with pytest.raises(Hidden):
        check_bytes(tmp_path / "a.parquet")


ZSTD = pa.Codec("zstd").compress(b"values", asbytes=True)
SKIPPED = b"\x50\x2a\x4d\x18" + struct.pack("<I", 9) + b"Vera Hill"


@pytest.mark.parametrize("packed", [ZSTD + SKIPPED, SKIPPED + ZSTD, ZSTD + ZSTD, ZSTD + b"x"])
def test_frames_that_no_reader_shows_are_found(packed: bytes) -> None:
    assert _pages._unpacked(ZSTD, 6, "zstd") == b"values"
    with pytest.raises(Hidden):
        _pages._unpacked(packed, 6, "zstd")


def test_nothing_stands_behind_the_values_of_a_page() -> None:
    assert _pages._read_plain(b"\1\0\0\0a\1\0\0\0b", 2, 6, 0) == [b"a", b"b"]
    for body, count, kind, width in [
        (b"\1\0\0\0a\1\0\0\0b", 1, 6, 0),
        (b"12345678x", 1, 2, 8),
        (b"\x81", 3, 0, 0),
        (b"\x01\x00", 3, 0, 0),
    ]:
        with pytest.raises(Hidden):
            _pages._read_plain(body, count, kind, width)


def test_runs_are_read_to_their_last_bit() -> None:
    assert _pages._read_runs(b"\x06\x02", 2, 3).tolist() == [2, 2, 2]
    assert _pages._read_runs(b"\x03\x05", 1, 3).tolist() == [1, 0, 1]
    for body, width, count in [
        (b"\x06\x02x", 2, 3),  # a byte more
        (b"\x06\x06", 2, 3),  # bits that the width does not have
        (b"\x06\x02", 2, 2),  # longer than the page
        (b"\x03\xf5", 1, 3),  # bits behind the last value
        (b"\x00\x02\x06\x02", 2, 3),  # a run of nothing
    ]:
        with pytest.raises(Hidden):
            _pages._read_runs(body, width, count)


def test_a_last_group_may_be_filled_up_with_the_one_before_it() -> None:
    first = bytes(range(32))
    assert len(_pages._read_runs(b"\x41" + first + b"\x41" + first, 1, 300)) == 300
    with pytest.raises(Hidden):
        _pages._read_runs(b"\x41" + first + b"\x41" + first[:-1] + b"\x01", 1, 300)
