"""One account per table: paid before anything is drawn, never overspent, about one table and one kind of neighbours."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.errors import OutputError, ParameterError
from shoal.guarantees import Cost, Neighbours
from shoal.mechanisms import SeededSource
from shoal.methods.base import Work
from shoal.queries import AccountSpent, BudgetSpent, Session, Vault
from shoal.schema import Attribute, Domain, Kind, Role, Schema, dumps

AGE = Attribute(
    name="age",
    role=Role.QUASI_IDENTIFIER,
    kind=Kind.NUMERIC,
    domain=Domain(minimum=0, maximum=100),
    hierarchy=shoal.schema.Intervals(widths=(10, 50)),
)
WHO = Attribute(name="who", role=Role.PERSON, kind=Kind.CATEGORICAL)
PEOPLE = pa.table({"age": [20 + 50 * (i % 2) for i in range(300)]})
VISITS = PEOPLE.append_column("who", pa.array([f"p{i // 2}" for i in range(300)]))
TRUTHFUL = shoal.DifferentialPrivacy(epsilon=1, delta="1e-6")
NOISY = shoal.methods.noise.EpsilonBudget("0.5")


def table(rows: pa.Table = PEOPLE) -> shoal.Table:
    attributes = (AGE, WHO) if "who" in rows.column_names else (AGE,)
    return shoal.read(rows, schema=Schema(attributes=attributes))


@pytest.fixture
def account(tmp_path: Path) -> shoal.Account:
    return shoal.Account.create(tmp_path / "a.account", table(), epsilon=2, delta="1e-5")


def replacing(folder: Path, rows: pa.Table = PEOPLE, **options: int) -> shoal.Account:
    return shoal.Account.create(folder / "r", table(rows), epsilon=9, delta="1e-4", neighbours="replace", **options)  # type: ignore[arg-type]


def test_what_is_left_is_exact_and_the_next_release_is_refused(account: shoal.Account, tmp_path: Path) -> None:
    for _ in range(2):
        shoal.anonymize(table(), TRUTHFUL, account=account)
    assert str(account.standing.spent) == "epsilon 2, delta 0.000002"
    least = shoal.DifferentialPrivacy(epsilon="1e-12", delta="1e-9")
    with pytest.raises(
        AccountSpent, match=r"is not enough for this release.*epsilon 0, delta 0.000008 is left"
    ) as refused:
        shoal.anonymize(table(), least, account=account)
    assert refused.value.exit_code == 2
    assert isinstance(refused.value, BudgetSpent)
    assert len(account.history()) == 4


def test_it_is_paid_before_the_first_bit_is_drawn(account: shoal.Account, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    class Watched(SeededSource):
        def random_bytes(self, size: int) -> bytes:
            seen.append(str(account.standing.spent))
            return super().random_bytes(size)

    plan = shoal.Plan(schema=table().schema, models=(TRUTHFUL,), method=shoal.methods.Truthful())  # type: ignore[arg-type]
    plan.run(table(), account=account, source=Watched(1))
    assert seen
    assert set(seen) == {"epsilon 1, delta 0.000001"}


@pytest.mark.parametrize(
    ("method", "asked"), [(shoal.methods.Truthful(), TRUTHFUL), (shoal.methods.DPMicroaggregation(), NOISY)]
)
def test_a_run_that_fails_after_its_draw_stays_spent_and_says_so(
    method: shoal.methods.Truthful, asked: shoal.DifferentialPrivacy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = replacing(tmp_path)

    def failing(real: Callable[..., object]) -> Callable[..., object]:
        def make(self: object, work: Work) -> object:
            real(self, work)
            raise shoal.errors.RequirementError("nothing is left", hint="ask for less")

        return make

    monkeypatch.setattr(type(method), "make", failing(type(method).make))
    with pytest.raises(shoal.errors.RequirementError, match="stays spent: random numbers were drawn; ask for less"):
        shoal.anonymize(table(), asked, method=method, account=kept)
    assert kept.standing.spent.epsilon == (2 if asked is TRUTHFUL else Fraction(1, 2))


def test_that_nothing_is_frequent_enough_costs_the_same_whatever_the_records_are(account: shoal.Account) -> None:
    # one record more than 150 is a class that may be shown; certificates of later releases say what was spent
    method, spent = shoal.methods.Truthful(levels={"age": 0}), []
    for size in (151, 150):
        before = account.standing.spent.epsilon
        with pytest.raises(shoal.errors.RequirementError, match="stays spent"):
            shoal.anonymize(table(), TRUTHFUL, shoal.KAnonymity(size), method=method, account=account)
        spent.append(account.standing.spent.epsilon - before)
    assert spent == [1, 1]


def test_what_fails_before_any_draw_costs_nothing(account: shoal.Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(self: object, work: Work) -> object:
        raise shoal.errors.DataError("column `age`: 3 values are not numbers")

    monkeypatch.setattr(shoal.methods.Truthful, "make", make)
    with pytest.raises(shoal.errors.DataError) as failed:
        shoal.anonymize(table(), TRUTHFUL, account=account)
    assert failed.value.hint is None
    assert str(account.standing.spent) == "epsilon 0"


def test_a_release_that_cannot_be_written_stays_spent_and_says_so(account: shoal.Account, tmp_path: Path) -> None:
    release = shoal.anonymize(table(), TRUTHFUL, account=account)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    with pytest.raises(OutputError, match=r"epsilon 1, .* of the account `a\.account` is spent, and stays"):
        release.write(tmp_path / "there")
    assert "written" not in {entry.content["event"] for entry in account.history()}
    release.write(tmp_path / "elsewhere")
    written = account.history()[-1].content
    assert (written["event"], written["entry"], written["name"]) == ("written", 3, "elsewhere")


def test_the_certificate_says_how_the_account_stood(account: shoal.Account, tmp_path: Path) -> None:
    folder = shoal.anonymize(table(), TRUTHFUL, account=account).write(tmp_path / "first")
    assert shoal.verify(folder).passed
    stated = json.loads((folder / "certificate.json").read_text())["account"]
    for shown in ("summary.txt", "report.html"):
        assert "It was paid from an account of these records" in " ".join((folder / shown).read_text().split())
    assert stated["neighbours"] == "add or remove one record"
    assert stated["spent"] == stated["cost"] == {"epsilon": "1", "delta": "1/1000000"}
    assert stated["budget"] == {"epsilon": "2", "delta": "1/100000"}
    entry = account.history()[stated["entry"] - 1]
    assert entry.code.hex() == stated["code"]


FORGED: dict[str, dict[str, object]] = {
    "cost": {"cost": {"epsilon": "1/2", "delta": "1/1000000"}},
    "more than it may": {"budget": {"epsilon": "1/2", "delta": "1/100000"}},
    "less than this": {"spent": {"epsilon": "1", "delta": "0"}},
    "neighbours": {"neighbours": "replace one record; the number of records is public"},
    "persons": {"neighbours": "add or remove one person with all records"},
}


@pytest.mark.slow
def test_a_forged_account_is_refused(account: shoal.Account, tmp_path: Path) -> None:
    folder = shoal.anonymize(table(), TRUTHFUL, account=account).write(tmp_path / "first")
    path = folder / "certificate.json"
    certificate = json.loads(path.read_text())
    for name, forged in FORGED.items():
        edited = certificate | {"account": certificate["account"] | forged}
        path.write_text(json.dumps(edited, indent=2, ensure_ascii=False) + "\n")
        assert not shoal.verify(folder).passed, name
    unread = certificate["account"] | {"cost": {"epsilon": "one", "delta": "0"}}
    path.write_text(json.dumps(certificate | {"account": unread}))
    with pytest.raises(shoal.errors.VerificationError, match=r"account\.cost\.epsilon"):
        shoal.verify(folder)


def test_an_account_is_about_one_table(account: shoal.Account) -> None:
    years = pa.table({"years": [20 + 50 * (i % 2) for i in range(300)]})
    other = shoal.read(years, schema=Schema(attributes=(dataclasses.replace(AGE, name="years"),)))
    with pytest.raises(ParameterError, match="not the table that the account was made for"):
        shoal.anonymize(other, TRUTHFUL, account=account)
    account.follow(other)
    shoal.anonymize(other, TRUTHFUL, account=account)
    assert str(account.standing.spent) == "epsilon 1, delta 0.000001"
    # what is in the table decides nothing: that it has grown would be an answer
    longer = shoal.read(years.slice(0, 299), schema=other.schema)
    shoal.anonymize(longer, TRUTHFUL, account=account)


def test_persons_and_records_are_not_added_up(account: shoal.Account) -> None:
    with pytest.raises(ParameterError) as refused:
        shoal.anonymize(table(VISITS), TRUTHFUL, account=account)
    assert len(refused.value.problems) == 2
    with pytest.raises(ParameterError, match="persons identified by `who`"):
        account.follow(table(VISITS))


@pytest.mark.parametrize(
    ("models", "method"),
    [
        ((shoal.KAnonymity(5),), shoal.Generalize()),
        ((NOISY,), shoal.methods.DPMicroaggregation(target="partition")),
        ((TRUTHFUL,), shoal.methods.Truthful(search="walk", steps=2)),
    ],
)
def test_what_promises_no_differential_privacy_of_the_table_cannot_be_counted(
    models: tuple[shoal.KAnonymity, ...], method: shoal.Generalize, tmp_path: Path
) -> None:
    kept = replacing(tmp_path)
    with pytest.raises(ParameterError, match="promises no differential privacy of the whole table"):
        shoal.anonymize(table(), *models, method=method, account=kept)
    assert kept.standing.spent.epsilon == 0


def test_an_account_that_hides_presence_refuses_what_does_not(account: shoal.Account) -> None:
    with pytest.raises(ParameterError, match=r"add or remove one record.*promises less"):
        shoal.anonymize(table(), NOISY, method=shoal.methods.DPMicroaggregation(), account=account)


def test_in_an_account_of_replaced_records_adding_and_removing_costs_twice(tmp_path: Path) -> None:
    kept = replacing(tmp_path)
    shoal.anonymize(table(), NOISY, method=shoal.methods.DPMicroaggregation(), account=kept)
    folder = shoal.anonymize(table(), TRUTHFUL, account=kept).write(tmp_path / "made")
    assert shoal.verify(folder).passed
    spent = kept.standing.spent
    assert spent.epsilon == Fraction(5, 2)
    exact = 1e-6 * (1 + math.e)
    assert exact <= spent.delta < exact + 2e-18
    session = Session(table(), 9, delta="1e-4", ledger=kept.ledger())
    answer = session.count(epsilon="0.25")
    assert str(answer.cost) == "epsilon 0.5"
    assert kept.standing.spent.epsilon == 3


@pytest.mark.parametrize(("records", "allowed"), [(1, False), (3, True)])
def test_persons_whose_number_of_records_is_public_are_weaker_neighbours(
    records: int, allowed: bool, tmp_path: Path
) -> None:
    kept = replacing(tmp_path, VISITS, records_per_person=records)
    asked = shoal.methods.noise.EpsilonBudget(1, records_per_person=2)
    if allowed:
        shoal.anonymize(table(VISITS), asked, method=shoal.methods.DPMicroaggregation(), account=kept)
    else:
        with pytest.raises(ParameterError, match="promises less"):
            shoal.anonymize(table(VISITS), asked, method=shoal.methods.DPMicroaggregation(), account=kept)
    one = dataclasses.replace(asked, records_per_person=1)
    shoal.anonymize(table(VISITS), one, method=shoal.methods.DPMicroaggregation(), account=kept)
    assert kept.standing.spent.epsilon == 1 + allowed


def randomized_response(bits: tuple[int, ...], epsilon: float) -> dict[tuple[int, ...], float]:
    """Return how likely every answer is, from the definition: each bit stays with probability e^eps / (1 + e^eps)."""
    stays = math.exp(epsilon) / (1 + math.exp(epsilon))
    return {
        answer: math.prod(stays if a == b else 1 - stays for a, b in zip(answer, bits, strict=True))
        for answer in ((0, 0), (0, 1), (1, 0), (1, 1))
    }


def test_replacing_is_bounded_by_twice_the_loss_of_removing() -> None:
    """The worst pair of the lemma: removing flips one bit of the answer, adding flips another."""
    before, after = randomized_response((0, 0), 0.7), randomized_response((1, 1), 0.7)
    worst = max(math.log(before[each] / after[each]) for each in before)
    cost = Cost(epsilon=Fraction(7, 10), neighbours=Neighbours.ADD_REMOVE).convert_neighbours(Neighbours.REPLACE)
    assert cost is not None
    assert worst == pytest.approx(float(cost.epsilon))


def test_every_private_method_costs_what_its_certificate_says(tmp_path: Path) -> None:
    for asked, method in (
        (TRUTHFUL, shoal.methods.Truthful()),
        (dataclasses.replace(TRUTHFUL, epsilon=20), shoal.methods.TruthfulTables()),
        (NOISY, shoal.methods.DPMicroaggregation()),
    ):
        plan = shoal.Plan(schema=table().schema, models=(asked,), method=method)  # type: ignore[arg-type]
        cost = plan.cost
        assert cost is not None
        release = plan.run(table())
        budget, promise = release.guarantee.budget, release.guarantee.promises[0]
        assert (budget.epsilon, budget.delta) <= (cost.epsilon, cost.delta)
        assert budget.delta <= cost.delta
        assert promise.neighbours is cost.neighbours


def test_a_vault_and_releases_share_an_account(account: shoal.Account, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n" + "".join(f"{20 + 50 * (i % 2)}\n" for i in range(300)))
    (tmp_path / "people.schema.toml").write_text(dumps(Schema(attributes=(AGE,))))
    Vault.create(
        tmp_path / "v", str(tmp_path / "people.csv"), schema=tmp_path / "people.schema.toml", account=account.folder
    )
    assert not (tmp_path / "v" / "ledger.sqlite").exists()
    again = Vault.open(tmp_path / "v")
    again.admit("alice", shoal.queries.Loss.of(5))
    ledger = again.ledger()
    again.desk(ledger).ask("alice", shoal.queries.Count(epsilon="1.5"))
    ledger.close()
    with pytest.raises(AccountSpent, match=r"epsilon 0\.5, delta 0\.00001 is left"):
        shoal.anonymize(table(), TRUTHFUL, account=account)
    with pytest.raises(ParameterError, match="either its own `budget`"):
        Vault.create(tmp_path / "w", str(tmp_path / "people.csv"), schema=tmp_path / "people.schema.toml")
