from __future__ import annotations

import gc
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from shoal.errors import ParameterError
from shoal.tables import read
from shoal.tables._duckdb import DuckDBEngine, literal, quote_identifier


@pytest.mark.slow
def test_the_private_folder_goes_with_the_engine() -> None:
    engine = DuckDBEngine()
    folder = engine.folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    del engine
    gc.collect()
    assert not folder.exists()


@pytest.mark.slow
def test_the_private_folder_goes_with_the_table() -> None:
    table = read(pa.table({"a": [1]}))
    folder = table.engine.folder
    selected = table.select("a")
    del table
    gc.collect()
    assert folder.exists()
    assert selected.count() == 1
    del selected
    gc.collect()
    assert not folder.exists()


def test_no_extension_is_ever_fetched() -> None:
    engine = DuckDBEngine()
    settings = dict(
        engine.connection.execute(
            "SELECT name, value FROM duckdb_settings() WHERE name LIKE 'auto%known_extensions'"
        ).fetchall()
    )
    assert set(settings.values()) == {"false"}


def test_memory_and_threads_can_be_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_MEMORY", "512MiB")
    monkeypatch.setenv("SHOAL_THREADS", "1")
    engine = DuckDBEngine()
    found = engine.connection.execute("SELECT current_setting('memory_limit'), current_setting('threads')").fetchone()
    assert found == ("512.0 MiB", 1)


@pytest.mark.parametrize(
    ("name", "value"), [("SHOAL_THREADS", "many"), ("SHOAL_THREADS", "0"), ("SHOAL_MEMORY", "lots")]
)
def test_impossible_limits_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ParameterError, match=f"`{name}`"):
        DuckDBEngine()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_little_memory_spills_to_the_private_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_MEMORY", "40MiB")
    monkeypatch.setenv("SHOAL_THREADS", "1")
    table = read(pa.table({"a": [f"{i * 7919 % 1_000_003:064d}" for i in range(400_000)]}))
    kept = table.engine.keep(table.expression.order_by("a"))
    assert list((table.engine.folder / "spill").iterdir())
    assert table.engine.fetch(kept.aggregate(n=kept.count()))["n"].to_pylist() == [400_000]


def test_names_and_texts_are_quoted() -> None:
    assert quote_identifier('a"b') == '"a""b"'
    assert literal("it's") == "'it''s'"


@pytest.mark.slow
def test_threads_share_a_table() -> None:
    table = read(pa.table({"a": list(range(2000)), "b": [str(number % 7) for number in range(2000)]}))

    def work(number: int) -> tuple[int, int]:
        chosen = replace(table, expression=table.expression.filter(table.expression.a < 100 * (number + 1)))
        kept = table.engine.keep(chosen.expression)
        return chosen.count(), table.engine.fetch(kept).num_rows

    with ThreadPoolExecutor(12) as threads:
        found = list(threads.map(work, [*range(12)] * 4))
    assert found == [(100 * (number + 1), 100 * (number + 1)) for number in range(12)] * 4
