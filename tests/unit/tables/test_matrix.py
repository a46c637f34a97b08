from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.errors import DataError, ParameterError
from shoal.tables import matrix, read


def test_records_are_in_the_order_of_their_numbers() -> None:
    found = matrix(read(pa.table({"a": [3, 1, None], "b": [0.5, None, 2.0]})), ["b", "a"])
    assert found.columns == ("b", "a")
    assert found.values.tolist() == [[0.5, 3], [0, 1], [2, 0]]
    assert found.missing.tolist() == [[False, False], [True, False], [False, True]]
    assert found.rows.tolist() == [0, 1, 2]
    assert found.values.flags.f_contiguous


def test_a_repr_shows_no_value() -> None:
    assert repr(matrix(read(pa.table({"a": [41.5]})), ["a"])) == "<Matrix of 1 records: a>"


def test_all_wrong_columns_are_named() -> None:
    with pytest.raises(ParameterError) as caught:
        matrix(read(pa.table({"a": ["x"], "b": [1]})), ["a", "b", "c"])
    assert caught.value.problems == ("column `a` does not hold numbers or dates", "arrow frame has no column `c`")
    with pytest.raises(ParameterError, match="at least one column"):
        matrix(read(pa.table({"a": [1]})), [])


def test_numbers_that_are_not_finite_are_counted() -> None:
    with pytest.raises(DataError, match="column `a`: 2 values are not finite numbers"):
        matrix(read(pa.table({"a": [float("inf"), float("nan"), 1.0]})), ["a"])
