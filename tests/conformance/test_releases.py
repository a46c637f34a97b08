"""Every model and every method on the whole way: anonymise, write, verify, and read the plan again."""

from __future__ import annotations

import dataclasses
import json
import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal import methods, models
from shoal.methods.recode import Recode
from shoal.models import Model
from shoal.schema import Attribute, Domain, Groups, Intervals, Kind, Missing, Role, Schema

ILLNESSES = {"infection": ("cold", "flu", "measles"), "injury": ("burn", "fracture")}


def _people(number: int, seed: int) -> pa.Table:
    draw = random.Random(seed)
    illnesses = [illness for group in ILLNESSES.values() for illness in group]
    return pa.table(
        {
            "name": [f"person {i}" for i in range(number)],
            "age": [draw.choice((None, *range(20, 60))) for _ in range(number)],
            "town": [draw.choice("ABCDEF") for _ in range(number)],
            "illness": [draw.choice(illnesses) for _ in range(number)],
            "pain": [draw.choice(("none", "mild", "severe")) for _ in range(number)],
            "shoe": [draw.randrange(36, 46) for _ in range(number)],
        }
    )


SCHEMA = Schema(
    attributes=(
        Attribute(name="name", role=Role.IDENTIFIER),
        Attribute(
            name="age",
            role=Role.QUASI_IDENTIFIER,
            kind=Kind.NUMERIC,
            domain=Domain(minimum=0, maximum=100),
            hierarchy=Intervals(widths=(5, 20)),
        ),
        Attribute(
            name="town",
            role=Role.QUASI_IDENTIFIER,
            hierarchy=Groups(levels=((("north", ("A", "B", "C")), ("south", ("D", "E", "F"))),)),
        ),
        Attribute(name="illness", role=Role.SENSITIVE, hierarchy=Groups(levels=(tuple(ILLNESSES.items()),))),
        Attribute(
            name="pain", role=Role.SENSITIVE, kind=Kind.ORDINAL, domain=Domain(values=("none", "mild", "severe"))
        ),
        Attribute(name="shoe"),
    )
)
#: for each model, parameters that hold for the whole table as one class, so that a release exists
PARAMETERS: dict[str, dict[str, object]] = {
    "k-anonymity": {"k": 5},
    "probabilistic-k-anonymity": {"k": 5},
    "k-map": {"k": 20},
    "estimated-k-map": {"k": 20, "sampling_fraction": 0.2},
    "p-sensitive-k-anonymity": {"attributes": ["illness", "pain"], "p": 2, "k": 3},
    "distinct-l-diversity": {"attribute": "illness", "l": 3},
    "entropy-l-diversity": {"attribute": "illness", "l": 2.5},
    "recursive-l-diversity": {"attribute": "illness", "c": 2, "l": 2},
    "t-closeness": {"attribute": "pain", "t": 0.15},
    "multiplicative-closeness": {"attribute": "pain", "t": 2},
    "delta-disclosure": {"attribute": "pain", "delta": 1},
    "beta-likeness": {"attribute": "pain", "beta": 1},
    "delta-presence": {"minimum": 0, "maximum": 0.4},
    "k-m-anonymity": {"k": 5, "m": 2},
    "average-risk": {"risk": 0.1},
    "sample-uniqueness": {"share": 0},
    "estimated-uniqueness": {"share": 0.001, "sampling_fraction": 0.2},
}


#: methods that keep promises about classes; differential privacy has its own suite
RECODING = [name for name in methods.names() if issubclass(methods.by_name(name), Recode)]


@pytest.fixture(scope="module")
def people() -> shoal.Table:
    return shoal.read(_people(400, seed=1)).with_schema(SCHEMA)


@pytest.fixture(scope="module")
def population() -> shoal.Table:
    return shoal.read(pa.concat_tables([_people(400, seed=1), _people(1600, seed=2)]))


def _model(name: str) -> Model:
    return models.from_parameters(name, PARAMETERS[name])


