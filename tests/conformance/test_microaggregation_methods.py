"""Every method of microaggregation on the whole way: anonymise, write, verify, plan; on every engine."""

from __future__ import annotations

import datetime as dt
import json
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from conformance.conftest import Load
from forgeries import forger
from shoal import methods
from shoal.errors import PlanError, RequirementError
from shoal.mechanisms import SeededSource
from shoal.methods.classes import OfClusters
from shoal.models import DistinctLDiversity, KAnonymity, KMap, Model, ProbabilisticKAnonymity, TCloseness
from shoal.schema import Attribute, Domain, Groups, Intervals, Kind, Missing, Role, Schema
from shoal.tables import write

RECORDS = 157
HEALTH = ("poor", "fair", "good")
QUASI = ("age", "joined", "health", "town")
OTHERS = ("illness", "charge", "pain", "seen", "shoe")


def _people() -> pa.Table:
    draw = random.Random(11)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(RECORDS)],
            "age": [draw.choice((None, *range(20, 60))) for _ in range(RECORDS)],
            "joined": [dt.date(2020, 1, 1) + dt.timedelta(draw.randrange(900)) for _ in range(RECORDS)],
            "health": [draw.choice(HEALTH) for _ in range(RECORDS)],
            "town": [draw.choice((None, *"ABCDEF")) for _ in range(RECORDS)],
            "illness": [draw.choice(("cold", "flu", "burn", "fracture")) for _ in range(RECORDS)],
            "charge": [draw.choice((None, *range(100, 900))) for _ in range(RECORDS)],
            "pain": [draw.choice(("none", "mild", "bad")) for _ in range(RECORDS)],
            "seen": [dt.date(2024, 1, 1) + dt.timedelta(draw.randrange(90)) for _ in range(RECORDS)],
            "shoe": [draw.randrange(36, 46) for _ in range(RECORDS)],
        }
    )


TOWNS = (("north", ("A", "B", "C")), ("south", ("D", "E", "F")))
SCHEMA = Schema(
    attributes=(
        Attribute(name="name", role=Role.IDENTIFIER),
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, hierarchy=Intervals(widths=(5, 20))),
        Attribute(name="joined", role=Role.QUASI_IDENTIFIER, kind=Kind.DATE),
        Attribute(name="health", role=Role.QUASI_IDENTIFIER, kind=Kind.ORDINAL, domain=Domain(values=HEALTH)),
        Attribute(name="town", role=Role.QUASI_IDENTIFIER, hierarchy=Groups(levels=(TOWNS,)), weight=2),
        Attribute(name="illness", role=Role.SENSITIVE),
        Attribute(name="charge", role=Role.SENSITIVE, kind=Kind.NUMERIC),
        Attribute(name="pain", role=Role.SENSITIVE, kind=Kind.ORDINAL, domain=Domain(values=("none", "mild", "bad"))),
        Attribute(name="seen", role=Role.SENSITIVE, kind=Kind.DATE),
        Attribute(name="shoe", kind=Kind.NUMERIC),
    )
)
K, P = KAnonymity(4), ProbabilisticKAnonymity(4)
SETS = (("age", "town"), ("joined", "health"))
CASES: dict[str, tuple[methods.AnyMethod, tuple[Model, ...]]] = {
    "mdav": (shoal.methods.Mdav(), (K,)),
    "mdav, points": (shoal.methods.Mdav(categories="points", decimals=1), (K,)),
    "mdav, probabilistic": (shoal.methods.Mdav(), (P,)),
    "mdav, diverse": (shoal.methods.Mdav(), (K, DistinctLDiversity("illness", 3))),
    "mdav, close": (shoal.methods.Mdav(strategy="closeness-first"), (K, TCloseness("charge", "0.25"))),
    "mdav, close by merging": (shoal.methods.Mdav(), (K, TCloseness("charge", "0.25"))),
    "mdav, sets": (shoal.methods.Mdav(groups=SETS), (K, DistinctLDiversity("illness", 2))),
    "vmdav": (shoal.methods.VMdav(), (K,)),
    "vmdav, sets": (shoal.methods.VMdav(gamma=1.1, groups=SETS), (K,)),
    "swap": (shoal.methods.Swap(), (P,)),
    "swap, diverse": (shoal.methods.Swap(categories="points"), (P, DistinctLDiversity("illness", 3))),
    "ir-swap": (shoal.methods.IndividualRankingSwap(), (P,)),
}
WHOLE = [name for name in CASES if name.startswith(("mdav", "vmdav")) and not name.endswith("sets")]
SWAPPED = [name for name in CASES if "swap" in name]


