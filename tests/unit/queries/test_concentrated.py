"""Budgets of rho: conversions against the definitions, prices, and ledgers that never change what they count."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import pyarrow as pa
import pytest

import shoal
from shoal.errors import LedgerError, ParameterError
from shoal.guarantees import Neighbours
from shoal.mechanisms import DiscreteGaussian, SeededSource
from shoal.queries import Count, Histogram, Loss, Session, attained_epsilon, numeric_epsilon, parse_query, prospects
from shoal.queries._accounts import Accounts, budget_entry
from shoal.queries._messages import answer_from, loss_from
from shoal.queries.ledger import Ledger
from shoal.schema import Attribute, Domain, Kind, Role, Schema

SEX = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, domain=Domain(values=("F", "M")))
AGE = Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=120))
WHO = Attribute(name="who", role=Role.PERSON, kind=Kind.CATEGORICAL)
ROWS = pa.table({"sex": ["F", "M"] * 1500, "age": [30, 40, 50] * 1000})


def table(*, persons: bool = False) -> shoal.Table:
    rows = ROWS.append_column("who", pa.array([f"p{i // 2}" for i in range(3000)])) if persons else ROWS
    return shoal.read(rows, schema=Schema(attributes=(SEX, AGE, WHO) if persons else (SEX, AGE)))


def gaussian_delta(rho: float, epsilon: float) -> float:
    """Return the exact delta of Gaussian noise that is rho-concentrated: the difference of two tails (Balle, Wang)."""
    mu, normal = math.sqrt(2 * rho), NormalDist()
    return normal.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-5"])
def test_a_budget_of_rho_keeps_the_epsilon_and_delta_that_it_was_made_for(epsilon: str, delta: str) -> None:
    budget = Loss.within_both(epsilon, delta)
    exact = gaussian_delta(float(budget.rho), float(epsilon))
    assert exact + float(budget.delta) <= float(delta)
    # and is not much smaller than it could be: no rho half as large again keeps them
    assert gaussian_delta(1.5 * float(budget.rho), float(epsilon)) > float(delta) / 2
    attained = attained_epsilon(budget, Fraction(delta))
    assert attained is not None
    assert attained <= Fraction(epsilon)
    assert gaussian_delta(float(budget.rho), float(attained)) <= float(delta) / 2


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 2.0, 3.0, 10.0])
def test_what_is_paid_in_epsilon_bounds_the_divergences_of_the_worst_mechanism(epsilon: float) -> None:
    """Randomised response is the worst (epsilon, 0)-private mechanism; every order of its divergence is summed up."""
    rho = float(Loss.of(epsilon).concentrated().rho)
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    for order in (1.01, 1.5, 2, 3, 8, 32):
        moment = p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)
        assert math.log(moment) / (order - 1) <= order * rho * (1 + 1e-9)


def test_amounts_are_rounded_up_when_they_are_converted() -> None:
    assert Loss.of("0.000001").concentrated() == Loss(rho_units=1)
    assert Loss.of(3, "1e-6").concentrated() == Loss(0, 10**12, 3 * 10**12)
    assert str(Loss.of_rho("0.25", "1e-6")) == "rho 0.25, delta 0.000001"
    with pytest.raises(ParameterError, match="`rho` must be in"):
        Loss.of_rho(0)
    with pytest.raises(ParameterError, match="at least 2e-18"):
        Loss.within_both(1, 0)


@pytest.mark.slow
def test_a_thousand_questions_are_far_more_exact_in_rho() -> None:
    pure, concentrated = prospects(1000, 1, "1e-6")
    assert pure.deviation > 1400
    assert concentrated.deviation < 150
    session = Session(table(), 1, delta="1e-6", measure="zcdp", source=SeededSource(1))
    answers = [session.count(rho=concentrated.each.rho) for _ in range(1000)]
    assert all(answer.accuracy.high - answer.accuracy.low == 2 * concentrated.margin for answer in answers)  # type: ignore[operator]
    with pytest.raises(shoal.queries.BudgetSpent):
        session.count(rho="0.0001")
    assert session.standing.spent.rho <= Loss.within_both(1, "1e-6").rho
    assert session.standing.spent.epsilon == 0


def test_questions_about_different_people_cost_the_maximum_in_rho_too() -> None:
    session = Session(table(), 1, delta="1e-6", measure="zcdp")
    session.count('sex = "F"', rho="0.01")
    session.sum("age", 'sex = "M"', rho="0.01")
    session.histogram("sex", rho="0.001")
    assert session.standing.spent == Loss(rho_units=11 * 10**9)
    assert session._desk.estimate("analyst", Count(epsilon="0.01")).cost == Loss(rho_units=5 * 10**7)
    session.mean("age", epsilon="0.01")
    assert session.standing.spent == Loss(rho_units=11 * 10**9 + 5 * 10**7)


def test_a_person_with_several_records_has_their_square_of_rho() -> None:
    query = Count(rho="0.02")
    found = table(persons=True)
    session = Session(found, 5, delta="1e-6", measure="zcdp", records_per_person=2)
    assert found.schema is not None
    assert session.ask(query).cost == Loss.of_rho("0.02")
    margin = query.prepare(found.schema, session.unit)
    assert session.unit.rho(margin.loss) == Fraction(1, 200)
    assert session.ask(query).accuracy.statement.startswith("within 20 of")


def test_rho_means_nothing_where_epsilon_is_counted() -> None:
    session = Session(table(), 1)
    with pytest.raises(ParameterError, match="counts epsilon"):
        session.count(rho="0.01")
    assert session.standing.spent == Loss()
    for wrong in ({}, {"rho": 1, "epsilon": 1}, {"rho": 1, "scale": 1}):
        with pytest.raises(ParameterError, match="needs either `epsilon` or `scale`, or `rho`"):
            session.count(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="needs an epsilon"):
        parse_query("mean of age", rho="0.1")
    asked = parse_query("histogram of sex", rho="0.1")
    assert isinstance(asked, Histogram)
    assert asked.rho == "0.1"


def test_a_ledger_never_changes_what_it_counts(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger", budget=Loss.within_both(1, "1e-6"))
    ledger.set_budget("alice", Loss.of("0.5", "1e-7"))
    assert ledger.standing("alice").budget == Loss.within_both("0.5", "1e-7")
    with pytest.raises(ParameterError, match="delta"):
        ledger.set_budget("*", Loss.of(5))
    ledger.spend("alice", Loss.of_rho("0.001"))
    ledger.close()
    again = Ledger.open(tmp_path / "ledger")
    assert again.standing("*").spent == Loss.of_rho("0.001")
    again.close()
    pure = Ledger.create(tmp_path / "pure", budget=Loss.of(1))
    with pytest.raises(ParameterError, match="it cannot hold a budget in rho"):
        pure.set_budget("bob", Loss.of_rho(1))
    pure.close()
    accounts = Accounts()
    accounts.apply(budget_entry("*", Loss.of_rho(1)))
    with pytest.raises(LedgerError, match="changes what it counts"):
        accounts.apply(budget_entry("*", Loss.of(1)))


def test_an_account_of_rho_pays_for_releases_and_questions(tmp_path: Path) -> None:
    one = table().select("sex").with_schema(Schema(attributes=(SEX,)))
    account = shoal.Account.create(tmp_path / "a", one, epsilon=2, delta="1e-5", measure="zcdp")
    release = shoal.anonymize(one, shoal.DifferentialPrivacy(epsilon="0.1", delta="1e-6"), account=account)
    assert account.standing.spent == Loss(0, 10**12, 40625 * 10**5)
    folder = release.write(tmp_path / "made")
    assert shoal.verify(folder).passed
    certificate = json.loads((folder / "certificate.json").read_text())
    assert certificate["account"]["cost"] == {"epsilon": "0", "delta": "1/1000000", "rho": "13/3200"}
    certificate["account"]["cost"]["rho"] = "1/201"
    (folder / "certificate.json").write_text(json.dumps(certificate, indent=2, ensure_ascii=False) + "\n")
    assert not shoal.verify(folder).passed


def test_amounts_of_rho_go_over_the_wire() -> None:
    session = Session(table(), 1, delta="1e-6", measure="zcdp")
    answer = session.count(rho="0.01")
    assert answer_from(answer.to_json()) == answer
    assert loss_from({"epsilon": "0.5", "delta": "0"}) == Loss.of("0.5")


@pytest.mark.parametrize("rho", ["1/2", "1/200", "1/20000"])
def test_the_interval_of_gaussian_noise_is_wide_enough_and_hardly_more(rho: str) -> None:
    """The exact distribution, summed up from its definition."""
    noise = DiscreteGaussian(sensitivity=1, rho=rho)
    variance = float(noise.variance)
    weights = [math.exp(-(i**2) / (2 * variance)) for i in range(int(12 * math.sqrt(variance)) + 2)]
    total, margin = 2 * sum(weights) - 1, noise.interval(0.95)
    assert (2 * sum(weights[: margin + 1]) - 1) / total >= 0.95
    assert (2 * sum(weights[: max(margin - 1, 1)]) - 1) / total < 0.96


def test_numerical_accounting_is_a_report_below_the_promise() -> None:
    pytest.importorskip("dp_accounting", reason="needs dp-accounting")
    each = prospects(100, 1, "1e-6")[1].each
    found = numeric_epsilon([each] * 100, Fraction(1, 10**6))
    assert 0.8 < found < 1
    assert numeric_epsilon([Loss.of("0.5")] * 2, Fraction(1, 10**9)) == pytest.approx(1, abs=1e-3)


def release_cost(epsilon: str, delta: str, method: shoal.methods.Method, **options: object) -> shoal.guarantees.Cost:
    privacy = shoal.DifferentialPrivacy(epsilon=epsilon, delta=delta, **options)  # type: ignore[arg-type]
    persons = "records_per_person" in options
    schema = table(persons=persons).schema
    assert schema is not None
    cost = shoal.Plan(schema=schema, models=(privacy,), method=method).cost
    assert cost is not None
    return cost


@pytest.mark.parametrize("tables", ["columns", "pairs", "pairs+joint"])
def test_an_account_of_epsilon_1_affords_the_tables_of_epsilon_1(tables: str, tmp_path: Path) -> None:
    people = table()
    account = shoal.Account.create(tmp_path / "a", people, epsilon=1, delta="1e-6", measure="zcdp")
    method = shoal.methods.TruthfulTables(tables=tables)  # type: ignore[arg-type]
    release = shoal.anonymize(
        people, shoal.DifferentialPrivacy(epsilon=1, delta="1e-6"), method=method, account=account
    )
    assert 0.0229 < float(account.standing.spent.rho) < 0.02294
    assert account.standing.spent.delta == Fraction(5, 10**7)
    release.write(tmp_path / "release")
    assert shoal.verify(tmp_path / "release").passed


def test_ten_tables_of_a_tenth_of_epsilon_cost_a_tenth_of_what_adding_epsilon_up_does(tmp_path: Path) -> None:
    people = table()
    account = shoal.Account.create(tmp_path / "a", people, epsilon=1, delta="1e-5", measure="zcdp")
    wanted = shoal.DifferentialPrivacy(epsilon="0.1", delta="1e-6")
    for _ in range(9):
        shoal.anonymize(people, wanted, method=shoal.methods.TruthfulTables(tables="columns"), account=account)
    attained = attained_epsilon(account.standing.spent, Fraction(1, 10**5))
    assert attained is not None
    assert float(attained) < 0.4


def test_what_a_release_costs_in_rho_is_what_its_certified_steps_add_up_to() -> None:
    people = table()
    for tables in ("columns", "pairs", "pairs+joint"):
        method = shoal.methods.TruthfulTables(tables=tables)  # type: ignore[arg-type]
        release = shoal.anonymize(people, shoal.DifferentialPrivacy(epsilon=1, delta="1e-6"), method=method)
        cost = release.plan.cost
        assert cost is not None
        (composed,) = (step for step in release.guarantee.events if type(step).name == "composed")
        assert composed.to_json()["rho"]
        assert Fraction(str(composed.to_json()["rho"])) <= cost.rho_and_beta[0]


@pytest.mark.parametrize("chosen", [(), ({"sex": 0, "age": 0},)])
def test_a_plan_with_other_pairs_than_the_rule_gives_costs_what_it_spends(chosen: tuple[dict[str, int], ...]) -> None:
    values = [Attribute(name=name, role=Role.QUASI_IDENTIFIER, domain=SEX.domain) for name in ("one", "two")]
    schema = Schema(attributes=(SEX, AGE, *values)).total()
    privacy = shoal.DifferentialPrivacy(epsilon=1, delta="1e-6").resolve(schema)
    method = shoal.methods.TruthfulTables(chosen=chosen)
    cost, spent = method.cost(privacy, schema), replace(method.split(schema, privacy), chosen=())
    assert cost is not None
    assert (cost.rho, cost.beta) == (spent.rho, spent.beta)


def test_a_release_costs_no_more_in_rho_than_its_epsilon_says() -> None:
    trees = shoal.methods.Truthful(scheme="multi-dimensional")
    assert release_cost("1", "1e-6", trees).rho_and_beta == (
        Fraction(1, 25) / 8 + Fraction(16, 25) / 2,
        Fraction(1, 10**6),
    )
    fixed = shoal.methods.Truthful(levels={"sex": 0, "age": 0})
    assert release_cost("1", "1e-6", fixed).rho_and_beta[0] == Fraction(1, 2)
    uneven = shoal.methods.Truthful(score="discernibility")
    assert release_cost("1", "1e-6", uneven).rho_and_beta[0] == (Fraction(1, 50) ** 2 + Fraction(49, 50) ** 2) / 2
    # groups of records: no proof of beta, so what follows from epsilon and delta
    of_two = release_cost("1", "1e-6", shoal.methods.TruthfulTables(), records_per_person=2)
    assert of_two.rho is None
    assert release_cost("1", "1e-6", shoal.methods.TruthfulTables()).convert_neighbours(Neighbours.REPLACE).rho is None  # type: ignore[union-attr]


def test_loss_distributions_do_not_add_up_where_questions_depend_on_answers() -> None:
    """A is randomised response with odds 2. Both fixed orders cost delta 1/100 at e^epsilon = 4, the adaptive one 1/75.

    After A the one outcome is followed by B, randomised response with odds 403/197, the other by C, which tells with
    chance 1/100. So ledgers, whose questions are chosen on the way, add up epsilon and delta or rho only.
    """
    odds = Fraction(403, 197)
    a = ({"1": Fraction(2, 3), "0": Fraction(1, 3)}, {"1": Fraction(1, 3), "0": Fraction(2, 3)})
    b = ({"1": odds / (1 + odds), "0": 1 / (1 + odds)}, {"1": 1 / (1 + odds), "0": odds / (1 + odds)})
    tell = Fraction(1, 100)
    c = ({"told": tell, "": 1 - tell}, {"": 1 - tell, "other": tell})

    def delta(after: dict[str, tuple[dict[str, Fraction], dict[str, Fraction]]]) -> Fraction:
        """Return the hockey-stick divergence at e^epsilon = 4, the worse direction."""

        def joint(side: int) -> dict[tuple[str, str], Fraction]:
            return {(x, y): p * q for x, p in a[side].items() for y, q in after[x][side].items()}

        pairs = [(joint(0), joint(1)), (joint(1), joint(0))]
        return max(
            sum((max(Fraction(0), p - 4 * right.get(x, Fraction(0))) for x, p in left.items()), Fraction(0))
            for left, right in pairs
        )

    fixed = delta({"1": b, "0": b}), delta({"1": c, "0": c})
    assert max(fixed) == Fraction(1, 100)
    assert delta({"1": b, "0": c}) == Fraction(1, 75)
