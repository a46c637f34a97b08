"""Persons of a table on Spark: counted by the executors, with the same release, figures and promises as on DuckDB."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal.tables import _columns, _encode

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EXAMPLE = Path(__file__).parents[2] / "examples" / "clinic"
KEY = b"0123456789abcdef"

Put = Callable[[pa.Table, shoal.Schema], shoal.Table]


@pytest.fixture
def put(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Return a function that puts a table onto Spark, which hands over no key of a person or a household."""
    distinct = _columns.distinct_tuples

    def without_persons(table: shoal.Table, names: tuple[str, ...]) -> Any:
        assert table.engine.name.startswith("DuckDB") or not {"patient", "household"} & {*names}
        return distinct(table, names)

    monkeypatch.setattr(_encode, "distinct_tuples", without_persons)
    return lambda rows, schema: shoal.read(spark.createDataFrame(rows), schema=schema)


def _visits(**changes: object) -> tuple[pa.Table, shoal.Schema]:
    """Return visits of the clinic as text, and their schema."""
    rows = pd.read_csv(EXAMPLE / "visits.csv", dtype=str, nrows=1500)
    schema = shoal.Schema.load(EXAMPLE / "visits.schema.toml")
    if changes:
        schema = shoal.Schema(
            attributes=tuple(
                shoal.Attribute(name="patient", role="person", **changes) if each.name == "patient" else each
                for each in schema
            ),
            folder=schema.folder,
        )
    return pa.Table.from_pandas(rows), schema


CASES = [
    pytest.param(shoal.Generalize(suppression_limit=0.2), [shoal.KAnonymity(5)], {}, marks=pytest.mark.deep),
    (shoal.Generalize(suppression_limit=0.2), [shoal.KAnonymity(3), shoal.TCloseness("fee", 0.3)], {}),
    pytest.param(
        shoal.methods.Mondrian(suppression_limit=0.2),
        [shoal.KAnonymity(4), shoal.models.EntropyLDiversity("reason", 2)],
        {},
        marks=pytest.mark.deep,
    ),
    pytest.param(
        shoal.Generalize(links="kept", suppression_limit=0.9),
        [shoal.KAnonymity(2)],
        {"pseudonym": True},
        marks=pytest.mark.deep,
    ),
]


@pytest.mark.parametrize(("method", "promises", "changes"), CASES, ids=repr)
def test_persons_counted_by_executors_give_the_release_of_duckdb(
    put: Put, method: shoal.Method, promises: list[shoal.Model], changes: dict[str, object], tmp_path: Path
) -> None:
    rows, schema = _visits(**changes)
    key = KEY if changes else None
    made = {
        engine: shoal.anonymize(table, *promises, method=method, pseudonym_key=key)
        for engine, table in (("duckdb", shoal.read(rows, schema=schema)), ("spark", put(rows, schema)))
    }
    assert made["spark"].table.to_arrow().to_pydict() == made["duckdb"].table.to_arrow().to_pydict()
    certificates = []
    for engine, release in made.items():
        folder = release.write(tmp_path / engine)
        assert shoal.verify(folder).passed
        certificates.append(json.loads((folder / "certificate.json").read_text(encoding="utf-8")))
    duckdb, spark = certificates
    assert {promise["unit"] for promise in spark["promises"]} == {"person"}
    for part in ("promises", "steps"):
        assert spark[part] == duckdb[part]
    for here, there in zip(made["duckdb"].people, made["spark"].people, strict=True):
        _same(here, there)


@pytest.mark.deep
def test_the_risk_of_persons_and_households_is_that_of_duckdb(put: Put) -> None:
    rows, schema = _visits()
    here, there = (shoal.assess(table).people for table in (shoal.read(rows, schema=schema), put(rows, schema)))
    _same(here, there)
    assert there.persons.number < there.records.number


def _same(here: Any, there: Any) -> None:
    """Compare the risks of two engines, whose sums are rounded in other places."""
    for unit in ("records", "persons", "households"):
        for figure in ("number", "highest", "mean", "certain"):
            own, other = (getattr(getattr(found, unit), figure) for found in (here, there))
            assert own == pytest.approx(other, rel=1e-12), (unit, figure)
    assert (there.trajectories, there.most) == (here.trajectories, here.most)
