from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from shoal.errors import DataError
from shoal.schema import Attribute, Schema
from shoal.tables import Source, read

ROWS = pa.table({"name": ["Xq7canary"], "n": [41]})


def test_a_repr_shows_no_value() -> None:
    table = read(ROWS).with_schema(Schema(attributes=(Attribute(name="name"), Attribute(name="n"))))
    assert repr(table).startswith("<Table arrow frame (arrow): 2 columns, 0 quasi-identifiers, on DuckDB")
    assert "Xq7canary" not in repr(table)
    assert "41" not in repr(table)


def test_columns_are_selected_by_name() -> None:
    assert read(ROWS).select("n").to_arrow().to_pydict() == {"n": [41]}
    with pytest.raises(DataError, match="has no column `x`, `y`"):
        read(ROWS).select("x", "n", "y")


def test_the_hidden_row_number_stays_hidden() -> None:
    table = read(ROWS)
    assert "__shoal_row__" in table.expression.columns
    assert table.columns == ("name", "n")
    assert table.to_arrow().column_names == ["name", "n"]


def test_a_source_says_what_was_found_out() -> None:
    source = Source(kind="csv", name="a.csv", details=(("encoding", "UTF-8"), ("delimiter", "';'")))
    assert str(source) == "a.csv (csv; encoding UTF-8, delimiter ';')"
    assert source.detail("encoding") == "UTF-8"
    assert source.detail("decimal") is None


def test_importing_tables_loads_no_engine() -> None:
    script = (
        "import sys, shoal.tables; "
        "print([name for name in ('duckdb', 'ibis', 'pyspark', 'pandas', 'polars') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
