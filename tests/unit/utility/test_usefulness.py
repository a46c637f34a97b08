"""All utility figures as one value."""

from __future__ import annotations

import dataclasses
import json

import pyarrow as pa
import pytest

import shoal
from shoal.errors import MissingExtraError

SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(
            name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.schema.Intervals(widths=(10, 50))
        ),
        shoal.Attribute(name="illness", role="sensitive"),
    )
)
PEOPLE = pa.table({"age": list(range(20, 50)), "illness": ["flu", "cold", "cold"] * 10})


@pytest.fixture(scope="module")
def people() -> shoal.Table:
    return shoal.read(PEOPLE).with_schema(SCHEMA)


def test_everything_is_measured_and_is_json(people: shoal.Table) -> None:
    release = shoal.anonymize(people, shoal.KAnonymity(5))
    found = shoal.usefulness(people, release.table)
    assert (found.records, found.released) == (30, release.records)
    assert [each.column for each in found.distributions] == ["age", "illness"]
    content = json.loads(json.dumps(dataclasses.asdict(found)))
    assert content["associations"]["columns"] == ["age", "illness"]
    assert found == shoal.usefulness(people, release.table)


def test_weighted_records_count_as_people(people: shoal.Table) -> None:
    joined = pa.table({"age": [20, 20, 21], "illness": ["flu", "cold", "flu"], "p": [0.5, 0.5, 1.0]})
    assert shoal.usefulness(people, shoal.read(joined), weights="p").released == 2


def test_without_scikit_learn_the_rest_is_measured(people: shoal.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise MissingExtraError("scikit-learn", extra="learn")

    monkeypatch.setattr("shoal.utility._learning.require_learn", refuse)
    found = shoal.usefulness(people, people)
    assert found.propensity is None
    assert found.queries.mean == 0.0
