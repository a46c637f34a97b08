"""Two columns together are counted as a plain cross table counts them."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal.errors import ParameterError
from shoal.risk import Pair
from shoal.utility import cross_table


def pair() -> Pair:
    people = {"age": [20, 21, 22, 20, 21, None], "town": ["a", "b", "a", "a", "c", "b"]}
    columns = (
        shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),
        shoal.Attribute(name="town", role="quasi-identifier"),
    )
    table = shoal.read(pa.table(people)).with_schema(shoal.Schema(attributes=columns))
    return Pair.of(table, table)


def test_the_original_is_counted_as_pandas_counts() -> None:
    found = cross_table(pair(), "age", "town")
    ages = pd.Series(["20", "21", "22", "20", "21", "missing"])
    expected = pd.crosstab(ages, pd.Series(["a", "b", "a", "a", "c", "b"]), normalize=True)
    assert found.rows == ("20", "21", "22", "missing")
    assert found.original == found.released
    for name, row in zip(found.rows, found.original, strict=True):
        assert dict(zip(found.across, row, strict=True)) == pytest.approx(expected.loc[name].to_dict())


def test_a_column_with_itself_or_an_unknown_one_is_refused() -> None:
    for names in (("age", "age"), ("age", "nothing")):
        with pytest.raises(ParameterError):
            cross_table(pair(), *names)
