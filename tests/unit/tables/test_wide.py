"""Tables of many columns: what is asked of one column does not carry the others along."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest

import shoal
from shoal.errors import SchemaError
from shoal.schema import Attribute, Kind, Role, Schema
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._relations import compile_query


def test_a_query_about_one_column_does_not_name_the_others(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("a,b,c\n1,2,3\n")
    table = shoal.read(tmp_path / "wide.csv")
    counted = table.expression.group_by("b").aggregate(times=table.expression.count())
    query = compile_query(counted, "duckdb")
    assert '"b"' in query
    assert '"c"' not in query


@pytest.mark.slow
def test_a_wide_table_is_checked_in_several_small_queries() -> None:
    names = [f"c{i}" for i in range(100)]
    table = shoal.read(pa.table({name: ["1", "x", None] for name in names}))
    schema = Schema(attributes=tuple(Attribute(name=name, role=Role.INSENSITIVE, kind=Kind.NUMERIC) for name in names))
    asked: list[int] = []
    fetch = DuckDBEngine.fetch

    def watched(engine: DuckDBEngine, expression: object) -> pa.Table:
        asked.append(len(expression.columns))  # type: ignore[attr-defined]
        return fetch(engine, expression)  # type: ignore[arg-type]

    with patch.object(DuckDBEngine, "fetch", watched), pytest.raises(SchemaError) as caught:
        table.with_schema(schema)
    assert len(caught.value.problems) == 100
    assert max(asked) <= 128
