"""Hierarchies that are found in the data: alike values come together, neighbours in an order, nothing undeclared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import PlanError
from shoal.schema import FoundGroups, dumps, loads

ROWS = 2_000
JOBS = ("nurse", "mason", "doctor", "smith", "midwife", "carver")


def people(*, declared: bool = True, kind: str = "categorical") -> shoal.Table:
    """Return records in which nurses, doctors and midwives have one pay, and the others another."""
    generator = np.random.default_rng(1)
    job = generator.choice(JOBS, ROWS)
    care = np.isin(job, ["nurse", "doctor", "midwife"])
    pay = np.where(care, generator.integers(0, 4, ROWS), generator.integers(4, 8, ROWS)).astype(str)
    domain = shoal.Domain(values=JOBS) if declared else None
    columns = (
        shoal.Attribute(name="job", role="quasi-identifier", kind=kind, domain=domain),
        shoal.Attribute(
            name="pay", role="quasi-identifier", kind="ordinal", domain=shoal.Domain(values=tuple("01234567"))
        ),
    )
    return shoal.read(pa.table({"job": job, "pay": pay}), schema=shoal.Schema(attributes=columns))


def groups(table: shoal.Table, column: str, level: int) -> set[frozenset[str]]:
    """Return the values of the groups of a level."""
    rule = shoal.find_hierarchies(table).schema[column].hierarchy
    assert isinstance(rule, FoundGroups)
    below = {value: frozenset([value]) for _, members in rule.levels[0] for value in members}
    for found in rule.levels[: level + 1]:
        below = {label: frozenset().union(*(below[member] for member in members)) for label, members in found}
    return {*below.values()}


def test_values_whose_records_are_alike_come_together() -> None:
    assert groups(people(), "job", 1) == {
        frozenset({"nurse", "doctor", "midwife"}),
        frozenset({"mason", "smith", "carver"}),
    }


def test_groups_of_an_order_are_neighbours() -> None:
    for level in (0, 1):
        for group in groups(people(), "pay", level):
            places = sorted(map(int, group))
            assert places == list(range(places[0], places[-1] + 1))


def test_no_hierarchy_is_found_where_values_are_not_declared_or_a_hierarchy_is_there() -> None:
    found = shoal.find_hierarchies(people(declared=False))
    assert found.columns == ("pay",)
    assert found.undeclared == ("job",)
    assert found.schema["job"].hierarchy is None
    assert shoal.find_hierarchies(people().with_schema(shoal.find_hierarchies(people()).schema)).columns == ()


def test_found_hierarchies_are_written_and_read_and_refused_by_differential_privacy() -> None:
    schema = shoal.find_hierarchies(people()).schema
    assert loads(dumps(schema)) == schema
    private = shoal.DifferentialPrivacy(epsilon=1, delta="1e-5")
    for method in (shoal.methods.TruthfulTables(), shoal.methods.Truthful()):
        with pytest.raises(PlanError, match="looks at the data"):
            shoal.Plan(schema=schema, models=(private,), method=method)


def test_a_release_with_found_hierarchies_verifies_and_has_fewer_stars(tmp_path: Path) -> None:
    table = people()
    found = table.with_schema(shoal.find_hierarchies(table).schema)
    stars = []
    for number, each in enumerate((table, found)):
        release = shoal.anonymize(each, k=150, method=shoal.methods.Specialize())
        folder = release.write(tmp_path / str(number))
        assert shoal.verify(folder).passed
        stars.append(sum(value == "*" for name in ("job", "pay") for value in release.frame[name].to_pylist()))
    assert stars[1] < stars[0]
    concrete = shoal.released(tmp_path / "1").concrete().rows
    assert {*concrete["job"].to_pylist()} <= {*JOBS}
