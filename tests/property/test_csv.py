"""CSV files, friendly and hostile: either a table or one clear error, and never another reading than Python's."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from reference.examples import examples
from reference.tables import parse_csv
from shoal.errors import DataError, ShoalError
from shoal.tables import read
from shoal.tables.formats import _csv as module
from shoal.tables.formats import _utf8
from shoal.tables.formats._cells import header_of
from shoal.tables.formats._csv import open_csv
from shoal.tables.formats._utf8 import WrongEncoding

NAMES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters='\0\r\n",;|\t'), min_size=1, max_size=5),
    min_size=1,
    max_size=4,
    unique_by=str.lower,
).filter(lambda names: all(name.strip() for name in names))
FIELDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
LINES = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), max_size=6)
HOSTILE = st.text(st.sampled_from('ab"";,\t|\n\r 1é\0'), max_size=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("csv")


def rows_of(path: Path, **written: str) -> list[list[str | None]]:
    """Read a file without an engine; the header is the first row."""
    text = open_csv(path, **written)
    rows = [list(row.values()) for batch in text.records for row in renamed(batch).to_pylist()]
    text.check()
    return [list(text.columns), *rows]


def renamed(batch: object) -> object:
    return batch.rename_columns([str(i) for i in range(batch.num_columns)])  # type: ignore[attr-defined]


@st.composite
def written_tables(draw: st.DrawFn) -> tuple[list[list[str]], str, str, int]:
    names = draw(NAMES)
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    # the writer leaves a line break that is not its own unquoted where it quotes little
    fields = FIELDS if quoting == csv.QUOTE_ALL else LINES
    rows = draw(st.lists(st.lists(fields, min_size=len(names), max_size=len(names)), min_size=1, max_size=6))
    delimiter = draw(st.sampled_from(",;\t|"))
    return [names, *rows], delimiter, draw(st.sampled_from(["\n", "\r\n", "\r"])), quoting


@given(written_tables(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]), st.booleans())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_what_the_csv_module_writes_is_read_back(
    folder: Path, written: tuple[list[list[str]], str, str, int], encoding: str, compressed: bool
) -> None:
    rows, delimiter, line_end, quoting = written
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=line_end, quoting=quoting).writerows(rows)
    data = text.getvalue().encode(encoding)
    path = folder / ("a.csv.gz" if compressed else "a.csv")
    path.write_bytes(gzip.compress(data) if compressed else data)
    header = header_of(rows)  # a first row of words that come again is a record
    records = rows[1:] if header.present else rows
    expected = [list(header.columns), *[[field or None for field in row] for row in records]]
    assert rows_of(path, delimiter=delimiter) == expected


@given(HOSTILE, st.sampled_from(",;\t|"))
@example('a,b\n1,"x\n3,4\n', ",")
@example('a,b\n1,2\n"', ",")
@example("a\r\n\r\n1", ",")
@example('a,b\n1,"x"y"\n', ",")
@examples(300)
def test_a_file_is_read_as_its_grammar_says_or_refused(folder: Path, text: str, delimiter: str) -> None:
    path = folder / "hostile.csv"
    path.write_bytes(text.encode())
    rows, closed = parse_csv(text, delimiter)
    header = header_of([[field or "" for field in row] for row in rows]) if rows else None
    if header and len(header.columns) == 1 and not text.startswith(("\r", "\n")):
        rows, _ = parse_csv(text, delimiter, blanks=True)  # a blank line is a record without a value
    if header and len(rows) > 1 and closed and "\0" not in text and len({len(row) for row in rows}) == 1:
        records = rows[1:] if header.present else rows
        assert rows_of(path, delimiter=delimiter, encoding="utf-8") == [list(header.columns), *records]
    else:
        with pytest.raises(DataError):
            rows_of(path, delimiter=delimiter, encoding="utf-8")


@given(HOSTILE.filter(lambda text: "\0" not in text), st.sampled_from(",;\t|"))
@examples(200)
def test_the_reference_grammar_is_that_of_the_csv_module(text: str, delimiter: str) -> None:
    rows, _ = parse_csv(text, delimiter)
    theirs = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    assert rows == [[field or None for field in row] for row in theirs if row]


@given(HOSTILE, st.integers(1, 7))
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_where_a_block_ends_does_not_matter(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, block: int
) -> None:
    path = folder / "blocks.csv"
    path.write_bytes(("name,other\n" + text).encode())

    def outcome() -> object:
        try:
            return rows_of(path, delimiter=",")
        except ShoalError as error:
            return error.problems

    whole = outcome()
    with monkeypatch.context() as patch:
        patch.setattr(_utf8, "CHUNK", block)
        assert outcome() == whole


@pytest.mark.slow
@given(st.data())
@examples(150)
def test_where_arrow_splits_the_file_does_not_matter(folder: Path, data: st.DataObject) -> None:
    fields = st.text(st.sampled_from('a"\n\r, é'), max_size=4)
    rows = data.draw(st.lists(st.tuples(fields, fields), min_size=20, max_size=60))
    path = folder / "split.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("x", "y"), *rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", data.draw(st.integers(80, 128)))
        assert rows_of(path, delimiter=",")[1:] == [[field or None for field in row] for row in rows]


@given(st.binary(max_size=200))
@example(b"\x1f\x8b")
@example(b"\xff\xfe")
@example(b"\xef\xbb\xbf")
@example(b"a,b\n\xff,1\n")
@example(b"a,b\n\xc3\xa9,\xff\n")
@examples(300)
def test_any_bytes_are_a_table_or_one_error(folder: Path, data: bytes) -> None:
    path = folder / "bytes.csv"
    path.write_bytes(data)
    try:
        rows = rows_of(path)
    except WrongEncoding:
        with pytest.raises(UnicodeDecodeError):
            data.decode()
    except ShoalError:
        pass
    else:
        assert len({len(row) for row in rows}) == 1


@given(st.one_of(st.binary(max_size=60), HOSTILE.map(str.encode)))
@examples(25)
def test_reading_a_hostile_file_onto_the_engine_gives_a_table_or_an_error(folder: Path, data: bytes) -> None:
    path = folder / "engine.csv"
    path.write_bytes(data)
    try:
        records = read(path).count()
    except DataError:
        return
    assert records >= 1


@given(written_tables())
@examples(20)
def test_the_engine_holds_the_rows_of_the_csv_module(
    folder: Path, written: tuple[list[list[str]], str, str, int]
) -> None:
    rows, delimiter, line_end, quoting = written
    path = folder / "held.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator=line_end, quoting=quoting).writerows(rows)
    table = read(path, delimiter=delimiter, encoding="utf-8")
    assert list(table.columns) == rows[0]
    held = [list(row) for row in zip(*(column.to_pylist() for column in table.to_arrow().columns), strict=True)]
    assert held == [[field or None for field in row] for row in rows[1:]]
