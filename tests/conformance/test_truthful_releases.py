"""Differential privacy on the whole way: what leaves, what does not, and what verification says."""

from __future__ import annotations

import dataclasses
import json
import random
import re
import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from forgeries import forger
from shoal import models
from shoal.errors import ParameterError, PlanError, RequirementError
from shoal.mechanisms import SeededSource
from shoal.schema import Attribute, Domain, Flat, FromFile, Groups, Intervals, Kind, Missing, Role, Schema

WANTED = shoal.DifferentialPrivacy(epsilon=1, delta=1e-3)
TOWNS = {"north": ("A", "B"), "south": ("C", "D")}
SCHEMA = Schema(
    attributes=(
        Attribute(name="name", role=Role.IDENTIFIER),
        Attribute(
            name="age",
            role=Role.QUASI_IDENTIFIER,
            kind=Kind.NUMERIC,
            domain=Domain(minimum=0, maximum=100),
            hierarchy=Intervals(widths=(10, 20)),
        ),
        Attribute(name="town", role=Role.QUASI_IDENTIFIER, hierarchy=Groups(levels=(tuple(TOWNS.items()),))),
        Attribute(
            name="pain", role=Role.SENSITIVE, kind=Kind.ORDINAL, domain=Domain(values=("none", "mild", "severe"))
        ),
    )
)


def people(number: int = 3000, *, seed: int = 1) -> pa.Table:
    draw = random.Random(seed)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(number)],
            "age": [draw.choice((None, 20, 23, 25, 31, 38, 40)) for _ in range(number)],
            "town": [draw.choice("AAABC") for _ in range(number)],
            "pain": [draw.choice(("none", "mild", "severe")) for _ in range(number)],
        }
    )


def table(rows: pa.Table | None = None) -> shoal.Table:
    return shoal.read(people() if rows is None else rows).with_schema(SCHEMA)


def release(*others: models.Model, seed: int = 1, rows: pa.Table | None = None, **method: object) -> shoal.Release:
    chosen = shoal.methods.Truthful(**method)  # type: ignore[arg-type]
    plan = shoal.Plan(schema=SCHEMA, models=(WANTED, *others), method=chosen)
    return plan.run(table(rows), source=SeededSource(seed))


@pytest.mark.parametrize(
    "method",
    [
        {},
        {"operator": "sampling"},
        {"scheme": "multi-dimensional"},
        {"scheme": "multi-dimensional", "operator": "sampling"},
        {"score": "classification", "target": "pain"},
        {"score": "discernibility"},
        {"search": "walk", "steps": 3},
        {"levels": {"age": 1, "town": 1, "pain": 0}},
    ],
    ids=str,
)
def test_a_release_verifies_and_its_plan_makes_another(method: dict[str, object], tmp_path: Path) -> None:
    plan = shoal.Plan(schema=SCHEMA, models=(WANTED,), method=shoal.methods.Truthful(**method))  # type: ignore[arg-type]
    made = plan.run(table())
    folder = made.write(tmp_path / "release", csv=True)
    found = shoal.verify(folder)
    assert found.passed, str(found)
    assert [check.subject for check in found.checks if "differential-privacy" in check.subject]
    again = shoal.Plan.load(folder / "plan.toml")
    assert again.models == made.plan.models
    assert again.method == plan.method
    rows = pq.read_table(folder / "data.parquet").to_pylist()
    exact = json.loads((folder / "certificate.json").read_text())["promises"][0]["exact"]
    assert min(Counter(tuple(row.values()) for row in rows).values()) >= exact.get("k", exact.get("least class shown"))
    assert set(rows[0]) == {"age", "town", "pain"}, "identifiers are dropped"


@pytest.mark.parametrize("operator", ["trim", "sampling"])
def test_released_values_are_true_of_input_records(operator: str) -> None:
    made = release(scheme="multi-dimensional", operator=operator)
    ancestors = {"A": {"A", "north", "*"}, "B": {"B", "north", "*"}, "C": {"C", "south", "*"}}
    original = people().to_pylist()
    for row, copies in Counter(tuple(row.items()) for row in made.table.to_arrow().to_pylist()).items():
        values = dict(row)
        fitting = sum(
            values["town"] in ancestors[record["town"]]
            and _fits(values["age"], record["age"])
            and values["pain"] in (record["pain"], "*")
            for record in original
        )
        assert copies <= fitting


