"""Assessing tables as they are, and released ones."""

from __future__ import annotations

import dataclasses
import json

import pyarrow as pa
import pytest

import shoal
from shoal.errors import SchemaError

SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(
            name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.schema.Intervals(widths=(10, 50))
        ),
        shoal.Attribute(
            name="stage", role="quasi-identifier", kind="ordinal", domain=shoal.Domain(values=("low", "high"))
        ),
        shoal.Attribute(name="illness", role="sensitive"),
        shoal.Attribute(name="pay", role="sensitive", kind="numeric", hierarchy=shoal.schema.Intervals(widths=(100,))),
    )
)
PEOPLE = pa.table(
    {
        "age": [20, 21, 21, 34, 35, 35],
        "stage": ["low", "high", "high", "low", "low", "low"],
        "illness": ["flu", "flu", "flu", "cold", "flu", "cold"],
        "pay": [110, 120, 130, 250, 260, 350],
    }
)


@pytest.fixture(scope="module")
def people() -> shoal.Table:
    return shoal.read(PEOPLE).with_schema(SCHEMA)


def test_classes_and_guesses_are_counted(people: shoal.Table) -> None:
    found = shoal.assess(people)
    assert (found.reidentification.classes, found.reidentification.unique) == (4, 2)
    illness = next(each for each in found.attributes if each.column == "illness")
    assert (illness.baseline, illness.guess, illness.certain) == pytest.approx((4 / 6, 5 / 6, 4))
    pay = [each for each in found.attributes if each.column == "pay"]
    assert [(each.level, each.values) for each in pay] == [(0, 6), (1, 3)]
    assert found.population is None


def test_a_sampling_fraction_gives_the_uniques_of_the_population(people: shoal.Table) -> None:
    found = shoal.assess(people, sampling_fraction=0.5).population
    assert found is not None
    assert (found.population, found.sample) == (12, 2 / 6)


def test_a_release_is_assessed_with_the_schema_of_its_original(people: shoal.Table) -> None:
    release = shoal.anonymize(people, shoal.KAnonymity(2), method=shoal.Generalize(suppression_limit=0.4))
    with pytest.raises(SchemaError, match="quasi-identifier"):
        shoal.assess(release.table)
    found = shoal.assess(release.table, schema=SCHEMA)
    assert found.reidentification.smallest == release.after.smallest
    assert found.reidentification.classes == release.after.classes
    assert {each.column for each in found.attributes} == {"illness", "pay"}
    against = shoal.assess(release.table, schema=SCHEMA, population=people.select("age", "stage"))
    assert against.reidentification.journalist is not None
    assert against.reidentification.journalist <= found.reidentification.prosecutor


def test_sensitive_values_that_fit_no_hierarchy_are_words(people: shoal.Table) -> None:
    released = pa.table({"age": ["*"] * 3, "stage": ["*"] * 3, "illness": ["flu"] * 3, "pay": ["[1, 2]", "x", "x"]})
    found = shoal.assess(shoal.read(released), schema=SCHEMA)
    assert [(each.column, each.values) for each in found.attributes] == [("illness", 1), ("pay", 2)]


def test_an_assessment_is_json(people: shoal.Table) -> None:
    content = json.loads(json.dumps(dataclasses.asdict(shoal.assess(people, sampling_fraction=0.1))))
    assert content["population"]["chosen"] in ("pitman", "zayatz")
    assert content["attributes"][0]["gain"] == pytest.approx(0.5)


@pytest.mark.parametrize("person", [False, True])
def test_secrets_counted_together_or_apart_disclose_the_same(person: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {
        "id": [i // 2 for i in range(60)],
        "age": [i % 7 for i in range(60)],
        "illness": [f"i{i % 5}" for i in range(60)],
        "pay": [i * i % 11 for i in range(60)],
    }
    roles = {"id": "person" if person else "identifier", "age": "quasi-identifier", "illness": "sensitive"}
    attributes = tuple(shoal.Attribute(name=name, role=roles.get(name, "sensitive")) for name in columns)
    table = shoal.read(pa.table(columns)).with_schema(shoal.Schema(attributes=attributes))
    together = shoal.assess(table).attributes
    monkeypatch.setattr("shoal.risk._assess._TOGETHER", 0)
    apart = shoal.assess(table).attributes
    assert [each.column for each in together] == ["illness", "pay"]
    assert together == apart
