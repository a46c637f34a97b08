from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.errors import Cancelled, OutputError, ParameterError
from shoal.tables import Table, read, write
from shoal.tables._duckdb import DuckDBEngine
from shoal.writing import replacing


@pytest.fixture
def table() -> Table:
    return read(pa.table({"a": [1, 2], "b": ["x", None]}))


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", 'it\'s "odd" [1].parquet'])
def test_a_file_is_written_and_nothing_else(table: Table, tmp_path: Path, name: str) -> None:
    write(table, tmp_path / name)
    assert left(tmp_path) == [name]
    assert read(tmp_path / name).columns == ("a", "b")


def test_the_hidden_row_number_is_not_written(table: Table, tmp_path: Path) -> None:
    write(table, tmp_path / "a.parquet")
    assert pq.read_schema(tmp_path / "a.parquet").names == ["a", "b"]


def test_a_file_is_replaced_only_on_request(table: Table, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        write(table, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "mine"
    write(table, tmp_path / "a.csv", overwrite=True)
    assert (tmp_path / "a.csv").read_text() == "a,b\n1,x\n2,\n"


def test_a_missing_folder_is_refused(table: Table, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is not a folder"):
        write(table, tmp_path / "none" / "a.csv")


def test_a_folder_without_permission_is_refused(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="no permission"):
        write(table, tmp_path / "a.csv")


@pytest.mark.parametrize("destination", ["a.docx", "a", "postgres.db"])
def test_an_unknown_format_is_refused(table: Table, destination: str) -> None:
    with pytest.raises(ParameterError, match="which `format`"):
        write(table, destination)
    with pytest.raises(ParameterError, match="`format` of `write` must be one of"):
        write(table, destination, format="xlsx")


@pytest.mark.parametrize("form", ["spark", "parquet-folder"])
def test_the_formats_of_spark_are_refused_elsewhere(table: Table, tmp_path: Path, form: str) -> None:
    with pytest.raises(ParameterError, match="for tables on Spark"):
        write(table, tmp_path / "a", format=form)
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("raised", "error", "said"),
    [
        (duckdb.IOException("Could not write file: No space left on device"), OutputError, "the disk is full"),
        (duckdb.OutOfMemoryException("secret"), OutputError, "not enough memory"),
        (duckdb.ConversionException("Could not convert string 'secret'"), OutputError, "ConversionException"),
        (PermissionError(13, "Permission denied"), OutputError, "permission"),
        (OSError(28, "No space left on device"), OutputError, "the disk is full"),
        (KeyboardInterrupt(), Cancelled, "nothing was written"),
        (duckdb.InterruptException("INTERRUPT"), Cancelled, "nothing was written"),
    ],
)
def test_what_goes_wrong_leaves_nothing_behind(
    table: Table,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    raised: BaseException,
    error: type[Exception],
    said: str,
) -> None:
    def fail(_engine: object, _expression: object, path: Path) -> None:
        path.write_text("half")
        raise raised

    monkeypatch.setattr(DuckDBEngine, "write_csv", fail)
    with pytest.raises(error, match=said) as caught:
        write(table, tmp_path / "a.csv")
    assert "secret" not in str(caught.value)
    assert left(tmp_path) == []


def test_mistakes_of_ours_are_not_hidden(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AttributeError("ours")

    monkeypatch.setattr(DuckDBEngine, "write_csv", fail)
    with pytest.raises(AttributeError, match="ours"):
        write(table, tmp_path / "a.csv")
    assert left(tmp_path) == []


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "old").write_text("old")
    with replacing(tmp_path / "a", overwrite=True) as temporary:
        temporary.mkdir()
        (temporary / "new").write_text("new")
    assert left(tmp_path) == ["a"]
    assert left(tmp_path / "a") == ["new"]


@pytest.mark.slow
def test_a_file_that_grows_beyond_a_limit_is_an_error(tmp_path: Path) -> None:
    script = """
        import resource, signal, sys
        from pathlib import Path
        import pyarrow as pa
        from shoal.errors import OutputError
        from shoal.tables import read, write
        table = read(pa.table({"a": [str(i) for i in range(100_000)]}))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        try:
            write(table, Path(sys.argv[1]) / "a.csv")
        except OutputError as error:
            print("refused")
    """
    done = run(script, tmp_path)
    assert done.communicate(timeout=120)[0].strip() == "refused"
    assert left(tmp_path) == []


@pytest.mark.slow
def test_an_interrupt_while_writing_leaves_nothing_behind(tmp_path: Path) -> None:
    temporary, target = tmp_path / "tmp", tmp_path / "out"
    temporary.mkdir()
    target.mkdir()
    script = """
        import sys
        from dataclasses import replace
        from pathlib import Path
        import pyarrow as pa
        from shoal.errors import Cancelled
        from shoal.tables import read, write
        table = read(pa.table({"a": [str(i) for i in range(100_000)]}))
        more = table.expression.cross_join(table.expression.select(b=table.expression["a"]))
        print("started", flush=True)
        try:
            write(replace(table, expression=more), Path(sys.argv[1]) / "a.csv")
        except Cancelled as error:
            print("stopped", flush=True)
    """
    process = run(script, target, TMPDIR=str(temporary))
    assert process.stdout is not None
    try:
        assert process.stdout.readline().strip() == "started"
        deadline = time.monotonic() + 120
        while not left(target) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=120)[0].strip() == "stopped"
    finally:
        process.kill()
    assert left(target) == []
    assert left(temporary) == []


def run(script: str, folder: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
