"""Methods that exchange or part values, or give every class its share of them, on Spark above the size of a block."""

from __future__ import annotations

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
from shoal.models import DistinctLDiversity, KAnonymity, MultiplicativeCloseness, ProbabilisticKAnonymity, TCloseness
from shoal.schema import Attribute, Kind, Role, Schema

pytestmark = [pytest.mark.spark]

RECORDS, BLOCK, K = 2400, 500, 5
ILLNESSES = 4

Put = Callable[..., shoal.Table]


def _numeric(name: str, role: Role = Role.QUASI_IDENTIFIER) -> Attribute:
    return Attribute(name=name, role=role, kind=Kind.NUMERIC)


SCHEMA = Schema(
    attributes=(
        _numeric("age"),
        _numeric("weight"),
        Attribute(name="town", role=Role.QUASI_IDENTIFIER),
        Attribute(name="illness", role=Role.SENSITIVE),
        _numeric("number", Role.INSENSITIVE),
    )
)
QUASI = ("age", "weight", "town")


def _patients() -> pa.Table:
    """Return people whose illness follows their age; everybody has a weight and a number of their own."""
    draw = np.random.default_rng(5)
    age = draw.integers(18, 90, RECORDS)
    ill = np.where(draw.random(RECORDS) < 0.5, age // 24, draw.integers(0, ILLNESSES, RECORDS))
    return pa.table(
        {
            "age": age,
            "weight": 40 + draw.permutation(RECORDS) / 64,
            "town": draw.choice(["Ulm", "Graz", "Bern"], RECORDS, p=[0.7, 0.2, 0.1]),
            "illness": [f"illness {each}" for each in ill],
            "number": np.arange(RECORDS),
        }
    )


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow blocks that a test can afford, and fail where records are read into memory."""
    monkeypatch.setattr("shoal.methods.classes._microaggregation.LEAST_BLOCK", 1)
    monkeypatch.setattr("shoal.methods.classes._blocks.LEAST_BLOCK", 1)
    for module in ("microaggregation", "anatomy", "bucketize"):
        monkeypatch.setattr(f"shoal.methods.classes._{module}.BLOCK", BLOCK)


@pytest.fixture
def put(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Return a function that puts records onto Spark, in three parts, from where nothing may collect them."""
    encode = tables.encode_records

    def refuse(table: shoal.Table, **options: Any) -> Any:
        if table.source.kind == "spark":
            pytest.fail("the records were collected")
        return encode(table, **options)

    monkeypatch.setattr(tables, "encode_records", refuse)
    return lambda rows, schema=SCHEMA: shoal.read(spark.createDataFrame(rows).repartition(3)).with_schema(schema)


def _blocked(release: shoal.Release) -> Any:
    (found,) = [event for event in release.guarantee.events if event.name == "blocked"]
    return found


def _verified(release: shoal.Release, folder: Path) -> Path:
    release.write(folder)
    found = shoal.verify(folder)  # by DuckDB, what the classes achieve included
    assert found.passed, str(found)
    return folder


def _distance(own: Counter[str], every: Counter[str]) -> Fraction:
    """Return the earth mover's distance of two distributions of names: half the sum of the differences."""
    return sum((abs(Fraction(own[v], own.total()) - Fraction(every[v], every.total())) for v in every), Fraction()) / 2


@pytest.mark.deep
def test_classes_take_their_share_of_the_values_block_by_block(put: Put, tmp_path: Path) -> None:
    """No four neighbouring blocks are as close to the table as classes must be: each is a sample of it."""
    limit = Fraction("0.04")
    rows, asked = _patients(), (KAnonymity(K), TCloseness("illness", limit))
    inside = shoal.anonymize(shoal.read(rows).with_schema(SCHEMA), *asked, method=shoal.methods.TMicroaggregate())
    release = shoal.anonymize(put(rows), *asked, method=shoal.methods.TMicroaggregate())
    assert _blocked(release).blocks > 2
    released = pq.read_table(_verified(release, tmp_path / "release") / "data.parquet").to_pylist()
    every = Counter(row["illness"] for row in released)
    classes: defaultdict[Any, Counter[str]] = defaultdict(Counter)
    for row in released:
        classes[tuple(row[name] for name in QUASI)][row["illness"]] += 1
    assert min(own.total() for own in classes.values()) >= K
    assert max(_distance(own, every) for own in classes.values()) <= limit
    illness = dict(zip(rows["number"].to_pylist(), rows["illness"].to_pylist(), strict=True))
    assert {row["number"]: row["illness"] for row in released} == illness
    assert release.after.classes == len(classes)
    # 500 people taken by chance are nearly 0.04 away from all, so that little is left for their classes
    assert release.measures["sse/sst"] < 2 * inside.measures["sse/sst"]


@pytest.mark.deep
def test_two_tables_are_linked_by_classes_of_which_every_block_has_its_own(put: Put, tmp_path: Path) -> None:
    rows, asked = _patients(), (KAnonymity(K), DistinctLDiversity("illness", 3))
    release = shoal.anonymize(put(rows), *asked, method=shoal.methods.Anatomy())
    assert _blocked(release).blocks > 2
    folder = _verified(release, tmp_path / "release")
    people, values = (pq.read_table(folder / f"{name}.parquet") for name in ("quasi-identifiers", "confidential"))
    numbers = sorted(set(people["class"].to_pylist()))
    assert numbers == list(range(1, release.after.classes + 1))
    # everybody has a weight of their own, and a number of their own: both are in the same class
    of_weight = dict(zip(people["weight"].to_pylist(), people["class"].to_pylist(), strict=True))
    of_number = dict(zip(values["number"].to_pylist(), values["class"].to_pylist(), strict=True))
    ill: defaultdict[int, set[str]] = defaultdict(set)
    for row in rows.to_pylist():
        assert of_weight[row["weight"]] == of_number[row["number"]]
        ill[of_number[row["number"]]].add(row["illness"])
    assert min(len(each) for each in ill.values()) >= 3
    assert min(Counter(of_number.values()).values()) >= K
    named = [*zip(*(people[name].to_pylist() for name in QUASI), strict=True)]
    assert sorted(named) == sorted(zip(*(rows[name].to_pylist() for name in QUASI), strict=True))
    confidential = rows.select(["illness", "number"]).sort_by("number")
    assert values.drop(["class"]).sort_by("number").to_pydict() == confidential.to_pydict()
    # inside a class the order is that of the values
    assert values.sort_by([(name, "ascending") for name in values.column_names]).equals(values)


@pytest.mark.deep
def test_values_are_exchanged_between_near_people_of_a_block(put: Put, tmp_path: Path) -> None:
    rows, asked = _patients(), ProbabilisticKAnonymity(K)
    method = shoal.methods.Swap(block=BLOCK)
    inside = shoal.anonymize(shoal.read(rows).with_schema(SCHEMA), asked, method=method)
    release = shoal.anonymize(put(rows), asked, method=method)
    assert _blocked(release).blocks > 2
    released = pq.read_table(_verified(release, tmp_path / "release") / "data.parquet").to_pylist()
    # quasi-identifiers stay together, and so do all other columns
    were = {row["weight"]: row for row in rows.to_pylist()}
    illness = {row["number"]: row["illness"] for row in were.values()}
    assert len({row["number"] for row in released}) == len({row["weight"] for row in released}) == RECORDS
    for row in released:
        assert {name: row[name] for name in QUASI} == {name: were[row["weight"]][name] for name in QUASI}
        assert row["illness"] == illness[row["number"]]
    # a random permutation leaves one record of a cluster where it is, on average
    classed = {event.name: event for event in release.guarantee.events}["classed"]
    assert K <= classed.smallest <= classed.largest <= 2 * K - 1
    still = sum(were[row["weight"]]["number"] == row["number"] for row in released)
    assert abs(still - classed.classes) < 6 * classed.classes**0.5
    assert release.measures["sse/sst"] == pytest.approx(inside.measures["sse/sst"], rel=0.15)
    again = shoal.anonymize(put(rows), asked, method=method).table.to_arrow().to_pylist()
    assert again != released


@pytest.mark.parametrize("form", ["microaggregated", "anatomy", "permuted"])
@pytest.mark.deep
def test_every_class_of_a_block_has_its_share_of_every_bucket(put: Put, tmp_path: Path, form: Any) -> None:
    """Two columns become buckets together, made of the values of the whole table, as in memory."""
    rows = _patients()
    pay = pa.array((rows["age"].to_numpy() // 10 * 100 + rows["number"].to_numpy() % 9 * 50).astype(float))
    schema = Schema(attributes=(*SCHEMA.attributes, _numeric("pay", Role.SENSITIVE)))
    paid = rows.append_column("pay", pay)
    asked = (KAnonymity(K), MultiplicativeCloseness("illness", 3), MultiplicativeCloseness("pay", 2))
    method = shoal.methods.Bucketize(form=form)
    inside = shoal.anonymize(shoal.read(paid).with_schema(schema), *asked, method=method)
    release = shoal.anonymize(put(paid, schema), *asked, method=method)
    assert _blocked(release).blocks > 2
    folder = _verified(release, tmp_path / "release")
    released = pq.read_table(folder / ("data.parquet" if form != "anatomy" else "confidential.parquet"))
    if form == "permuted":
        _exchanged_buckets(rows, released, release, inside)
        return
    names = QUASI if form == "microaggregated" else ("class",)
    buckets = [*zip(released["illness"].to_pylist(), released["pay"].to_pylist(), strict=True)]
    classes: defaultdict[Any, Counter[Any]] = defaultdict(Counter)
    for key, bucket in zip(zip(*(released[name].to_pylist() for name in names), strict=True), buckets, strict=True):
        classes[key][bucket] += 1
    every = Counter(buckets)
    for own in classes.values():
        assert own.total() >= K
        shares = [Fraction(own[each], own.total()) / Fraction(every[each], RECORDS) for each in every]
        assert Fraction(1, 2) <= min(shares) <= max(shares) <= 2
    assert len(classes) > 20
    ours, theirs = ({event.name: event for event in each.guarantee.events} for each in (release, inside))
    assert ours["bucketized"] == theirs["bucketized"]
    assert [promise.model for promise in release.guarantee.promises] == [
        promise.model for promise in inside.guarantee.promises
    ]


@pytest.mark.deep
def test_every_class_has_k_persons_all_of_whose_records_are_in_one_block(put: Put, tmp_path: Path) -> None:
    """Everybody has one to four records, and near ages: k records next to each other are often of fewer persons."""
    draw = np.random.default_rng(9)
    who = np.sort(draw.integers(0, RECORDS // 2, RECORDS))
    visits = _patients().drop(["illness"]).append_column("who", pa.array([f"person {i}" for i in who]))
    visits = visits.set_column(0, "age", pa.array(who // 20 + draw.integers(0, 2, RECORDS)))
    schema = Schema(attributes=(*SCHEMA.attributes[:3], SCHEMA.attributes[4], Attribute(name="who", role=Role.PERSON)))
    method, asked = shoal.methods.Mdav(block=BLOCK), KAnonymity(K)
    inside = shoal.anonymize(shoal.read(visits).with_schema(schema), asked, method=method)
    release = shoal.anonymize(put(visits, schema), asked, method=method)
    assert _blocked(release).blocks > 2
    released = pq.read_table(_verified(release, tmp_path / "release") / "data.parquet").to_pylist()
    assert set(released[0]) == {*QUASI, "number"}
    person = dict(zip(visits["number"].to_pylist(), visits["who"].to_pylist(), strict=True))
    classes: defaultdict[Any, Counter[str]] = defaultdict(Counter)
    for row in released:
        classes[tuple(row[name] for name in QUASI)][person[row["number"]]] += 1
    assert min(len(own) for own in classes.values()) >= K
    counted = {event.name: event for event in release.guarantee.events}["counted"]
    assert counted.persons == len(set(person.values()))
    assert counted.memberships == sum(len(own) for own in classes.values())
    assert counted.fewest == release.after.fewest == min(len(own) for own in classes.values())
    assert counted.smallest == min(own.total() for own in classes.values())
    assert counted.records == RECORDS
    # the risk is that of the persons: before as in memory, after as the classes say
    assert release.before == inside.before
    assert release.people is not None
    assert inside.people is not None
    before, after = release.people
    assert before.persons.mean == pytest.approx(inside.people[0].persons.mean)
    assert (before.trajectories, before.most) == (inside.people[0].trajectories, inside.people[0].most)
    missed = dict.fromkeys(person.values(), 1.0)
    for own in classes.values():
        for name in own:
            missed[name] *= 1 - 1 / len(own)
    assert after.persons.mean == pytest.approx(1 - sum(missed.values()) / len(missed))
    assert [promise.unit for promise in release.guarantee.promises] == ["person"]
    assert release.guarantee.promises[0].statement == inside.guarantee.promises[0].statement
    assert [event.name for event in release.guarantee.events] == [event.name for event in inside.guarantee.events]


def test_columns_are_grouped_on_a_sample_of_the_records(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    encode = tables.encode_records

    def looked(table: shoal.Table, **options: Any) -> Any:
        found = encode(table, **options)
        assert 200 < len(found) < 400
        return found

    monkeypatch.setattr(tables, "encode_records", looked)
    monkeypatch.setattr("shoal.methods.classes._slice.LOOKED_AT", 300)
    rows = _patients().drop(["weight"])
    doubled = rows.append_column("home", pa.array([f"near {town}" for town in rows["town"].to_pylist()]))
    home = Attribute(name="home", role=Role.QUASI_IDENTIFIER)
    schema = Schema(attributes=(SCHEMA.attributes[0], *SCHEMA.attributes[2:], home))
    table = shoal.read(spark.createDataFrame(doubled).repartition(3)).with_schema(schema)
    release = shoal.anonymize(table, KAnonymity(K), method=shoal.methods.Slice(size=2))
    (sliced,) = [event for event in release.guarantee.events if event.name == "sliced"]
    assert any({*group} == {"town", "home"} for group in sliced.groups)
    assert release.records == RECORDS


def _exchanged_buckets(rows: pa.Table, released: pa.Table, release: shoal.Release, inside: shoal.Release) -> None:
    """Check a release whose classes nobody sees: all but the quasi-identifiers moved, together with their buckets."""
    here = inside.table.to_arrow()
    ours, theirs = (
        {row["number"]: (row["illness"], row["pay"]) for row in each.to_pylist()} for each in (released, here)
    )
    assert ours == theirs
    own = dict(zip(rows["weight"].to_pylist(), rows["number"].to_pylist(), strict=True))
    moved = [own[row["weight"]] != row["number"] for row in released.to_pylist()]
    assert RECORDS / 2 < sum(moved) < RECORDS
    hidden, listed = (
        next(promise.exact for promise in each.guarantee.promises if promise.model == "hidden-classes")
        for each in (release, inside)
    )
    assert hidden is not None
    assert listed is not None
    assert {tuple(label) for label in hidden["labels"]} == {tuple(label) for label in listed["labels"]}
    assert sum(times * sum(counts) for times, *counts in hidden["histograms"]) == RECORDS
    assert min(sum(counts) for _, *counts in hidden["histograms"]) >= K
