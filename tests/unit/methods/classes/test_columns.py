"""Quasi-identifiers: as points, and as what is released for a class."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.methods.classes import Partition, QuasiIdentifier, quasi_identifiers
from shoal.methods.classes._columns import places_of
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
    assert columns["age"].averaged(TWO).to_pylist() == [22.0, 40.0]
    assert columns["born"].averaged(TWO).to_pylist() == [dt.date(2000, 1, 2), dt.date(1990, 6, 2)]
    assert columns["pain"].averaged(TWO).to_pylist() == ["none", "severe"]
    assert columns["town"].averaged(TWO).to_pylist()[0] in ("A", "B", "north")


def test_a_class_that_has_no_value_releases_none(columns: dict[str, QuasiIdentifier]) -> None:
    assert columns["age"].averaged(Partition([0, 0, 0, 1])).to_pylist() == [28.0, None]


def test_what_a_class_has_in_common(columns: dict[str, QuasiIdentifier]) -> None:
    labels, shares = columns["age"].generalized(Partition([0, 0, 1, 2]))
    assert labels.to_pylist() == ["[20, 25)", "40", None]
    assert shares[1] == 0.0
    towns, shares = columns["town"].generalized(TWO)
    assert towns.to_pylist() == ["north", "south"]
    assert shares.tolist() == [pytest.approx(1 / 3)] * 2
    everything, shares = columns["town"].generalized(Partition([0, 0, 0, 0]))
    assert (everything.to_pylist(), shares.tolist()) == (["*"], [1.0])


def test_every_generalised_value_is_an_ancestor_of_every_value_of_its_class(
    columns: dict[str, QuasiIdentifier],
) -> None:
    for column in columns.values():
        for labels in ([0, 0, 1, 1], [0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 2, 3]):
            released = column.generalized(Partition(labels))[0].to_pylist()
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
