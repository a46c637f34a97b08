from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from shoal.tables import _columns
from shoal.tables._columns import Packing
from shoal.tables._engine import encoded_texts


@pytest.mark.parametrize("sizes", [[1], [2, 3, 4], [1 << 20] * 7, [1, 1, 1], [1 << 31, 1 << 31, 2]])
def test_words_sort_as_tuples_do(sizes: list[int]) -> None:
    draw = np.random.default_rng(1)
    columns = [draw.integers(0, size, 500).astype(np.int32) for size in sizes]
    order, new = Packing.of(sizes).order(columns)
    tuples = list(zip(*(column.tolist() for column in columns), strict=True))
    assert [tuples[i] for i in order] == sorted(tuples)
    assert int(new.sum()) == len(set(tuples))


def test_words_hold_their_codes_apart() -> None:
    sizes = [7, 1, 300, 1 << 30, 1 << 30, 5]
    packing = Packing.of(sizes)
    draw = np.random.default_rng(2)
    columns = [draw.integers(0, size, 100) for size in sizes]
    words = packing.pack(columns)
    assert packing.number == 2
    for j, column in enumerate(columns):
        found = (words[packing.words[j]] >> packing.shifts[j]) & ((1 << packing.bits[j]) - 1)
        np.testing.assert_array_equal(found, column)


def test_no_tuples_are_in_order() -> None:
    order, new = Packing.of([3, 4]).order([np.zeros(0, np.int32), np.zeros(0, np.int32)])
    assert len(order) == len(new) == 0


def test_texts_that_come_in_batches_are_encoded_as_those_that_come_at_once() -> None:
    parts = [["b", None, "b"], [], ["a", "b"], [None, "c", "a"]]
    batches = [
        pa.record_batch({"t": pa.array(part, pa.string()), "n": pa.array(range(len(part)), pa.int64())})
        for part in parts
    ]
    rows = encoded_texts(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    counts = np.arange(1, 9)
    found = _columns._tuple_column("t", rows["t"], counts)
    wanted = _columns.column_of("t", pa.chunked_array([pa.array(part, pa.string()) for part in parts]), counts)
    assert found.values.to_pylist() == wanted.values.to_pylist() == ["b", None, "a", "c"]
    assert found.indices.tolist() == wanted.indices.tolist()
    assert found.counts.tolist() == wanted.counts.tolist() == [1 + 3 + 5, 2 + 6, 4 + 8, 7]
    assert rows["n"].type == pa.int64()
