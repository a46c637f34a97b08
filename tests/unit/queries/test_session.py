from __future__ import annotations

import datetime as dt
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from reference.noise import QuickSource
from shoal.errors import FilterError, ParameterError, SchemaError, ShoalError
from shoal.mechanisms import SYSTEM, CategoricalPrior, NumericPrior
from shoal.queries import BudgetSpent, Count, Ledger, LookUp, Loss, NotAnswered, Session, Sum
from shoal.schema import Attribute, Domain, Groups, Kind, Role, Schema
from shoal.tables import Table

RECORDS = 4000
AGE = Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=100))
SCHEMA = Schema(
    attributes=(
        Attribute(name="id", role=Role.IDENTIFIER),
        Attribute(name="sex", domain=Domain(values=("F", "M"))),
        Attribute(name="pain", kind=Kind.ORDINAL, domain=Domain(values=("none", "mild", "severe"))),
        Attribute(name="illness", hierarchy=Groups(levels=((("lung", ("flu", "asthma")), ("heart", ("angina",))),))),
        Attribute(name="town"),
        AGE,
        Attribute(name="income", kind=Kind.NUMERIC, domain=Domain(minimum=-500, maximum=9000.5)),
        Attribute(name="height", kind=Kind.NUMERIC),
        Attribute(
            name="born", kind=Kind.DATE, domain=Domain(minimum=dt.date(1920, 1, 1), maximum=dt.date(2020, 12, 31))
        ),
    )
)


@pytest.fixture(scope="module")
def columns() -> dict[str, Any]:
    random = np.random.default_rng(1)
    days = dt.date(1920, 1, 1).toordinal() + random.integers(0, 36_000, RECORDS)
    return {
        "id": [f"person {i}" for i in range(RECORDS)],
        "sex": random.choice(["F", "M"], RECORDS),
        "pain": random.choice(["none", "mild", "severe"], RECORDS),
        "illness": random.choice(["flu", "asthma", "angina"], RECORDS),
        "town": random.choice(["Ulm", "Bern"], RECORDS),
        "age": random.integers(0, 101, RECORDS),
        "income": np.round(random.uniform(-500, 9000, RECORDS), 2),
        "height": random.normal(170, 10, RECORDS),
        "born": [dt.date.fromordinal(int(day)) for day in days],
    }


@pytest.fixture(scope="module")
def people(columns: dict[str, Any]) -> Table:
    return shoal.read(pa.table(columns), schema=SCHEMA)


@pytest.fixture(params=[True, False], ids=["memory", "engine"])
def session(people: Table, request: pytest.FixtureRequest) -> Session:
    # a million epsilon: nearly no noise, so that figures show
    return Session(people, 10**6, in_memory=request.param)


LOUD = 10_000


