"""Many truthful tables: what is released is true, verifies, and cannot be forged."""

from __future__ import annotations

import copy
import datetime as dt
import json
import math
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.csv import read_csv

import shoal
from forgeries import forger
from reference.noise import QuickSource
from shoal import methods
from shoal.errors import DataError, InputError, ParameterError, PlanError, RequirementError
from shoal.guarantees import CERTIFICATE
from shoal.methods.truthful import HIDDEN, _scores, read_hidden
from shoal.methods.truthful._sets_split import Split

PRIVATE = shoal.DifferentialPrivacy(epsilon=2, delta="1e-4")


def _people(rows: int = 4000) -> shoal.Table:
    generator = np.random.default_rng(5)
    age = generator.integers(20, 60, rows)
    town = np.array(["Ulm", "Bonn", "Kiel", "Jena"])[generator.choice(4, rows, p=[0.5, 0.3, 0.15, 0.05])]
    ill = np.where(generator.random(rows) < age / 80, "yes", "no")
    table = pa.table({"name": [f"n{i}" for i in range(rows)], "age": age, "town": town, "ill": ill})
    groups = shoal.schema.Groups(levels=((("south", ("Ulm", "Jena")), ("north", ("Bonn", "Kiel"))),))
    return shoal.read(table).with_schema(
        shoal.Schema(
            attributes=(
                shoal.Attribute(name="name", role="identifier"),
                shoal.Attribute(
                    name="age",
                    role="quasi-identifier",
                    kind="numeric",
                    domain=shoal.Domain(minimum=0, maximum=100),
                    hierarchy=shoal.schema.Intervals(widths=(5, 20)),
                ),
                shoal.Attribute(name="town", role="quasi-identifier", hierarchy=groups),
                shoal.Attribute(name="ill", role="sensitive", domain=shoal.Domain(values=("yes", "no"))),
            )
        )
    )


@pytest.fixture(scope="module")
def people() -> shoal.Table:
    return _people()


