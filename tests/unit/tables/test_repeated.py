"""Records that are written as often as they are there."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.tables import _repeated, read, repeat
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._repeated import COPIES, counted_form, repeat_records, write_repeated
from shoal.verification._files import _hidden

COUNTED = pa.table(
    {
        "town": ["a", "a", "b", "c", None],
        "age": pa.array([1, 4, None, 5, 3], pa.int8()),
        "day": [date(2020, 1, 1), date(2020, 1, 4), None, None, date(2020, 1, 3)],
        "share": [0.5, 1e300, None, 2.0, -0.0],
        "ill": [True, True, False, False, None],
        COPIES: [3, 4, 1, 7, 20],
    }
)
WRITTEN_OUT = [
    {name: value for name, value in row.items() if name != COPIES}
    for row in COUNTED.to_pylist()
    for _ in range(row[COPIES])
]


@pytest.mark.parametrize("group", [1, 4, 7, 35, 1000])
@pytest.mark.parametrize("batch", [1, 2, 5])
def test_every_record_is_written_as_often_as_it_is_there(group, batch, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(_repeated, "_GROUP", group)
    file = tmp_path / "data.parquet"
    write_repeated(pa.RecordBatchReader.from_batches(COUNTED.schema, COUNTED.to_batches(max_chunksize=batch)), file)
    assert pq.read_table(file).to_pylist() == WRITTEN_OUT
    assert pq.ParquetFile(file).metadata.num_row_groups == -(-len(WRITTEN_OUT) // group)
    assert pq.read_schema(file).types == COUNTED.drop_columns([COPIES]).schema.types
    assert _hidden(file) is None


@pytest.mark.parametrize("columns", [("town", "age"), ("age",), ("share", "town")])
def test_chosen_columns_keep_the_counted_form_and_are_written_from_it(columns, tmp_path: Path) -> None:
    engine = DuckDBEngine()
    expression = repeat_records(engine.stage(COUNTED)).select(*columns).select(*columns)
    counted = counted_form(expression)
    assert counted is not None
    assert counted.columns == (*columns, COPIES)
    engine.write_parquet(expression, tmp_path / "data.parquet")
    assert pq.read_table(tmp_path / "data.parquet").to_pylist() == [
        {name: row[name] for name in columns} for row in WRITTEN_OUT
    ]


def test_repeated_records_are_in_the_order_of_numbers_not_of_their_texts() -> None:
    made = repeat(read(pa.table({"any": [1]})), pa.table({"age": [10, None, 9, 100]}), np.array([2, 1, 1, 1]))
    assert made.to_arrow()["age"].to_pylist() == [9, 10, 10, 100, None]


@pytest.mark.parametrize("listed", [1, 3, 7, 1000])
def test_an_engine_repeats_records_a_few_at_a_time(listed, monkeypatch) -> None:
    monkeypatch.setattr(_repeated, "_LIST", listed)
    engine = DuckDBEngine()
    assert engine.fetch(repeat_records(engine.stage(COUNTED))).to_pylist() == WRITTEN_OUT


def test_what_changes_values_or_drops_records_has_no_counted_form() -> None:
    records = repeat_records(DuckDBEngine().stage(COUNTED))
    assert counted_form(records.mutate(age=records.age + 1)) is None
    assert counted_form(records.select(place=records.town)) is None
    assert counted_form(records.filter(records.age > 1)) is None
    assert counted_form(records.limit(3)) is None
    assert counted_form(records.distinct()) is None
