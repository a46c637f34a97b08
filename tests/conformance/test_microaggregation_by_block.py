"""Microaggregation on Spark above the size of a block: clusters are made on the executors, block by block."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal import tables
from shoal.errors import Exhausted
from shoal.methods.classes import _by_block
from shoal.models import (
    BetaLikeness,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    Model,
    RecursiveLDiversity,
    TCloseness,
)
from shoal.schema import Attribute, Domain, Kind, Missing, Role, Schema

pytestmark = [pytest.mark.spark]

RECORDS, BLOCK, K = 3000, 800, 5
HEALTH = ("poor", "fair", "good")
QUASI = ("age", "income", "joined", "health")
OTHERS = ("illness", "new0", "block")


def _people() -> pa.Table:
    """Return people with ties, gaps and a long tail; some columns are called as Shoal calls its own."""
    draw = np.random.default_rng(7)
    age = draw.integers(18, 90, RECORDS)
    joined = [dt.date(2015, 1, 1) + dt.timedelta(int(days)) for days in draw.integers(0, 3000, RECORDS)]
    return pa.table(
        {
            "name": [f"person {i}" for i in range(RECORDS)],
            "age": age,
            "income": pa.array(np.exp(draw.normal(10, 1, RECORDS)).round(2), mask=draw.random(RECORDS) < 0.05),
            "joined": joined,
            "health": [HEALTH[min(2, int(value))] for value in draw.exponential(1.0, RECORDS)],
            "illness": draw.choice(["cold", "flu", "burn"], RECORDS),
            "new0": np.arange(RECORDS),
            "block": draw.integers(0, 9, RECORDS),
        }
    )


def _numeric(name: str, **options: Any) -> Attribute:
    return Attribute(name=name, role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, **options)


SCHEMA = Schema(
    attributes=(
        Attribute(name="name", role=Role.IDENTIFIER),
        _numeric("age", weight=2),
        _numeric("income"),
        Attribute(name="joined", role=Role.QUASI_IDENTIFIER, kind=Kind.DATE),
        Attribute(name="health", role=Role.QUASI_IDENTIFIER, kind=Kind.ORDINAL, domain=Domain(values=HEALTH)),
        Attribute(name="illness", role=Role.SENSITIVE),
        Attribute(name="new0", kind=Kind.NUMERIC),
        Attribute(name="block", kind=Kind.NUMERIC),
    )
)

Put = Callable[[pa.Table, Schema], shoal.Table]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow blocks that a test can afford."""
    monkeypatch.setattr("shoal.methods.classes._microaggregation.LEAST_BLOCK", 1)
    monkeypatch.setattr("shoal.methods.classes._blocks.LEAST_BLOCK", 1)