class TestFigures:
    def test_counts(self, session: Session, columns: dict[str, Any]) -> None:
        assert session.count(epsilon=LOUD).value == RECORDS
        wanted = int(((columns["age"] >= 40) & (columns["sex"] == "F")).sum())
        assert session.count('age >= 40 and sex = "F"', epsilon=LOUD).value == wanted

    def test_sums(self, session: Session, columns: dict[str, Any]) -> None:
        for noise in ("laplace", "optimal"):
            answer = session.sum("income", 'town = "Ulm"', epsilon=LOUD, noise=noise)  # type: ignore[arg-type]
            wanted = float(columns["income"][columns["town"] == "Ulm"].sum())
            assert answer.value == pytest.approx(wanted, abs=15)

    def test_means(self, session: Session, columns: dict[str, Any]) -> None:
        answer = session.mean("age", epsilon=LOUD)
        wanted = float(columns["age"].mean())
        assert answer.value == pytest.approx(wanted, abs=0.1)
        born = np.mean([day.toordinal() for day in columns["born"]])
        assert abs(dt.date.fromisoformat(str(session.mean("born", epsilon=LOUD).value)).toordinal() - born) < 20

    def test_histograms(self, session: Session, columns: dict[str, Any]) -> None:
        found = session.histogram("pain", epsilon=LOUD).value
        assert found == {
            **{pain: int((columns["pain"] == pain).sum()) for pain in ("none", "mild", "severe")},
            "(missing)": 0,
        }
        assert set(session.histogram("illness", epsilon=LOUD).value) == {"flu", "asthma", "angina", "(missing)"}  # type: ignore[arg-type]
        ages = session.histogram("age", epsilon=LOUD, edges=(0, 50, 100.5)).value
        young = int((columns["age"] < 50).sum())
        assert ages == {"[0, 50)": young, "[50, 100.5)": RECORDS - young}
        born = session.histogram("born", epsilon=LOUD, edges=("1920-01-01", "1970-01-01", "2021-01-01")).value
        assert born["[1920-01-01, 1970-01-01)"] == sum(day.year < 1970 for day in columns["born"])  # type: ignore[index]

    def test_quantiles(self, session: Session, columns: dict[str, Any]) -> None:
        for share in (0.1, "0.5", Fraction(9, 10)):
            answer = session.quantile("age", share, epsilon=LOUD)
            assert answer.value == pytest.approx(float(np.quantile(columns["age"], float(share))), abs=1)
        median = sorted(columns["born"])[RECORDS // 2]
        found = dt.date.fromisoformat(str(session.quantile("born", epsilon=LOUD).value))
        assert abs((found - median).days) < 60

    @pytest.mark.slow
    def test_look_ups(self, session: Session, columns: dict[str, Any]) -> None:
        answer = session.look_up("id", "person 17", "sex", "age", "born", "illness", epsilon=LOUD)
        assert answer.value == {
            "sex": columns["sex"][17],
            "age": columns["age"][17],
            "born": columns["born"][17].isoformat(),
            "illness": columns["illness"][17],
        }
        assert session.look_up("id", "person 18", "age", epsilon=LOUD).value == columns["age"][18]

    @pytest.mark.parametrize("paid", [{"scale": 1}, {"epsilon": 1, "scale": 1}, {"rho": 1}])
    def test_a_refined_prior_is_paid_in_epsilon_alone(self, session: Session, paid: dict[str, int]) -> None:
        with pytest.raises(ParameterError, match="must be paid for in `epsilon`"):
            session.count(prior=NumericPrior.uniform(0, 8000, step=10), **paid)

    def test_a_prior_is_refined(self, session: Session) -> None:
        prior = NumericPrior.normal(3900, 100, 0, 8000, step=10)
        assert session.count(prior=prior, epsilon=50).value == 4000
        weak = session.count(prior=prior, epsilon="0.01")
        assert 3000 < weak.value < 4800  # type: ignore[operator]

    def test_values_are_clamped_to_the_declared_bounds(self, people: Table, columns: dict[str, Any]) -> None:
        from dataclasses import replace

        # a table whose records left their bounds after it was checked
        narrow = replace(AGE, domain=Domain(minimum=0, maximum=10))
        schema = Schema(attributes=tuple(narrow if each.name == "age" else each for each in SCHEMA))
        for in_memory in (True, False):
            session = Session(replace(people, schema=schema), 10**6, in_memory=in_memory)
            wanted = int(np.minimum(columns["age"], 10).sum())
            assert session.sum("age", epsilon=LOUD).value == pytest.approx(wanted, abs=0.1)


class TestNoise:
    def test_answers_differ_from_each_other_and_stay_near(self, people: Table) -> None:
        session = Session(people, 100)
        found = [session.count(epsilon=1).value for _ in range(40)]
        assert len(set(found)) > 3
        assert all(abs(value - RECORDS) < 40 for value in found)  # type: ignore[operator]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("ask", "truth"),
        [
            (lambda session: session.count(epsilon="0.1"), RECORDS),
            (lambda session: session.sum("age", epsilon="0.1"), None),
            (lambda session: session.mean("age", epsilon="0.1"), None),
        ],
        ids=["count", "sum", "mean"],
    )
    def test_intervals_hold_the_truth_as_often_as_they_say(
        self, people: Table, columns: dict[str, Any], ask: Any, truth: int | None
    ) -> None:
        session = Session(people, 10**4, source=QuickSource(50))
        answers = [ask(session) for _ in range(300)]
        if truth is None:
            ages = columns["age"]
            truth = int(ages.sum()) if answers[0].query.startswith("sum") else float(ages.mean())  # type: ignore[assignment]
        held = sum(answer.accuracy.low <= truth <= answer.accuracy.high for answer in answers)
        # Bin(300, 0.95) is below 268 with probability 2e-5
        assert held >= 268

    def test_histogram_margins_hold_for_all_bins_at_once(self, people: Table, columns: dict[str, Any]) -> None:
        session = Session(people, 10**4, source=QuickSource(51))
        truth = {pain: int((columns["pain"] == pain).sum()) for pain in ("none", "mild", "severe")}
        held = 0
        for _ in range(200):
            answer = session.histogram("pain", epsilon="0.5")
            margin = int(answer.accuracy.statement.split("within ")[1].split()[0])
            held += all(abs(answer.value[pain] - truth[pain]) <= margin for pain in truth)  # type: ignore[index]
        assert held >= 176

    def test_quantiles_are_as_near_as_they_say(self, people: Table, columns: dict[str, Any]) -> None:
        session, ages = Session(people, 10**4, source=QuickSource(52)), np.sort(columns["age"])
        off = []
        for _ in range(60):
            answer = session.quantile("age", epsilon="0.2")
            below, above = (ages < answer.value).sum(), (ages > answer.value).sum()
            off.append(abs(below - above) / 2)
        ranks = int(answer.accuracy.statement.split("at most ")[1].split()[0].replace(",", ""))
        assert sum(each <= ranks + 30 for each in off) >= 50
        assert ranks < 500

    def test_a_seed_is_said_in_every_answer(self, people: Table) -> None:
        answer = Session(people, 1, source=QuickSource(1)).count(epsilon="0.5")
        assert answer.test_only
        assert "FOR TESTS ONLY" in str(answer)
        assert not Session(people, 1, source=SYSTEM).count(epsilon="0.5").test_only


