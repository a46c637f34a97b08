"""Planted leaks are caught, independent columns raise no alarm, and an attack of the tests' own agrees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linear_sum_assignment

import shoal
from shoal.errors import DataError, ParameterError, PlanError
from shoal.rehearsal import HollowRelease, Rehearsal, rehearsal_line, rehearsal_rows, rehearse
from shoal.report import internal_report, render_html, render_text

RECORDS, K = 2_000, 5
Case = tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray]


def _people(draws: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights, heights and classes of people of about the same height."""
    weight, height = draws.normal(50, 15, RECORDS), draws.normal(170, 10, RECORDS)
    band = np.digitize(height, np.quantile(height, np.linspace(0, 1, 41)[1:-1]))
    classes = np.empty(RECORDS, dtype=np.int64)
    classes[np.lexsort((draws.random(RECORDS), band))] = np.arange(RECORDS) // K
    return np.round(weight, 1), np.round(height), classes


def one_column(draws: np.random.Generator) -> Case:
    weight, height, classes = _people(draws)
    bmi = np.round(weight / (height / 100) ** 2, 1)
    return {"weight": weight, "height": height}, {"bmi": bmi, "other": draws.normal(0, 1, RECORDS)}, classes


def ten_columns(draws: np.random.Generator) -> Case:
    weight, height, classes = _people(draws)
    shared = {f"column {n}": np.round(weight + height + draws.normal(0, 25, RECORDS), 2) for n in range(10)}
    return {"weight": weight, "height": height}, shared, classes


def five_percent(draws: np.random.Generator) -> Case:
    weight, height, classes = _people(draws)
    exposed = draws.random(RECORDS) < 0.05
    other = draws.normal(220, 20, RECORDS)
    leak = np.where(exposed, weight + height + draws.normal(0, 0.05, RECORDS), other)
    return {"weight": weight, "height": height, "exposed": exposed * 1}, {"leak": np.round(leak, 2)}, classes


def common_shift(draws: np.random.Generator) -> Case:
    weight, height, classes = _people(draws)
    shift = draws.normal(0, 300, classes.max() + 1)[classes]
    return {"weight": weight, "height": height}, {"leak": np.round(3 * weight + height + shift, 1)}, classes


