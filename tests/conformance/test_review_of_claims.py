"""Claims that a release must not make, and values that must not leave: each of these once did."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from forgeries import forger
from shoal.models import (
    AverageRisk,
    DeltaPresence,
    DistinctLDiversity,
    KAnonymity,
    KMAnonymity,
    Model,
    MultiplicativeCloseness,
    ProbabilisticKAnonymity,
    SampleUniqueness,
    TCloseness,
)
from shoal.schema import Attribute, Domain, Flat, FromFile, Intervals, Kind, Mask, Role, Schema

AGE = Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, hierarchy=Intervals(widths=(10, 50)))
TEXT = Attribute(name="zip", role=Role.QUASI_IDENTIFIER, hierarchy=Flat())


def _files(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.*") if path.suffix != ".parquet")


def test_a_hierarchy_with_declared_bounds_does_not_name_the_values_of_suppressed_records(tmp_path: Path) -> None:
    charge = Attribute(
        name="charge",
        role=Role.SENSITIVE,
        kind=Kind.NUMERIC,
        domain=Domain(minimum=0, maximum=100_000),
        hierarchy=Intervals(widths=(100, 50_000)),
    )
    rows = pa.table({"age": [20, 21, 20, 21, 95], "charge": [5, 6, 6, 5, 77_777]})
    table = shoal.read(rows).with_schema(Schema(attributes=(AGE, charge)))
    for distance in ("ordered", "hierarchical"):
        model = TCloseness("charge", "0.9", distance=distance)
        release = shoal.anonymize(table, KAnonymity(2), model, method=shoal.Generalize(suppression_limit=0.3))
        assert release.records == 4
        folder = release.write(tmp_path / distance)
        assert "77777" not in _files(folder)
        assert shoal.verify(folder).passed


def test_randomised_values_do_not_leave_in_a_hierarchy(tmp_path: Path) -> None:
    income = Attribute(
        name="income",
        role=Role.SENSITIVE,
        kind=Kind.NUMERIC,
        domain=Domain(minimum=0, maximum=100_000),
        hierarchy=Intervals(widths=(10_000, 50_000)),
    )
    incomes = [1_000 * i + 10_273 for i in range(40)]
    rows = pa.table({"age": [20 + i % 4 for i in range(40)], "income": incomes})
    table = shoal.read(rows).with_schema(Schema(attributes=(AGE, income)))
    release = shoal.anonymize(table, KAnonymity(5), method=shoal.methods.StochasticCloseness(epsilon=1))
    written = _files(release.write(tmp_path / "release"))
    assert not [value for value in incomes if str(value) in written]


@pytest.mark.parametrize(
    "method",
    [
        shoal.Generalize(cells=True),
        shoal.methods.Iterate(),
        shoal.methods.Mondrian(),
        shoal.methods.Mondrian(relaxed=True),
        shoal.methods.Specialize(),
        shoal.methods.Subtree(),
    ],
    ids=str,
)
def test_a_star_among_the_values_is_released_as_the_star_of_all(method: shoal.methods.Mondrian) -> None:
    rows = pa.table({"zip": ["*", *"0123456"], "shoe": [1] * 8})
    table = shoal.read(rows).with_schema(Schema(attributes=(TEXT, Attribute(name="shoe"))))
    release = shoal.anonymize(table, KAnonymity(2), method=method)
    values = release.table.to_arrow()["zip"].to_pylist()
    assert min(values.count(value) for value in values) >= 2
    assert release.measures["loss"] == 1


def test_the_two_zeros_of_floating_point_are_released_as_one() -> None:
    rows = pa.table({"z": [0.0, -0.0, 0.0], "zip": ["a", "a", "a"]})
    z = Attribute(name="z", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, hierarchy=Flat())
    table = shoal.read(rows).with_schema(Schema(attributes=(z, TEXT)))
    release = shoal.anonymize(table, KAnonymity(3))
    assert {str(value) for value in release.table.to_arrow()["z"].to_pylist()} == {"0.0"}


def test_ordered_closeness_goes_by_the_values_and_not_by_their_tree(tmp_path: Path) -> None:
    (tmp_path / "pay.csv").write_text("1;a;*\n4;a;*\n2;b;*\n3;b;*\n")
    pay = Attribute(name="pay", role=Role.SENSITIVE, kind=Kind.NUMERIC, hierarchy=FromFile(path="pay.csv"))
    known = Schema(attributes=(TEXT, pay), folder=tmp_path)
    table = shoal.read(pa.table({"zip": list("aaaabbbb"), "pay": [1, 1, 2, 2, 3, 3, 4, 4]})).with_schema(known)
    third = Fraction(1, 3)
    apart = shoal.anonymize(table, KAnonymity(2), TCloseness("pay", third))
    assert apart.after.classes == 2
    assert shoal.verify(apart.write(tmp_path / "release")).passed
    together = shoal.anonymize(table, KAnonymity(2), TCloseness("pay", third - Fraction(1, 100)))
    assert together.after.classes == 1


def test_tables_of_slices_do_not_claim_what_holds_for_single_columns() -> None:
    pairs = {"a": [(0, 0), (1, 1)], "b": [(0, 1), (1, 0)]}
    rows = [(zip_, *pair, age) for (zip_, own), age in itertools.product(pairs.items(), range(4)) for pair in own]
    columns = dict(zip(("zip", "ill", "pay", "age"), map(list, zip(*rows, strict=True)), strict=True))
    sensitive = [Attribute(name=name, role=Role.SENSITIVE) for name in ("ill", "pay")]
    table = shoal.read(pa.table(columns)).with_schema(Schema(attributes=(TEXT, *sensitive, AGE)))
    models = (KAnonymity(2), MultiplicativeCloseness("ill", 2), MultiplicativeCloseness("pay", 2))
    release = shoal.anonymize(table, *models, method=shoal.methods.Slice(groups=[["zip", "ill", "pay"], ["age"]]))
    (together,) = (promise for promise in release.guarantee.promises if promise.model == "composition")
    assert together.parameters["k"] == 2
    assert "t" not in together.parameters


@pytest.mark.parametrize("model", [SampleUniqueness(0), AverageRisk("1/2")], ids=str)
def test_anatomy_does_not_promise_anything_about_quasi_identifiers(model: Model) -> None:
    ill = Attribute(name="ill", role=Role.SENSITIVE)
    rows = pa.table({"zip": [str(i) for i in range(8)], "ill": list("xyxyxyxy")})
    table = shoal.read(rows).with_schema(Schema(attributes=(TEXT, ill)))
    with pytest.raises(shoal.ShoalError, match="releases quasi-identifiers as they are"):
        shoal.anonymize(table, KAnonymity(2), model, method=shoal.methods.Anatomy())


def test_the_files_of_a_release_hold_no_more_columns_than_certified(tmp_path: Path) -> None:
    table = shoal.read(pa.table({"zip": list("aabb")})).with_schema(Schema(attributes=(TEXT,)))
    folder = shoal.anonymize(table, KAnonymity(2)).write(tmp_path / "release")
    assert pq.read_schema(folder / "data.parquet").names == ["zip"]
    assert not pq.read_schema(folder / "data.parquet").metadata


@pytest.mark.parametrize(
    "method",
    [
        shoal.Generalize(cells=True),
        shoal.methods.Iterate(),
        shoal.methods.Mondrian(),
        shoal.methods.Specialize(),
        shoal.methods.Subtree(),
    ],
    ids=str,
)
def test_presence_is_not_promised_for_classes_that_may_cover_a_person_twice(method: shoal.methods.Mondrian) -> None:
    with pytest.raises(shoal.ShoalError, match="do not cover anyone twice"):
        shoal.Plan(schema=Schema(attributes=(AGE,)), models=(DeltaPresence("1/2", 1),), method=method)


@pytest.mark.parametrize("method", [shoal.methods.Mondrian(), shoal.methods.Specialize()], ids=str)
def test_a_model_of_released_values_is_refused_where_they_are_chosen_last(method: shoal.methods.Mondrian) -> None:
    with pytest.raises(shoal.ShoalError, match="depends on the released values"):
        shoal.Plan(schema=Schema(attributes=(AGE,)), models=(KMAnonymity(4, m=1),), method=method)


@pytest.fixture
def released(tmp_path: Path) -> Path:
    ill = Attribute(name="ill", role=Role.SENSITIVE)
    rows = pa.table({"age": [20 + i % 8 for i in range(40)], "zip": ["a", "b"] * 20, "ill": list("xyyx") * 10})
    table = shoal.read(rows).with_schema(Schema(attributes=(AGE, TEXT, ill)))
    release = shoal.anonymize(table, KAnonymity(3), TCloseness("ill", "0.5"))
    return release.write(tmp_path / "release", csv=True)


def _failed(folder: Path) -> list[str]:
    return [check.subject for check in shoal.verify(folder).checks if not check.passed]


def test_an_untouched_release_verifies(released: Path) -> None:
    assert not _failed(released)


Forgery = Callable[[dict[str, Any]], None]


@pytest.mark.parametrize(
    ("forgery", "fails"),
    [
        (lambda c: c["promises"][0].update(statement="Nobody can learn anything."), "k-anonymity k = 3"),
        (lambda c: c["promises"][0].update(assumptions=[]), "k-anonymity k = 3"),
        (lambda c: c["promises"][0].update(unit="household"), "k-anonymity k = 3"),
        (lambda c: c["promises"][0].update(neighbours="add or remove one record"), "k-anonymity k = 3"),
        (lambda c: c["data"]["columns"][0].update(role="insensitive"), "tables"),
        (lambda c: c.update(schema_sha256="0" * 64), "schema"),
        (lambda c: c.update(promises=c["promises"][:1]), "promises"),
        (lambda c: c.update(budget={"epsilon": "1", "delta": "0"}), "budget"),
        (lambda c: c.update(files=[each for each in c["files"] if each["name"] != "plan.toml"]), "plan.toml"),
    ],
    ids=[
        "statement",
        "assumptions",
        "unit",
        "neighbours",
        "role",
        "schema",
        "promise left out",
        "budget",
        "plan left out",
    ],
)
def test_a_certificate_that_says_more_than_holds_fails(released: Path, forgery: Forgery, fails: str) -> None:
    content = json.loads((released / "certificate.json").read_text(encoding="utf-8"))
    forgery(content)
    forger.write(released, content)
    assert fails in _failed(released)


@pytest.mark.parametrize("part", [{"version": 2}, {"wording": 1}])
def test_a_certificate_of_another_version_or_wording_is_refused_with_one_sentence(
    released: Path, part: dict[str, int]
) -> None:
    path = released / "certificate.json"
    content = json.loads(path.read_text(encoding="utf-8")) | part
    content["promises"][0].update(statement="Nobody can learn anything.", assumptions=[])
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(shoal.ShoalError, match=f"version 1.*|see `{next(iter(part))}`") as refused:
        shoal.verify(released)
    assert len(refused.value.problems) == 1


def test_another_table_beside_the_certified_one_fails(released: Path) -> None:
    text = (released / "data.csv").read_text(encoding="utf-8")
    (released / "raw.csv").write_text(text, encoding="utf-8")
    assert _failed(released) == ["raw.csv"]


def test_a_copy_with_other_records_fails_even_if_its_fingerprint_is_certified(released: Path) -> None:
    path = released / "data.csv"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:-1], lines[1]]), encoding="utf-8")
    content = json.loads((released / "certificate.json").read_text(encoding="utf-8"))
    (entry,) = (each for each in content["files"] if each["name"] == "data.csv")
    entry["bytes"], entry["sha256"] = path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest()
    forger.write(released, content)
    assert _failed(released) == ["data.csv"]


def test_a_swap_claims_the_k_of_clusters_before_they_were_merged_for_their_values() -> None:
    ill = Attribute(name="ill", role=Role.SENSITIVE)
    rows = pa.table({"age": [0, 1, 10, 11, 12], "ill": list("aabbc")})
    table = shoal.read(rows).with_schema(Schema(attributes=(AGE, ill)))
    models = (ProbabilisticKAnonymity(2), DistinctLDiversity("ill", 2))
    release = shoal.anonymize(table, *models, method=shoal.methods.Swap())
    linked, clusters = release.guarantee.promises
    assert linked.parameters["k"] == 2
    assert release.after.prosecutor == release.after.marketer == 1 / 2
    assert any("merged" in text for text in clusters.assumptions)


def test_a_swap_promises_to_hide_records_and_not_values() -> None:
    ill = Attribute(name="ill", role=Role.SENSITIVE)
    rows = pa.table({"age": [20, 21, 22, 70, 71, 72], "ill": ["hiv", "hiv", "flu", "cold", "gout", "flu"]})
    table = shoal.read(rows).with_schema(Schema(attributes=(AGE, ill)))
    release = shoal.anonymize(table, ProbabilisticKAnonymity(3), method=shoal.methods.Swap())
    (promise,) = release.guarantee.promises
    assert "finds the record that" in promise.statement
    assert any("probability m/c" in text for text in promise.assumptions)
    assert any("undoes the exchange" in text for text in promise.assumptions)


def test_who_knows_the_method_has_one_world_left_and_the_promise_says_so() -> None:
    """Minimality: had the two of 1001 had different illnesses, nothing would have been generalised."""
    zips = ["1001"] * 2 + ["1002"] * 4
    area = Attribute(name="zip", role=Role.QUASI_IDENTIFIER, hierarchy=Mask(length=4, masked=(1,)))
    known = Schema(attributes=(area, Attribute(name="ill", role=Role.SENSITIVE)))
    ills = ("hiv", "hiv", "flu", "cold", "burn", "acne")

    def released(world: tuple[str, ...]) -> tuple[object, ...]:
        table = shoal.read(pa.table({"zip": zips, "ill": list(world)})).with_schema(known)
        made = shoal.anonymize(table, KAnonymity(2), DistinctLDiversity("ill", 2), method=shoal.Generalize())
        return tuple(sorted(map(str, made.table.to_arrow().to_pylist()))), made.guarantee

    seen, guarantee = released(ills)
    worlds = {frozenset(world[:2]) for world in itertools.permutations(ills) if world[0] <= world[1]}
    left = [pair for pair in worlds if released((*_pair(pair), *_others(ills, pair)))[0] == seen]
    assert left == [frozenset({"hiv"})]
    (diverse,) = (promise for promise in guarantee.promises if promise.model == "distinct-l-diversity")
    assert any("not run the method backwards" in assumption for assumption in diverse.assumptions)


def _pair(values: frozenset[str]) -> tuple[str, str]:
    first, *rest = sorted(values)
    return first, rest[0] if rest else first


def _others(ills: tuple[str, ...], pair: frozenset[str]) -> list[str]:
    rest = list(ills)
    for value in _pair(pair):
        rest.remove(value)
    return rest
