"""Quasi-identifiers: as points and their distances, and as what is released for a class."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError
from shoal.hierarchies import Concepts
from shoal.methods.classes import Partition, QuasiIdentifier, Space, quasi_identifiers, standardize
from shoal.methods.classes._columns import embedding, places_of
from shoal.methods.classes._partition import as_column, as_points
from shoal.schema import Attribute, Domain, Groups, Intervals, Kind, Role, Schema
from shoal.tables import encode_records

ROWS = pa.table(
    {
        "age": [20, 24, 40, None],
        "born": [dt.date(2000, 1, 1), dt.date(2000, 1, 4), dt.date(1990, 6, 1), dt.date(1990, 6, 3)],
        "pain": ["none", "mild", "severe", "severe"],
        "town": ["A", "B", "D", "E"],
    }
)
SCHEMA = Schema(
    attributes=(
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, hierarchy=Intervals(widths=(5, 20))),
        Attribute(name="born", role=Role.QUASI_IDENTIFIER, kind=Kind.DATE),
        Attribute(
            name="pain",
            role=Role.QUASI_IDENTIFIER,
            kind=Kind.ORDINAL,
            domain=Domain(values=("none", "mild", "severe")),
        ),
        Attribute(
            name="town",
            role=Role.QUASI_IDENTIFIER,
            hierarchy=Groups(levels=((("north", ("A", "B")), ("south", ("D", "E"))),)),
            weight=4.0,
        ),
    )
)
TWO = Partition([0, 0, 1, 1])


@pytest.fixture(scope="module")
def columns() -> dict[str, QuasiIdentifier]:
    table = shoal.read(ROWS).with_schema(SCHEMA)
    found = quasi_identifiers(SCHEMA, encode_records(table, sensitive=()))
    return {column.attribute.name: column for column in found}


def test_the_middle_of_a_class(columns: dict[str, QuasiIdentifier]) -> None:
    assert columns["age"].average(TWO).to_pylist() == [22.0, 40.0]
    assert columns["born"].average(TWO).to_pylist() == [dt.date(2000, 1, 2), dt.date(1990, 6, 2)]
    assert columns["pain"].average(TWO).to_pylist() == ["none", "severe"]
    assert columns["town"].average(TWO).to_pylist()[0] in ("A", "B", "north")


def test_a_class_that_has_no_value_releases_none(columns: dict[str, QuasiIdentifier]) -> None:
    assert columns["age"].average(Partition([0, 0, 0, 1])).to_pylist() == [28.0, None]


def test_what_a_class_has_in_common(columns: dict[str, QuasiIdentifier]) -> None:
    labels, shares = columns["age"].generalize(Partition([0, 0, 1, 2]))
    assert labels.to_pylist() == ["[20, 25)", "40", None]
    assert shares[1] == 0.0
    towns, shares = columns["town"].generalize(TWO)
    assert towns.to_pylist() == ["north", "south"]
    assert shares.tolist() == [pytest.approx(1 / 3)] * 2
    everything, shares = columns["town"].generalize(Partition([0, 0, 0, 0]))
    assert (everything.to_pylist(), shares.tolist()) == (["*"], [1.0])


def test_every_generalised_value_is_an_ancestor_of_every_value_of_its_class(
    columns: dict[str, QuasiIdentifier],
) -> None:
    for column in columns.values():
        for labels in ([0, 0, 1, 1], [0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 2, 3]):
            released = column.generalize(Partition(labels))[0].to_pylist()
            for record, label in enumerate(labels):
                leaf = int(column.leaves[column.places[record]])
                path = [
                    names[codes[leaf]]
                    for names, codes in zip(column.hierarchy.labels, column.hierarchy.codes, strict=True)
                ]
                assert released[label] in path


def test_a_missing_number_stands_apart(columns: dict[str, QuasiIdentifier]) -> None:
    placed = columns["age"].points()
    assert placed.shape == (4, 2)
    assert placed[3, 1] > placed[:3, 1].max()


def test_weights_stretch_an_attribute(columns: dict[str, QuasiIdentifier]) -> None:
    squared = np.square(columns["town"].points()[0] - columns["town"].points()[3]).sum()
    assert squared == pytest.approx(4.0, rel=0.1)


def test_all_attributes_have_a_place(columns: dict[str, QuasiIdentifier]) -> None:
    assert places_of(tuple(columns.values())).shape[0] == 4


def test_z_scores_have_mean_0_and_deviation_1() -> None:
    scores = standardize(np.random.default_rng(0).lognormal(size=(100, 3)) * [1, 1e300, 1e-300])
    assert np.allclose(scores.mean(axis=0), 0.0, atol=1e-12)
    assert np.allclose(scores.std(axis=0), 1.0)


def test_constant_columns_do_not_count() -> None:
    assert standardize(np.full((3, 1), 0.1)).tolist() == [[0.0], [0.0], [0.0]]
    assert standardize(np.empty((0, 2))).shape == (0, 2)


def test_distances_can_be_asked_for_some_rows() -> None:
    space = Space.of(np.array([[0.0], [1.0], [4.0]]), np.empty((3, 0), np.int32), ())
    assert space.distances(np.array([0.0]), np.empty(0, np.int32), np.array([2, 1])).tolist() == [16.0, 1.0]
    assert len(space) == 3


def test_concepts_count_as_often_as_their_weight_says() -> None:
    flat = Concepts.flat(3)
    for weight in (1.0, 2.5):
        space = Space.of(np.array([[0.0], [3.0]]), np.array([[0], [1]], np.int32), [flat], [weight])
        assert space.distances(np.array([0.0]), np.array([0], np.int32))[1] == 9.0 + weight


def test_what_is_no_number_is_refused_without_showing_it() -> None:
    with pytest.raises(DataError, match="in 1 rows"):
        as_points([[1.0, 2.0], [np.nan, np.inf]])
    with pytest.raises(DataError, match="shape"):
        as_points(np.zeros((1, 1, 1)))
    with pytest.raises(DataError, match="one column"):
        as_column(np.zeros((2, 2)))
    with pytest.raises(DataError, match="1 values are not finite"):
        as_column([1.0, np.nan])


def _distances(places: np.ndarray) -> np.ndarray:
    return np.square(places[:, None] - places).sum(axis=2)


def test_distances_of_few_values_are_kept() -> None:
    squared = 1.0 - np.eye(4)
    assert _distances(embedding(squared, np.ones(4, dtype=int))) == pytest.approx(squared)


@pytest.mark.slow
def test_common_values_get_places_of_their_own_and_rare_ones_lie_in_the_middle() -> None:
    size = 500
    weights = np.full(size, 1)
    weights[:3] = 10_000
    places = embedding(1.0 - np.eye(size), weights)
    assert places.shape[0] == size
    assert np.allclose(places[-1], 0.0)
    assert np.linalg.norm(places[0] - places[1]) == pytest.approx(1.0, abs=0.01)


def test_many_values_without_anything_in_common_give_no_place() -> None:
    assert embedding(1.0 - np.eye(100), np.ones(100, dtype=int)).shape == (100, 0)