def test_every_model_is_tried_here() -> None:
    assert set(PARAMETERS) == set(models.names())


@pytest.mark.parametrize("name", models.names())
def test_a_release_under_every_model_verifies(
    name: str, people: shoal.Table, population: shoal.Table, tmp_path: Path
) -> None:
    method = shoal.Generalize(suppression_limit=1)
    release = shoal.anonymize(people, _model(name), method=method, population=population)
    assert release.records > 0
    release.write(tmp_path / "release")
    found = shoal.verify(tmp_path / "release")
    assert found.passed, str(found)
    assert any(name in check.subject for check in found.checks)


@pytest.mark.parametrize("name", models.names())
def test_a_table_as_it_is_does_not_verify_under_any_model(
    name: str, people: shoal.Table, population: shoal.Table, tmp_path: Path
) -> None:
    """The checker must be able to say no: a certificate put beside unprotected data fails."""
    release = shoal.anonymize(people, _model(name), method=shoal.Generalize(suppression_limit=1), population=population)
    folder = release.write(tmp_path / "release")
    raw = people.to_arrow().drop_columns(["name"])
    pq.write_table(raw, folder / "data.parquet")
    failed = [check for check in shoal.verify(folder).checks if not check.passed]
    assert "data.parquet" in [check.subject for check in failed]
    # promises about a population are not reached: its table lists the classes that were released
    assert any(check.subject.startswith(name) or "released classes" in check.detail for check in failed), failed


@pytest.mark.parametrize("name", models.names())
def test_a_plan_survives_its_file(name: str) -> None:
    plan = shoal.Plan(schema=SCHEMA, models=(_model(name), models.KAnonymity(2)))
    assert shoal.Plan.loads(plan.dumps()) == plan


@pytest.mark.parametrize("name", RECODING)
def test_every_method_keeps_k_and_loses_no_other_column(name: str, people: shoal.Table, tmp_path: Path) -> None:
    release = shoal.anonymize(people, models.KAnonymity(4), method=methods.from_parameters(name, {}))
    folder = release.write(tmp_path / "release")
    assert shoal.verify(folder).passed
    rows = pq.read_table(folder / "data.parquet").to_pylist()
    assert min(Counter((row["age"], row["town"]) for row in rows).values()) >= 4
    assert set(rows[0]) == {"age", "town", "illness", "pain", "shoe"}
    shoes = Counter(row["shoe"] for row in rows)
    original = Counter(people.to_arrow()["shoe"].to_pylist())
    assert all(original[shoe] >= count for shoe, count in shoes.items())


@pytest.mark.parametrize("name", RECODING)
def test_the_plan_of_every_method_survives_its_file(name: str) -> None:
    plan = shoal.Plan(schema=SCHEMA, models=(models.KAnonymity(2),), method=methods.from_parameters(name, {}))
    assert shoal.Plan.loads(plan.dumps()) == plan


def test_a_hierarchical_distance_is_verified_with_the_hierarchy_of_the_release(
    people: shoal.Table, tmp_path: Path
) -> None:
    model = shoal.TCloseness("illness", 0.3, distance="hierarchical")
    folder = shoal.anonymize(people, model, method=shoal.Generalize(suppression_limit=1)).write(tmp_path / "release")
    assert json.loads((folder / "certificate.json").read_text())["data"]["columns"][2]["hierarchy"]
    assert shoal.verify(folder).passed


def test_several_promises_hold_together(people: shoal.Table, tmp_path: Path) -> None:
    wanted = (models.KAnonymity(5), _model("t-closeness"), _model("entropy-l-diversity"))
    release = shoal.anonymize(people, *wanted, method=shoal.Generalize(suppression_limit=1))
    found = shoal.verify(release.write(tmp_path / "release"))
    assert found.passed
    assert len([check for check in found.checks if "holds" in check.detail]) == 3