class TestBudget:
    def test_every_answer_states_cost_spent_and_left(self, people: Table) -> None:
        session = Session(people, 1)
        session.count(epsilon="0.25")
        answer = session.count(epsilon=0.1)
        assert (answer.cost, answer.spent, answer.left) == (Loss.of("0.1"), Loss.of("0.35"), Loss.of("0.65"))
        assert "cost epsilon 0.1; spent epsilon 0.35; left epsilon 0.65" in str(answer)
        assert answer.to_json()["left"] == {"epsilon": "0.65", "delta": "0"}

    def test_a_spent_budget_refuses_before_any_record_is_read(self, people: Table) -> None:
        session = Session(people, 1)
        session.count(epsilon=1)
        session._desk._records = None  # type: ignore[assignment]
        with pytest.raises(BudgetSpent):
            session.count(epsilon="1e-12")

    def test_protocol_1_costs_the_sensitivity_over_the_scale(self, people: Table) -> None:
        session = Session(people, 1)
        assert session.count(scale=10).cost == Loss.of("0.1")
        assert session.histogram("sex", scale=10).cost == Loss.of("0.1")
        assert session.sum("age", scale=1000).cost == Loss.of("0.1")
        # three groups of people that one attribute tells apart: the joint sensitivity is that of one
        for where in ("age < 30", "age >= 30 and age < 60", "age >= 60"):
            left = session.count(where, scale=10).left
        assert left == Loss.of("0.6")

    def test_protocol_2_adds_epsilons_and_look_ups_of_different_people_cost_the_maximum(self, people: Table) -> None:
        session = Session(people, 1)
        for i in range(20):
            answer = session.look_up("id", f"person {i}", "sex", epsilon="0.5")
        assert answer.spent == Loss.of("0.5")
        session.look_up("id", "person 3", "age", epsilon="0.25")
        assert session.standing.spent == Loss.of("0.75")
        with pytest.raises(BudgetSpent):
            session.look_up("id", "person 3", "pain", epsilon="0.5")
        session.look_up("id", "person 4", "pain", epsilon="0.5")

    def test_disjoint_groups_of_people_cost_the_maximum(self, people: Table) -> None:
        session = Session(people, 1)
        session.count('sex = "F"', epsilon="0.5")
        session.count('sex = "M"', epsilon="0.5")
        session.count("sex is missing", epsilon="0.5")
        assert session.standing.spent == Loss.of("0.5")
        session.count('town = "Ulm"', epsilon="0.25")
        assert session.standing.spent == Loss.of("0.75")

    def test_delta_is_spent_by_refinement_only(self, people: Table) -> None:
        session = Session(people, 10, delta="1e-5")
        session.look_up("id", "person 1", "sex", epsilon=1, delta="1e-6")
        session.count(epsilon=1, delta="1e-6", prior=NumericPrior.uniform(0, 5000, step=100))
        assert session.standing.spent == Loss.of(2, "2e-6")
        with pytest.raises(ParameterError, match="`delta` of a count"):
            session.count(epsilon=1, delta="1e-6")

    def test_a_failed_computation_stays_spent_and_says_nothing(self, people: Table) -> None:
        session = Session(people, 1)

        class Broken:
            def count(self, where: object) -> int:
                raise ValueError("person 17 is a canary")

        session._desk._records = Broken()  # type: ignore[assignment]
        with pytest.raises(NotAnswered) as failed:
            session.count(epsilon="0.5")
        assert "canary" not in str(failed.value)
        assert failed.value.__cause__ is None
        assert session.standing.spent == Loss.of("0.5")

    def test_the_spending_is_recorded_before_the_records_are_read(self, people: Table, tmp_path: Path) -> None:
        session = Session(people, 1, ledger=tmp_path / "study.ledger")
        seen: list[int] = []

        class Watching:
            def count(self, where: object) -> int:
                other = Ledger.open(tmp_path / "study.ledger")
                seen.append(len(other.entries()))
                other.close()
                return 0

        session._desk._records = Watching()  # type: ignore[assignment]
        assert session.count(epsilon="0.5").entry == 4
        assert seen == [4]

    def test_a_ledger_outlives_the_session(self, people: Table, tmp_path: Path) -> None:
        path = tmp_path / "study.ledger"
        Session(people, 1, ledger=path).count("age >= 40", epsilon="0.75")
        session = Session(people, 1, ledger=path)
        assert session.standing.left == Loss.of("0.25")
        with pytest.raises(BudgetSpent):
            session.count(epsilon="0.5")
        # people below 40 may have been above it in the table of the first session
        with pytest.raises(BudgetSpent):
            session.count("age < 40", epsilon="0.75")

    def test_a_budget_cannot_be_changed_by_opening_again(self, people: Table, tmp_path: Path) -> None:
        path = tmp_path / "study.ledger"
        Session(people, 1, ledger=path)
        with pytest.raises(ParameterError, match="must be what the ledger says, epsilon 1; got epsilon 2"):
            Session(people, 2, ledger=path)