@pytest.fixture(scope="module")
def people() -> shoal.Table:
    return shoal.read(_people()).with_schema(SCHEMA)


@pytest.fixture(scope="module")
def releases(people: shoal.Table, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the folder of a case's release, made once."""
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            method, promises = CASES[name]
            target = tmp_path_factory.mktemp("releases") / "release"
            made[name] = shoal.anonymize(people, *promises, method=method).write(target)
        return made[name]

    return folder


def _rows(folder: Path) -> list[dict[str, Any]]:
    return pq.read_table(folder / "data.parquet").to_pylist()


def _certificate(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "certificate.json").read_text())  # type: ignore[no-any-return]


def _smallest(rows: list[dict[str, Any]], names: Sequence[str]) -> int:
    return min(Counter(tuple(row[name] for name in names) for row in rows).values())


def _counted(rows: list[dict[str, Any]], names: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(str(row[name]) for name in names) for row in rows)


def test_every_method_of_microaggregation_is_tried_here() -> None:
    tried = {name.partition(",")[0] for name in CASES}
    assert tried == {"mdav", "vmdav", "swap", "ir-swap"}
    assert tried <= {*methods.names()}


@pytest.mark.parametrize("name", CASES)
def test_a_release_verifies_and_its_plan_gives_the_method_back(name: str, releases: Callable[[str], Path]) -> None:
    folder = releases(name)
    found = shoal.verify(folder)
    assert found.passed, str(found)
    assert shoal.Plan.load(folder / "plan.toml").method == CASES[name][0]
    everything = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"person 1" not in everything


@pytest.mark.parametrize("name", CASES)
def test_a_plan_survives_its_file(name: str) -> None:
    method, promises = CASES[name]
    plan = shoal.Plan(schema=SCHEMA, models=promises, method=method)
    assert shoal.Plan.loads(plan.dumps()) == plan


# -- replaced by the middle


@pytest.mark.parametrize("name", WHOLE)
def test_quasi_identifiers_are_shared_by_k_and_the_rest_stays(name: str, releases: Callable[[str], Path]) -> None:
    rows = _rows(releases(name))
    assert _smallest(rows, QUASI) >= 4
    assert _counted(rows, OTHERS) == _counted(_people().to_pylist(), OTHERS)


def test_days_stay_days_and_ranks_and_concepts_are_of_the_schema(releases: Callable[[str], Path]) -> None:
    rows = _rows(releases("mdav"))
    assert all(isinstance(row["joined"], dt.date) for row in rows)
    assert {row["health"] for row in rows} <= {*HEALTH}
    assert {row["town"] for row in rows} <= {None, *"ABCDEF", "north", "south", "*"}
    assert any(row["age"] is not None and row["age"] != round(row["age"]) for row in rows)


def test_the_mean_of_a_column_without_missing_values_is_kept(people: shoal.Table) -> None:
    known = Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, missing=Missing.DROP)
    schema = Schema(attributes=(known, *SCHEMA.attributes[2:]))
    table = shoal.read(_people().drop_columns(["name"])).with_schema(schema)
    released = shoal.anonymize(table, K, method=shoal.methods.Mdav()).table.to_arrow()["age"].to_pylist()
    ages = [age for age in _people()["age"].to_pylist() if age is not None]
    assert len(released) == len(ages)
    assert sum(released) == pytest.approx(sum(ages))


def test_means_are_rounded_where_that_is_asked_for(releases: Callable[[str], Path]) -> None:
    ages = {row["age"] for row in _rows(releases("mdav, points")) if row["age"] is not None}
    assert ages == {round(age, 1) for age in ages}
    steps = {step["step"]: step["description"] for step in _certificate(releases("mdav, points"))["steps"]}
    assert "rounded to 1 decimal." in steps["averaged"] or "rounded to 1 decimal;" in steps["averaged"]
    assert "standard deviations" in steps["measured"]


@pytest.mark.parametrize("name", ["mdav", "mdav, points"])
def test_semantic_distances_are_named_where_they_are_used(name: str, releases: Callable[[str], Path]) -> None:
    (step,) = (step for step in _certificate(releases(name))["steps"] if step["step"] == "measured")
    assert step["distance"] == ("semantic" if name == "mdav" else "points")


