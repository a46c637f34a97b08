"""Persons that the engine counts, against those that are counted here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import tables
from shoal.risk import people_risk, reidentification, reidentification_of_crowds, risk_of_crowds
from shoal.schema import Attribute, Kind, Role, Schema

SCHEMA = Schema(
    attributes=(
        Attribute(name="who", role=Role.PERSON),
        Attribute(name="town", role=Role.QUASI_IDENTIFIER),
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
    )
)


def _visits(seed: int) -> shoal.Table:
    """Return visits of some people; towns hold each other's names, may be missing, and zero has two signs."""
    draw = np.random.default_rng(seed)
    number = int(draw.integers(2, 60))
    towns = [["Ulm", "Ulm1", "-", "1:a", None][i] for i in draw.integers(0, 5, number)]
    ages = [[0.0, -0.0, 1.5, 1e300, None][i] for i in draw.integers(0, 5, number)]
    people = [f"person {i}" for i in draw.integers(0, number // 2 + 1, number)]
    return shoal.read(pa.table({"who": people, "town": towns, "age": ages})).with_schema(SCHEMA)


@pytest.mark.parametrize("seed", range(12))
def test_the_engine_counts_persons_as_they_are_counted_here(seed: int) -> None:
    table = _visits(seed)
    found = tables.crowds(table, ("town", "age"), "who")
    wanted = people_risk(table)
    assert wanted is not None
    ours = risk_of_crowds(found, "who")
    for unit in ("records", "persons"):
        mine, theirs = getattr(ours, unit), getattr(wanted, unit)
        assert (mine.number, mine.certain) == (theirs.number, theirs.certain)
        assert (mine.highest, mine.mean) == pytest.approx((theirs.highest, theirs.mean))
    assert replace(ours, records=wanted.records, persons=wanted.persons) == wanted
    classes = tables.Classes.grouped(tables.encode(table, sensitive=()).frequencies)
    if classes.persons is not None:
        assert reidentification_of_crowds(found) == reidentification(classes)
        assert found.people == len(set(table.to_arrow()["who"].to_pylist()))
