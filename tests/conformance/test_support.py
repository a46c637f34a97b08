"""No unconditional promise has outputs that give one value away: what is possible does not depend on the data.

One value of one record is replaced by another of the declared domain, which occurs nowhere else in the table. The
values that can be released, the types of the columns, the files, the certificates and the errors must stay the same.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import ShoalError
from shoal.mechanisms import SeededSource
from shoal.queries import Session
from shoal.schema import Attribute, Dates, Domain, Kind, Role, Schema

AGE = Attribute(
    name="age",
    role=Role.QUASI_IDENTIFIER,
    kind=Kind.NUMERIC,
    domain=Domain(minimum=0, maximum=99),
    hierarchy=shoal.schema.Intervals(widths=(10,)),
)
ONSET = Attribute(
    name="onset",
    role=Role.SENSITIVE,
    kind=Kind.DATE,
    domain=Domain(minimum=dt.date(2020, 1, 1), maximum=dt.date(2020, 12, 31)),
    hierarchy=Dates(levels=("month", "year")),
)


def _onsets(changed: dt.date, run: int) -> list[str]:
    days = [changed, *(dt.date(2020, 3, 1) + dt.timedelta(days=i % 5) for i in range(39))]
    rows = pa.table({"age": [20 + i % 4 for i in range(40)], "onset": days})
    table = shoal.read(rows).with_schema(Schema(attributes=(AGE, ONSET)))
    plan = shoal.Plan(
        schema=table.schema, models=(shoal.KAnonymity(5),), method=shoal.methods.StochasticCloseness(epsilon=1)
    )
    release = plan.run(table, source=SeededSource(run))
    return [str(value) for value in release.table.to_arrow()["onset"].to_pylist()]


@pytest.mark.parametrize("changed", [dt.date(2020, 3, 1), dt.date(2020, 9, 9)])
def test_a_day_that_nobody_else_has_is_as_possible_as_any_other(changed: dt.date) -> None:
    released = [value for run in range(6) for value in _onsets(changed, run)]
    # 240 responses, nearly uniform over 366 days: 176 different ones are expected, with a deviation below 7
    assert len({*released}) > 130
    assert {*released} <= {str(dt.date(2020, 1, 1) + dt.timedelta(days=i)) for i in range(366)}


PAIN = ("none", "mild", "severe")
TOWN = Attribute(name="town", role=Role.QUASI_IDENTIFIER, domain=Domain(values=("A", "B", "C")))
FELT = Attribute(name="pain", role=Role.SENSITIVE, kind=Kind.ORDINAL, domain=Domain(values=PAIN))
DAYS = Schema(attributes=(AGE, TOWN, FELT, ONSET))
PRIVATE: dict[str, shoal.Plan] = {
    "truthful": shoal.Plan(
        schema=Schema(attributes=(AGE, TOWN, FELT)),
        models=(shoal.DifferentialPrivacy(epsilon=2, delta=1e-2),),
        method=shoal.methods.Truthful(levels={"age": 1, "town": 1, "pain": 0}),
    ),
    "truthful-tables": shoal.Plan(
        schema=Schema(attributes=(AGE, TOWN, FELT)),
        models=(shoal.DifferentialPrivacy(epsilon=4, delta=1e-2),),
        method=shoal.methods.TruthfulTables(tables="columns"),
    ),
    "truthful-tables, joint": shoal.Plan(
        schema=Schema(attributes=(AGE, TOWN, FELT)),
        models=(shoal.DifferentialPrivacy(epsilon=4, delta=1e-2),),
        method=shoal.methods.TruthfulTables(tables="pairs+joint", pairs=0),
    ),
    "dp-microaggregation": shoal.Plan(
        schema=DAYS,
        models=(shoal.methods.noise.EpsilonBudget(2),),
        method=shoal.methods.DPMicroaggregation(target="original", k=20),
    ),
    "stochastic-closeness": shoal.Plan(
        schema=DAYS, models=(shoal.KAnonymity(5),), method=shoal.methods.StochasticCloseness(epsilon=2)
    ),
}
#: a value of the declared domain that nobody in the table has, for each column that a promise covers
NEW: dict[str, dict[str, object]] = {
    "truthful": {"age": 98, "town": "C", "pain": "severe"},
    "truthful-tables": {"age": 98, "town": "C", "pain": "severe"},
    "truthful-tables, joint": {"age": 98, "town": "C", "pain": "severe"},
    "dp-microaggregation": {"age": 98, "town": "C", "pain": "severe", "onset": dt.date(2020, 9, 9)},
    "stochastic-closeness": {"pain": "severe", "onset": dt.date(2020, 9, 9)},
}


def _people(changes: dict[str, object]) -> pa.Table:
    columns: dict[str, list[object]] = {
        "age": [20 + i % 3 for i in range(300)],
        "town": ["AB"[i % 2] for i in range(300)],
        "pain": [PAIN[i // 2 % 2] for i in range(300)],
        "onset": [dt.date(2020, 3, 1 + i % 4) for i in range(300)],
    }
    for name, value in changes.items():
        columns[name][7] = value
    return pa.table(columns)


def _shown(plan: shoal.Plan, changes: dict[str, object], folder: Path, run: int) -> tuple[object, ...]:
    """Return what a release shows besides what is drawn: files, columns with their types, and what is promised."""
    table = shoal.read(_people(changes).select(list(plan.schema.names))).with_schema(plan.schema)
    written = plan.run(table, source=SeededSource(run)).write(folder)
    content = json.loads((written / "certificate.json").read_text())
    file = content["data"]["file"] if "data" in content else content["tables"][0]["file"]
    # which delta the operator attains and how large classes are follows from the plan; nothing here was drawn
    return (
        sorted(path.relative_to(written).as_posix() for path in written.rglob("*")),
        [(each.name, str(each.type)) for each in pq.read_schema(written / file)],
        sorted(content),
        content["promises"],
        content["domains"],
        content.get("budget"),
        [step["step"] for step in content["steps"]],
        (written / "plan.toml").read_text(),
    )


@pytest.mark.parametrize("name", PRIVATE)
def test_nothing_but_what_is_drawn_differs_when_somebody_has_a_value_that_nobody_else_has(
    name: str, tmp_path: Path
) -> None:
    plan = PRIVATE[name]
    before = [_shown(plan, {}, tmp_path / f"before-{run}", run) for run in range(3)]
    after = [_shown(plan, NEW[name], tmp_path / f"after-{run}", run) for run in range(3)]
    assert all(each == before[0] for each in (*before, *after))


#: questions of every kind, and ones that are refused
QUESTIONS: dict[str, Callable[[Session], object]] = {
    "count": lambda session: session.count("age >= 90", epsilon=1).value,
    "histogram": lambda session: [*_cells(session.histogram("town", epsilon=1).value)],
    "ages": lambda session: [*_cells(session.histogram("age", epsilon=1, edges=(0, 50, 100)).value)],
    "mean": lambda session: session.mean("age", epsilon=1).value,
    "quantile": lambda session: session.quantile("age", epsilon=1).value,
    "no such value": lambda session: session.count('town = "D"', epsilon=1).value,
    "unknown column": lambda session: session.count("weight > 3", epsilon=1).value,
    "too dear": lambda session: session.count(epsilon=10**6).value,
}


def _cells(value: object) -> dict[str, object]:
    assert isinstance(value, dict)
    return value


def _answered(changes: dict[str, object], question: str) -> object:
    """Return the form of an answer or the words of a refusal, and what it cost."""
    rows = _people(changes).select(["age", "town", "pain"])
    session = Session(shoal.read(rows, schema=Schema(attributes=(AGE, TOWN, FELT))), 100)
    try:
        answer = QUESTIONS[question](session)
    except ShoalError as error:
        return type(error), str(error), session.standing
    return answer if isinstance(answer, list) else type(answer), session.standing


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("changed", ["age", "town", "pain"])
def test_answers_refusals_and_costs_do_not_tell_that_somebody_has_a_value(question: str, changed: str) -> None:
    assert _answered({}, question) == _answered({changed: NEW["truthful"][changed]}, question)
