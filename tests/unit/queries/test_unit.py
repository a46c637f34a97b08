"""Answers about persons: what a record has of the cost, whom an answer touches, and a ledger that knows its unit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.errors import LedgerError, ParameterError
from shoal.mechanisms import NumericPrior, record_delta
from shoal.queries import (
    Count,
    Histogram,
    Ledger,
    LookUp,
    Loss,
    Mean,
    Quantile,
    Query,
    Session,
    Sum,
    Unit,
    Vault,
    _look_up,
    _query,
    _statistics,
)
from shoal.queries._accounts import Accounts, budget_entry
from shoal.schema import Attribute, Domain, Schema, dumps

SCHEMA = Schema(
    attributes=(
        Attribute(name="patient", role="person"),
        Attribute(name="sex", domain=Domain(values=("F", "M"))),
        Attribute(name="cost", kind="numeric", domain=Domain(minimum=0, maximum=100)),
    )
)
RECORDS = Schema(attributes=SCHEMA.attributes[1:])


def visits(*times: int) -> pa.Table:
    """Return so many visits of each patient; every other one is by a woman, and every patient has both."""
    rows = [(f"p{i}", "FM"[v % 2], 10 * v % 101) for i, each in enumerate(times) for v in range(each)]
    return pa.table(dict(zip(SCHEMA.names, map(list, zip(*rows, strict=True)), strict=True)))


def session(*times: int, budget: float = 100_000, **settings: object) -> Session:
    table = shoal.read(visits(*times)).with_schema(SCHEMA)
    return Session(table, budget, **settings)  # type: ignore[arg-type]


# -- what a record has of the cost


@pytest.mark.parametrize("records", [1, 2, 3])
def test_adding_a_person_with_all_records_changes_a_noisy_count_by_no_more_than_the_cost(records: int) -> None:
    """All choices of records, and discrete Laplace noise at epsilon / r, from the definitions."""
    epsilon = 1.2
    own = math.exp(-epsilon / records)
    others, newcomers = ("F", "FM", "FFM", "MMMM"), ("F", "FF", "FM", "FFF", "FFFFFF")

    def answers(persons: Sequence[str]) -> dict[int, float]:
        counts: dict[int, float] = {0: 1.0}
        for visits_ in persons:
            chosen = Counter(kept.count("F") for kept in combinations(visits_, min(records, len(visits_))))
            joined: Counter[int] = Counter()
            for count, p in counts.items():
                for women, times in chosen.items():
                    joined[count + women] += p * times / chosen.total()  # type: ignore[assignment]
            counts = joined
        noise = (1 - own) / (1 + own)
        return {x: sum(p * noise * own ** abs(x - count) for count, p in counts.items()) for x in range(-60, 75)}

    before = answers(others)
    for newcomer in newcomers:
        after = answers((*others, newcomer))
        ratios = [abs(math.log(after[x] / before[x])) for x in before]
        assert max(ratios) <= epsilon + 1e-9
    unbounded = [abs(math.log(answers_ / before[x])) for x, answers_ in answers((*others, "F" * records)).items()]
    assert max(unbounded) > 0.9 * epsilon  # the bound is met by a person whose records all count


QUERIES: tuple[Query, ...] = (
    Count(epsilon=1),
    Histogram(column="sex", epsilon=1),
    Sum(column="cost", epsilon=1),
    Sum(column="cost", noise="optimal", epsilon=1),
    Mean(column="cost", epsilon=1),
    Quantile(column="cost", epsilon=1),
    Count(epsilon=1, delta=0.01, prior=NumericPrior.uniform(0, 10, step=1)),
    LookUp(identifier="patient", person="p0", columns=("sex",), epsilon=1),
)


@pytest.mark.parametrize("query", QUERIES, ids=lambda each: f"{each.name}")
@pytest.mark.parametrize("records", [1, 4])
def test_every_query_draws_its_noise_at_the_epsilon_of_a_record(
    query: Query, records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Fraction] = []
    for module in (_query, _statistics, _look_up):
        for name in ("Laplace", "OptimalBoxNoise", "PermuteAndFlip", "Refinement"):
            real = getattr(module, name, None)
            if real is not None:
                monkeypatch.setattr(module, name, _noting(real, seen))
    optimal = _statistics.OptimalNoise.minimal_variance
    monkeypatch.setattr(_statistics.OptimalNoise, "minimal_variance", _noting(optimal, seen))
    prepared = query.prepare(SCHEMA, Unit("patient", records))
    assert prepared.loss.epsilon == 1
    assert seen
    assert set(seen) == {Fraction(1, records)}


def _noting(real: object, seen: list[Fraction]) -> object:
    def made(*values: object, **settings: object) -> object:
        seen.append(settings["epsilon"])  # type: ignore[arg-type]
        return real(*values, **settings)  # type: ignore[operator]

    return made


def test_the_delta_of_a_record_is_that_of_a_group() -> None:
    loss = Loss.of(1, "0.01")
    assert Unit("patient", 3).delta(loss) == record_delta(Fraction(1), Fraction(1, 100), 3)
    assert Unit().delta(loss) == loss.delta


def test_a_scale_costs_what_all_records_of_a_person_can_change() -> None:
    query = Sum(column="cost", scale=100)
    assert query.prepare(SCHEMA, Unit("patient", 3)).loss == Loss.of(3)
    assert query.prepare(RECORDS).loss == Loss.of(1)


# -- which records


@pytest.mark.slow
@pytest.mark.parametrize(("records", "seen"), [(None, 4), (1, 4), (2, 7), (3, 9), (1000, 106)])
@pytest.mark.parametrize("in_memory", [True, False])
def test_answers_look_at_no_more_records_of_a_person(records: int | None, seen: int, *, in_memory: bool) -> None:
    asked = session(1, 2, 3, 100, records_per_person=records, in_memory=in_memory)
    assert asked.count(epsilon=50_000).value == seen


# -- whom an answer touches


def test_answers_about_groups_add_up_where_a_person_may_be_in_several() -> None:
    asked = session(4, 4, budget=10)
    asked.count('sex = "F"', epsilon=1)
    assert str(asked.count('sex = "M"', epsilon=1).spent) == "epsilon 2"


def test_look_ups_of_different_persons_cost_the_maximum() -> None:
    asked = session(1, 1, budget=10)
    for person in ("p0", "p1"):
        answer = asked.look_up("patient", person, "sex", epsilon=1)
    assert str(answer.spent) == "epsilon 1"


def test_records_of_their_own_are_told_apart_as_before() -> None:
    asked = Session(shoal.read(visits(4, 4).drop("patient")).with_schema(RECORDS), 10)
    asked.count('sex = "F"', epsilon=1)
    assert str(asked.count('sex = "M"', epsilon=1).spent) == "epsilon 1"


# -- the ledger


def test_a_ledger_knows_its_unit(tmp_path: Path) -> None:
    path = tmp_path / "study.ledger"
    session(2, 2, budget=1, ledger=path, records_per_person=3).count(epsilon="0.5")
    opened = Ledger.open(path)
    assert opened.unit == Unit("patient", 3)
    assert opened.entries()[0].content["event"] == "unit"
    opened.close()
    again = session(2, 2, budget=1, ledger=path, records_per_person=3)
    assert str(again.standing.left) == "epsilon 0.5"


@pytest.mark.parametrize("records", [None, 2])
def test_a_ledger_of_another_unit_is_refused(records: int | None, tmp_path: Path) -> None:
    path = tmp_path / "study.ledger"
    session(2, 2, budget=1, ledger=path, records_per_person=3)
    with pytest.raises(
        ParameterError, match=r"the ledger counts the privacy loss of one person .* at most 3 of whose records"
    ):
        session(2, 2, budget=1, ledger=path, records_per_person=records)


def test_a_ledger_of_records_is_not_one_of_persons(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "study.ledger", budget=Loss.of(1)).close()
    with pytest.raises(
        ParameterError, match="the ledger counts the privacy loss of one record; this table needs one for one p"
    ):
        session(2, 2, budget=1, ledger=tmp_path / "study.ledger")


def test_a_unit_does_not_change_after_something_was_counted() -> None:
    accounts = Accounts()
    accounts.apply(budget_entry("*", Loss.of(1)))
    with pytest.raises(LedgerError, match="changes whose losses it counts"):
        accounts.apply(Unit("patient", 2).entry())


@pytest.mark.parametrize("entry", [{}, {"column": "a"}, {"column": 1, "records": 1}, {"column": "a", "records": 0}])
def test_a_unit_that_cannot_be_read_is_refused(entry: dict[str, object]) -> None:
    with pytest.raises(LedgerError, match="a unit that cannot be read"):
        Unit.of_entry(entry)


def test_a_vault_answers_about_persons(tmp_path: Path) -> None:
    (tmp_path / "visits.toml").write_text(dumps(SCHEMA), encoding="utf-8")
    import pyarrow.parquet as pq

    pq.write_table(visits(1, 5, 50), tmp_path / "visits.parquet")
    made = Vault.create(
        tmp_path / "vault",
        str(tmp_path / "visits.parquet"),
        schema=tmp_path / "visits.toml",
        budget=Loss.of(100_000),
        records_per_person=4,
    )
    made.admit("alice", Loss.of(100_000))
    ledger = Vault.open(tmp_path / "vault").ledger()
    desk = made.desk(ledger)
    assert desk.unit == Unit("patient", 4)
    assert desk.ask("alice", Count(epsilon=50_000)).value == 9
    ledger.close()


# -- bad input


@pytest.mark.parametrize("records", [0, -3, 2.5, True])
def test_a_number_of_records_below_one_is_refused(records: object) -> None:
    with pytest.raises(ParameterError, match="`records_per_person` must be an integer of at least 1"):
        session(1, records_per_person=records)


def test_a_number_of_records_needs_a_person_column() -> None:
    with pytest.raises(ParameterError, match="needs a column that says whose record it is"):
        Session(shoal.read(visits(4).drop("patient")).with_schema(RECORDS), 1, records_per_person=1)


def test_rho_with_a_delta_has_no_cost_where_neighbours_replace() -> None:
    replaced = Unit(replaced=True)
    assert replaced.charged(Loss.of_rho("0.01")) == Loss.of_rho("0.04")
    with pytest.raises(ParameterError, match="no known cost"):
        replaced.charged(Loss.of_rho("0.01", "1e-6"))