class TestRefusals:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("ask", "error", "message"),
        [
            (lambda s: s.count(), ParameterError, "a count needs either `epsilon` or `scale`"),
            (lambda s: s.count(epsilon=1, scale=1), ParameterError, "needs either `epsilon` or `scale`"),
            (lambda s: s.count(epsilon=-1), ParameterError, "`epsilon`"),
            (lambda s: s.count(scale=0), ParameterError, "`scale` must be above 0"),
            (lambda s: s.count("age >", epsilon=1), FilterError, "a number, or a text"),
            (lambda s: s.sum("height", epsilon=1), SchemaError, "no declared bounds"),
            (lambda s: s.sum("sex", epsilon=1), FilterError, "is categorical"),
            (lambda s: s.sum("nothing", epsilon=1), FilterError, "unknown column"),
            (lambda s: s.sum("id", epsilon=1), FilterError, "identifies people"),
            (lambda s: s.sum("age", epsilon=1, noise="none"), ParameterError, "`noise`"),
            (lambda s: s.sum("age", epsilon=1, grid=0), ParameterError, "`grid` must be above 0"),
            (lambda s: s.sum("age", epsilon=1, grid="1e-12"), ParameterError, "`grid` must divide"),
            (lambda s: s.sum("age", epsilon=1, grid=1000), ParameterError, "`grid` must divide"),
            (lambda s: s.mean("height", epsilon=1), SchemaError, "no declared bounds"),
            (lambda s: s.histogram("town", epsilon=1), SchemaError, "no declared values"),
            (lambda s: s.histogram("age", epsilon=1), ParameterError, "`edges`"),
            (lambda s: s.histogram("age", epsilon=1, edges=(3, 2)), ParameterError, "`edges`"),
            (lambda s: s.histogram("age", epsilon=1, edges=("a", "b")), ParameterError, "`edges`"),
            (lambda s: s.histogram("age", epsilon=1, edges=(0, math.inf)), ParameterError, "`edges`"),
            (lambda s: s.histogram("sex", epsilon=1, edges=(1, 2)), ParameterError, "for numeric and date"),
            (lambda s: s.quantile("height", epsilon=1), SchemaError, "no declared bounds"),
            (lambda s: s.quantile("age", 1, epsilon=1), ParameterError, "`share`"),
            (lambda s: s.quantile("age", "0.1234567", epsilon=1), ParameterError, "`share`"),
            (lambda s: s.quantile("age", epsilon=1, grid="1e-9"), ParameterError, "`grid`"),
            (lambda s: s.look_up("sex", "F", "age", epsilon=1), FilterError, "role identifier"),
            (lambda s: s.look_up("id", "x", epsilon=1), ParameterError, "1 to 64"),
            (lambda s: s.look_up("id", "x", "age", "age", epsilon=1), ParameterError, "different"),
            (lambda s: s.look_up("id", "x", "id", epsilon=1), FilterError, "identifies people"),
            (lambda s: s.look_up("id", "x", "town", epsilon=1), SchemaError, "no declared values"),
            (
                lambda s: s.look_up("id", "x", "sex", epsilon=1, priors={"sex": NumericPrior.uniform(0, 1, step=1)}),
                ParameterError,
                "for categorical values",
            ),
            (
                lambda s: s.look_up("id", "x", "sex", epsilon=1, priors={"sex": CategoricalPrior({"Q": 1})}),
                ParameterError,
                "declared values",
            ),
            (
                lambda s: s.look_up("id", "x", "sex", epsilon=1, priors={"age": CategoricalPrior({"Q": 1})}),
                ParameterError,
                "belong to its `columns`",
            ),
            (
                lambda s: s.ask(LookUp(identifier="id", person="x", columns=("sex",), where="age = 3", epsilon=1)),
                ParameterError,
                "no `where`",
            ),
        ],
    )
    def test_bad_queries_cost_nothing_and_read_nothing(
        self, people: Table, ask: Any, error: type[ShoalError], message: str
    ) -> None:
        session = Session(people, 10)
        session._desk._records = None  # type: ignore[assignment]
        with pytest.raises(error, match=message):
            ask(session)
        assert session.standing.spent == Loss()

    def test_a_table_without_schema_is_refused(self, columns: dict[str, Any]) -> None:
        with pytest.raises(SchemaError, match="queries need a table with a schema"):
            Session(shoal.read(pa.table(columns)), 1)

    def test_the_name_of_the_whole_is_taken(self, people: Table, tmp_path: Path) -> None:
        with pytest.raises(ParameterError, match="stands for the whole table"):
            Session(people, 1, ledger=tmp_path / "x", account="*")

    def test_refusals_do_not_depend_on_the_records(self, columns: dict[str, Any]) -> None:
        few = shoal.read(pa.table({name: values[:1] for name, values in columns.items()}), schema=SCHEMA)
        many = shoal.read(pa.table(columns), schema=SCHEMA)
        for query in (
            Count(where="age > 1000", epsilon=1),
            Count(where="town = 'nowhere'", epsilon=1),
            LookUp(identifier="id", person="nobody", columns=("sex",), epsilon=1),
            Count(where="sex = 'Q'", epsilon=1),
        ):
            outcomes = []
            for table in (few, many):
                try:
                    answer = Session(table, 2).ask(query)
                    outcomes.append((answer.cost, answer.left, answer.query, answer.accuracy.statement))
                except ShoalError as error:
                    outcomes.append(str(error))  # type: ignore[arg-type]
            assert outcomes[0] == outcomes[1]