def test_a_release_is_the_same_whatever_the_order_of_the_records(people: shoal.Table) -> None:
    shuffled = people.to_arrow().take(random.Random(3).sample(range(400), 400))
    first = shoal.anonymize(people, models.KAnonymity(5)).table.to_arrow()
    second = shoal.anonymize(shoal.read(shuffled).with_schema(SCHEMA), models.KAnonymity(5)).table.to_arrow()
    assert first.equals(second)


def test_k_1_releases_every_value_and_k_n_one_class(people: shoal.Table) -> None:
    everything = shoal.anonymize(people, models.KAnonymity(1))
    assert everything.records == 400
    assert everything.measures["loss"] == 0
    one = shoal.anonymize(people, models.KAnonymity(400))
    assert one.after.classes == 1


def test_a_guessed_schema_is_marked_in_the_certificate(people: shoal.Table, tmp_path: Path) -> None:
    guessed = dataclasses.replace(SCHEMA, guessed=True)
    folder = shoal.anonymize(people.with_schema(guessed), models.KAnonymity(2)).write(tmp_path / "release")
    assert json.loads((folder / "certificate.json").read_text())["roles"] == "guessed"
    assert "guessed" in (folder / "summary.txt").read_text()


@pytest.mark.parametrize("empty", ["age", "illness"])
def test_a_column_without_a_value_in_any_released_record_verifies(tmp_path: Path, empty: str) -> None:
    rows: dict[str, list[object]] = {"age": [20, 21, 45, 75], "illness": ["cold", "flu", "cold", "flu"]}
    rows[empty][:2] = [None, None]
    known = Schema(attributes=(SCHEMA["age"], SCHEMA["illness"]))
    method = shoal.Generalize(suppression_limit=0.5)
    release = shoal.anonymize(shoal.read(pa.table(rows)).with_schema(known), shoal.KAnonymity(2), method=method)
    folder = release.write(tmp_path / "release")
    assert pq.read_table(folder / "data.parquet")[empty].to_pylist() == [None, None]
    assert shoal.verify(folder).passed


def test_records_that_the_schema_leaves_out_are_said_once(tmp_path: Path) -> None:
    age = dataclasses.replace(SCHEMA["age"], missing=Missing.DROP)
    rows = pa.table({"age": [20, 21, 22, None], "illness": ["cold", "flu", "cold", "flu"]})
    table = shoal.read(rows).with_schema(Schema(attributes=(age, SCHEMA["illness"])))
    release = shoal.anonymize(table, shoal.KAnonymity(2))
    assert "Left out 1 record with missing values in column `age`." in str(release)


def test_a_measure_names_what_it_predicts_as_objective_and_in_the_report(tmp_path: Path) -> None:
    wanted = {"name": "classification", "target": "illness"}
    table = shoal.read(_people(400, seed=3)).with_schema(SCHEMA)
    plan = shoal.Plan(
        schema=SCHEMA,
        models=(shoal.KAnonymity(4),),
        method=shoal.Generalize(quality=wanted),
        measures=("loss", wanted, {"name": "classification", "target": "pain"}),
    )
    release = plan.run(table)
    assert list(release.measures) == ["loss", "classification of illness", "classification of pain"]
    by_loss = shoal.Plan(schema=SCHEMA, models=plan.models, method=shoal.Generalize(), measures=(wanted,)).run(table)
    assert release.measures["classification of illness"] < by_loss.measures["classification of illness"]  # type: ignore[operator]
    assert (
        shoal.Plan.load(release.write(tmp_path / "release") / "plan.toml").weighted_measures == plan.weighted_measures
    )


def test_a_measure_without_its_target_is_a_problem_of_the_plan() -> None:
    with pytest.raises(shoal.ShoalError, match=r"`target` of `Classification` .* there is no default"):
        shoal.Plan(schema=SCHEMA, models=(shoal.KAnonymity(4),), method=shoal.Generalize(quality="classification"))
