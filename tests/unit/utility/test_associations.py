"""Associations and cross tables, against spreading by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from scipy import stats

import shoal
from reference.risk import boxes, pair_of, points
from reference.utility import correlation, cramer, spread
from shoal.errors import ParameterError
from shoal.risk import Pair
from shoal.utility import associations, cross_table


@pytest.mark.slow
@given(points(), boxes())
def test_associations_are_those_of_spread_records(people: list, released: list) -> None:
    found = associations(pair_of(people, released, ordered=(0, 2)))
    before, after = spread([tuple((v, v) for v in point) for point in people]), spread(released)
    for masses, matrix in ((before, found.original), (after, found.released)):
        _same(matrix[0][2], correlation(masses, 0, 2))
        assert matrix[0][2] == matrix[2][0]
        assert [matrix[i][i] for i in range(3)] == [1.0, 1.0, 1.0]


@pytest.mark.slow
@given(points(), boxes())
def test_categorical_pairs_have_cramers_v(people: list, released: list) -> None:
    found = associations(pair_of(people, released))
    before, after = spread([tuple((v, v) for v in point) for point in people]), spread(released)
    for masses, matrix in ((before, found.original), (after, found.released)):
        for i, j in ((0, 1), (0, 2), (1, 2)):
            _same(matrix[i][j], cramer(masses, i, j))


def _same(found: float | None, expected: float | None) -> None:
    if expected is None:
        assert found is None
    else:
        assert found == pytest.approx(expected, abs=1e-6)


def test_agrees_with_scipy_on_a_plain_table() -> None:
    generator = np.random.default_rng(3)
    people = [tuple(row) for row in generator.integers(0, [4, 3, 5], size=(300, 3)).tolist()]
    found = associations(pair_of(people, [tuple((v, v) for v in point) for point in people]))
    table = stats.contingency.crosstab(*np.array(people).T[:2]).count
    assert found.original[0][1] == pytest.approx(stats.contingency.association(table, method="cramer"))
    assert (found.difference, found.largest) == (0.0, 0.0)


def test_losing_an_association_is_named() -> None:
    people = [(i % 3, i % 3, i % 5) for i in range(60)]
    released = [((0, 3), (b, b), (c, c)) for _, b, c in people]
    found = associations(pair_of(people, released))
    assert found.pair == ("c0", "c1")
    assert found.original[0][1] == pytest.approx(1.0)
    assert found.largest == pytest.approx(1.0, abs=1e-9)
    assert found.difference == pytest.approx(1 / 3, abs=0.1)


def test_large_numbers_close_together_keep_their_correlation() -> None:
    schema = shoal.Schema(
        attributes=tuple(shoal.Attribute(name=name, role="quasi-identifier", kind="numeric") for name in ("a", "b"))
    )
    values = 1e9 + np.arange(50)
    table = shoal.read(pa.table({"a": values, "b": values[::-1]})).with_schema(schema)
    assert associations(Pair.of(table, table)).original[0][1] == pytest.approx(-1.0)


def test_many_distinct_ranges_give_the_same_as_few(monkeypatch: pytest.MonkeyPatch) -> None:
    people = [(i % 4, i % 3, i % 5) for i in range(60)]
    released = [((a // 2, a), (0, b), (c, c)) for a, b, c in people]
    pair = pair_of(people, released)
    dense = associations(pair)
    monkeypatch.setattr("shoal.utility._associations._DENSE", 0)
    sparse = associations(pair)
    assert sparse.difference == pytest.approx(dense.difference)
    assert sparse.released[0][1] == pytest.approx(dense.released[0][1])


def test_missing_numbers_are_left_out_of_correlations() -> None:
    schema = shoal.Schema(
        attributes=tuple(shoal.Attribute(name=name, role="quasi-identifier", kind="numeric") for name in ("a", "b"))
    )
    table = shoal.read(pa.table({"a": [1, 2, 3, None], "b": [2, 4, 6, 100]})).with_schema(schema)
    assert associations(Pair.of(table, table)).original[0][1] == pytest.approx(1.0)


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