@pytest.mark.slow
def test_somebody_who_is_there_twice_is_answered_from_the_prior() -> None:
    schema = Schema(attributes=(Attribute(name="id", role=Role.IDENTIFIER), AGE))
    twice = shoal.read(pa.table({"id": ["a", "a", "b"], "age": [90, 90, 90]}), schema=schema)
    for in_memory in (True, False):
        session = Session(twice, 10**6, in_memory=in_memory, source=QuickSource(9))
        assert len({session.look_up("id", "a", "age", epsilon=1000).value for _ in range(20)}) > 10
        assert {session.look_up("id", "b", "age", epsilon=1000).value for _ in range(20)} == {90}


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(
    ("kind", "values"),
    [(Kind.NUMERIC, [1, 2, 3]), (Kind.NUMERIC, ["1", "2", "3"]), (Kind.DATE, [dt.date(2024, 1, i) for i in (1, 2, 3)])],
)
def test_people_are_not_looked_up_by_numbers_which_are_written_in_many_ways(
    kind: Kind, values: list[Any], *, in_memory: bool
) -> None:
    schema = Schema(attributes=(Attribute(name="id", role=Role.IDENTIFIER, kind=kind), AGE))
    session = Session(shoal.read(pa.table({"id": values, "age": [30, 40, 50]}), schema=schema), 1, in_memory=in_memory)
    for person in ("1", "1.0", "01", "2024-01-01"):
        with pytest.raises(SchemaError, match="people can be looked up only by text"):
            session.look_up("id", person, "age", epsilon="0.5")
    assert session.standing.spent == Loss()