@pytest.fixture
def collects_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where records are read into memory."""

    def refuse(*_: object, **__: object) -> None:
        pytest.fail("the records were collected")

    monkeypatch.setattr(tables, "encode_records", refuse)


@pytest.fixture
def put(spark: Any) -> Put:
    """Return a function that puts records onto Spark, in three parts."""
    return lambda rows, schema: shoal.read(spark.createDataFrame(rows).repartition(3)).with_schema(schema)


def _classes(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in QUASI) for row in rows)


def _events(release: shoal.Release) -> dict[str, Any]:
    return {event.name: event for event in release.guarantee.events}


@pytest.mark.parametrize(
    "method", [shoal.methods.Mdav(), pytest.param(shoal.methods.VMdav(), marks=pytest.mark.deep)], ids=["mdav", "vmdav"]
)
def test_a_release_made_by_block_is_what_one_made_in_memory_is(
    put: Put, method: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = type(method)(block=BLOCK)
    people = _people()
    inside = shoal.anonymize(shoal.read(people).with_schema(SCHEMA), KAnonymity(K), method=small)
    with monkeypatch.context() as patch:
        patch.setattr(tables, "encode_records", lambda *_, **__: pytest.fail("the records were collected"))
        release = shoal.anonymize(put(people, SCHEMA), KAnonymity(K), method=small)
        folder = release.write(tmp_path / "release")
    rows = pq.read_table(folder / "data.parquet").to_pylist()
    assert shoal.verify(folder).passed

    # k-anonymous, and in clusters of MDAV's sizes but where two have the same middle
    sizes = _classes(rows)
    assert min(sizes.values()) >= K
    if isinstance(method, shoal.methods.Mdav):
        assert max(sizes.values()) <= 2 * K - 1
    assert release.after.smallest == min(sizes.values())
    assert release.after.classes == len(sizes)
    assert (release.records, release.before) == (RECORDS, inside.before)

    # other columns stay with the person, identifiers go, the order tells nothing
    assert list(rows[0]) == [*QUASI, *OTHERS]
    kept = {row["new0"]: (row["illness"], row["block"]) for row in rows}
    assert kept == {row["new0"]: (row["illness"], row["block"]) for row in people.to_pylist()}
    assert [row["age"] for row in rows] == sorted(row["age"] for row in rows)

    # means are kept
    assert np.mean([row["age"] for row in rows]) == pytest.approx(np.mean(people["age"].to_numpy()))

    # the same words in the certificate
    ours, theirs = (_events(each) for each in (release, inside))
    assert list(ours) == list(theirs)
    for name in ("dropped", "measured", "averaged", "ordered"):
        assert ours[name] == theirs[name]
    assert ours["blocked"].repaired is theirs["blocked"].repaired
    assert 4 <= ours["blocked"].blocks <= 8
    assert ours["blocked"].largest <= BLOCK * 1.1
    certificate = json.loads((folder / "certificate.json").read_text())
    assert [promise["model"] for promise in certificate["promises"]] == ["k-anonymity"]
    assert release.result.domains == inside.result.domains

    # the loss is that of the records, and near the one in memory, which repairs all clusters at once
    assert release.measures["sse/sst"] == pytest.approx(_share_lost(people, rows))
    assert release.measures["sse/sst"] == pytest.approx(inside.measures["sse/sst"], rel=0.05)
    assert release.measures["sse"] == pytest.approx(
        release.measures["sse/sst"] * inside.measures["sse"] / inside.measures["sse/sst"]
    )


def _share_lost(people: pa.Table, rows: list[dict[str, Any]]) -> float:
    """Return SSE/SST, counted record by record."""
    released = {row["new0"]: row for row in rows}
    ranks = {label: float(rank) for rank, label in enumerate(HEALTH)}
    weights = {"age": 2.0}
    lost = spread = 0.0
    for name in QUASI:
        pairs = [(_number(row[name], ranks), _number(released[row["new0"]][name], ranks)) for row in people.to_pylist()]
        known = np.array([before for before, _ in pairs if before is not None])
        squares = [
            float((before is None) != (after is None))
            if before is None or after is None
            else ((before - after) / known.std()) ** 2
            for before, after in pairs
        ]
        lost += weights.get(name, 1.0) * sum(squares)
        spread += weights.get(name, 1.0) * len(pairs)
    return lost / spread


def _number(value: Any, ranks: dict[str, float]) -> float | None:
    if isinstance(value, str):
        return ranks[value]
    if isinstance(value, dt.date):
        return float(value.toordinal())
    return None if value is None else float(value)


@pytest.mark.usefixtures("collects_nothing")
@pytest.mark.deep
def test_clusters_keep_to_their_block_and_the_means_of_each(put: Put) -> None:
    """Every class lies in one block, and what MDAV promises of sizes holds in each."""
    rows = _people().select(["age", "new0", "illness"])
    schema = Schema(attributes=(_numeric("new0"), Attribute(name="age", kind=Kind.NUMERIC), Attribute(name="illness")))
    release = shoal.anonymize(put(rows, schema), KAnonymity(K), method=shoal.methods.Mdav(block=BLOCK))
    classes = defaultdict(list)
    for row in release.table.to_arrow().to_pylist():
        classes[row["new0"]].append(row)
    # one number, all different: clusters are runs of neighbours, and a run's middle is its mean
    assert all(K <= len(members) <= 2 * K - 1 for members in classes.values())
    assert sum(value * len(members) for value, members in classes.items()) == pytest.approx(sum(range(RECORDS)))
    assert release.measures["sse/sst"] < 1e-4


@pytest.mark.usefixtures("collects_nothing")
@pytest.mark.deep
def test_no_block_is_too_small_whatever_the_sample_says(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_by_block, "SAMPLE", 40)
    draw = np.random.default_rng(3)
    # a heap of equal records, a few scattered ones, and a constant
    amount = np.where(draw.random(2000) < 0.9, 0.0, draw.exponential(50, 2000))
    rows = pa.table({"amount": amount, "same": np.ones(2000), "number": np.arange(2000)})
    schema = Schema(attributes=(_numeric("amount"), _numeric("same"), Attribute(name="number", kind=Kind.NUMERIC)))
    release = shoal.anonymize(put(rows, schema), KAnonymity(40), method=shoal.methods.Mdav(block=200))
    found = release.table.to_arrow()
    counts = Counter(zip(found["amount"].to_pylist(), found["same"].to_pylist(), strict=True))
    assert min(counts.values()) >= 40
    assert sorted(found["number"].to_pylist()) == list(range(2000))
    assert set(found["same"].to_pylist()) == {1.0}
    blocked = _events(release)["blocked"]
    assert blocked.blocks > 1
    assert np.mean(found["amount"].to_numpy()) == pytest.approx(amount.mean())


@pytest.mark.usefixtures("collects_nothing")
@pytest.mark.deep
def test_records_that_miss_a_value_may_be_left_out_and_identifiers_become_pseudonyms(put: Put) -> None:
    people = _people().select(["name", "age", "income"])
    schema = Schema(
        attributes=(
            Attribute(name="name", role=Role.IDENTIFIER, pseudonym=True),
            _numeric("age"),
            _numeric("income", missing=Missing.DROP),
        )
    )
    method, key = shoal.methods.Mdav(block=BLOCK, decimals=1), b"a secret of 16 bytes or more"
    release = shoal.anonymize(put(people, schema), KAnonymity(K), method=method, pseudonym_key=key)
    found = release.table.to_arrow()
    assert found.num_rows == RECORDS - people["income"].null_count == release.records
    assert _events(release)["left-out"].records == people["income"].null_count
    assert len(set(found["name"].to_pylist())) == found.num_rows
    assert not set(found["name"].to_pylist()) & set(people["name"].to_pylist())
    assert all(value == round(value, 1) for value in found["income"].to_pylist())


def test_what_blocks_cannot_do_is_done_in_memory(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("the records were divided on Spark")

    monkeypatch.setattr(tables.Blocks, "sample", refuse)
    rows = _people().select(["age", "illness"]).slice(0, 300)
    illness = Attribute(name="illness", role=Role.SENSITIVE)
    table = put(rows, Schema(attributes=(_numeric("age"), illness)))
    for promises, method in (
        ((KAnonymity(K),), shoal.methods.Mdav(block=300)),
        ((KAnonymity(K),), shoal.methods.Mdav(block=0)),
        ((KAnonymity(K), TCloseness("illness", 0.3)), shoal.methods.TMicroaggregate(form="generalized")),
    ):
        release = shoal.anonymize(table, *promises, method=method)
        assert release.after.smallest >= K


def test_more_records_than_the_driver_may_hold_are_refused_before_they_are_collected(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOAL_MEMORY", "20KB")
    rows = _people().select(["age", "illness"]).slice(0, 300)
    table = put(rows, Schema(attributes=(_numeric("age"), Attribute(name="illness", role=Role.SENSITIVE))))
    for method in (shoal.methods.Mdav(block=0), shoal.methods.TMicroaggregate()):
        with pytest.raises(Exhausted, match="collects all 300 records on the Spark driver"):
            shoal.anonymize(table, KAnonymity(K), method=method)


@pytest.mark.usefixtures("collects_nothing")
@pytest.mark.deep
def test_the_same_records_give_the_same_release(put: Put) -> None:
    rows = _people().slice(0, 1500)
    table = put(rows, SCHEMA)
    first, second = (
        shoal.anonymize(table, KAnonymity(K), method=shoal.methods.Mdav(block=400)).table.to_arrow() for _ in range(2)
    )
    assert first.equals(second)


PROMISES: list[Any] = [
    (KAnonymity(K), DistinctLDiversity("illness", 3)),
    pytest.param(
        (KAnonymity(K), EntropyLDiversity("illness", 2), TCloseness("pay", Fraction(1, 5))), marks=pytest.mark.deep
    ),
    pytest.param((TCloseness("illness", Fraction(1, 4)),), marks=pytest.mark.deep),
    pytest.param(
        (KAnonymity(3), BetaLikeness("illness", Fraction(3, 2)), RecursiveLDiversity("illness", 3, 2)),
        marks=pytest.mark.deep,
    ),
]


def _patients(number: int = 2400) -> tuple[pa.Table, Schema]:
    """Return people whose illness and pay follow their age, so that near people are too much alike."""
    draw = np.random.default_rng(5)
    age, weight = draw.integers(18, 90, number), draw.normal(70, 12, number)
    ill = np.where(draw.random(number) < 0.4, age // 24, draw.integers(0, 4, number))
    pay = pa.array((age // 10 * 100 + draw.integers(0, 9, number) * 50).astype(float), mask=draw.random(number) < 0.02)
    rows = pa.table({"age": age, "weight": weight, "illness": [f"illness {each}" for each in ill], "pay": pay})
    secret = Attribute(name="pay", role=Role.SENSITIVE, kind=Kind.NUMERIC)
    return rows, Schema(
        attributes=(_numeric("age"), _numeric("weight"), Attribute(name="illness", role=Role.SENSITIVE), secret)
    )


@pytest.mark.usefixtures("collects_nothing")
@pytest.mark.parametrize("promises", PROMISES, ids=repr)
def test_promises_about_values_are_kept_block_by_block(put: Put, promises: tuple[Model, ...], tmp_path: Path) -> None:
    rows, schema = _patients()
    release = shoal.anonymize(put(rows, schema), *promises, method=shoal.methods.Mdav(block=500))
    blocked = _events(release)["blocked"]
    assert blocked.blocks > 1
    assert not blocked.repaired
    folder = release.write(tmp_path / "release")
    # DuckDB decides every promise again, and compares what the release achieves, as fractions
    found = shoal.verify(folder)
    assert found.passed, str(found)
    released = pq.read_table(folder / "data.parquet")
    for name in ("illness", "pay"):
        assert Counter(released[name].to_pylist()) == Counter(rows[name].to_pylist())
    values = defaultdict(list)
    for age, weight, ill in zip(*(released[name].to_pylist() for name in ("age", "weight", "illness")), strict=True):
        values[age, weight].append(ill)
    assert len(values) > blocked.blocks
    if any(isinstance(model, DistinctLDiversity) for model in promises):
        assert min(len(set(each)) for each in values.values()) >= 3
        assert min(map(len, values.values())) >= K


@pytest.mark.usefixtures("collects_nothing")
@pytest.mark.deep
def test_blocks_that_cannot_keep_a_promise_are_joined_with_others(put: Put) -> None:
    """Everybody below 40 has one illness, everybody above another: no block of one side keeps the promise alone."""
    number = 1200
    age = np.arange(number) % 60 + 10
    rows = pa.table({"age": age, "illness": np.where(age < 40, "cold", "flu")})
    schema = Schema(attributes=(_numeric("age"), Attribute(name="illness", role=Role.SENSITIVE)))
    release = shoal.anonymize(put(rows, schema), DistinctLDiversity("illness", 2), method=shoal.methods.Mdav(block=400))
    values = defaultdict(set)
    for own, ill in zip(*release.table.to_arrow().to_pydict().values(), strict=True):
        values[own].add(ill)
    assert all(each == {"cold", "flu"} for each in values.values())
    assert len(values) > 1


@pytest.mark.usefixtures("collects_nothing")
@pytest.mark.deep
def test_where_joined_blocks_would_be_too_large_each_is_dealt_out_to_several(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Illness follows age so closely that only the whole table is diverse; a tenth of it, taken by chance, is, too."""
    monkeypatch.setattr(_by_block, "WIDER", 1)
    rows, schema = _patients(900)
    sick = rows.set_column(2, "illness", pa.array(np.where(rows["age"].to_numpy() < 80, "cold", "flu")))
    release = shoal.anonymize(put(sick, schema), DistinctLDiversity("illness", 2), method=shoal.methods.Mdav(block=200))
    assert _events(release)["blocked"].blocks >= 5
    assert _events(release)["blocked"].largest <= 220
    values = defaultdict(set)
    for age, weight, ill, _ in zip(*release.table.to_arrow().to_pydict().values(), strict=True):
        values[age, weight].add(ill)
    assert all(each == {"cold", "flu"} for each in values.values())


@pytest.mark.deep
def test_what_no_block_keeps_is_kept_in_memory(put: Put) -> None:
    """Everybody has an illness of their own, and a class must be nearly like all: there is one."""
    rows, schema = _patients(900)
    sick = rows.set_column(2, "illness", pa.array([f"illness {i}" for i in range(900)]))
    release = shoal.anonymize(put(sick, schema), TCloseness("illness", 0.05), method=shoal.methods.Mdav(block=200))
    assert release.after.classes == 1
