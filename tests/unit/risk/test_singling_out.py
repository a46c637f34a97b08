"""Singling out: what must succeed, what must fail, and what chance gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from reference.risk import pair_of
from shoal.errors import ParameterError
from shoal.risk import Pair, singling_out

PEOPLE = [(i % 4, i % 3, i % 5) for i in range(60)]  # every combination once
EVERYTHING = ((0, 3), (0, 2), (0, 4))


def test_whole_records_of_unique_people_single_them_out() -> None:
    columns = [shoal.Attribute(name=name, role="quasi-identifier") for name in ("a", "b")]
    table = shoal.read(pa.table({"a": [str(i) for i in range(50)], "b": [str(i % 7) for i in range(50)]}))
    people = table.with_schema(shoal.Schema(attributes=tuple(columns)))
    found = singling_out(Pair.of(people, people), attempts=100)
    assert found.success.rate == 1.0
    assert found.baseline.rate < 0.4
    assert found.risk > 0.9


def test_a_release_of_nothing_singles_nobody_out() -> None:
    found = singling_out(pair_of(PEOPLE, [EVERYTHING] * 60), attempts=50)
    assert (found.success.rate, found.baseline.rate, found.risk) == (0.0, 0.0, 0.0)
    assert singling_out(pair_of(PEOPLE, []), attempts=50).success.attempts == 0


def test_mixed_values_of_columns_that_do_not_depend_on_each_other_are_as_good_as_records() -> None:
    found = singling_out(pair_of(PEOPLE, [tuple((v, v) for v in point) for point in PEOPLE]), attempts=400)
    assert found.success.rate == found.baseline.rate
    assert found.risk == 0.0


def test_perturbed_values_are_read_as_at_least_and_at_most() -> None:
    schema = shoal.Schema(
        attributes=tuple(shoal.Attribute(name=name, role="quasi-identifier", kind="numeric") for name in ("a", "b"))
    )
    values = np.arange(40)
    people = shoal.read(pa.table({"a": values, "b": values})).with_schema(schema)
    extremes = shoal.read(pa.table({"a": [38.5, 0.5], "b": [38.5, 0.5]}))
    assert singling_out(Pair.of(people, extremes), attempts=40).success.rate == 1.0
    middle = shoal.read(pa.table({"a": [19.5], "b": [19.5]}))
    assert singling_out(Pair.of(people, middle), attempts=40).success.rate == 0.0


def test_there_must_be_an_attempt() -> None:
    with pytest.raises(ParameterError, match="attempts"):
        singling_out(pair_of(PEOPLE, []), attempts=0)
