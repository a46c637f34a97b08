"""Data sets of noisy centroids on the whole way: what leaves, what does not, and what verification says."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from forgeries import forger
from shoal.errors import ParameterError, PlanError
from shoal.mechanisms import SeededSource
from shoal.schema import Attribute, Domain, Groups, Kind, Missing, Role, Schema
from shoal.tables import Table

TOWNS = {"north": ("A", "B"), "south": ("C", "D")}
FIRST, LAST = dt.date(2024, 1, 1), dt.date(2024, 12, 31)
SCHEMA = Schema(
    attributes=(
        Attribute(name="name", role=Role.IDENTIFIER),
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=100)),
        Attribute(name="town", role=Role.QUASI_IDENTIFIER, hierarchy=Groups(levels=(tuple(TOWNS.items()),))),
        Attribute(name="day", role=Role.SENSITIVE, kind=Kind.DATE, domain=Domain(minimum=FIRST, maximum=LAST)),
        Attribute(
            name="pain", role=Role.SENSITIVE, kind=Kind.ORDINAL, domain=Domain(values=("none", "mild", "severe"))
        ),
        Attribute(name="planet", kind=Kind.NUMERIC, domain=Domain(minimum=3, maximum=3)),
    )
)
CONCEPTS = {"A", "B", "C", "D", "north", "south", "*", None}


def people(number: int = 203, *, seed: int = 1) -> pa.Table:
    draw = random.Random(seed)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(number)],
            "age": [draw.choice((20, 23, 25, 31, 38, 40)) for _ in range(number)],
            "town": [draw.choice(("A", "A", "B", "C", None)) for _ in range(number)],
            "day": [FIRST + dt.timedelta(days=draw.randrange(366)) for _ in range(number)],
            "pain": [draw.choice(("none", "mild", "severe")) for _ in range(number)],
            "planet": [3] * number,
        }
    )


def release(
    rows: pa.Table | None = None,
    *,
    seed: int | None = 1,
    schema: Schema = SCHEMA,
    epsilon: float = 2,
    delta: float = 0,
    **method: Any,
) -> shoal.Release:
    budget = shoal.methods.noise.EpsilonBudget(epsilon, delta=delta)
    plan = shoal.Plan(schema=schema, models=(budget,), method=shoal.methods.DPMicroaggregation(**method))
    table = shoal.read(people() if rows is None else rows)
    return plan.run(table) if seed is None else plan.run(table, source=SeededSource(seed))


def tables(made: shoal.Release) -> list[pa.Table]:
    return [part.table.to_arrow() for part in made.parts] or [made.table.to_arrow()]


VARIANTS: list[dict[str, Any]] = [
    {"target": target, **others}
    for target in ("original", "partition", "record-query")
    for others in (
        {},
        {"k": 7, "split": "proportional"},
        {"k": 10, "sets": "each"},
        {"k": 4, "sets": (("age", "town"), ("day", "pain", "planet"))},
        {"k": 203, "split": {"age": 0.5, "town": "1/3", "day": 0.5, "pain": 0.1, "planet": 0.1}},
        {"k": 5, "reference_points": 1, "decimals": {"age": 3}},
    )
]


@pytest.mark.parametrize("method", VARIANTS, ids=str)
def test_every_variant_is_inside_the_domains_and_verifies(method: dict[str, Any], tmp_path: Path) -> None:
    made = release(**method)
    columns = {name: column for each in tables(made) for name, column in each.to_pydict().items()}
    assert sorted(columns) == ["age", "day", "pain", "planet", "town"]
    assert all(len(each) == 203 for each in tables(made))
    assert all(0 <= age <= 100 for age in columns["age"])
    assert all(FIRST <= day <= LAST for day in columns["day"])
    assert set(columns["pain"]) <= {"none", "mild", "severe"}
    assert set(columns["town"]) <= CONCEPTS
    assert set(columns["planet"]) == {3}
    found = shoal.verify(made.write(tmp_path / "release"))
    assert found.passed, str(found)
    assert sum("no file can show" in check.detail for check in found.checks) == 3


@pytest.mark.parametrize("target", ["original", "partition", "record-query"])
def test_the_plan_of_a_release_runs_again(target: str, tmp_path: Path) -> None:
    folder = release(target=target, k=20, decimals={"age": 1}).write(tmp_path / "first")
    again = shoal.Plan.load(folder / "plan.toml").run(shoal.read(people()))
    assert shoal.verify(again.write(tmp_path / "second")).passed
    assert [p.model for p in again.guarantee.promises] == [
        {
            "original": "bounded-differential-privacy",
            "partition": "privacy-given-partition",
            "record-query": "record-query-privacy",
        }[target]
    ]


# -- order, counts and tables


@pytest.mark.parametrize("target", ["original", "partition", "record-query"])
def test_records_are_ordered_by_what_is_released(target: str) -> None:
    rows = tables(release(target=target, k=9))[0]
    assert rows == rows.sort_by([(name, "ascending") for name in rows.column_names])


def test_under_original_the_order_of_the_input_changes_nothing() -> None:
    rows = people().to_pylist()
    random.Random(3).shuffle(rows)
    for method in ({"k": 9}, {"k": 9, "sets": "each"}):
        assert tables(release(**method)) == tables(release(pa.Table.from_pylist(rows), **method))


def test_every_centroid_stands_for_its_cluster() -> None:
    counts = Counter(tuple(row.items()) for row in tables(release(k=10, epsilon=100))[0].to_pylist())
    assert sorted(counts.values()) == [10] * 19 + [13]


def test_sets_of_original_records_become_tables_that_nothing_links(tmp_path: Path) -> None:
    made = release(sets=(("age", "town"), ("day", "pain", "planet")), k=8)
    assert [part.file for part in made.parts] == ["set-1.parquet", "set-2.parquet"]
    assert [list(part.table.columns) for part in made.parts] == [["age", "town", "planet"], ["day", "pain"]]
    assert "do not join them" in made.explain()
    assert "do not join them" not in release(k=8).explain()
    checks = shoal.verify(made.write(tmp_path / "release")).checks
    assert any(check.subject == "columns of all tables" and check.passed for check in checks)


def test_sets_of_a_public_partition_stay_in_one_table() -> None:
    made = release(target="partition", sets="each", k=8)
    assert made.parts == ()
    # records of different clusters of age share clusters of other columns
    combinations = Counter(tuple(row.items()) for row in made.table.to_arrow().to_pylist())
    assert min(combinations.values()) < 8


# -- what leaves


def test_nothing_but_the_released_values_differs_between_neighbours(tmp_path: Path) -> None:
    """Under ``original``, all that is published besides the data is the same for neighbouring inputs."""
    rows = people().to_pylist()
    rows[17] |= {"age": 100, "town": "D", "day": LAST, "pain": "severe"}
    texts = []
    for number, each in enumerate((people(), pa.Table.from_pylist(rows))):
        made = release(each, k=9)
        folder = made.write(tmp_path / str(number))
        certificate = json.loads((folder / "certificate.json").read_text())
        for key in ("created", "files"):
            certificate.pop(key)
        summary = (folder / "summary.txt").read_text().split("Risk")[0]
        texts.append((json.dumps(certificate), (folder / "plan.toml").read_text(), summary, made.explain()))
    assert texts[0] == texts[1]


def test_figures_of_the_input_leave_only_on_request(tmp_path: Path) -> None:
    made = release(k=9)
    assert made.private is not None
    assert (made.private.left_out, made.private.records, made.records) == (0, 203, 203)
    assert 0 <= made.private.loss <= 1
    assert made.before is None
    folder = made.write(tmp_path / "release")
    texts = [path.read_text() for path in folder.rglob("*") if path.suffix in (".json", ".toml", ".txt")]
    assert not any(f"{made.private.loss:.4f}" in text or "left-out" in text for text in texts)


@pytest.mark.parametrize("cell", [None, "undeclared"])
def test_a_cell_without_a_declared_value_changes_no_number_of_records(cell: str | None) -> None:
    """Where a missing value is refused, its record stays: how many there are is public, whatever one of them says."""
    rows = people().to_pylist()
    rows[17] |= {"town": cell}
    towns = (dataclasses.replace(each, missing=Missing.REFUSE) if each.name == "town" else each for each in SCHEMA)
    schema = dataclasses.replace(SCHEMA, attributes=tuple(towns))
    assert release(pa.Table.from_pylist(rows), schema=schema, k=9).records == 203


def test_no_record_can_be_left_out_for_a_missing_value() -> None:
    towns = (dataclasses.replace(each, missing=Missing.DROP) if each.name == "town" else each for each in SCHEMA)
    with pytest.raises(PlanError, match="column `town` leaves out records without a value"):
        release(schema=dataclasses.replace(SCHEMA, attributes=tuple(towns)), k=9)


def test_measures_are_the_width_of_the_noise() -> None:
    made = release(k=20, epsilon=4, noise="laplace")
    # 10 clusters of 20, four columns with a fourth of epsilon each
    assert made.measures["noise of age, share of domain"] == pytest.approx(10 / 20, rel=1e-6)
    assert set(made.measures) == {f"noise of {name}, share of domain" for name in ("age", "day", "pain")}


@pytest.mark.parametrize("target", ["original", "partition"])
def test_a_delta_buys_gaussian_noise_and_is_spent_once(target: str, tmp_path: Path) -> None:
    made = release(target=target, k=5, delta=1e-5, noise="gaussian", seed=None)
    (promise,) = made.guarantee.promises
    assert promise.parameters["delta"] == 1e-5
    assert "any set of releases by a factor of at most e^2 = 7.39, plus 1e-05." in promise.statement
    spent = made.guarantee.budget
    assert (float(spent.epsilon), float(spent.delta)) == (2, 1e-5)
    assert shoal.verify(made.write(tmp_path / "release")).passed


def test_no_delta_is_spent_where_gaussian_noise_is_more(tmp_path: Path) -> None:
    made = release(k=50, delta=1e-5, seed=None)  # 4 clusters of four columns
    assert "delta" not in made.guarantee.promises[0].parameters
    assert made.guarantee.budget.delta == 0
    assert made.measures == release(k=50).measures
    assert shoal.verify(made.write(tmp_path / "release")).passed


@pytest.mark.parametrize(
    ("of_step", "field", "value"),
    [
        ("noised", "rho", "1/1000"),
        ("noised", "kind", "laplace"),
        ("concepts-drawn", "rho", "1/1000"),
        ("concentrated", "rho", "1/1000"),
        ("concentrated", "delta_spent", "1/10000000"),
    ],
)
def test_a_changed_cost_of_gaussian_noise_is_refused(of_step: str, field: str, value: str, tmp_path: Path) -> None:
    folder = release(k=5, delta=1e-5, noise="gaussian", seed=None).write(tmp_path / "release")
    certificate = json.loads((folder / "certificate.json").read_text())
    step = next(each for each in certificate["steps"] if each["step"] == of_step)
    assert step[field] != value
    step[field] = value
    (folder / "certificate.json").write_text(json.dumps(certificate))
    assert not shoal.verify(folder).passed


@pytest.mark.parametrize("method", [{}, {"k": 7}, {"sets": "each"}, {"target": "partition", "k": 7}])
@pytest.mark.parametrize("delta", [0, 1e-5])
def test_the_forecast_is_what_the_release_says(method: dict[str, Any], delta: float) -> None:
    budget = shoal.methods.noise.EpsilonBudget(2, delta=delta)
    plan = shoal.Plan(schema=SCHEMA, models=(budget,), method=shoal.methods.DPMicroaggregation(**method))
    assert plan.forecast(203) == dict(release(delta=delta, **method).measures)


def test_only_records_under_original_are_called_differentially_private(tmp_path: Path) -> None:
    for target in ("partition", "record-query"):
        folder = release(target=target, k=9, seed=None).write(tmp_path / target)
        for name in ("certificate.json", "plan.toml"):
            assert "differential" not in (folder / name).read_text().lower(), name
        for name in ("summary.txt", "report.html"):
            text = (folder / name).read_text()
            assert text.lower().count("differential") == 1
            assert "This is not differential privacy of the" in " ".join(text.split())
    assert json.loads((tmp_path / "record-query" / "certificate.json").read_text()).get("budget") is None


def test_random_bits_of_the_system_make_the_promise_unconditional() -> None:
    assert release(seed=None, k=50).guarantee.promises[0].strength == "unconditional"
    assert release(seed=1, k=50).guarantee.promises[0].strength == "conditional"


# -- missing values and bounds


def test_something_stands_for_a_missing_number() -> None:
    rows = people().to_pylist()
    rows[3]["age"] = rows[4]["age"] = rows[5]["pain"] = None
    # whether anything is missing must not decide whether there is a release: the middle of the domain stands for it
    undeclared = release(pa.Table.from_pylist(rows), k=9)
    complete = release(k=9)
    assert undeclared.plan.method == complete.plan.method
    filled = release(pa.Table.from_pylist(rows), k=9, fill={"age": 40, "pain": "mild"})
    rows[3]["age"] = rows[4]["age"] = 40
    rows[5]["pain"] = "mild"
    assert tables(filled) == tables(release(pa.Table.from_pylist(rows), k=9))


def test_a_value_outside_the_bounds_becomes_the_nearest() -> None:
    rows = people().to_pylist()
    rows[5]["age"] = 101
    outside = release(pa.Table.from_pylist(rows), k=9)
    rows[5]["age"] = 100
    assert tables(outside) == tables(release(pa.Table.from_pylist(rows), k=9))


def test_k_is_at_most_the_number_of_records() -> None:
    with pytest.raises(ParameterError, match="must be at most the number of records"):
        release(k=204)
    assert release(people(4), k="auto").records == 4


def test_a_population_and_pseudonyms_have_no_place() -> None:
    plan = shoal.Plan(
        schema=SCHEMA, models=(shoal.methods.noise.EpsilonBudget(1),), method=shoal.methods.DPMicroaggregation()
    )
    with pytest.raises(ParameterError, match="cannot be combined with a population"):
        plan.run(shoal.read(people()), population=shoal.read(people()))


# -- engines


def test_the_same_random_bits_give_the_same_release_on_every_engine(load: Callable[[pa.Table], Table]) -> None:
    plan = shoal.Plan(
        schema=SCHEMA, models=(shoal.methods.noise.EpsilonBudget(2),), method=shoal.methods.DPMicroaggregation(k=9)
    )
    found = plan.run(load(people()), source=SeededSource(8)).table.to_arrow()
    expected = plan.run(shoal.read(people()), source=SeededSource(8)).table.to_arrow()
    assert found.to_pylist() == expected.to_pylist()


# -- verification


def _broken(certificate: dict[str, Any], part: str) -> None:
    steps = {(step["step"], step.get("column")): step for step in certificate["steps"]}
    clustered, noised, drawn = steps["clustered", None], steps["noised", "age"], steps["concepts-drawn", "town"]
    promise = certificate["promises"][0]
    match part:
        case "budget, more than promised":
            noised["share"] = "1000"
        case "budget, another total":
            certificate["budget"]["epsilon"] = "1/2"
        case "budget, a column without":
            certificate["steps"].remove(noised)
        case "budget, twice the same column":
            certificate["steps"].append(noised)
        case "noise, scale":
            noised["noise"][0]["on average"] *= 0.9
        case "noise, for a larger k":
            noised["noise"][0]["size"] += 1
        case "noise, width":
            noised["width"] = "50"
        case "noise, natural order claimed":
            clustered["clustering"] = "natural order"
        case "noise, fewer clusters":
            clustered["sizes"] = [[203, 1]]
        case "noise, grid":
            noised["noise"][0]["grid"] = "1"
        case "choices, epsilon of each":
            drawn["choice"] = drawn["share"]
        case "choices, sensitivity":
            drawn["sensitivity"] = "1/2"
        case "clusters, another k":
            promise["parameters"]["k"] = 20
        case "clusters, found by distance":
            clustered["clustering"] = "mdav"
        case "clusters, sizes":
            clustered["sizes"] = [[10, 18], [23, 1]]
        case "cells, coarser grid":
            noised["rounded_to"] = "1000"
        case "domains, another schema":
            certificate["schema_sha256"] = "0" * 64
        case "domains, guessed":
            certificate["roles"] = "guessed"
        case "domains, inferred":
            certificate["domains"][0]["provenance"] = "inferred from the data"
        case "target, another one in a step":
            noised["target"] = "partition"
        case "words, seed called unconditional":
            certificate["randomness"] = "a seed"
        case "words, other neighbours":
            promise["neighbours"] = "add or remove one record"
        case "silence, left out":
            certificate["steps"].append({"step": "left-out", "records": 3, "columns": ["age"], "description": "x"})
        case "words, another statement":
            promise["statement"] = "Nothing at all is revealed about anybody."
        case "words, fewer assumptions":
            promise["assumptions"].pop()
        case "words, a seed not named":
            certificate["randomness"], promise["strength"] = "a seed", "conditional"
        case "words, another unit":
            promise["unit"] = "household"
        case "words, figures from nowhere":
            promise["exact"] = {"risk": 0}
        case "words, about one file":
            promise["file"] = "data.parquet"


#: figures that follow from others of their step
DERIVED = {"noise, scale", "noise, for a larger k", "noise, grid"}
#: what is refused as a step of this method and plan, before anybody looks at the promise
GRAMMAR = DERIVED | {
    "budget, more than promised",
    "budget, a column without",
    "budget, twice the same column",
    "target, another one in a step",
    "noise, width",
    "silence, left out",
}

PARTS = [
    "budget, more than promised",
    "budget, another total",
    "budget, a column without",
    "budget, twice the same column",
    "noise, scale",
    "noise, for a larger k",
    "noise, width",
    "noise, natural order claimed",
    "noise, fewer clusters",
    "noise, grid",
    "choices, epsilon of each",
    "choices, sensitivity",
    "clusters, another k",
    "clusters, found by distance",
    "clusters, sizes",
    "cells, coarser grid",
    "domains, another schema",
    "domains, guessed",
    "domains, inferred",
    "target, another one in a step",
    "words, seed called unconditional",
    "words, other neighbours",
    "silence, left out",
    "words, another statement",
    "words, fewer assumptions",
    "words, a seed not named",
    "words, another unit",
    "words, figures from nowhere",
    "words, about one file",
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # enough epsilon for ages between the bounds, whatever is drawn
    made = release(seed=None, k=10, epsilon=100, decimals={"age": 2})
    return made.write(tmp_path_factory.mktemp("noise") / "release")


@pytest.mark.parametrize("part", PARTS)
def test_a_broken_certificate_fails_where_it_is_broken(part: str, sound: Path) -> None:
    path = sound / "certificate.json"
    original = path.read_text()
    certificate = json.loads(original)
    _broken(certificate, part)
    if part not in DERIVED:
        for step in certificate["steps"]:
            forger.let_words_fit(step)
    assert certificate != json.loads(original)
    try:
        path.write_text(json.dumps(certificate))
        failed = [check.subject for check in shoal.verify(sound, rendered=False).checks if not check.passed]
    finally:
        path.write_text(original)
    assert ("steps" if part in GRAMMAR else f"bounded-differential-privacy, {part.partition(',')[0]}") in failed


def test_a_partition_or_a_query_that_calls_itself_more_fails(tmp_path: Path) -> None:
    for target in ("partition", "record-query"):
        folder = release(target=target, seed=None, k=10).write(tmp_path / target)
        path = folder / "certificate.json"
        certificate = json.loads(path.read_text())
        certificate["promises"][0]["strength"] = "unconditional"
        path.write_text(json.dumps(certificate))
        failed = [check.subject for check in shoal.verify(folder, rendered=False).checks if not check.passed]
        assert failed[0] == "certificate.json"  # its bytes are no longer those that Shoal writes
        assert [subject.rpartition(", ")[2] for subject in failed[1:]] == ["words"]
        certificate["promises"][0] |= {"model": "bounded-differential-privacy"}
        path.write_text(json.dumps(certificate))
        failed = [check.subject for check in shoal.verify(folder, rendered=False).checks if not check.passed]
        assert "bounded-differential-privacy (unconditional)" in failed


def test_a_table_as_it_is_does_not_verify(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(sound, folder)
    pq.write_table(people().drop_columns(["name"]), folder / "data.parquet")
    failed = [check.subject for check in shoal.verify(folder).checks if not check.passed]
    assert "bounded-differential-privacy, clusters" in failed
    rows = people().drop_columns(["name"]).to_pylist()
    pq.write_table(pa.Table.from_pylist([row | {"age": 130} for row in rows]), folder / "data.parquet")
    failed = [check.subject for check in shoal.verify(folder).checks if not check.passed]
    assert "bounded-differential-privacy, cells" in failed


def test_without_its_plan_nothing_is_verified(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(sound, folder)
    (folder / "plan.toml").unlink()
    found = shoal.verify(folder)
    assert not found.passed
    assert any(check.subject == "plan.toml" and not check.passed for check in found.checks)
    assert not any("differential-privacy" in check.subject for check in found.checks)


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        return [leaf for key, each in entries for leaf in _leaves(each, (*path, key))]
    return [path]


def test_nonsense_in_a_certificate_is_a_failed_check_and_never_a_crash(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(sound, folder)
    path, draw = folder / "certificate.json", random.Random(9)
    original = path.read_text()
    places = [("steps", *leaf) for leaf in _leaves(json.loads(original)["steps"])]
    places += [("promises", *leaf) for leaf in _leaves(json.loads(original)["promises"])]
    words = ("description", "statement", "assumptions", "files")
    steps = [step["step"] for step in json.loads(original)["steps"]]
    told = [("steps", steps.index(name)) for name in ("dropped", "ordered")]  # nothing else to compare with
    places = [place for place in places if not set(place) & set(words) and place[:2] not in told]
    for number, place in enumerate(places):
        certificate = json.loads(original)
        spot = certificate
        for key in place[:-1]:
            spot = spot[key]
        spot[place[-1]] = draw.choice([None, "nonsense", -3, [], {}, 1e308, "1/0"])
        if certificate == json.loads(original):
            continue
        path.write_text(json.dumps(certificate))
        try:
            found = shoal.verify(folder, rendered=number % 5 == 0)  # pages take most of the time
        except shoal.errors.VerificationError:
            continue
        assert not found.passed, place
