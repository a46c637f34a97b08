"""Every method that puts records into classes, in every form, on the whole way: anonymise, write, verify, plan."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from reference import closeness as reference
from shoal import methods
from shoal.errors import DataError, ParameterError, PlanError, RequirementError
from shoal.guarantees import syntactic
from shoal.models import DistinctLDiversity, KAnonymity, KMap, Model, MultiplicativeCloseness, TCloseness
from shoal.schema import Attribute, Domain, Groups, Intervals, Kind, Role, Schema

ILLNESSES = {"infection": ("cold", "flu", "measles"), "injury": ("burn", "fracture")}
RECORDS = 301


def _people() -> pa.Table:
    draw = random.Random(5)
    names = [illness for group in ILLNESSES.values() for illness in group]
    return pa.table(
        {
            "name": [f"person {i}" for i in range(RECORDS)],
            "age": [draw.choice((None, *range(20, 60))) for _ in range(RECORDS)],
            "town": [draw.choice("ABCDEF") for _ in range(RECORDS)],
            "illness": [draw.choice(names) for _ in range(RECORDS)],
            "charge": [draw.randrange(100, 900) for _ in range(RECORDS)],
            "shoe": [draw.randrange(36, 46) for _ in range(RECORDS)],
        }
    )


SCHEMA = Schema(
    attributes=(
        Attribute(name="name", role=Role.IDENTIFIER),
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, hierarchy=Intervals(widths=(5, 20))),
        Attribute(
            name="town",
            role=Role.QUASI_IDENTIFIER,
            hierarchy=Groups(levels=((("north", ("A", "B", "C")), ("south", ("D", "E", "F"))),)),
        ),
        Attribute(name="illness", role=Role.SENSITIVE, hierarchy=Groups(levels=(tuple(ILLNESSES.items()),))),
        Attribute(name="charge", role=Role.SENSITIVE, kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=1000)),
        Attribute(name="shoe", kind=Kind.NUMERIC),
    )
)
K, CLOSE = KAnonymity(4), MultiplicativeCloseness("charge", 2)
CASES: dict[str, tuple[methods.AnyMethod, tuple[Model, ...]]] = {
    "bucketize": (shoal.methods.Bucketize(), (K, CLOSE)),
    "bucketize, generalized": (shoal.methods.Bucketize(form="generalized"), (K, CLOSE)),
    "bucketize, permuted": (shoal.methods.Bucketize(form="permuted"), (K, CLOSE)),
    "bucketize, anatomy": (shoal.methods.Bucketize(form="anatomy"), (K, CLOSE)),
    "bucketize, nominal": (shoal.methods.Bucketize(), (K, MultiplicativeCloseness("illness", 2))),
    "bucketize, several": (shoal.methods.Bucketize(), (K, CLOSE, MultiplicativeCloseness("illness", 3))),
    "bucketize, real t": (shoal.methods.Bucketize(buckets=3), (K, MultiplicativeCloseness("charge", "1.5"))),
    "t-microaggregate": (shoal.methods.TMicroaggregate(), (K, TCloseness("charge", "0.2"))),
    "t-microaggregate, merged": (
        shoal.methods.TMicroaggregate(strategy="merge-first", form="generalized"),
        (K, TCloseness("illness", "0.3")),
    ),
    "t-microaggregate, anatomy": (shoal.methods.TMicroaggregate(form="anatomy"), (K, TCloseness("charge", "0.2"))),
    "anatomy": (shoal.methods.Anatomy(), (K, DistinctLDiversity("illness", 3))),
    "anatomy, confidential": (shoal.methods.Anatomy(grouping="confidential", attribute="charge"), (KAnonymity(30),)),
    "stochastic-closeness": (shoal.methods.StochasticCloseness(epsilon=2), (K,)),
    "stochastic-closeness, t": (shoal.methods.StochasticCloseness(t=3, form="generalized"), (K,)),
    "suppress": (shoal.methods.Suppress(importance={"age": 2}), (K, DistinctLDiversity("illness", 2))),
    "slice": (shoal.methods.Slice(groups=[["age", "illness"], ["town", "charge", "shoe"]]), (K,)),
    "slice, found": (shoal.methods.Slice(size=2), (K,)),
    "slice, bucketize": (
        shoal.methods.Slice(groups=[["age", "illness"], ["town", "charge"], ["shoe"]], inner="bucketize"),
        (K, CLOSE, MultiplicativeCloseness("illness", 2)),
    ),
}


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


def _rows(folder: Path, file: str = "data.parquet") -> list[dict[str, Any]]:
    return pq.read_table(folder / file).to_pylist()


def _certificate(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "certificate.json").read_text())  # type: ignore[no-any-return]


def test_every_class_method_is_tried_here() -> None:
    tried = {name.partition(",")[0] for name in CASES}
    assert tried == {"bucketize", "t-microaggregate", "anatomy", "stochastic-closeness", "suppress", "slice"}
    assert tried <= {*methods.names()}


@pytest.mark.parametrize("name", CASES)
def test_a_release_verifies_and_its_plan_gives_the_method_back(name: str, releases: Callable[[str], Path]) -> None:
    folder = releases(name)
    found = shoal.verify(folder)
    assert found.passed, str(found)
    assert shoal.Plan.load(folder / "plan.toml").method.name == CASES[name][0].name
    everything = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"person 1" not in everything


@pytest.mark.parametrize("name", CASES)
def test_a_plan_survives_its_file(name: str) -> None:
    method, promises = CASES[name]
    plan = shoal.Plan(schema=SCHEMA, models=promises, method=method)
    assert shoal.Plan.loads(plan.dumps()).dumps() == plan.dumps()


@pytest.mark.parametrize("name", ["bucketize", "bucketize, generalized", "bucketize, real t"])
def test_released_classes_keep_k_and_t(name: str, releases: Callable[[str], Path]) -> None:
    rows = _rows(releases(name))
    classes = [(row["age"], row["town"]) for row in rows]
    buckets = [row["charge"] for row in rows]
    assert len(rows) == RECORDS
    assert min(Counter(classes).values()) >= 4
    t = Fraction("1.5") if name.endswith("real t") else 2
    found = reference.factor(classes, buckets)
    assert found <= t
    promised = next(
        each for each in _certificate(releases(name))["promises"] if each["model"] == "multiplicative-closeness"
    )
    assert Fraction(promised["exact"]["t"]) == found
    assert Fraction(str(promised["parameters"]["t"])) >= found


def test_several_attributes_are_close_together(releases: Callable[[str], Path]) -> None:
    rows = _rows(releases("bucketize, several"))
    classes = [(row["age"], row["town"]) for row in rows]
    joint = reference.factor(classes, [(row["illness"], row["charge"]) for row in rows])
    view = _certificate(releases("bucketize, several"))["promises"][-1]
    assert joint <= Fraction(str(view["parameters"]["t"])) <= 2
    assert view["strength"] == "conditional"


def test_every_bucket_holds_the_values_that_became_it(people: shoal.Table, releases: Callable[[str], Path]) -> None:
    original = Counter(people.to_arrow()["charge"].to_pylist())
    buckets = Counter(row["charge"] for row in _rows(releases("bucketize")))
    for label, count in buckets.items():
        low, high = (int(part) for part in label.strip("[]").split(", "))
        assert sum(number for value, number in original.items() if low <= value <= high) == count


def test_generalised_quasi_identifiers_are_ancestors(people: shoal.Table, releases: Callable[[str], Path]) -> None:
    towns = Counter(people.to_arrow()["town"].to_pylist())
    released = Counter(row["town"] for row in _rows(releases("bucketize, generalized")))
    assert {*released} <= {*towns, "north", "south", "*"}
    assert sum(released.values()) == RECORDS


def test_permuted_columns_keep_their_values_and_quasi_identifiers_stay(
    people: shoal.Table, releases: Callable[[str], Path]
) -> None:
    before, after = people.to_arrow().to_pylist(), _rows(releases("bucketize, permuted"))
    for names in (("age", "town"), ("shoe",), ("illness", "shoe")):
        assert Counter(tuple(row[name] for name in names) for row in before) == Counter(
            tuple(row[name] for name in names) for row in after
        )
    together = Counter((row["age"], row["town"], row["shoe"], row["illness"]) for row in before)
    exchanged = Counter((row["age"], row["town"], row["shoe"], row["illness"]) for row in after)
    assert (together & exchanged).total() < RECORDS // 2
    assert "class" not in after[0]


@pytest.mark.parametrize(
    "name", ["bucketize, anatomy", "t-microaggregate, anatomy", "anatomy", "anatomy, confidential"]
)
def test_anatomy_is_two_tables_that_the_class_alone_links(
    name: str, people: shoal.Table, releases: Callable[[str], Path]
) -> None:
    folder = releases(name)
    who, what = _rows(folder, "quasi-identifiers.parquet"), _rows(folder, "confidential.parquet")
    assert {*who[0]} == {"class", "age", "town"}
    assert {*what[0]} == {"class", "illness", "charge", "shoe"}
    assert Counter(row["class"] for row in who) == Counter(row["class"] for row in what)
    assert Counter((row["age"], row["town"]) for row in who) == Counter(
        (row["age"], row["town"]) for row in people.to_arrow().to_pylist()
    )
    assert min(Counter(row["class"] for row in what).values()) >= (30 if name.endswith("confidential") else 4)
    if name.startswith("bucketize"):
        assert reference.factor([row["class"] for row in what], [row["charge"] for row in what]) <= 2


def test_the_joined_view_is_what_python_joins(people: shoal.Table, tmp_path: Path) -> None:
    release = shoal.anonymize(people, K, CLOSE, method=shoal.methods.Bucketize(form="anatomy"))
    folder = release.write(tmp_path / "release")
    connection = duckdb.connect()
    connection.execute(f"SET file_search_path = '{folder}'")
    connection.execute((folder / "joined.sql").read_text())
    columns = ["class", "age", "town", "illness", "charge", "shoe", "probability"]
    rows = connection.execute(f"SELECT {', '.join(columns)} FROM joined ORDER BY ALL").fetchall()
    joined = release.table.to_arrow()
    assert joined.column_names == columns
    ours = [tuple(row[name] for name in columns) for row in joined.to_pylist()]
    key = lambda row: tuple(str(value) for value in row[:-1])  # noqa: E731
    assert [row[:-1] for row in sorted(rows, key=key)] == [row[:-1] for row in sorted(ours, key=key)]
    assert [row[-1] for row in sorted(rows, key=key)] == pytest.approx([row[-1] for row in sorted(ours, key=key)])
    assert sum(row[-1] for row in ours) == pytest.approx(RECORDS)


@pytest.mark.parametrize("name", ["t-microaggregate", "t-microaggregate, merged"])
def test_microaggregated_classes_are_close(name: str, releases: Callable[[str], Path]) -> None:
    rows = _rows(releases(name))
    labels = [(row["age"], row["town"]) for row in rows]
    if name == "t-microaggregate":
        numbers = {label: place for place, label in enumerate(dict.fromkeys(labels))}
        values = [row["charge"] for row in rows]
        found = reference.greatest_distance([numbers[label] for label in labels], values, ordered=True)
        assert found <= Fraction("0.2")
    assert min(Counter(labels).values()) >= 4


def test_randomised_values_are_of_the_domain_and_cost_epsilon(releases: Callable[[str], Path]) -> None:
    folder = releases("stochastic-closeness")
    rows, certificate = _rows(folder), _certificate(folder)
    assert all(0 <= row["charge"] <= 1000 for row in rows)
    assert {row["illness"] for row in rows} <= {illness for group in ILLNESSES.values() for illness in group}
    assert certificate["budget"]["epsilon"] == "2"
    assert "operating system" in certificate["randomness"]
    strengths = {each["model"]: each["strength"] for each in certificate["promises"]}
    assert strengths["local-differential-privacy"] == "unconditional"
    assert strengths["stochastic-closeness"] == "conditional"


def test_slices_share_no_column_and_each_keeps_k(releases: Callable[[str], Path]) -> None:
    folder = releases("slice, bucketize")
    parts = [_rows(folder, f"slice-{number}.parquet") for number in (1, 2, 3)]
    assert [sorted(part[0]) for part in parts] == [["age", "illness"], ["charge", "town"], ["shoe"]]
    assert min(Counter(row["age"] for row in parts[0]).values()) >= 4
    assert min(Counter(row["town"] for row in parts[1]).values()) >= 4
    composed = _certificate(folder)["promises"][-1]
    factors = [reference.factor([r["age"] for r in parts[0]], [r["illness"] for r in parts[0]])]
    factors.append(reference.factor([r["town"] for r in parts[1]], [r["charge"] for r in parts[1]]))
    assert factors[0] * factors[1] <= Fraction(str(composed["parameters"]["t"])) <= 4
    assert composed["parameters"]["tables"] == 3


# -- a checker that can say no


def _tampered(folder: Path, target: Path, change: Callable[[dict[str, Any]], None]) -> list[str]:
    """Return what fails after a change of the certificate, but for fingerprints."""
    shutil.copytree(folder, target)
    content = _certificate(target)
    change(content)
    (target / "certificate.json").write_text(json.dumps(content))
    return [check.subject for check in shoal.verify(target, rendered=False).checks if not check.passed]


def _promise(content: dict[str, Any], model: str) -> dict[str, Any]:
    return next(each for each in content["promises"] if each["model"] == model)


def _set(model: str, name: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        _promise(content, model)["parameters"][name] = value

    return change


def _histogram(content: dict[str, Any]) -> None:
    rows = _promise(content, "hidden-classes")["exact"]["histograms"]
    rows[0][1] += 1


@pytest.mark.parametrize(
    ("name", "model", "change"),
    [
        ("bucketize", "multiplicative-closeness", _set("multiplicative-closeness", "t", "1.0001")),
        ("bucketize", "view-differential-privacy", _set("view-differential-privacy", "epsilon", 0.1)),
        ("bucketize", "view-differential-privacy", _set("view-differential-privacy", "t", 1)),
        ("bucketize, several", "view-differential-privacy", _set("view-differential-privacy", "columns", ["shoe"])),
        ("bucketize, permuted", "hidden-classes", _set("hidden-classes", "k", 100)),
        ("bucketize, permuted", "hidden-classes", _set("hidden-classes", "t", "1.0001")),
        ("bucketize, permuted", "hidden-classes", _histogram),
        ("bucketize, permuted", "hidden-classes", lambda content: content.update(steps=[])),
        ("bucketize, permuted", "hidden-classes", lambda c: _promise(c, "hidden-classes").update(exact={})),
        ("anatomy", "k-anonymity", _set("k-anonymity", "k", 100)),
        ("stochastic-closeness", "stochastic-closeness", _set("stochastic-closeness", "t", 2)),
        ("stochastic-closeness", "stochastic-closeness", _set("stochastic-closeness", "epsilon", 1)),
        ("stochastic-closeness", "local-differential-privacy", _set("local-differential-privacy", "epsilon", 1)),
        ("stochastic-closeness", "local-differential-privacy", lambda content: content.update(randomness="a seed")),
        ("stochastic-closeness", "local-differential-privacy", lambda content: content.update(steps=[])),
        ("slice, bucketize", "composition", _set("composition", "k", 50)),
        ("slice, bucketize", "composition", _set("composition", "t", "1.1")),
        ("slice, bucketize", "composition", _set("composition", "tables", 2)),
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
        {"assumptions": ["None."]},
        {"strength": "syntactic"},
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
        ("bucketize", "view-differential-privacy"),
        ("bucketize, anatomy", "view-differential-privacy"),
        ("bucketize, permuted", "hidden-classes"),
        ("stochastic-closeness", "stochastic-closeness"),
        ("stochastic-closeness", "local-differential-privacy"),
        ("slice, bucketize", "view-differential-privacy"),
        ("slice, bucketize", "composition"),
    ],
)
def test_any_part_of_a_promise_that_is_not_what_it_means_fails(
    name: str, model: str, change: dict[str, Any], releases: Callable[[str], Path], tmp_path: Path
) -> None:
    failed = _tampered(releases(name), tmp_path / "copy", lambda content: _promise(content, model).update(change))
    assert any(subject.startswith(model) for subject in failed), failed


def test_anatomy_in_the_words_of_a_table_whose_classes_look_alike_fails(
    releases: Callable[[str], Path], tmp_path: Path
) -> None:
    forged = syntactic(KAnonymity(4))

    def change(content: dict[str, Any]) -> None:
        entry = _promise(content, "k-anonymity")
        assert entry["parameters"] == forged.parameters
        entry.update(statement=forged.statement, assumptions=list(forged.assumptions))

    failed = _tampered(releases("anatomy"), tmp_path / "copy", change)
    assert any(subject.startswith("k-anonymity") for subject in failed), failed


def test_classes_that_differ_between_the_tables_of_anatomy_are_noticed(
    releases: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(releases("anatomy"), folder)
    rows = pq.read_table(folder / "quasi-identifiers.parquet")
    moved = rows.set_column(0, "class", pa.array([1] * len(rows), rows.schema.field(0).type))
    pq.write_table(moved, folder / "quasi-identifiers.parquet")
    failed = [check.subject for check in shoal.verify(folder).checks if not check.passed]
    assert "class link" in failed
    assert "quasi-identifiers.parquet" in failed


def test_a_promise_about_a_file_that_is_not_there_fails(releases: Callable[[str], Path], tmp_path: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        content["promises"][0]["file"] = "elsewhere.parquet"

    failed = _tampered(releases("anatomy"), tmp_path / "copy", change)
    assert any("k-anonymity" in subject for subject in failed)


# -- what cannot be


def test_what_does_not_go_together_is_refused_before_any_work(people: shoal.Table) -> None:
    for method, promises in (
        (shoal.methods.Bucketize(), (K,)),
        (shoal.methods.StochasticCloseness(epsilon=1), (K, CLOSE)),
        (shoal.methods.Slice(groups=[["age"]]), (K,)),
        (shoal.methods.Anatomy(grouping="confidential"), (K,)),
        (shoal.methods.TMicroaggregate(), (KMap(2),)),
    ):
        with pytest.raises(PlanError):
            shoal.Plan(schema=SCHEMA, models=promises, method=method)
    with pytest.raises(ParameterError, match="population"):
        shoal.anonymize(people, K, CLOSE, method=shoal.methods.Bucketize(), population=people)


def test_more_values_than_buckets_cannot_be_promised(people: shoal.Table) -> None:
    wanted = (K, MultiplicativeCloseness("illness", 2), DistinctLDiversity("illness", 4))
    with pytest.raises(RequirementError, match="DistinctLDiversity"):
        shoal.anonymize(people, *wanted, method=shoal.methods.Bucketize())


def test_k_beyond_the_table_is_refused(people: shoal.Table) -> None:
    with pytest.raises(ParameterError, match="1,000"):
        shoal.anonymize(people, KAnonymity(1000), CLOSE, method=shoal.methods.Bucketize())


def test_values_that_are_missing_cannot_be_randomised() -> None:
    rows = _people().set_column(3, "illness", pa.array([None, *(["flu"] * (RECORDS - 1))]))
    table = shoal.read(rows).with_schema(SCHEMA)
    with pytest.raises(DataError, match="1 record without a value"):
        shoal.anonymize(table, K, method=shoal.methods.StochasticCloseness(epsilon=1))


def test_pseudonyms_go_with_the_quasi_identifiers(tmp_path: Path) -> None:
    kept = Attribute(name="name", role=Role.IDENTIFIER, pseudonym=True)
    schema = Schema(attributes=(kept, *SCHEMA.attributes[1:]))
    table = shoal.read(_people()).with_schema(schema)
    release = shoal.anonymize(table, K, CLOSE, method=shoal.methods.Bucketize(form="anatomy"), pseudonym_key=b"k" * 32)
    folder = release.write(tmp_path / "release")
    who, what = _rows(folder, "quasi-identifiers.parquet"), _rows(folder, "confidential.parquet")
    assert len({row["name"] for row in who}) == RECORDS
    assert not any("person" in row["name"] for row in who)
    assert "name" not in what[0]


def test_a_column_called_class_does_not_get_lost(tmp_path: Path) -> None:
    rows = _people().rename_columns(["name", "age", "town", "illness", "charge", "class"])
    schema = Schema(attributes=(*SCHEMA.attributes[:-1], Attribute(name="class", kind=Kind.NUMERIC)))
    release = shoal.anonymize(shoal.read(rows).with_schema(schema), K, method=shoal.methods.Anatomy())
    what = _rows(release.write(tmp_path / "release"), "confidential.parquet")
    assert {*what[0]} == {"class 2", "illness", "charge", "class"}


def test_a_release_is_the_same_whatever_the_order_of_the_records(people: shoal.Table) -> None:
    order = random.Random(3).sample(range(RECORDS), RECORDS)
    again = shoal.read(people.to_arrow().take(order)).with_schema(SCHEMA)
    first, second = (
        shoal.anonymize(table, K, CLOSE, method=shoal.methods.Bucketize())
        .table.to_arrow()
        .select(["age", "town", "charge"])
        for table in (people, again)
    )
    counted = [Counter(map(tuple, (row.values() for row in table.to_pylist()))) for table in (first, second)]
    assert counted[0] == counted[1]


def test_people_with_the_same_quasi_identifiers_may_be_in_different_classes(
    people: shoal.Table, tmp_path: Path
) -> None:
    folder = shoal.anonymize(people, K, CLOSE, method=shoal.methods.Bucketize(form="anatomy")).write(
        tmp_path / "release"
    )
    classes = defaultdict(set)
    for row in _rows(folder, "quasi-identifiers.parquet"):
        classes[row["age"], row["town"]].add(row["class"])
    assert max(len(found) for found in classes.values()) > 1


def test_a_value_that_is_called_missing_and_a_missing_one(tmp_path: Path) -> None:
    pain = Attribute(
        name="pain", role=Role.SENSITIVE, kind=Kind.ORDINAL, domain=Domain(values=("none", "mild", "missing"))
    )
    rows = pa.table({"age": [20, 30] * 30, "pain": ["none", "mild", "missing", None, None, None] * 10})
    table = shoal.read(rows).with_schema(Schema(attributes=(SCHEMA["age"], pain)))
    method = shoal.methods.Bucketize(buckets=4)
    release = shoal.anonymize(table, KAnonymity(4), MultiplicativeCloseness("pain", 2), method=method)
    assert shoal.verify(release.write(tmp_path / "release")).passed


def test_groups_in_another_order_than_the_columns_verify(tmp_path: Path) -> None:
    names = ("age", "zip", "illness", "pay")
    rows = pa.table({name: [f"{name} {row % 3}" for row in range(24)] for name in names})
    roles = dict(zip(names, ("quasi-identifier", "quasi-identifier", "sensitive", "sensitive"), strict=True))
    schema = shoal.Schema(attributes=tuple(shoal.Attribute(name=name, role=role) for name, role in roles.items()))
    method = shoal.methods.Slice(groups=[["zip", "pay"], ["age", "illness"]])
    release = shoal.Plan(schema=schema, models=(shoal.KAnonymity(4),), method=method).run(shoal.read(rows))
    assert shoal.verify(release.write(tmp_path / "release")).passed
