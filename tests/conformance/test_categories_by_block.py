"""Microaggregation of categories on the executors of Spark, against the definitions and against a run in memory."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal import tables
from shoal.errors import HierarchyError
from shoal.models import KAnonymity
from shoal.schema import Attribute, Groups, Kind, Role, Schema

pytestmark = [pytest.mark.spark]

RECORDS, BLOCK, K = 1500, 400, 5
TOWNS = {"Ulm": "south", "Augsburg": "south", "Kiel": "north", "Emden": "north", "Graz": "styria", "Leoben": "styria"}
REGIONS = {"south": "Germany", "north": "Germany", "styria": "Austria"}
PATHS = {town: (town, region, REGIONS[region], "*") for town, region in TOWNS.items()}
RULE = Groups(
    levels=tuple(
        tuple(
            (group, tuple(name for name, own in below.items() if own == group))
            for group in dict.fromkeys(below.values())
        )
        for below in (TOWNS, REGIONS)
    )
)


def _known(name: str, **options: Any) -> Attribute:
    return Attribute(name=name, role=Role.QUASI_IDENTIFIER, **options)


# columns are called as Shoal calls its own
SCHEMA = Schema(
    attributes=(
        _known("value", hierarchy=RULE, weight=2),
        _known("leaf"),
        _known("age", kind=Kind.NUMERIC),
        Attribute(name="number", kind=Kind.NUMERIC),
    )
)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow blocks that a test can afford."""
    monkeypatch.setattr("shoal.methods.classes._microaggregation.LEAST_BLOCK", 1)
    monkeypatch.setattr("shoal.methods.classes._blocks.LEAST_BLOCK", 1)