def sum_of_three(draws: np.random.Generator) -> Case:
    parts = {name: draws.integers(0, 500, RECORDS) for name in "abc"}
    classes = np.empty(RECORDS, dtype=np.int64)
    classes[np.lexsort((parts["b"], parts["a"] // 25))] = np.arange(RECORDS) // K
    return parts, {"total": np.round(sum(parts.values()) / 10) * 10}, classes


LEAKS: list[Callable[[np.random.Generator], Case]] = [
    one_column,
    ten_columns,
    five_percent,
    common_shift,
    sum_of_three,
]


def _rehearsed(case: Case, **options: object) -> Rehearsal:
    known, released, classes = case
    found = rehearse(pa.table(known), pa.table(released), classes, risk=1 / K, **options)  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
@pytest.mark.parametrize("seed", range(2))
def test_planted_leaks_are_hollow(leak: Callable[[np.random.Generator], Case], seed: int) -> None:
    found = _rehearsed(leak(np.random.default_rng(seed)))
    assert found.hollow
    assert found.culprits


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_the_same_columns_permuted_within_classes_are_not_hollow(leak: Callable[[np.random.Generator], Case]) -> None:
    draws = np.random.default_rng(1)
    known, released, classes = leak(draws)
    order = np.lexsort((draws.random(RECORDS), classes))
    moved = np.empty(RECORDS, dtype=np.int64)
    moved[np.argsort(classes, kind="stable")] = order
    assert not _rehearsed((known, {name: column[moved] for name, column in released.items()}, classes)).hollow


def test_the_one_culprit_is_named_and_accepting_it_lets_the_release_go() -> None:
    case = one_column(np.random.default_rng(0))
    assert _rehearsed(case).culprits == ("bmi",)
    accepted = _rehearsed(case, accepted=["bmi"])
    assert (accepted.hollow, accepted.accepted) == (False, ("bmi",))
    assert accepted.success > 0.5


def test_an_attack_of_our_own_agrees() -> None:
    known, released, classes = one_column(np.random.default_rng(2))
    expected = known["weight"] / (known["height"] / 100) ** 2
    nearest, matched = 0.0, 0
    for number in range(classes.max() + 1):
        members = np.flatnonzero(classes == number)
        away = np.abs(expected[members][:, None] - released["bmi"][members][None, :])
        best = away <= away.min(axis=1, keepdims=True) + 1e-9
        nearest += float(np.sum(np.diag(best) / best.sum(axis=1)))
        matched += int(np.sum(linear_sum_assignment(away)[1] == np.arange(len(members))))
    found = _rehearsed((known, released, classes)).success
    assert max(nearest, matched) / RECORDS > 0.9
    assert found > 0.8 * max(nearest, matched) / RECORDS


def test_boosting_finds_what_no_formula_says() -> None:
    pytest.importorskip("sklearn")
    draws = np.random.default_rng(3)
    weight, height, classes = _people(draws)
    leak = np.sin(weight / 8) * 100 + draws.normal(0, 2, RECORDS)
    case = ({"weight": weight, "height": height}, {"leak": np.round(leak, 2)}, classes)
    assert _rehearsed(case, kind="learned").hollow


def _independent(seed: int) -> Case:
    draws = np.random.default_rng(seed)
    weight, height, classes = _people(draws)
    kinds = [
        lambda: np.round(draws.normal(0, 1, RECORDS), 3),
        lambda: np.where(draws.random(RECORDS) < 0.98, 0, draws.integers(1, 50, RECORDS)),
        lambda: draws.integers(0, 6, RECORDS),
    ]
    columns = {f"column {n}": kinds[draws.integers(0, 3)]() for n in range(1 + seed % 30)}
    return {"weight": weight, "height": height}, columns, classes


@pytest.mark.deep
def test_independent_columns_raise_at_most_seven_alarms_in_two_hundred() -> None:
    found = [_rehearsed(_independent(seed), always_test=True) for seed in range(200)]
    assert sum(each.p_value <= 0.01 for each in found if each.p_value is not None) <= 7
    assert all(each.p_value is not None for each in found)
    assert not any(each.hollow for each in found)


@pytest.mark.parametrize("seed", [0, 7])
def test_independent_columns_are_not_hollow(seed: int) -> None:
    assert not _rehearsed(_independent(seed)).hollow


def test_the_verdict_is_the_same_again() -> None:
    case = five_percent(np.random.default_rng(5))
    assert _rehearsed(case) == _rehearsed(case)


def test_what_is_not_there_cannot_be_accepted_and_kinds_are_checked() -> None:
    case = one_column(np.random.default_rng(0))
    with pytest.raises(DataError, match="`elsewhere`"):
        _rehearsed(case, accepted=["elsewhere"])
    with pytest.raises(ParameterError, match="`kind`"):
        _rehearsed(case, kind="wild")


def _patients() -> shoal.Table:
    draws = np.random.default_rng(4)
    weight, height = np.round(draws.normal(75, 15, 1000)), np.round(draws.normal(170, 10, 1000))
    records = pa.table({"weight": weight, "height": height, "bmi": np.round(weight / (height / 100) ** 2, 1)})
    intervals = shoal.schema.Intervals(widths=(5, 20, 40))
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(name="weight", role="quasi-identifier", kind="numeric", hierarchy=intervals),
            shoal.Attribute(name="height", role="quasi-identifier", kind="numeric", hierarchy=intervals),
            shoal.Attribute(name="bmi", role="sensitive", kind="numeric"),
        )
    )
    return shoal.read(records).with_schema(schema)


@pytest.mark.parametrize(
    "method", [shoal.Generalize(), shoal.methods.Mondrian(), shoal.methods.Mdav()], ids=lambda each: each.name
)
def test_releases_of_patients_with_their_bmi_are_hollow(method: shoal.methods.Method) -> None:
    found = shoal.anonymize(_patients(), shoal.KAnonymity(5), method=method).rehearse()
    assert found is not None
    assert found.culprits == ("bmi",)


@pytest.mark.parametrize("method", [shoal.Generalize(), shoal.methods.Mdav()], ids=lambda each: each.name)
def test_the_certificate_says_what_was_accepted(method: shoal.methods.Method, tmp_path) -> None:
    table = _patients()
    plan = shoal.Plan(schema=table.schema, models=(shoal.KAnonymity(5),), method=method, accepted=("bmi",))
    assert shoal.Plan.loads(plan.dumps()) == plan
    release = plan.run(table)
    assert not release.rehearse().hollow
    (promise,) = release.guarantee.promises
    assert promise.assumptions[-1].startswith("The publisher accepts that `bmi`")
    release.write(tmp_path / "release")
    assert shoal.verify(tmp_path / "release").passed
    text = (tmp_path / "release" / "plan.toml").read_text()
    (tmp_path / "release" / "plan.toml").write_text(text.replace('accepted = ["bmi"]\n', ""))
    assert not shoal.verify(tmp_path / "release").passed


# -- the gate


def test_a_hollow_release_is_not_written(tmp_path: Path) -> None:
    release = shoal.anonymize(_patients(), k=5)
    with pytest.raises(HollowRelease, match="what gives the records away: `bmi`") as caught:
        release.write(tmp_path / "release")
    assert not (tmp_path / "release").exists()
    assert caught.value.exit_code == 1
    assert caught.value.rehearsal is not None


def test_the_certificate_says_that_an_attack_was_rehearsed_and_no_figure_of_it(tmp_path: Path) -> None:
    table = _patients()
    plan = shoal.Plan(schema=table.schema, models=(shoal.KAnonymity(5),), accepted=("bmi",))
    release = plan.run(table)
    release.write(tmp_path / "release")
    certificate = json.loads((tmp_path / "release" / "certificate.json").read_text())
    assert certificate["rehearsal"] == {"kind": "exact", "margin": "3/2", "accepted": ["bmi"]}
    found = release.rehearse()
    assert found is not None
    for path in ("summary.txt", "report.html", "certificate.json"):
        text = (tmp_path / "release" / path).read_text()
        assert "rehearsal" in text or "rehearsed" in text
        assert f"{found.success:.1%}" not in text, "figures of the rehearsal come from the original"


@pytest.mark.parametrize("change", [{"kind": "learned"}, {"margin": "1"}, {"accepted": []}])
def test_a_certificate_that_says_something_else_of_the_rehearsal_fails(
    change: dict[str, object], tmp_path: Path
) -> None:
    table = _patients()
    plan = shoal.Plan(schema=table.schema, models=(shoal.KAnonymity(5),), accepted=("bmi",))
    plan.run(table).write(tmp_path / "release")
    path = tmp_path / "release" / "certificate.json"
    certificate = json.loads(path.read_text())
    certificate["rehearsal"] |= change
    path.write_text(json.dumps(certificate))
    failed = [check.subject for check in shoal.verify(tmp_path / "release").checks if not check.passed]
    assert "rehearsal" in failed


def test_the_plan_names_the_kind() -> None:
    pytest.importorskip("sklearn")
    table = _patients()
    plan = shoal.Plan(schema=table.schema, models=(shoal.KAnonymity(5),), rehearsal="learned")
    assert 'rehearsal = "learned"' in plan.dumps()
    assert shoal.Plan.loads(plan.dumps()) == plan
    assert plan.run(table).rehearse().kind == "learned"
    with pytest.raises(PlanError, match="`rehearsal` must be `exact` or `learned`"):
        shoal.Plan(schema=table.schema, models=(shoal.KAnonymity(5),), rehearsal="wild")


def test_a_number_is_rounded_to_the_finest_step_at_which_the_attack_fails(tmp_path: Path) -> None:
    table = _patients()
    release = shoal.anonymize(table, k=5)
    steps = release.finest_steps("bmi")
    schema = table.schema.with_rounding(steps)
    rounded = shoal.anonymize(table.with_schema(schema), k=5)
    assert not rounded.rehearse().hollow
    finer = {name: step / (2.5 if f"{step:e}"[0] == "5" else 2) for name, step in steps.items()}
    assert shoal.anonymize(table.with_schema(table.schema.with_rounding(finer)), k=5).rehearse().hollow
    rounded.write(tmp_path / "release")
    assert shoal.verify(tmp_path / "release").passed
    with pytest.raises(ParameterError, match="`weight` is no column of numbers that is released as it is"):
        release.finest_steps("weight")


# -- persons, means, and methods that exchange values


def test_persons_are_targets_where_persons_are_counted() -> None:
    draws = np.random.default_rng(7)
    known, released, classes = one_column(draws)
    persons = np.arange(RECORDS)
    alone = rehearse(pa.table(known), pa.table(released), classes, risk=1 / K, persons=persons)
    assert alone == _rehearsed((known, released, classes))
    # every person twice in the same class: pairs of rows that tell the same
    twice = {name: np.repeat(column, 2) for name, column in known.items()}
    values = {name: np.repeat(column, 2) for name, column in released.items()}
    found = rehearse(
        pa.table(twice), pa.table(values), np.repeat(classes, 2), risk=1 / K, persons=np.repeat(persons, 2)
    )
    assert found is not None
    assert found.targets == RECORDS
    assert found.hollow
    assert found.chance == pytest.approx(1 / K)


def test_visits_of_patients_are_rehearsed() -> None:
    draws = np.random.default_rng(8)
    patients = 600
    weight, height = np.round(draws.normal(75, 15, patients)), np.round(draws.normal(170, 10, patients))
    who = np.repeat(np.arange(patients), draws.integers(1, 4, patients))
    columns = {"patient": who, "weight": weight[who], "height": height[who]}
    columns["bmi"] = np.round(columns["weight"] / (columns["height"] / 100) ** 2, 1)
    intervals = shoal.schema.Intervals(widths=(5, 20, 40))
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(name="patient", role="person"),
            shoal.Attribute(name="weight", role="quasi-identifier", kind="numeric", hierarchy=intervals),
            shoal.Attribute(name="height", role="quasi-identifier", kind="numeric", hierarchy=intervals),
            shoal.Attribute(name="bmi", role="sensitive", kind="numeric"),
        )
    )
    table = shoal.read(pa.table(columns)).with_schema(schema)
    found = shoal.anonymize(table, k=5).rehearse()
    assert found is not None
    assert found.culprits == ("bmi",)
    assert found.targets < len(who)