def test_diversity_holds_in_every_class(releases: Callable[[str], Path]) -> None:
    values = defaultdict(set)
    for row in _rows(releases("mdav, diverse")):
        values[tuple(row[name] for name in QUASI)].add(row["illness"])
    assert min(len(found) for found in values.values()) >= 3


@pytest.mark.parametrize("name", ["mdav, sets", "vmdav, sets"])
def test_sets_keep_k_each_and_say_that_they_do_not_keep_it_together(name: str, releases: Callable[[str], Path]) -> None:
    rows, certificate = _rows(releases(name)), _certificate(releases(name))
    assert all(_smallest(rows, names) >= 4 for names in SETS)
    assert _smallest(rows, QUASI) < 4, "else this table shows nothing"
    assert {promise["model"] for promise in certificate["promises"]} == {"attribute-set"}
    for promise in certificate["promises"]:
        assert tuple(promise["parameters"]["columns"]) in SETS
        assert "all quasi-identifiers taken together are not covered" in promise["assumptions"][0]


def test_one_set_of_all_quasi_identifiers_is_k_anonymity(people: shoal.Table) -> None:
    release = shoal.anonymize(people, K, method=shoal.methods.Mdav(groups=[QUASI]))
    assert [promise.model for promise in release.guarantee.promises] == ["k-anonymity"]
    assert _smallest(release.table.to_arrow().to_pylist(), QUASI) >= 4


def test_quality_is_reported(people: shoal.Table) -> None:
    whole, apart = (shoal.anonymize(people, K, method=shoal.methods.Mdav(groups=groups)) for groups in (None, SETS))
    for release in (whole, apart):
        assert 0 < release.measures["sse/sst"] < 1  # type: ignore[operator]
        assert "loss" not in release.measures
    assert apart.measures["sse"] < whole.measures["sse"]  # type: ignore[operator]


# -- exchanged


@pytest.mark.parametrize("name", SWAPPED)
def test_marginals_are_unchanged_and_k_anonymity_is_not_claimed(name: str, releases: Callable[[str], Path]) -> None:
    rows, before = _rows(releases(name)), _people().to_pylist()
    certificate = _certificate(releases(name))
    for column in (*QUASI, *OTHERS):
        assert _counted(rows, [column]) == _counted(before, [column])
    assert _counted(rows, QUASI) == _counted(before, QUASI)
    assert "k-anonymity" not in {promise["model"] for promise in certificate["promises"]}
    assert {promise["strength"] for promise in certificate["promises"]} == {"conditional"}
    assert any("not k-anonymous" in text for text in certificate["promises"][0]["assumptions"])
    assert "operating system" in certificate["randomness"]


def test_swapping_moves_all_other_columns_together(releases: Callable[[str], Path]) -> None:
    rows, before = _rows(releases("swap")), _people().to_pylist()
    assert _counted(rows, OTHERS) == _counted(before, OTHERS)
    assert _counted(rows, (*QUASI, *OTHERS)) != _counted(before, (*QUASI, *OTHERS))
    (promise,) = _certificate(releases("swap"))["promises"]
    assert promise["parameters"] == {"k": 4, "intruder": "uninformed", "columns": [*OTHERS]}


def test_ranks_move_every_sensitive_column_on_its_own(releases: Callable[[str], Path]) -> None:
    rows, before = _rows(releases("ir-swap")), _people().to_pylist()
    kept = (*QUASI, "shoe")
    assert _counted(rows, kept) == _counted(before, kept)
    for pair in (("illness", "charge"), ("charge", "pain"), ("seen", "pain"), ("age", "charge")):
        assert _counted(rows, pair) != _counted(before, pair)
    (promise,) = _certificate(releases("ir-swap"))["promises"]
    assert promise["parameters"] == {"k": 4, "intruder": "informed", "columns": [*OTHERS[:-1]]}