@pytest.fixture(scope="module")
def folder(people: shoal.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    release = shoal.anonymize(people, PRIVATE, method=shoal.methods.TruthfulTables())
    assert "Quality" not in str(release), "no title without figures"
    return release.write(tmp_path_factory.mktemp("sets") / "release")


@pytest.mark.parametrize(
    ("epsilon", "pairs", "number"),
    [("3", None, 36), ("1", None, 36), ("1/10", None, 11), ("1/10", 36, 36), ("1/1000", None, 1)],
)
def test_a_small_epsilon_is_not_spread_over_many_pairs(epsilon: str, pairs: int | None, number: int) -> None:
    schema = shoal.Schema(attributes=tuple(shoal.Attribute(name=f"c{i}", role="quasi-identifier") for i in range(9)))
    private, method = (
        shoal.DifferentialPrivacy(epsilon=epsilon, delta="1e-5"),
        shoal.methods.TruthfulTables(pairs=pairs),
    )
    split = method.split(schema, private)
    assert split.pairs == number
    assert split.holds()
    # a release says which pairs it has, by whatever rule their number was found
    made = replace(method, pairs=None, chosen=tuple({f"c{i}": 0, f"c{i + 1}": 0} for i in range(5)))
    assert made.split(schema, private).pairs == 5


def test_a_promise_about_classes_is_refused_before_anything_is_paid(people: shoal.Table) -> None:
    assert people.schema is not None
    promises = (shoal.DifferentialPrivacy(epsilon=1, delta=1e-6), shoal.KAnonymity(3))
    with pytest.raises(PlanError, match="no promise about classes, such as `KAnonymity`"):
        shoal.Plan(schema=people.schema, models=promises, method=shoal.methods.TruthfulTables())


def test_a_release_without_any_record_is_refused(people: shoal.Table) -> None:
    assert people.schema is not None
    schema = shoal.Schema(attributes=(people.schema["age"], people.schema["ill"]))
    table = shoal.read(pa.table({"age": [30], "ill": ["yes"]})).with_schema(schema)
    private, method = shoal.DifferentialPrivacy(epsilon=2, delta="1e-12"), shoal.methods.TruthfulTables(pairs=0)
    split = method.split(schema, private)
    # a draw passes this with a chance below 1e-8
    assert all(1 + 6 * math.sqrt(noise.variance) < noise.m for noise in split.declared)
    with pytest.raises(RequirementError, match="frequent enough"):
        shoal.anonymize(table, private, method=method)


@pytest.mark.slow
def test_no_table_shows_more_than_is_true(people: shoal.Table, folder: Path) -> None:
    original = people.to_arrow().to_pandas()
    certificate = json.loads((folder / CERTIFICATE).read_text())
    levels = {}
    for step in certificate["steps"]:
        if step["step"] == "tables-trimmed":
            levels |= {tuple(table): own for table, own in zip(step["tables"], step["levels"], strict=True)}
    region = {"Ulm": "south", "Jena": "south", "Bonn": "north", "Kiel": "north"}
    for data in (certificate["data"], *certificate["further_data"]):
        names = [column["name"] for column in data["columns"]]
        expected = original[names].copy()
        for name, level in zip(names, levels[tuple(names)], strict=True):
            if name == "age" and level:
                width = {1: 5, 2: 20}[level]
                low = expected[name] // width * width
                expected[name] = "[" + low.astype(str) + ", " + (low + width).astype(str) + ")"
            if name == "town" and level:
                expected[name] = expected[name].map(region)
        truth = expected.astype(str).value_counts()
        shown = pq.read_table(folder / data["file"]).to_pandas().astype(str).value_counts()
        assert (shown <= truth.reindex(shown.index, fill_value=0)).all(), names
    assert len(certificate["further_data"]) == 5


@pytest.mark.slow
def test_it_verifies_and_a_changed_figure_does_not(folder: Path, tmp_path: Path) -> None:
    assert shoal.verify(folder).passed
    _refused(
        shutil.copytree(folder, tmp_path / "forged"),
        (
            lambda c: c["steps"][1]["m"].append(c["steps"][1]["m"].pop() - 1),
            lambda c: c["steps"][1]["variance"].append(str(Fraction(c["steps"][1]["variance"].pop()) - 1)),
            lambda c: c["steps"][2].update(epsilon_each="1/1000"),
            lambda c: c["steps"][2].update(candidates=3),
            lambda c: c["steps"][2].update(pairs=c["steps"][4]["pairs"]),
            lambda c: c["steps"][2].update(round=2),
            lambda c: c["steps"].insert(2, c["steps"].pop(4)),
            lambda c: c["steps"][8].update(classes=c["steps"][8]["classes"] - 1),
            lambda c: c["steps"].pop(8),
            lambda c: c["steps"][9].update(rho="1/100"),
            lambda c: c["steps"].pop(3),
            lambda c: c["budget"].update(epsilon="1"),
            lambda c: c["promises"][0]["parameters"].update(epsilon=1),
            lambda c: c["promises"][0]["exact"].update(rho="1/1000"),
            lambda c: c["further_data"].pop(),
        ),
    )


def _refused(release: Path, changes: Iterable[Callable[[forger.Content], object]]) -> None:
    """Make each of the changes to the certificate beside data that stay, and see it refused."""
    original = forger.read(release)
    with forger.data_read_once():
        for number, change in enumerate(changes):
            content = copy.deepcopy(original)
            change(content)
            (release / CERTIFICATE).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
            assert not shoal.verify(release, rendered=False).passed, number
        (release / CERTIFICATE).write_text(json.dumps(original, indent=2, ensure_ascii=False) + "\n")
        assert shoal.verify(release, rendered=False).passed, "what nobody changed is believed"


@pytest.mark.slow
def test_what_no_record_shows_is_counted_with_its_noise(people: shoal.Table, folder: Path) -> None:
    original = people.to_arrow().to_pandas()
    rows = read_csv(folder / HIDDEN).to_pandas()
    certificate = json.loads((folder / CERTIFICATE).read_text())
    step = certificate["steps"][1]
    towns, ages = step["tables"].index(["town"]), step["tables"].index(["age"])
    own = rows[(rows["table"] == "table-01-age.parquet") & (rows["value 1"] != "")]  # missing values apart
    shown = {str(age) for age in pq.read_table(folder / "table-01-age.parquet")["age"].to_pylist()}
    assert {*own["value 1"]} | shown == {str(age) for age in range(101)}
    assert not {*own["value 1"]} & shown
    assert (own["count"] <= step["m"][ages]).all()
    assert (rows["count"] < 0).any()
    # nobody is younger than 20 or older than 59: what is told of them is noise around nothing
    nobody = own[~own["value 1"].astype(int).between(20, 59)]["count"]
    deviation = math.sqrt(Fraction(step["variance"][ages]))
    assert len(nobody) == 61
    assert abs(nobody.mean()) < 6 * deviation / math.sqrt(61)
    assert 0.5 * deviation < nobody.std() < 1.6 * deviation
    truth = original["age"].astype(str).value_counts()
    hidden = own[own["value 1"].isin(truth.index)]
    assert (hidden["count"] <= truth[hidden["value 1"]].to_numpy() + step["m"][ages]).all()
    assert step["m"][towns] > step["m"][ages], "a table of few classes gets the smaller part"


@pytest.mark.slow
@pytest.mark.parametrize(
    "forge",
    [
        lambda lines: lines[:-1],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [lines[0], *reversed(lines[1:])],
        lambda lines: [*lines[:-1], re.sub(",-?[0-9]+,", ",100000,", lines[-1], count=1)],
        lambda lines: [*lines[:-1], re.sub(",-?[0-9]+,", ",0.5,", lines[-1], count=1)],
        lambda lines: [*lines[:-1], re.sub(",-?[0-9]+,", ",,", lines[-1], count=1)],
        lambda lines: [*lines[:-1], re.sub(",-?[0-9]+,", ",-9223372036854775808,", lines[-1], count=1)],
        lambda lines: [*lines[:-1], lines[-1].replace("table-", "tables-", 1)],
        lambda lines: [*lines, '"table-01-age.parquet",3,"123",'],
        lambda lines: [*lines, ""],
        lambda lines: [lines[0] + ',"value 3"', *(line + "," for line in lines[1:])],
        lambda lines: [lines[0]],
    ],
)
def test_a_file_of_hidden_counts_that_was_changed_is_refused_with_its_new_fingerprint(
    folder: Path, tmp_path: Path, forge: Callable[[list[str]], list[str]]
) -> None:
    forged = shutil.copytree(folder, tmp_path / "forged")
    lines = (forged / HIDDEN).read_text().splitlines()
    assert len(lines) > 50
    (forged / HIDDEN).write_text("\n".join(forge(lines)) + "\n")
    forger.edit(forged, lambda content: None)
    found = shoal.verify(forged, rendered=False)
    assert [check.subject for check in found.checks if not check.passed] == ["differential-privacy, hidden"]


def test_days_whole_numbers_and_missing_values_are_counted_and_what_is_not_listed_is_not(tmp_path: Path) -> None:
    generator = np.random.default_rng(8)
    rows = 6000
    day = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")[generator.integers(0, 2, rows)]
    weight = np.where(generator.random(rows) < 0.3, 2.5, generator.integers(1, 4, rows))
    colour = pa.array(np.array(["red", "blue"])[generator.integers(0, 2, rows)], mask=generator.random(rows) < 0.2)
    income = generator.integers(0, 3, rows) * 1000.0
    table = pa.table({"day": day, "weight": weight, "colour": colour, "income": income})
    domain, attribute = shoal.Domain, partial(shoal.Attribute, role="quasi-identifier")
    first, last = dt.date(2024, 1, 1), dt.date(2024, 1, 10)
    schema = shoal.Schema(
        attributes=(
            attribute(name="day", kind="date", domain=domain(minimum=first, maximum=last)),
            attribute(name="weight", kind="numeric", domain=domain(minimum=0, maximum=5)),
            attribute(name="colour", missing="category", domain=domain(values=("red", "blue", "", 'a "b", c'))),
            attribute(name="income", kind="numeric", domain=domain(minimum=0, maximum=10**6)),
        )
    )
    method = shoal.methods.TruthfulTables(tables=[["day"], ["weight"], ["colour"], ["income"], ["weight", "colour"]])
    release = shoal.anonymize(shoal.read(table).with_schema(schema), PRIVATE, method=method)
    folder = release.write(tmp_path / "release")
    assert shoal.verify(folder).passed
    counts = read_hidden((folder / HIDDEN).read_text(), {part.file: len(part.columns) for part in release.parts})
    days, weights, colours, incomes, both = counts.values()
    assert [label for (label,) in days] == [*(f"2024-01-{number:02d}" for number in range(3, 11)), None]
    assert [label for (label,) in weights] == ["0", "4", "5", None], "2.5 is shown and not listed"
    assert {*colours} == {("",), ('a "b", c',)}
    assert not incomes, "a million values are too many"
    assert {("4", "red"), ("4", None), ("4", "")} <= {*both}
    assert ("2.5", "red") not in both
    estimates = shoal.estimate(folder, size=5000)
    assert estimates.count(weight="2.5").value == pytest.approx((weight == 2.5).sum(), rel=0.1)
    assert estimates.total().value == pytest.approx(rows, rel=0.05)


def _mixed(rows: int, **column: object) -> tuple[pa.Table, shoal.Attribute]:
    sex = np.array(["f", "m"])[np.random.default_rng(4).integers(0, 2, rows)]
    values, attribute = column.pop("values"), shoal.Attribute(name="x", role="quasi-identifier", **column)  # type: ignore[arg-type]
    return pa.table({"x": values, "sex": sex}), attribute


def _codes(missing: int) -> list[str | None]:
    found: list[str | None] = [f"{i % 90:05d}" for i in range(3000)]
    return [*found[missing:], *[None] * missing]


@pytest.mark.parametrize(
    "column",
    [
        # fractions, most of them with one record: not whole numbers, and hidden
        {
            "values": np.random.default_rng(3).random(3000),
            "kind": "numeric",
            "domain": shoal.Domain(minimum=0, maximum=1),
        },
        {
            "values": np.random.default_rng(3).random(3000),
            "kind": "numeric",
            "domain": shoal.Domain(minimum=0, maximum=1),
            "hierarchy": shoal.schema.Intervals(widths=(0.1, 0.5)),
        },
        # no whole number between the bounds
        {"values": np.full(3000, 0.5), "kind": "numeric", "domain": shoal.Domain(minimum=0.2, maximum=0.8)},
        # too many whole numbers and days to list, in intervals and years that are few
        {
            "values": np.random.default_rng(3).integers(0, 50_000, 3000),
            "kind": "numeric",
            "domain": shoal.Domain(minimum=0, maximum=50_000),
            "hierarchy": shoal.schema.Intervals(widths=(1000, 10_000)),
        },
        {
            "values": np.datetime64("1900-01-01") + np.random.default_rng(3).integers(0, 40_000, 3000),
            "kind": "date",
            "domain": shoal.Domain(minimum=dt.date(1900, 1, 1), maximum=dt.date(2020, 12, 31)),
            "hierarchy": shoal.schema.Dates(levels=("year", "decade")),
        },
        # numbers that are listed in other words than they are released
        {"values": np.repeat([1.0, 2.0], 1500), "kind": "numeric", "domain": shoal.Domain(values=("1.0", "2.0"))},
        # most values missing, and more codes than are listed with one missing
        {"values": ["a"] * 300 + [None] * 2700, "missing": "category", "domain": shoal.Domain(values=("a", "b"))},
        {"values": _codes(0), "hierarchy": shoal.schema.Digits(length=5, hidden=(2, 4))},
        {"values": _codes(1), "missing": "category", "hierarchy": shoal.schema.Digits(length=5, hidden=(2, 4))},
    ],
)
def test_whatever_the_schema_lists_of_a_column_releases_verify_and_count_all_records(
    column: dict[str, object], tmp_path: Path
) -> None:
    table, attribute = _mixed(3000, **column)
    sexes = shoal.Attribute(name="sex", role="quasi-identifier", domain=shoal.Domain(values=("f", "m")))
    people = shoal.read(table).with_schema(shoal.Schema(attributes=(attribute, sexes)))
    release = shoal.anonymize(people, PRIVATE, method=shoal.methods.TruthfulTables())
    folder = release.write(tmp_path / "release")
    estimates = shoal.estimate(folder, size=5000)
    truth = np.count_nonzero(np.array(table["sex"].to_pylist()) == "f")
    assert estimates.total().value == pytest.approx(3000, abs=200)
    assert estimates.count(sex="f").value == pytest.approx(truth, abs=150)


@pytest.mark.parametrize("damage", [b"\xff\xfe", b"", b'"table","count"\r\n', b'"table","count","value 1"\n"x",,"y"\n'])
def test_a_damaged_file_of_hidden_counts_is_refused_by_estimates(folder: Path, tmp_path: Path, damage: bytes) -> None:
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    (damaged / HIDDEN).write_bytes(damage)
    with pytest.raises(InputError, match="hidden"):
        shoal.estimate(damaged)


@pytest.mark.slow
def test_a_plan_with_a_chosen_pair_exchanged_for_another_level_is_refused(folder: Path, tmp_path: Path) -> None:
    plan = shoal.Plan.load(folder / "plan.toml")
    assert plan.method.parameters()["chosen"]
    forged = shutil.copytree(folder, tmp_path / "forged")
    text = (forged / "plan.toml").read_text()
    assert "town = 0" in text or "town = 1" in text
    swapped = text.replace("town = 0", "town = 9", 1) if "town = 0" in text else text.replace("town = 1", "town = 9", 1)
    (forged / "plan.toml").write_text(swapped)
    assert not shoal.verify(forged).passed


@pytest.mark.slow
def test_a_plan_that_is_run_again_chooses_anew(people: shoal.Table, folder: Path) -> None:
    again = shoal.Plan.load(folder / "plan.toml").run(people)
    assert again.guarantee.budget.epsilon == 2
    assert len(again.parts) == 6


def test_declared_sets_and_single_columns(people: shoal.Table, tmp_path: Path) -> None:
    method = shoal.methods.TruthfulTables(tables=[["ill", "town"], ["age"]], levels={"age": 1})
    release = shoal.anonymize(people, PRIVATE, method=method)
    assert [part.table.columns for part in release.parts] == [("town", "ill"), ("age",)]
    assert shoal.verify(release.write(tmp_path / "sets")).passed
    columns = shoal.anonymize(people, PRIVATE, method=shoal.methods.TruthfulTables(tables="columns"))
    assert [part.table.columns for part in columns.parts] == [("age",), ("town",), ("ill",)]
    assert "table-01-age.parquet" in {part.file for part in columns.parts}


@pytest.mark.slow
def test_what_is_spent_is_what_is_promised(folder: Path) -> None:
    content = json.loads((folder / CERTIFICATE).read_text())
    assert content["budget"] == {"epsilon": "2", "delta": "1/10000"}
    assert content["promises"][0]["parameters"]["definition"] == "standard"
    rhos = [Fraction(step["rho"]) for step in content["steps"] if "rho" in step]
    assert sum(rhos[:-1]) == rhos[-1]


@pytest.fixture(scope="module")
def joint(people: shoal.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert people.schema is not None
    method = shoal.methods.TruthfulTables(tables="pairs+joint", pairs=2)
    plan = shoal.Plan(schema=people.schema, models=(PRIVATE,), method=method)
    return plan.run(people, source=QuickSource(7)).write(tmp_path_factory.mktemp("joint") / "release")


@pytest.mark.slow
def test_a_table_of_all_columns_shows_disjoint_cells_and_never_more_than_is_true(
    people: shoal.Table, joint: Path
) -> None:
    original = people.to_arrow().to_pandas()
    regions = {"south": ["Ulm", "Jena"], "north": ["Bonn", "Kiel"]}
    shown = pq.read_table(joint / "table-06-age-town-ill.parquet").to_pandas().astype(str).value_counts()
    assert len(shown) > 5
    covered = np.zeros(len(original), dtype=int)
    for (age, town, ill), copies in shown.items():
        inside = np.ones(len(original), dtype=bool)
        if age.startswith("["):
            low, high = map(int, age[1:-1].split(", "))
            inside &= original["age"].between(low, high - 1).to_numpy()
        elif age != "*":
            inside &= (original["age"] == int(age)).to_numpy()
        if town != "*":
            inside &= original["town"].isin(regions.get(town, [town])).to_numpy()
        if ill != "*":
            inside &= (original["ill"] == ill).to_numpy()
        assert copies <= inside.sum()
        covered += inside
    assert covered.max() == 1


@pytest.mark.slow
def test_a_table_of_all_columns_verifies_and_a_changed_figure_does_not(joint: Path, tmp_path: Path) -> None:
    assert shoal.verify(joint).passed
    content = json.loads((joint / CERTIFICATE).read_text())
    assert [step["step"] for step in content["steps"]][6:] == [
        "joint-trimmed",
        "hidden-counted",
        "composed",
        "ordered",
    ]
    rhos = [Fraction(step["rho"]) for step in content["steps"] if "rho" in step]
    assert sum(rhos[:-1]) == rhos[-1]
    _refused(
        shutil.copytree(joint, tmp_path / "forged"),
        (
            lambda c: c["steps"][6].update(m=c["steps"][6]["m"] - 1),
            lambda c: c["steps"][6].update(epsilon_scheme="1/1000"),
            lambda c: c["steps"][6].update(variance="1"),
            lambda c: c["steps"][6].update(levels=[1, 0, 0]),
            lambda c: c["steps"][6].update(rho="0"),
            lambda c: c["steps"].pop(6),
            lambda c: c["promises"][0]["exact"].update({"largest m": 1}),
            lambda c: c["further_data"].pop(),
        ),
    )
    plain = shutil.copytree(joint, tmp_path / "plain")
    text = (plain / "plan.toml").read_text()
    assert "pairs+joint" in text
    (plain / "plan.toml").write_text(text.replace("pairs+joint", "pairs"))
    assert not shoal.verify(plain, rendered=False).passed


@pytest.mark.slow
def test_a_table_of_all_columns_is_read_together_with_the_others(people: shoal.Table, joint: Path) -> None:
    original = people.to_arrow().to_pandas()
    estimates = shoal.estimate(joint, size=20_000)
    read = estimates.margins.joint
    assert read is not None
    shown = pq.read_table(joint / "table-06-age-town-ill.parquet")
    classes = len(shown.group_by(shown.column_names).aggregate([]))
    assert len(read.sizes) == classes, "no class is lost in reading"
    truth = ((original["age"] < 40) & (original["town"] == "Ulm") & (original["ill"] == "yes")).sum()
    found = estimates.count(age=[str(age) for age in range(20, 40)], town="Ulm", ill="yes")
    assert abs(found.value - truth) < 0.25 * truth


class Untouched(QuickSource):
    def random_bytes(self, size: int) -> bytes:
        raise AssertionError("nothing may be drawn")


@pytest.mark.parametrize("method", [shoal.methods.Truthful(), shoal.methods.TruthfulTables(tables="pairs+joint")])
def test_a_table_whose_scores_would_not_be_exact_is_refused_before_anything_is_drawn(
    people: shoal.Table, method: shoal.methods.Truthful, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert people.schema is not None
    monkeypatch.setattr(_scores, "LARGEST_TABLE", people.count())
    with pytest.raises(DataError, match="too many for exact scores"):
        shoal.Plan(schema=people.schema, models=(PRIVATE,), method=method).run(people, source=Untouched(1))


def test_a_table_that_is_too_wide_to_have_all_columns_in_one_is_refused_before_anything_is_drawn() -> None:
    names = [f"c{number}" for number in range(21)]  # 2^21 choices of levels
    attributes = [
        shoal.Attribute(name=name, role="quasi-identifier", domain=shoal.Domain(values=("a", "b"))) for name in names
    ]
    schema = shoal.Schema(attributes=tuple(attributes))
    table = shoal.read(pa.table({name: ["a", "b"] * 10 for name in names})).with_schema(schema)
    plan = shoal.Plan(schema=schema, models=(PRIVATE,), method=shoal.methods.TruthfulTables(tables="pairs+joint"))
    with pytest.raises(ParameterError, match="all 21 columns has too many"):
        plan.run(table, source=Untouched(1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tables": "triples"}, "tables"),
        ({"tables": []}, "at least one"),
        ({"tables": [["a", "b"], ["b", "a"]]}, "twice"),
        ({"tables": "columns", "pairs": 3}, "pairs"),
        ({"tables": [["a"]], "pairs": 3}, "pairs"),
        ({"pairs": -1}, "pairs"),
        ({"levels": {"a": -1}}, "levels"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        shoal.methods.TruthfulTables(**options)  # type: ignore[arg-type]


def test_columns_that_are_not_there_and_what_does_not_go_together_are_named(people: shoal.Table) -> None:
    with pytest.raises((ParameterError, PlanError), match="nowhere"):
        shoal.anonymize(people, PRIVATE, method=shoal.methods.TruthfulTables(tables=[["nowhere"]]))
    shared = shoal.DifferentialPrivacy(epsilon=1, delta="1e-5", search_share="0.1")
    with pytest.raises((ParameterError, PlanError), match="search_share"):
        shoal.anonymize(people, shared, method=shoal.methods.TruthfulTables())
    bounded = shoal.DifferentialPrivacy(epsilon=1, delta="1e-5", records_per_person=2)
    with pytest.raises((ParameterError, PlanError), match="records_per_person"):
        shoal.anonymize(people, bounded, method=shoal.methods.TruthfulTables())
    with pytest.raises(PlanError, match="the highest level is"):
        shoal.anonymize(people, PRIVATE, method=shoal.methods.TruthfulTables(levels={"ill": 7}))


@pytest.mark.parametrize("records", [1, 2, 5])
def test_a_person_with_all_records_in_the_same_cells_is_hidden_by_the_noise_of_all_tables(records: int) -> None:
    epsilon, delta, tables = 1.0, 1e-5, 6
    split = Split.of(Fraction(1), Fraction(1, 10**5), declared=[None] * tables, pairs=0, per_person=records)
    assert split.holds()
    # all records of the person are in one cell of each table: a shift of `records` in each of so many Gaussians
    noise = split.declared[0]
    shift = records * math.sqrt(tables / float(noise.variance))
    normal = NormalDist()
    lost = normal.cdf(shift / 2 - epsilon / shift) - math.exp(epsilon) * normal.cdf(-shift / 2 - epsilon / shift)
    # a cell of these records alone is shown where fewer are taken than there are; nobody takes fewer than none
    sigma = math.sqrt(noise.variance)
    shown = tables * (normal.cdf((records - 0.5 - noise.m) / sigma) - normal.cdf((-0.5 - noise.m) / sigma))
    assert lost + shown <= delta
    careless = Split.of(Fraction(1), Fraction(1, 10**5), declared=[None] * tables, pairs=0)
    if records > 1:  # noise for one record hides nobody with more
        wide = records * math.sqrt(tables / float(careless.declared[0].variance))
        assert normal.cdf(wide / 2 - 1 / wide) - math.exp(epsilon) * normal.cdf(-wide / 2 - 1 / wide) > delta


@pytest.mark.slow
@pytest.mark.parametrize("records", [None, 2])
def test_tables_promise_to_persons_and_verify(people: shoal.Table, records: int | None, tmp_path: Path) -> None:
    described = people.schema
    assert described is not None
    whose = replace(
        described,
        attributes=tuple(replace(each, role="person") if each.name == "name" else each for each in described),
    )
    wanted = replace(PRIVATE, records_per_person=records)
    release = shoal.anonymize(people.with_schema(whose), wanted, method=shoal.methods.TruthfulTables(tables="columns"))
    (promise,) = release.guarantee.promises
    assert (promise.unit, promise.parameters["records_per_person"]) == ("person", records or 1)
    assert "add or remove one person" in str(promise.neighbours)
    folder = release.write(tmp_path / "release")
    verification = shoal.verify(folder)
    assert verification.passed, str(verification)
    assert any("at most 2 records of each" in check.detail or records is None for check in verification.checks)

    def forgotten(content: forger.Content) -> None:
        content["steps"] = [step for step in content["steps"] if step["step"] != "bounded"]

    forger.edit(folder, forgotten)
    assert not shoal.verify(folder).passed


def test_a_table_that_shows_nobody_is_released_as_it_is(people: shoal.Table, tmp_path: Path) -> None:
    """About 100 records of every age, of which trimming takes 460 +- 60: one is left with a chance of 1e-7."""
    wanted = shoal.DifferentialPrivacy(epsilon="0.12", delta="1e-15")
    method = shoal.methods.TruthfulTables(tables=[["age"], ["ill"]])
    folder = shoal.anonymize(people, wanted, method=method).write(tmp_path / "release", csv=True)
    assert pq.read_table(folder / "table-01-age.parquet").num_rows == 0
    assert shoal.verify(folder).passed
    estimates = shoal.estimate(folder, size=1000)
    assert abs(estimates.count(ill="yes").value + estimates.count(ill="no").value - 4000) < 2000


def test_many_columns_are_released_as_tables_of_pairs_by_default():
    private = shoal.DifferentialPrivacy(epsilon=1, delta="1e-6")
    columns = tuple(shoal.Attribute(name=f"c{n}", role="quasi-identifier") for n in range(5))
    many, few = shoal.Schema(attributes=columns), shoal.Schema(attributes=columns[:4])
    assert methods.default([private], schema=many).name == "truthful-tables"
    assert methods.default([private], schema=few).name == "truthful"
    shared = shoal.DifferentialPrivacy(epsilon=1, delta="1e-6", search_share="0.1")
    assert methods.default([shared], schema=many).name == "truthful"