def test_whole_numbers_as_texts_identify_people() -> None:
    schema = Schema(attributes=(Attribute(name="id", role=Role.IDENTIFIER), AGE))
    table = shoal.read(pa.table({"id": [1, 2, 3], "age": [30, 40, 50]}), schema=schema)
    for in_memory in (True, False):
        session = Session(table, 10**6, in_memory=in_memory, source=QuickSource(9))
        assert session.look_up("id", "2", "age", epsilon=1000).value == 40


@pytest.mark.slow
def test_a_session_is_reached_from_the_package() -> None:
    code = "import shoal; assert shoal.queries.Session is shoal.Session; assert shoal.Vault and shoal.queries.Ledger"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("scale", ["1000000000000/9223372036854775807", "1e-7", "1e-40"])
def test_a_scale_that_costs_more_than_any_budget_is_refused_and_leaves_it_as_it_was(
    people: Table, tmp_path: Path, scale: str, *, durable: bool
) -> None:
    session = Session(people, 1, ledger=tmp_path / "study.ledger" if durable else None)
    session.count(epsilon="0.000000000001")
    for query in (Count(scale=scale, where="age >= 40"), Sum(column="age", scale=scale)):
        with pytest.raises(ParameterError, match="larger `scale`"):
            session.ask(query)
    with pytest.raises(BudgetSpent):
        session.count("age >= 40", epsilon=10**6)
    assert session.standing.spent == Loss(1)
    assert session.count("age >= 40", epsilon="0.5").spent == Loss.of("0.5") + Loss(1)
