"""Drafts whose domains an account pays for: what is told, what is paid, and that nothing else is looked at."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shoal
from shoal.errors import AccountSpent, ParameterError, RequirementError
from shoal.mechanisms import SeededSource
from shoal.methods.truthful import trimming
from shoal.queries import PaidDraft, draft_paid, starting_schema
from shoal.queries.drafting import EDGES
from shoal.schema import Kind, Provenance, Role


def rows(number: int = 3000, **columns: list[str | None]) -> pa.Table:
    made = {"age": [str(20 + i % 50) for i in range(number)], "colour": ["red", "green", "blue"] * (number // 3)}
    return pa.table({**made, **columns})


def paid(
    data: pa.Table,
    folder: Path,
    *,
    epsilon: str = "1",
    delta: str = "1e-6",
    numbers: tuple[str, ...] = (),
    seed: int = 1,
) -> tuple[PaidDraft, shoal.Account]:
    table = shoal.read(data)
    drafted = shoal.draft(table, private=True)
    first = table.with_schema(starting_schema(drafted, numbers))
    account = shoal.Account.create(folder / "account", first, epsilon=2, delta="0.5")
    found = draft_paid(table, drafted, account, epsilon=epsilon, delta=delta, numbers=numbers, source=SeededSource(1))
    return found, account


def test_frequent_values_are_told_and_paid_for(tmp_path: Path) -> None:
    colours: list[str | None] = ["red", "green", "blue"] * 990 + ["mauve"] + [None] * 29
    found, account = paid(rows(colour=colours), tmp_path)
    colour = found.draft.schema["colour"]
    assert colour.domain is not None
    assert colour.domain.values == ("blue", "green", "red")
    assert colour.domain.provenance is Provenance.PAID
    assert (colour.outside, colour.role) == ("missing", Role.QUASI_IDENTIFIER)
    assert str(account.standing.spent) == "epsilon 1, delta 0.000001"
    assert account.history()[-1].content["query"] == "draft: domains of 1 columns"
    # what is publicly known of ages costs nothing
    age = found.draft.schema["age"].domain
    assert age is not None
    assert (age.maximum, age.provenance) == (120, Provenance.PUBLIC)


def test_a_value_of_one_person_is_told_no_more_often_than_delta(tmp_path: Path) -> None:
    """A value of c records is told with the probability that trimming shows it, and of one record with delta."""
    delta, number = Fraction(1, 50), 4000
    names = [f"v{i:04d}" for i in range(number)]
    found, _ = paid(pa.table({"colour": names, "age": ["30"] * number}), tmp_path, delta=str(float(delta)))
    domain = found.draft.schema["colour"].domain
    told = 0 if domain is None else len(domain.values or ())
    chance = trimming.exact_delta(trimming.minimal_m(1, delta), 1)
    # five deviations
    assert abs(told - number * chance) <= 5 * (number * chance) ** 0.5
    assert told > 0


def test_nothing_that_is_frequent_leaves_the_column_out(tmp_path: Path) -> None:
    found, account = paid(rows(colour=[f"x{i}" for i in range(3000)]), tmp_path)
    assert found.nothing == ("colour",)
    assert found.draft.schema["colour"].role is Role.DROP
    assert account.standing.spent.epsilon == 1


def test_bounds_are_public_ranges_that_hold_almost_all_numbers(tmp_path: Path) -> None:
    draw = random.Random(7)
    pay = [f"{draw.uniform(200, 48_000):.2f}" for _ in range(2990)] + ["1e9", "x", "nan", "-7"] + ["200"] * 6
    found, account = paid(rows(pay=pay), tmp_path, numbers=("pay",))
    column = found.draft.schema["pay"]
    assert column.kind is Kind.NUMERIC
    assert column.domain is not None
    assert (column.domain.minimum, column.domain.maximum) == (200, 50_000)
    assert column.outside == "clamp"
    assert account.standing.spent.epsilon == 1
    assert [*EDGES] == sorted(EDGES)
    schema = found.draft.confirmed().schema
    release = shoal.anonymize(
        shoal.read(rows(pay=pay), schema=schema.total()),
        shoal.DifferentialPrivacy(epsilon="0.5", delta="1e-6"),
        method=shoal.methods.TruthfulTables(tables="columns"),
        account=account,
    )
    assert str(account.standing.spent.epsilon) == "3/2"
    assert release.guarantee.promises[0].strength == "unconditional"


def test_one_record_of_a_person_is_looked_at(tmp_path: Path) -> None:
    data = pa.table(
        {"patient_id": ["p1"] * 2000 + [f"q{i}" for i in range(1000)], "colour": ["mauve"] * 2000 + ["red"] * 1000}
    )
    found, account = paid(data, tmp_path)
    assert account.unit.column == "patient_id"
    domain = found.draft.schema["colour"].domain
    assert domain is not None
    assert domain.values == ("red",)


def test_an_account_that_cannot_pay_tells_nothing(tmp_path: Path) -> None:
    with pytest.raises(AccountSpent):
        paid(rows(), tmp_path, epsilon="3")
    with pytest.raises(ParameterError, match="no column"):
        starting_schema(shoal.draft(rows(), private=True), ["pay"])


def test_kinds_and_formats_are_not_read_off_the_data() -> None:
    numbers, words = rows(x=["1"] * 3000), rows(x=["one"] * 3000)
    assert shoal.draft(numbers, private=True).schema == shoal.draft(words, private=True).schema
    assert starting_schema(shoal.draft(numbers, private=True))["x"].kind is Kind.CATEGORICAL


def test_a_fresh_file_is_released_by_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow import csv

    from shoal.cli._main import app

    monkeypatch.chdir(tmp_path)
    csv.write_csv(rows(), "people.csv")
    done = CliRunner().invoke(app, ["anonymize", "people.csv", "--epsilon", "1", "--output", "release"])
    assert done.exit_code == 0, done.output
    assert "Spent epsilon 0.2, delta 0.0000002 of the account on domains: the frequent" in done.output
    assert "epsilon 0.8, delta 0.0000008 of the account `people.account` is spent; epsilon 0 is left" in done.output
    assert str(shoal.Account.open("people.account").standing.spent) == "epsilon 1, delta 0.000001"
    assert shoal.verify("release").passed
    text = Path("people.schema.toml").read_text()
    assert 'provenance = "paid"' in text
    assert "guessed" not in text
    again = CliRunner().invoke(app, ["anonymize", "people.csv", "--epsilon", "1", "--output", "more"])
    # the schema is there now, so that a delta must be said as for any other table
    assert isinstance(again.exception, ParameterError)
    # and the account that was opened with "all that may ever be spent" is not forgotten
    spent = CliRunner().invoke(
        app, ["anonymize", "people.csv", "--epsilon", "1", "--delta", "1e-6", "--output", "more"]
    )
    assert isinstance(spent.exception, AccountSpent)
    assert not Path("more").exists()


def test_a_draft_that_pays_says_what_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow import csv

    from shoal.cli._main import app

    monkeypatch.chdir(tmp_path)
    csv.write_csv(rows(pay=["300"] * 3000), "people.csv")
    first = shoal.read(rows(pay=["300"] * 3000))
    schema = starting_schema(shoal.draft(first, private=True), ["pay"])
    shoal.Account.create("a.account", first.with_schema(schema), epsilon=2, delta="1e-5")
    command = ["draft", "people.csv", "--private", "--account", "a.account", "--numbers", "pay", "--epsilon", "1"]
    done = CliRunner().invoke(app, [*command, "--delta", "1e-6"])
    assert done.exit_code == 0, done.output
    assert "the frequent values of `colour`; the bounds of `pay`." in " ".join(done.output.split())
    assert "guessed = true" in Path("people.schema.toml").read_text()
    refused = CliRunner().invoke(app, ["draft", "people.csv", "--account", "a.account", "--overwrite"])
    assert isinstance(refused.exception, ParameterError)


@pytest.mark.parametrize(
    "options", [["--role", "nobody=drop"], ["--measure", "none"], ["--round", "age"], ["--accept", "age"]]
)
def test_what_the_plan_may_refuse_is_not_paid_for(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyarrow import csv

    from shoal.cli._main import app

    monkeypatch.chdir(tmp_path)
    csv.write_csv(rows(300), "people.csv")
    command = ["anonymize", "people.csv", "--epsilon", "1", "--delta", "1e-6", "--output", "release"]
    assert CliRunner().invoke(app, [*command, *options]).exit_code
    assert not Path("people.account").exists()


def test_no_schema_is_written_where_nothing_is_frequent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow import csv

    from shoal.cli._main import app

    monkeypatch.chdir(tmp_path)
    csv.write_csv(pa.table({"name of it": [f"x{i}" for i in range(300)]}), "people.csv")
    done = CliRunner().invoke(app, ["anonymize", "people.csv", "--epsilon", "1", "--output", "release"])
    assert isinstance(done.exception, RequirementError)
    assert "epsilon 0.2" in str(done.exception)
    assert not Path("people.schema.toml").exists()