def _fits(released: object, age: int | None) -> bool:
    if released in (None, "*") or age is None:
        return released == age or released == "*"
    if str(released).isdigit():
        return str(released) == str(age)
    low, high = str(released).strip("[)").split(", ")
    return int(low) <= age < int(high)


def test_columns_that_are_not_generalised_keep_their_type() -> None:
    made = release(levels={"age": 0, "town": 1, "pain": 1})
    assert made.table.to_arrow()["age"].type == pa.int64()
    assert release(levels={"age": 1, "town": 1, "pain": 1}).table.to_arrow()["age"].type == pa.string()


# -- what leaves


def test_nothing_but_the_records_differs_between_neighbours_with_the_same_random_bits(tmp_path: Path) -> None:
    """All fields that do not count released records are the same for neighbouring inputs."""
    rows = people()
    texts = []
    for number, each in enumerate((rows, rows.slice(1))):
        made = release(rows=each, levels={"age": 1, "town": 1, "pain": 0})
        folder = made.write(tmp_path / str(number))
        certificate = json.loads((folder / "certificate.json").read_text())
        for key in ("created", "data", "files", "measures"):
            certificate.pop(key)
        plan = (folder / "plan.toml").read_text()
        summary = (folder / "summary.txt").read_text().split("\nRisk")[0]
        texts.append((json.dumps(certificate), plan, summary, made.explain(), repr(made.guarantee)))
    assert texts[0] == texts[1]


def test_figures_of_the_input_leave_only_on_request(tmp_path: Path) -> None:
    rows = people(2917)
    ages = [*range(60, 90), *rows["age"].to_pylist()[30:]]  # classes of one record each, which are not released
    rows = rows.set_column(1, "age", pa.array(ages))
    made = release(rows=rows, scheme="multi-dimensional")
    assert made.private is not None
    assert made.private.records == 2917
    assert made.private.released == made.records
    assert "NOT FOR PUBLICATION" in made.private.to_json()
    assert made.before is None
    assert made.search is None
    folder = made.write(tmp_path / "release", csv=True)
    shown = f"{made!r} {made} {made.explain()} {made.guarantee}"
    written = [path for path in folder.rglob("*") if path.suffix in (".json", ".toml", ".txt")]
    for whole in (shown, *(path.read_text() for path in written)):
        # fingerprints and times hold any digits, and sizes of files are no figures of the input
        text = re.sub(r'"(sha256|schema_sha256|hierarchy_sha256|bytes)": .*', "", whole)
        text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?", "", text)
        for figure in (2917, 2917 - made.records, f"{made.private.loss:.4f}", made.private.before.classes):
            assert not re.search(rf"(?<![\w.]){figure}(?!\d|\.\d)", text.replace(",", "")), text


def test_measures_are_functions_of_the_released_table() -> None:
    made = release(levels={"age": 2, "town": 1, "pain": 1})
    # [20, 40) covers a fifth of 0 to 100, north one value of three others, * everything
    assert list(made.measures) == ["loss of released records"]
    assert made.private is not None
    value = made.measures["loss of released records"]
    assert value is not None
    assert made.private.loss == pytest.approx(1 - made.records / 3000 * (1 - value))


# -- what is refused


def test_differential_privacy_and_its_method_go_together() -> None:
    with pytest.raises(PlanError, match="is kept by method `truthful`"):
        shoal.Plan(schema=SCHEMA, models=(WANTED,), method=shoal.Generalize())
    with pytest.raises(PlanError, match="keeps one promise"):
        shoal.Plan(schema=SCHEMA, models=(models.KAnonymity(2),), method=shoal.methods.Truthful())
    with pytest.raises(PlanError, match="keeps one promise"):
        shoal.Plan(schema=SCHEMA, models=(WANTED, WANTED), method=shoal.methods.Truthful())


def test_models_that_need_a_population_are_refused_with_the_reason() -> None:
    with pytest.raises(PlanError, match="population"):
        shoal.Plan(schema=SCHEMA, models=(WANTED, models.KMap(3)), method=shoal.methods.Truthful())
    with pytest.raises(ParameterError, match="population"):
        shoal.Plan(schema=SCHEMA, models=(WANTED,), method=shoal.methods.Truthful()).run(table(), population=table())