def test_values_stay_among_near_ranks() -> None:
    charges = list(range(100))
    table = pa.table({"id": charges, "charge": charges})
    schema = Schema(
        attributes=(
            Attribute(name="id", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
            Attribute(name="charge", role=Role.SENSITIVE, kind=Kind.NUMERIC),
        )
    )
    release = shoal.anonymize(shoal.read(table).with_schema(schema), P, method=shoal.methods.IndividualRankingSwap())
    distances = [abs(row["id"] - row["charge"]) for row in release.table.to_arrow().to_pylist()]
    assert 0 < max(distances) <= 3


def test_a_column_has_as_many_neighbours_as_it_asks_for(people: shoal.Table, tmp_path: Path) -> None:
    release = shoal.anonymize(people, P, method=shoal.methods.IndividualRankingSwap(sizes={"charge": 30, "illness": 2}))
    folder = release.write(tmp_path / "release")
    smallest = {step["column"]: step["smallest"] for step in _certificate(folder)["steps"] if step["step"] == "ranked"}
    assert smallest["charge"] >= 30
    assert smallest["illness"] >= 4 > 2  # no fewer than the promise asks for
    assert shoal.verify(folder).passed

    def fewer(content: dict[str, Any]) -> None:
        ranked = next(step for step in content["steps"] if step.get("column") == "charge")
        # as many records in as many clusters, and enough for the promise
        ranked["smallest"], ranked["largest"] = 29, 200
        forger.let_words_fit(ranked)

    assert "steps" in _tampered(folder, tmp_path / "copy", fewer)


def test_more_neighbours_than_records_are_refused(people: shoal.Table) -> None:
    with pytest.raises(RequirementError, match=r"column `charge`: .* 999 neighbours"):
        shoal.anonymize(people, P, method=shoal.methods.IndividualRankingSwap(sizes={"charge": 999}))
    with pytest.raises(PlanError, match="names column `age`, which is not sensitive"):
        shoal.anonymize(people, P, method=shoal.methods.IndividualRankingSwap(sizes={"age": 9}))


@pytest.mark.parametrize("name", ["swap", "ir-swap"])
def test_a_seed_is_marked(name: str, people: shoal.Table, tmp_path: Path) -> None:
    method, promises = CASES[name]
    plan = shoal.Plan(schema=SCHEMA, models=promises, method=method)
    first, second = (plan.run(people, source=SeededSource(7)) for _ in range(2))
    assert first.table.to_arrow().equals(second.table.to_arrow())
    assert "seed" in first.guarantee.randomness
    assert any("seed" in text for text in first.guarantee.promises[0].assumptions)
    assert shoal.verify(first.write(tmp_path / "release")).passed


def test_clusters_are_diverse_where_that_is_promised(releases: Callable[[str], Path]) -> None:
    linked, diverse = _certificate(releases("swap, diverse"))["promises"]
    assert linked["model"] == "probabilistic-k-anonymity"
    assert diverse["model"] == "clusters"
    assert diverse["parameters"]["model"] == "distinct-l-diversity"
    (check,) = (c for c in shoal.verify(releases("swap, diverse")).checks if c.subject.startswith("clusters"))
    assert "cannot show" in check.detail


# -- a checker that can say no


def _tampered(folder: Path, target: Path, change: Callable[[dict[str, Any]], None]) -> list[str]:
    """Return what fails after a change of the certificate, but for fingerprints."""
    shutil.copytree(folder, target)
    content = _certificate(target)
    change(content)
    (target / "certificate.json").write_text(json.dumps(content))
    return [check.subject for check in shoal.verify(target, rendered=False).checks if not check.passed]


def _set(name: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content["promises"][0]["parameters"][name] = value

    return change


def _strength(value: str) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["promises"][0].update(strength=value)


def _step(name: str, key: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        step = next(step for step in content["steps"] if step["step"] == name)
        step[key] = value
        forger.let_words_fit(step)

    return change


@pytest.mark.parametrize(
    ("name", "model", "change"),
    [
        ("mdav", "k-anonymity", _set("k", 9)),
        ("mdav, sets", "attribute-set", _set("columns", [*QUASI])),
        ("mdav, sets", "attribute-set", _set("columns", ["age", "illness"])),
        ("mdav, sets", "attribute-set", _set("columns", [])),
        ("mdav, sets", "attribute-set", _set("parameters", {"k": 50})),
        ("mdav, sets", "attribute-set", _set("model", "no such")),
        ("mdav, sets", "attribute-set", _set("parameters", 4)),
        ("mdav, sets", "attribute-set", _strength("conditional")),
        ("swap", "probabilistic-k-anonymity", _set("k", 9)),
        ("swap", "probabilistic-k-anonymity", _set("k", "many")),
        ("swap", "probabilistic-k-anonymity", _set("intruder", "nobody")),
        ("swap", "probabilistic-k-anonymity", _set("intruder", "informed")),
        ("swap", "probabilistic-k-anonymity", _set("columns", ["illness"])),
        ("swap", "probabilistic-k-anonymity", _step("permuted", "columns", ["illness"])),
        ("swap", "probabilistic-k-anonymity", _step("classed", "smallest", 1)),
        ("swap", "probabilistic-k-anonymity", _step("classed", "classes", 5)),
        ("swap", "probabilistic-k-anonymity", _step("classed", "columns", ["age"])),
        ("swap", "probabilistic-k-anonymity", lambda content: content.update(steps=[])),
        ("swap", "probabilistic-k-anonymity", lambda content: content.update(randomness="a seed")),
        ("ir-swap", "probabilistic-k-anonymity", _set("columns", ["illness", "charge"])),
        ("ir-swap", "probabilistic-k-anonymity", _step("ranked", "column", "shoe")),
        ("ir-swap", "probabilistic-k-anonymity", _step("ranked", "smallest", 3)),
        ("ir-swap", "probabilistic-k-anonymity", _step("ranked", "largest", 4)),
    ],
)
def test_a_promise_that_does_not_follow_fails(
    name: str, model: str, change: Callable[[dict[str, Any]], None], releases: Callable[[str], Path], tmp_path: Path
) -> None:
    failed = _tampered(releases(name), tmp_path / "copy", change)
    assert any(subject.startswith(model) for subject in failed), failed


@pytest.mark.parametrize(
    "change",
    [
        {"statement": "What is released is 0.001-differentially private, whatever anybody knows."},
        {"assumptions": []},
        {"strength": "unconditional", "neighbours": "add or remove one record"},
        {"neighbours": "add or remove one record"},
        {"unit": "household"},
        {"exact": {"epsilon": "1/1000"}},
    ],
    ids=lambda change: "+".join(change),
)
@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("mdav, sets", "attribute-set"),
        ("swap", "probabilistic-k-anonymity"),
        ("ir-swap", "probabilistic-k-anonymity"),
        ("swap, diverse", "clusters"),
    ],
)
def test_any_part_of_a_promise_that_is_not_what_it_means_fails(
    name: str, model: str, change: dict[str, Any], releases: Callable[[str], Path], tmp_path: Path
) -> None:
    def forged(content: dict[str, Any]) -> None:
        next(each for each in content["promises"] if each["model"] == model).update(change)

    failed = _tampered(releases(name), tmp_path / "copy", forged)
    assert any(subject.startswith(model) for subject in failed), failed


@pytest.mark.parametrize(
    "claimed",
    [
        {"model": "distinct-l-diversity", "parameters": {"attribute": "illness", "l": 100}},
        {"model": "p-sensitive-k-anonymity", "parameters": {"attributes": ["illness"], "k": 10**6, "p": 2}},
        {"model": "k-anonymity", "parameters": {"k": 10**6}},
        {"model": "t-closeness", "parameters": {"attribute": "charge", "t": 0.01}},
        {"model": "t-closeness", "parameters": {"attribute": "illness", "t": 0.01}},
        {"model": "multiplicative-closeness", "parameters": {"attribute": "illness", "t": 1.01}},
    ],
    ids=lambda claimed: claimed["model"],
)
def test_clusters_that_no_records_could_make_fail(
    claimed: dict[str, Any], releases: Callable[[str], Path], tmp_path: Path
) -> None:
    forged = OfClusters.from_parameters(claimed).promise()

    def change(content: dict[str, Any]) -> None:
        entry = next(each for each in content["promises"] if each["model"] == "clusters")
        entry.update(parameters=forged.parameters, statement=forged.statement, assumptions=list(forged.assumptions))

    failed = _tampered(releases("swap, diverse"), tmp_path / "copy", change)
    assert any(subject.startswith("clusters") for subject in failed), failed


def test_calling_an_exchange_syntactic_fails(releases: Callable[[str], Path], tmp_path: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        content["promises"][0].update(strength="syntactic", parameters={"k": 4})

    failed = _tampered(releases("swap"), tmp_path / "copy", change)
    assert any(subject.startswith("probabilistic-k-anonymity") for subject in failed), failed


# -- what cannot be


@pytest.mark.parametrize(
    ("method", "promises", "words"),
    [
        (shoal.methods.Mdav(), (KMap(2),), "KMap"),
        (shoal.methods.Mdav(groups=[["age"], ["town"]]), (K,), "leaves out `joined`"),
        (shoal.methods.Mdav(groups=[[*QUASI], ["age"]]), (K,), "`age` twice"),
        (shoal.methods.Mdav(groups=[[*QUASI, "illness"]]), (K,), "`illness`, which is not a quasi-identifier"),
        (shoal.methods.Swap(), (K,), "leaves quasi-identifiers as they are and cannot keep `KAnonymity`"),
        (shoal.methods.Swap(), (DistinctLDiversity("illness", 2),), "ProbabilisticKAnonymity"),
        (shoal.methods.Swap(strategy="closeness-first"), (P, TCloseness("illness", "0.5")), '"merge-first"'),
        (shoal.methods.Swap(strategy="best"), (P,), '"merge-first"'),
        (
            shoal.methods.IndividualRankingSwap(),
            (P, DistinctLDiversity("illness", 2)),
            "cannot keep `DistinctLDiversity`",
        ),
        (shoal.methods.IndividualRankingSwap(), (K,), "KAnonymity"),
    ],
)
def test_what_does_not_go_together_is_refused_before_any_work(
    method: methods.AnyMethod, promises: tuple[Model, ...], words: str
) -> None:
    with pytest.raises(PlanError, match=words):
        shoal.Plan(schema=SCHEMA, models=promises, method=method)


def test_there_must_be_something_to_exchange() -> None:
    quasi = Schema(attributes=tuple(each for each in SCHEMA if each.role is Role.QUASI_IDENTIFIER))
    for method in (shoal.methods.Swap(), shoal.methods.IndividualRankingSwap()):
        with pytest.raises(PlanError, match="names none"):
            shoal.Plan(schema=quasi, models=(P,), method=method)


def test_diversity_that_the_table_does_not_have_is_refused(people: shoal.Table) -> None:
    with pytest.raises(RequirementError, match="even a single class of all records"):
        shoal.anonymize(people, K, DistinctLDiversity("illness", 5), method=shoal.methods.Mdav())


def test_pseudonyms_stay_with_the_quasi_identifiers() -> None:
    kept = Attribute(name="name", role=Role.IDENTIFIER, pseudonym=True)
    schema = Schema(attributes=(kept, *SCHEMA.attributes[1:]))
    table = shoal.read(_people()).with_schema(schema)
    rows = shoal.anonymize(table, P, method=shoal.methods.Swap(), pseudonym_key=b"k" * 32).table.to_arrow().to_pylist()
    again = shoal.anonymize(table, K, method=shoal.Generalize(suppression_limit=0), pseudonym_key=b"k" * 32)
    who = {row["name"]: row["shoe"] for row in again.table.to_arrow().to_pylist()}
    assert {*who} == {row["name"] for row in rows}
    assert any(who[row["name"]] != row["shoe"] for row in rows)


@pytest.mark.parametrize(
    "method", [shoal.methods.Mdav(), shoal.methods.Swap(), shoal.methods.IndividualRankingSwap()], ids=lambda m: m.name
)
def test_k_of_all_records_makes_one_class(method: methods.AnyMethod, people: shoal.Table) -> None:
    promise = K if method.name == "mdav" else P
    release = shoal.anonymize(people, type(promise)(RECORDS), method=method)
    assert release.after.smallest == RECORDS
    assert release.records == RECORDS


# -- engines


@pytest.mark.parametrize("name", ["mdav", "swap", "ir-swap"])
def test_methods_run_on_every_engine(name: str, load: Load, tmp_path: Path) -> None:
    method, promises = CASES[name]
    folder = shoal.anonymize(load(_people()).with_schema(SCHEMA), *promises, method=method).write(tmp_path / "release")
    assert shoal.verify(folder).passed
    rows, before = _rows(folder), _people().to_pylist()
    assert len(rows) == RECORDS
    if name == "mdav":
        assert _smallest(rows, QUASI) >= 4
        assert _counted(rows, OTHERS) == _counted(before, OTHERS)
    else:
        assert _counted(rows, QUASI) == _counted(before, QUASI)
        assert all(_counted(rows, [column]) == _counted(before, [column]) for column in OTHERS)


@pytest.mark.postgres
def test_methods_run_on_a_database(postgres: str) -> None:
    write(shoal.read(_people()), postgres, name="microaggregated_people")
    table = shoal.read(postgres, table="microaggregated_people").with_schema(SCHEMA)
    rows = shoal.anonymize(table, K, method=shoal.methods.Mdav()).table.to_arrow().to_pylist()
    assert len(rows) == RECORDS
    assert _smallest(rows, QUASI) >= 4