def _people() -> pa.Table:
    """Return people of whom most live in one town, and some in none that is known."""
    draw = np.random.default_rng(11)
    towns = draw.choice(list(TOWNS), RECORDS, p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    rows = pa.table(
        {
            "value": pa.array(towns, pa.string(), mask=draw.random(RECORDS) < 0.04),
            "leaf": draw.choice(["f", "m", "x"], RECORDS, p=[0.5, 0.48, 0.02]),
            "age": draw.normal(50, 15, RECORDS).round(1),
            "number": np.arange(RECORDS),
        }
    )
    return rows.sort_by([(name, "ascending") for name in rows.column_names])


def _on_spark(spark: Any, rows: pa.Table, schema: Schema = SCHEMA, parts: int = 3) -> shoal.Table:
    return shoal.read(spark.createDataFrame(rows).repartition(parts)).with_schema(schema)


@pytest.fixture
def collects_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where records are read into memory."""
    monkeypatch.setattr(tables, "encode_records", lambda *_, **__: pytest.fail("the records were collected"))


# -- by the definitions


def _path(name: str, value: str | None) -> set[str | None]:
    """Return a concept of a column and everything above it."""
    for path in PATHS.values():
        if name == "value" and value in path:
            return set(path[path.index(value) :])
    return {value, "*"}


def _distance(name: str, one: str | None, other: str | None) -> float:
    """Return the semantic distance over the greatest that the column allows."""
    height = 4 if name == "value" else 2
    first, second = _path(name, one), _path(name, other)
    apart = math.log2(1 + len(first ^ second) / len(first | second))
    return apart / math.log2(1 + (2 * height - 2) / (2 * height - 1))


def _marginality(name: str, concept: str | None, values: Sequence[str | None]) -> float:
    return sum(_distance(name, concept, value) * times for value, times in Counter(values).items())


def _concepts(name: str, values: Sequence[str | None]) -> set[str | None]:
    every = set(values) | {"*"}
    return every | ({label for path in PATHS.values() for label in path} if name == "value" else set())


def _middle(name: str, values: Sequence[str | None]) -> float:
    return min(_marginality(name, concept, values) for concept in _concepts(name, values))


def _share_lost(people: pa.Table, rows: list[dict[str, Any]]) -> float:
    """Return SSE/SST, counted record by record."""
    released = {row["number"]: row for row in rows}
    before = {row["number"]: row for row in people.to_pylist()}
    ages = people["age"].to_numpy()
    lost = sum(((before[i]["age"] - released[i]["age"]) / ages.std()) ** 2 for i in before)
    spread = float(len(before))
    for name, weight in (("value", 2), ("leaf", 1)):
        values = people[name].to_pylist()
        best = min(sorted(_concepts(name, values), key=str), key=lambda c, n=name, v=values: _marginality(n, c, v))
        lost += weight * sum(_distance(name, before[i][name], released[i][name]) ** 2 for i in before)
        spread += weight * sum(_distance(name, value, best) ** 2 for value in values)
    return lost / spread


@pytest.mark.parametrize("kind", [shoal.methods.Mdav, shoal.methods.VMdav], ids=["mdav", "vmdav"])
@pytest.mark.deep
def test_categories_are_clustered_on_the_executors(
    spark: Any, kind: type[shoal.methods.Mdav | shoal.methods.VMdav], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, method = _people(), kind(block=BLOCK)
    inside = shoal.anonymize(shoal.read(people).with_schema(SCHEMA), KAnonymity(K), method=method)
    with monkeypatch.context() as patch:
        patch.setattr(tables, "encode_records", lambda *_, **__: pytest.fail("the records were collected"))
        release = shoal.anonymize(_on_spark(spark, people), KAnonymity(K), method=method)
        folder = release.write(tmp_path / "release")
    assert shoal.verify(folder).passed
    rows = pq.read_table(folder / "data.parquet").to_pylist()

    # k-anonymous; everybody is there, and every class has a typical value of its members
    classes = defaultdict(list)
    for row in rows:
        classes[row["value"], row["leaf"], row["age"]].append(row["number"])
    sizes = [len(members) for members in classes.values()]
    assert min(sizes) >= K
    assert sorted(row["number"] for row in rows) == list(range(RECORDS))
    before = {row["number"]: row for row in people.to_pylist()}
    for (town, sex, age), members in classes.items():
        for name, concept in (("value", town), ("leaf", sex)):
            own = [before[i][name] for i in members]
            assert _marginality(name, concept, own) == pytest.approx(_middle(name, own))
        assert age == pytest.approx(np.mean([before[i]["age"] for i in members]))

    # what is said of it: as of a run in memory, and the loss is that of the records
    ours, theirs = ({event.name: event for event in each.guarantee.events} for each in (release, inside))
    assert list(ours) == list(theirs)
    assert (ours["measured"], ours["averaged"]) == (theirs["measured"], theirs["averaged"])
    assert ours["blocked"].blocks > 1
    assert ours["blocked"].largest <= BLOCK * 1.1
    assert (release.result.domains, release.before) == (inside.result.domains, inside.before)
    assert release.measures["sse/sst"] == pytest.approx(_share_lost(people, rows))
    assert release.measures["sse/sst"] <= 1.25 * inside.measures["sse/sst"]


@pytest.mark.deep
def test_where_executors_and_memory_cut_at_the_same_place_they_give_the_same_release(spark: Any) -> None:
    draw = np.random.default_rng(5)
    towns = [*draw.choice(["Ulm", "Augsburg", "Kiel", "Emden"], 200), *draw.choice(["Graz", "Leoben"], 200)]
    rows = pa.table({"value": pa.array(towns), "age": draw.normal(50, 15, 400), "number": np.arange(400)})
    # the countries are halves of the table, and farther apart than anything else
    schema = Schema(
        attributes=(_known("value", hierarchy=RULE), _known("age", kind=Kind.NUMERIC, weight=0.01), SCHEMA["number"])
    )
    for block, blocks in ((200, 2), (400, 1)):
        method = shoal.methods.VMdav(block=block, decimals=6)
        there, here = (
            shoal.anonymize(table, KAnonymity(K), method=method)
            for table in (_on_spark(spark, rows, schema), shoal.read(rows).with_schema(schema))
        )
        assert there.table.to_arrow().to_pydict() == here.table.to_arrow().to_pydict()
        for release in (there, here):
            assert [event.blocks for event in release.guarantee.events if event.name == "blocked"] == [2] * (blocks - 1)


@pytest.mark.usefixtures("collects_nothing")
def test_values_that_no_hierarchy_has_are_counted_and_nothing_is_said_of_them(spark: Any) -> None:
    people = _people()
    odd = people.set_column(0, "value", pa.array(["Atlantis", *people["value"].to_pylist()[1:]]))
    with pytest.raises(
        HierarchyError, match=r"column `value`: 1 value \(in 1 record\) is not in its hierarchy"
    ) as told:
        shoal.anonymize(_on_spark(spark, odd), KAnonymity(K), method=shoal.methods.Mdav(block=BLOCK))
    assert "Atlantis" not in str(told.value)