def test_columns_without_declared_domains_are_refused_in_one_error() -> None:
    attributes = [dataclasses.replace(each, domain=None, hierarchy=None) for each in SCHEMA if each.name != "pain"]
    with pytest.raises(PlanError) as caught:
        shoal.anonymize(
            shoal.read(people().drop_columns(["pain"])).with_schema(Schema(attributes=tuple(attributes))), WANTED
        )
    assert sum("has no declared domain" in problem for problem in caught.value.problems) == 2


def test_a_value_outside_the_declared_domain_is_an_error_for_the_publisher() -> None:
    rows = people().to_pylist()
    rows[5]["age"] = 200
    with pytest.raises(shoal.ShoalError, match="declared bounds"):
        shoal.anonymize(shoal.read(pa.Table.from_pylist(rows)).with_schema(SCHEMA), WANTED)


def test_too_few_records_release_nothing() -> None:
    for operator in ("trim", "sampling"):
        with pytest.raises(RequirementError, match="frequent enough"):
            release(rows=people(3), operator=operator)


# -- other promises beside it


@pytest.mark.parametrize("operator", ["trim", "sampling"])
def test_k_anonymity_sets_the_least_class(operator: str, tmp_path: Path) -> None:
    made = release(models.KAnonymity(80), levels={"age": 1, "town": 1, "pain": 0}, operator=operator)
    counts = Counter(tuple(row.values()) for row in made.table.to_arrow().to_pylist())
    assert min(counts.values()) >= 80
    found = shoal.verify(made.write(tmp_path / "release"))
    assert found.passed, str(found)
    assert any(check.subject.startswith("k-anonymity") for check in found.checks)
    # nothing was left out for it, so that what was asked for holds
    assert made.guarantee.promises[0].parameters["definition"] == "probabilistic"
    assert "filtered" not in [event.name for event in made.guarantee.events]


