"""What the footer of a Parquet file says of its bytes, read here and not by a library."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from shoal.verification._parquet import read_footer


@pytest.mark.parametrize("hidden", [0, 1, 500])
def test_bytes_of_no_column_are_counted(tmp_path: Path, hidden: int) -> None:
    path = tmp_path / "a.parquet"
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE a AS SELECT range % 7 AS age, 'town ' || range % 90 AS town FROM range(3000)")
        engine.execute(f"COPY a TO '{path}' (FORMAT parquet)")
    content = path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    path.write_bytes(content[:-footer] + b"x" * hidden + content[-footer:])
    assert read_footer(path).unaccounted == hidden