def test_a_promise_of_a_mean_risk_is_held_to_its_mean() -> None:
    table = _patients()
    method = shoal.Generalize(suppression_limit=0.5)
    found = shoal.anonymize(table, shoal.models.AverageRisk(0.2), method=method).rehearse()
    assert found is not None
    assert (found.risk, found.is_mean, found.hollow) == (0.2, True, True)
    assert all(each.threshold is None for each in found.exposures if each.slice < 1)


def test_a_promise_without_a_risk_is_attacked_and_never_refused() -> None:
    known, released, classes = one_column(np.random.default_rng(9))
    found = rehearse(pa.table(known), pa.table(released), classes, risk=None)
    assert found is not None
    assert (found.hollow, found.success > 0.5) == (False, True)


@pytest.mark.parametrize(
    "method", [shoal.methods.Swap(), shoal.methods.IndividualRankingSwap()], ids=lambda each: each.name
)
def test_exchanged_values_that_follow_from_what_stays_are_hollow(method: shoal.methods.Method) -> None:
    table = _patients()
    plan = shoal.Plan(schema=table.schema, models=(shoal.models.ProbabilisticKAnonymity(5),), method=method)
    found = plan.run(table).rehearse()
    assert found is not None
    assert found.culprits == ("bmi",)


def test_the_report_of_the_publisher_begins_with_the_rehearsal(tmp_path: Path) -> None:
    table = _patients()
    plan = shoal.Plan(schema=table.schema, models=(shoal.KAnonymity(5),), accepted=("bmi",))
    release = plan.run(table)
    folder = release.write(tmp_path / "release")
    found = release.rehearse()
    assert found is not None
    document = internal_report(folder, table, plan)
    page, text = render_html(document), render_text(document)
    assert page.index(rehearsal_line(found)) < page.index("Contents")
    assert text.index(rehearsal_line(found)) < text.index("Promised")
    for who, share in rehearsal_rows(found):
        assert share in text
        assert who.replace("`", "") in text.replace("`", "")
    assert rehearsal_line(found) not in (folder / "report.html").read_text()