@pytest.mark.parametrize(
    "model",
    [
        models.DistinctLDiversity("pain", 3),
        models.EntropyLDiversity("pain", 2.5),
        models.TCloseness("pain", 0.2),
        models.TCloseness("pain", 0.3, distance="equal"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("operator", ["trim", "sampling"])
def test_a_model_of_sensitive_values_filters_what_was_drawn(operator: str, model: models.Model, tmp_path: Path) -> None:
    rows = people().to_pylist()
    for row in rows:  # town C knows one value only, which no class of it may then show
        row["pain"] = "none" if row["town"] == "C" else row["pain"]
    made = release(model, rows=pa.Table.from_pylist(rows), levels={"town": 0, "age": 2}, operator=operator)
    values: dict[tuple[object, ...], set[object]] = {}
    for row in made.table.to_arrow().to_pylist():
        values.setdefault((row["age"], row["town"]), set()).add(row["pain"])
    assert all(len(each) >= 2 for each in values.values())
    assert not any(town == "C" for _, town in values)
    found = shoal.verify(made.write(tmp_path / "release"))
    assert found.passed, str(found)
    steps = [event.name for event in made.guarantee.events]
    assert steps.index("filtered") == steps.index({"trim": "trimmed", "sampling": "sampled"}[operator]) + 1


@pytest.mark.parametrize("asked", [{}, {"definition": "probabilistic"}, {"definition": "standard"}], ids=str)
def test_beside_a_filter_the_standard_definition_is_promised(asked: dict[str, object], tmp_path: Path) -> None:
    """The probabilistic definition is not closed under post-processing; the standard one is."""
    wanted = shoal.DifferentialPrivacy(epsilon=1, delta=1e-3, **asked)  # type: ignore[arg-type]
    plan = shoal.Plan(
        schema=SCHEMA, models=(wanted, models.DistinctLDiversity("pain", 3)), method=shoal.methods.Truthful()
    )
    made = plan.run(table())
    promise = made.guarantee.promises[0]
    assert promise.parameters["definition"] == "standard"
    assert "to at most e^1 = 2.72 times p, plus 0.001" in promise.statement
    assert promise.strength == "unconditional"
    folder = made.write(tmp_path / "release")
    certificate = json.loads((folder / "certificate.json").read_text())
    (trimmed,) = (step for step in certificate["steps"] if step["step"] == "trimmed")
    assert trimmed["definition"] == certificate["promises"][0]["parameters"]["definition"] == "standard"
    assert "probabilistic" not in (folder / "plan.toml").read_text() + (folder / "summary.txt").read_text()
    assert shoal.verify(folder).passed


def test_a_filter_beside_the_probabilistic_definition_does_not_verify(tmp_path: Path) -> None:
    """A certificate that is right in everything else: its m is large enough for both definitions."""
    wanted = shoal.DifferentialPrivacy(epsilon=1, delta=1e-3)
    plan = shoal.Plan(
        schema=SCHEMA, models=(wanted, models.PSensitive("pain", p=2, k=60)), method=shoal.methods.Truthful()
    )
    folder = plan.run(table()).write(tmp_path / "release")
    path = folder / "certificate.json"
    certificate = json.loads(path.read_text())
    promise = certificate["promises"][0]
    promise["parameters"]["definition"], promise["statement"] = "probabilistic", wanted.statement()
    step = next(step for step in certificate["steps"] if step["step"] == "trimmed")
    step["definition"] = "probabilistic"
    forger.let_words_fit(step)
    path.write_text(json.dumps(certificate))
    failed = [check.subject for check in shoal.verify(folder, rendered=False).checks if not check.passed]
    # the bytes are no longer those that Shoal writes, either
    assert failed == ["certificate.json", "promises", "differential-privacy, filters"]


# a;x;* and b;*;*: one level below the top, the value b already looks like the top
STARRED = Schema(
    attributes=(
        Attribute(name="value", role=Role.QUASI_IDENTIFIER, hierarchy=Groups(levels=((("x", ("a",)), ("*", ("b",))),))),
    )
)


@pytest.mark.parametrize("operator", ["trim", "sampling"])
@pytest.mark.parametrize("scheme", ["full-domain", "multi-dimensional"])
def test_where_cells_look_alike_a_tree_keeps_the_standard_definition_only(
    scheme: str, operator: str, tmp_path: Path
) -> None:
    """`test_truthful_end_to_end.py` shows that the probabilistic one does not hold; levels that are told, do."""
    method = shoal.methods.Truthful(scheme=scheme, operator=operator)  # type: ignore[arg-type]
    wanted = shoal.DifferentialPrivacy(epsilon="0.5", delta="0.0068")
    rows = shoal.read(pa.table({"value": ["b"] * 260 + ["a"] * 130})).with_schema(STARRED)
    made = shoal.Plan(schema=STARRED, models=(wanted,), method=method).run(rows)
    promise = made.guarantee.promises[0]
    expected = "standard" if scheme == "multi-dimensional" else "probabilistic"
    assert promise.parameters["definition"] == expected
    folder = made.write(tmp_path / "release")
    assert shoal.verify(folder).passed
    certificate = json.loads((folder / "certificate.json").read_text())
    entry = certificate["promises"][0]
    entry["parameters"]["definition"], entry["statement"] = "probabilistic", wanted.statement()
    certificate["steps"][-2]["definition"] = "probabilistic"
    forger.let_words_fit(certificate["steps"][-2])
    (folder / "certificate.json").write_text(json.dumps(certificate))
    failed = [check.subject for check in shoal.verify(folder).checks if not check.passed]
    assert ("differential-privacy, scheme" in failed) == (scheme == "multi-dimensional")


def test_a_filter_depends_on_the_sampled_classes_alone() -> None:
    """With the same random bits, the filter removes classes from what is released without it, and adds none."""
    model = models.DistinctLDiversity("pain", 3)
    fixed = {"levels": {"town": 0, "age": 1, "pain": 0}}
    standard = shoal.Plan(schema=SCHEMA, models=(WANTED.post_processed(),), method=shoal.methods.Truthful(**fixed))  # type: ignore[arg-type]
    bare = Counter(
        tuple(row.values()) for row in standard.run(table(), source=SeededSource(1)).table.to_arrow().to_pylist()
    )
    kept = Counter(tuple(row.values()) for row in release(model, **fixed).table.to_arrow().to_pylist())
    assert kept.items() <= bare.items()


def test_hierarchies_that_would_show_which_values_occur_do_not_go_along() -> None:
    pay = Attribute(
        name="pay",
        role=Role.SENSITIVE,
        kind=Kind.NUMERIC,
        domain=Domain(minimum=0, maximum=9),
        hierarchy=Intervals(widths=(5,)),
    )
    schema = Schema(attributes=(*SCHEMA.attributes, pay))
    rows = people().append_column("pay", pa.array([3, 7, 9] * 1000))
    with pytest.raises(PlanError, match="with the values that occur"):
        shoal.anonymize(
            shoal.read(rows).with_schema(schema), WANTED, models.TCloseness("pay", 0.5, distance="hierarchical")
        )


# -- verification


def test_a_conditional_promise_says_what_it_rests_on() -> None:
    walked = release(search="walk", steps=2).guarantee.promises[0]
    assert walked.strength == "conditional"
    assert any("walk" in assumption for assumption in walked.assumptions)
    assert any("seed" in assumption for assumption in walked.assumptions)
    plan = shoal.Plan(schema=SCHEMA, models=(WANTED,), method=shoal.methods.Truthful())
    assert plan.run(table()).guarantee.promises[0].strength == "unconditional"


def _broken(certificate: dict, part: str) -> None:
    drawn = next(step for step in certificate["steps"] if step["step"] in ("sampled", "trimmed"))
    chosen = next(step for step in certificate["steps"] if step["step"] == "scheme-chosen")
    promise = certificate["promises"][0]
    match part:
        case "budget, more than promised":
            chosen["epsilon_spent"] = "1/2"
        case "budget, another total":
            certificate["budget"]["epsilon"] = "1/2"
        case "budget, negative":
            chosen["epsilon_spent"] = "-1/2"
        case "operator, k too small":
            drawn["k"] = 2
        case "operator, rate too large":
            drawn["beta"] = "9/10"
        case "operator, m one too small":
            drawn["m"] -= 1
        case "operator, m below 0":
            drawn["m"] = -1
        case "operator, nothing shown is too small":
            drawn["least"] = 0
        case "operator, another definition":
            drawn["definition"] = "standard"
        case "operator, no definition":
            drawn["definition"] = "any"
        case "operator, not there":
            certificate["steps"].remove(drawn)
        case "operator, not a number":
            drawn["beta" if "beta" in drawn else "m"] = "much"
        case "operator, more delta":
            drawn["delta_spent"] = certificate["budget"]["delta"] = "1/2"
        case "operator, both":
            other = {"step": "trimmed", "m": 50, "least": 1} if drawn["step"] == "sampled" else {"step": "sampled"}
            certificate["steps"].insert(certificate["steps"].index(drawn), {**drawn, **other})
        case "classes, least too large":
            drawn["k" if "k" in drawn else "least"] = 10**6
        case "scheme, unknown search":
            chosen["search"] = "exact"
        case "words, walk called unconditional":
            chosen["search"] = "published walk"
            promise["strength"] = "unconditional"
        case "words, seed called unconditional":
            certificate["randomness"] = "a seed"
            promise["strength"] = "unconditional"
        case "words, other neighbours":
            promise["neighbours"] = "replace one record; the number of records is public"
        case "domains, inferred":
            certificate["domains"][0]["provenance"] = "inferred from the data"
        case "domains, guessed":
            certificate["roles"] = "guessed"
        case "silence, suppressed records":
            certificate["steps"].append({"step": "suppressed", "records": 3, "of": 30, "description": "x"})
        case "words, another statement":
            promise["statement"] = "Nothing at all is revealed about anybody."
        case "words, fewer assumptions":
            promise["assumptions"].pop()
        case "words, a doubt left out":
            chosen["search"], promise["strength"] = "published walk", "conditional"
        case "words, another unit":
            promise["unit"] = "household"
        case "words, another figure":
            promise["exact"]["k" if "k" in promise["exact"] else "m"] = 10**6
        case "words, one figure more":
            promise["exact"]["risk"] = 0
        case "steps, an unknown one":
            certificate["steps"].insert(0, {"step": "pseudonymized", "columns": ["name"], "algorithm": "x"})
        case "steps, another description":
            chosen["description"] = "Chose the scheme by magic."
        case "steps, another order":
            certificate["steps"].reverse()
        case "steps, twice the same":
            certificate["steps"].append(certificate["steps"][-1])
        case "steps, other columns":
            next(step for step in certificate["steps"] if step["step"] == "generalized")["columns"].pop()
        case "figures, a smaller delta":
            promise["exact"]["delta attained, rounded up"] = 1e-300
        case "figures, a sensitivity of nothing":
            chosen["sensitivity"] = promise["exact"]["sensitivity of the score"] = "1"
        case "figures, another share of the search":
            promise["parameters"]["search_share"] = 0.5
        case "figures, no share of the search":
            del promise["parameters"]["search_share"]
        case "figures, an unknown score":
            chosen["score"] = "beauty"
        case "filters, a promise that nothing was left out for":
            certificate["promises"].append(
                {
                    "model": "distinct-l-diversity",
                    "parameters": {"attribute": "pain", "l": 1},
                    "strength": "syntactic",
                    "statement": "x",
                }
            )


@pytest.fixture(scope="module", params=["trim", "sampling"])
def sound(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    plan = shoal.Plan(schema=SCHEMA, models=(WANTED,), method=shoal.methods.Truthful(operator=request.param))
    return plan.run(table()).write(tmp_path_factory.mktemp("truthful") / request.param)


GRAMMAR = {
    "operator, no definition",
    "operator, not there",
    "operator, not a number",
    "operator, both",
    "scheme, unknown search",
    "silence, suppressed records",
    "steps, an unknown one",
    "steps, another description",
    "steps, another order",
    "steps, twice the same",
    "steps, other columns",
    "words, a doubt left out",
    "words, walk called unconditional",
    "figures, an unknown score",
}

ONLY = {
    "operator, k too small": "sampling",
    "operator, rate too large": "sampling",
    "operator, m one too small": "trim",
    "operator, m below 0": "trim",
    "operator, nothing shown is too small": "trim",
}


@pytest.mark.parametrize(
    "part",
    [
        "budget, more than promised",
        "budget, another total",
        "budget, negative",
        *ONLY,
        "operator, another definition",
        "operator, no definition",
        "operator, not there",
        "operator, not a number",
        "operator, more delta",
        "operator, both",
        "classes, least too large",
        "scheme, unknown search",
        "domains, inferred",
        "domains, guessed",
        "silence, suppressed records",
        "words, another statement",
        "words, fewer assumptions",
        "words, a doubt left out",
        "words, walk called unconditional",
        "words, seed called unconditional",
        "words, other neighbours",
        "words, another unit",
        "words, another figure",
        "words, one figure more",
        "steps, an unknown one",
        "steps, another description",
        "steps, another order",
        "steps, twice the same",
        "steps, other columns",
        "figures, a smaller delta",
        "figures, a sensitivity of nothing",
        "figures, another share of the search",
        "figures, no share of the search",
        "figures, an unknown score",
        "filters, a promise that nothing was left out for",
    ],
)
def test_a_broken_certificate_fails_where_it_is_broken(part: str, sound: Path) -> None:
    if ONLY.get(part, sound.name) != sound.name:
        return
    path = sound / "certificate.json"
    original = path.read_text()
    certificate = json.loads(original)
    _broken(certificate, part)
    if part != "steps, another description":
        for step in certificate["steps"]:
            forger.let_words_fit(step)
    assert certificate != json.loads(original)
    try:
        path.write_text(json.dumps(certificate))
        failed = [check.subject for check in shoal.verify(sound, rendered=False).checks if not check.passed]
    finally:
        path.write_text(original)
    # what is no step of the method at all, or not there, is refused before anybody looks at the promise
    home = "steps" if part in GRAMMAR else f"differential-privacy, {part.partition(',')[0]}"
    assert ("promises" if part.startswith("filters") else home) in failed


def test_an_operator_that_the_plan_does_not_ask_for_fails(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(sound, folder)
    other = {"trim": "sampling", "sampling": "trim"}[sound.name]
    plan = (folder / "plan.toml").read_text()
    assert f'operator = "{sound.name}"' in plan
    (folder / "plan.toml").write_text(plan.replace(f'operator = "{sound.name}"', f'operator = "{other}"'))
    failed = [check.subject for check in shoal.verify(folder).checks if not check.passed]
    assert failed == ["plan.toml", "steps", "differential-privacy, operator"]


def test_a_promise_about_another_file_fails(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(sound, folder)
    certificate = json.loads((folder / "certificate.json").read_text())
    certificate["promises"][0]["file"] = "other.parquet"
    (folder / "certificate.json").write_text(json.dumps(certificate))
    failed = [check.subject for check in shoal.verify(folder, rendered=False).checks if not check.passed]
    assert failed == ["certificate.json", "differential-privacy (unconditional)"]


def test_a_table_as_it_is_does_not_verify(sound: Path, tmp_path: Path) -> None:

    folder = tmp_path / "release"
    shutil.copytree(sound, folder)
    raw = people().drop_columns(["name"])
    pq.write_table(raw.set_column(0, "age", raw["age"].cast(pa.string())), folder / "data.parquet")
    failed = [check.subject for check in shoal.verify(folder).checks if not check.passed]
    assert {"data.parquet", "records"} <= {*failed}
    assert "differential-privacy, classes" in failed or sound.name == "trim", "trimming shows single records"


@pytest.mark.parametrize("operator", ["trim", "sampling"])
def test_values_of_another_level_do_not_verify(operator: str, tmp_path: Path) -> None:
    made = release(levels={"age": 1, "town": 1, "pain": 0}, operator=operator)
    folder = made.write(tmp_path / "release")
    rows = pq.read_table(folder / "data.parquet")
    towns = pa.array(["A" if town == "north" else town for town in rows["town"].to_pylist()])
    pq.write_table(rows.set_column(1, "town", towns), folder / "data.parquet")
    failed = [check.subject for check in shoal.verify(folder, rendered=False).checks if not check.passed]
    assert failed == ["data.parquet", "values", "differential-privacy, values"]


def test_no_table_goes_beside_the_one_that_the_promise_is_about(sound: Path, tmp_path: Path) -> None:

    folder = tmp_path / "release"
    shutil.copytree(sound, folder)
    shutil.copy(folder / "data.parquet", folder / "more.parquet")
    path = folder / "certificate.json"
    certificate = json.loads(path.read_text())
    certificate["further_data"] = [{**certificate["data"], "file": "more.parquet"}]
    entry = next(each for each in certificate["files"] if each["name"] == "data.parquet")
    certificate["files"].append({**entry, "name": "more.parquet"})
    path.write_text(json.dumps(certificate))
    failed = [check.subject for check in shoal.verify(folder).checks if not check.passed]
    assert "differential-privacy, domains" in failed


def test_a_table_that_is_listed_twice_does_not_verify(sound: Path, tmp_path: Path) -> None:

    folder = tmp_path / "release"
    shutil.copytree(sound, folder)
    path = folder / "certificate.json"
    certificate = json.loads(path.read_text())
    certificate["further_data"] = [certificate["data"]]
    path.write_text(json.dumps(certificate))
    assert not shoal.verify(folder).passed


def test_records_with_missing_values_are_left_out_silently() -> None:
    attributes = tuple(
        dataclasses.replace(each, missing=Missing.DROP) if each.name == "age" else each for each in SCHEMA
    )
    data = shoal.read(people()).with_schema(Schema(attributes=attributes))
    made = shoal.anonymize(data, WANTED, method=shoal.methods.Truthful(levels={"age": 1, "town": 1, "pain": 0}))
    assert None not in made.table.to_arrow()["age"].to_pylist()
    assert "left-out" not in [event.name for event in made.guarantee.events]
    assert made.private is not None
    assert made.private.left_out > 0


@pytest.mark.parametrize("delta", ["1e-5", "1e-7", "3e-8", "1e-9"])
def test_the_attained_delta_is_confirmed_whatever_its_last_digit(tmp_path: Path, delta: str) -> None:
    town = Attribute(name="town", role=Role.QUASI_IDENTIFIER, domain=Domain(values=("a", "b")), hierarchy=Flat())
    table = shoal.read(pa.table({"town": ["a", "b"] * 2_000})).with_schema(Schema(attributes=(town,)))
    release = shoal.anonymize(table, shoal.DifferentialPrivacy(epsilon=1, delta=delta))
    assert shoal.verify(release.write(tmp_path / "release")).passed


def test_where_cells_look_alike_the_standard_definition_is_promised(tmp_path: Path) -> None:
    """`a;x;*` and `b;*;*`: cells of a scheme with b at level 1 and with a at level 2 are both released as `*`.

    With 26 times b and once a, epsilon 0.5 and delta 0.0068, outcomes that break the ratio have probability 0.0088.
    """
    (tmp_path / "letter.csv").write_text("a;x;*\nb;*;*\n", encoding="utf-8")
    letter = Attribute(name="letter", role=Role.QUASI_IDENTIFIER, hierarchy=FromFile(path="letter.csv"))
    known = Schema(attributes=(letter,), folder=tmp_path)
    table = shoal.read(pa.table({"letter": ["b"] * 400 + ["a"]})).with_schema(known)
    asked = shoal.DifferentialPrivacy(epsilon=2, delta=0.01, definition="probabilistic")
    for scheme, promised in (("multi-dimensional", "standard"), ("full-domain", "probabilistic")):
        plan = shoal.Plan(schema=known, models=(asked,), method=shoal.methods.Truthful(scheme=scheme))
        made = plan.run(table, source=SeededSource(1))
        assert made.guarantee.promises[0].parameters["definition"] == promised