def test_columns_that_say_the_same_of_everybody_tell_nothing() -> None:
    draws = np.random.default_rng(1)
    weight, height, classes = _people(draws)
    known, released = pa.table({"weight": weight, "height": height}), pa.table({"other": np.ones(RECORDS)})
    found = rehearse(known, released, classes, risk=1 / K)
    assert found is not None
    assert not found.hollow
    assert found.singled_out == 0


def _places(draws: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ages, places and classes of people of one age each."""
    return 18 + np.arange(RECORDS) // 40, draws.integers(0, 200, RECORDS), np.arange(RECORDS) // 8


def missing_values(draws: np.random.Generator) -> Case:
    age, place, classes = _places(draws)
    given = {f"score {at}": np.where((place + at) % 10 < 5, np.nan, draws.integers(1, 9, RECORDS)) for at in range(10)}
    return {"age": age, "place": place}, given, classes


def texts_with_parts(draws: np.random.Generator) -> Case:
    age, place, classes = _places(draws)
    code = [f"{'fm'[p % 2]}{a}-{p % 100}" for a, p in zip(age, place, strict=True)]
    return {"age": age, "place": place}, {"code": np.array(code)}, classes


def last_digits(draws: np.random.Generator) -> Case:
    age, place, classes = _places(draws)
    return {"age": age, "place": place}, {"amount": draws.integers(100, 9_000, RECORDS) * 100 + place % 100}, classes


@pytest.mark.parametrize("leak", [missing_values, texts_with_parts, last_digits])
def test_what_values_show_besides_themselves_is_looked_at(leak: Callable[[np.random.Generator], Case]) -> None:
    draws = np.random.default_rng(3)
    known, released, classes = leak(draws)
    assert _rehearsed((known, released, classes)).hollow
    order = np.concatenate([draws.permutation(rows) for rows in np.arange(RECORDS).reshape(-1, 8)])
    permuted = {name: values[order] for name, values in released.items()}
    assert not _rehearsed((known, permuted, classes)).hollow
