"""Charges per value hold within one version of a table, and a vault answers from its own copy."""

from __future__ import annotations

import stat
from contextlib import closing
from pathlib import Path

import pytest

import shoal
from shoal.errors import BudgetSpent, DataError
from shoal.queries import Count, Ledger, Loss, Session, Vault
from shoal.queries._charges import Charges
from shoal.schema import Attribute, Domain, Kind, Role, Schema, dumps
from shoal.schema.conditions import Ranges, Region, Texts

AGE = Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=100))
SCHEMA = Schema(attributes=(AGE,))
WOMEN: Region = {"sex": Texts(frozenset({"F"}))}
MEN: Region = {"sex": Texts(frozenset({"M"}))}


def write_year(folder: Path, age: int) -> Path:
    """Write this year's file of one ageing person among others."""
    (folder / "people.schema.toml").write_text(dumps(SCHEMA))
    path = folder / "people.csv"
    path.write_text("age\n" + f"{age}\n" + "80\n" * 50)
    return path


def make_vault(folder: Path, name: str, budget: Loss | None = None, account: shoal.Account | None = None) -> Vault:
    made = Vault.create(
        folder / name,
        str(folder / "people.csv"),
        schema=folder / "people.schema.toml",
        budget=budget,
        account=account,
    )
    with closing(made.ledger()) as ledger:
        if "alice" not in ledger.standings():
            ledger.set_budget("alice", Loss.of(10**6))
    return made


def ask(vault: Vault, age: int, epsilon: str) -> float:
    with closing(vault.ledger()) as ledger:
        answer = vault.desk(ledger).ask("alice", Count(where=f"age = {age}", epsilon=epsilon))
    assert isinstance(answer.value, int)
    return answer.value


def spent(vault: Vault) -> str:
    with closing(vault.ledger()) as ledger:
        return str(ledger.standing("*").spent)


def test_ten_yearly_files_lose_no_more_than_the_budget(tmp_path: Path) -> None:
    """One person ages from 39 to 48: an answer at epsilon 1 about each age of hers would lose 10."""
    write_year(tmp_path, 39)
    vault = make_vault(tmp_path, "v", Loss.of(1000))
    for year in range(10):
        write_year(tmp_path, 39 + year)
        # without noise to speak of: every answer is about the file of the first year
        assert ask(vault, 39 + year, "100") == (1 if year == 0 else 0)
    assert spent(vault) == "epsilon 100"


def test_a_new_version_charges_everybody_with_the_largest_charge(tmp_path: Path) -> None:
    write_year(tmp_path, 39)
    vault = make_vault(tmp_path, "v", Loss.of(1))
    ask(vault, 39, "0.75")
    ask(vault, 50, "0.5")
    write_year(tmp_path, 40)
    vault = vault.renew()
    with pytest.raises(BudgetSpent):
        ask(vault, 40, "0.26")
    ask(vault, 40, "0.25")
    assert spent(vault) == "epsilon 1"
    assert Vault.open(vault.folder) == vault


def test_a_birthday_between_two_files_of_an_account_adds_up(tmp_path: Path) -> None:
    account = shoal.Account.create(
        tmp_path / "a", shoal.read(write_year(tmp_path, 39), schema=SCHEMA), epsilon=1, delta="1e-6"
    )
    ask(make_vault(tmp_path, "first", account=account), 39, "0.9")
    write_year(tmp_path, 40)
    second = make_vault(tmp_path, "second", account=account)
    with pytest.raises(BudgetSpent):
        ask(second, 40, "0.9")
    assert str(account.standing.spent) == "epsilon 0.9"


def test_following_a_table_charges_everybody(tmp_path: Path) -> None:
    table = shoal.read(write_year(tmp_path, 39), schema=SCHEMA)
    account = shoal.Account.create(tmp_path / "a", table, epsilon=1)
    vault = make_vault(tmp_path, "v", account=account)
    ask(vault, 39, "0.5")
    account.follow(shoal.read(write_year(tmp_path, 40), schema=SCHEMA))
    # the vault answers about the version before, in which nobody knows who is 40 now
    ask(vault, 40, "0.5")
    assert str(account.standing.spent) == "epsilon 1"


def test_questions_to_an_older_version_are_charged_to_everybody(tmp_path: Path) -> None:
    """She is 39 in the first version and 40 in the second, and the questions come in the other order."""
    account = shoal.Account.create(tmp_path / "a", shoal.read(write_year(tmp_path, 39), schema=SCHEMA), epsilon=9)
    first = make_vault(tmp_path, "first", account=account)
    write_year(tmp_path, 40)
    second = make_vault(tmp_path, "second", account=account)
    ask(second, 40, "1")
    ask(first, 39, "1")
    assert str(account.standing.spent) == "epsilon 2"


def test_whether_an_account_takes_a_table_does_not_depend_on_its_records(tmp_path: Path) -> None:
    account = shoal.Account.create(tmp_path / "a", shoal.read(write_year(tmp_path, 39), schema=SCHEMA), epsilon=9)
    with write_year(tmp_path, 39).open("a") as more:
        more.write("5\n")
    make_vault(tmp_path, "v", account=account)
    assert [entry.content["event"] for entry in account.history()][-2:] == ["version", "account"]


def test_every_session_on_a_ledger_is_a_version_of_its_own(tmp_path: Path) -> None:
    for age in (39, 40):
        session = Session(
            shoal.read(write_year(tmp_path, age), schema=SCHEMA), 2, ledger=tmp_path / "ledger", account="alice"
        )
        session.count(f"age = {age}", epsilon=1)
    assert str(session.standing.spent) == "epsilon 2"


def test_parts_of_a_loss_are_folded_apart() -> None:
    charges = Charges()
    charges.charge(Loss.of(1, "1e-9"), WOMEN)
    charges.charge(Loss.of("0.5", "1e-6"), MEN)
    charges.charge(Loss.of_rho("0.25"), {"age": Ranges((((1, 0), (2, 0)),))})
    charges.fold()
    assert charges.spent.units == (10**12, 10**12, 25 * 10**10)
    charges.charge(Loss.of(1), WOMEN)
    assert charges.spent.epsilon == 2


def test_a_ledger_opened_again_knows_the_version(tmp_path: Path) -> None:
    with closing(Ledger.create(tmp_path / "ledger", budget=Loss.of(9))) as ledger:
        ledger.set_budget("alice", Loss.of(9))
        version = ledger.begin_version()
        ledger.spend("alice", Loss.of(1), WOMEN, version=version)
    with closing(Ledger.open(tmp_path / "ledger")) as ledger:
        ledger.spend("alice", Loss.of(1), MEN, version=version)
        assert str(ledger.standing("*").spent) == "epsilon 1"
        ledger.spend("alice", Loss.of(1), MEN)
        assert str(ledger.standing("*").spent) == "epsilon 2"
        assert ledger.begin_version() == version + 1
        ledger.spend("alice", Loss.of(1), WOMEN, version=version)
        ledger.spend("alice", Loss.of(1), MEN, version=version + 1)
        assert str(ledger.standing("*").spent) == "epsilon 4"
        ledger.check()


def test_the_records_of_a_person_are_drawn_once_for_a_version(tmp_path: Path) -> None:
    person = Attribute(name="who", role=Role.PERSON)
    (tmp_path / "people.schema.toml").write_text(dumps(Schema(attributes=(person, AGE))))
    (tmp_path / "people.csv").write_text(
        "who,age\n" + "".join(f"{who},{age}\n" for who in "abcdefgh" for age in (3, 4))
    )
    vault = make_vault(tmp_path, "v", Loss.of(10**6))
    assert len({ask(vault, 3, "1000") for _ in range(6)}) == 1
    counts = set()
    for _ in range(8):
        vault = vault.renew()
        counts.add(ask(vault, 3, "1000"))
    assert len(counts) > 1


def test_a_value_that_is_not_declared_does_not_stop_the_next_version(tmp_path: Path) -> None:
    write_year(tmp_path, 39)
    vault = make_vault(tmp_path, "v", Loss.of(10**6))
    write_year(tmp_path, 139)
    assert ask(vault.renew(), 100, "1000") == 1


def test_a_snapshot_is_private_and_outlives_its_source(tmp_path: Path) -> None:
    path = write_year(tmp_path, 39)
    vault = make_vault(tmp_path, "v", Loss.of(10**6))
    path.unlink()
    assert ask(vault, 39, "1000") == 1
    (snapshot,) = vault.folder.glob("snapshot-*")
    assert stat.S_IMODE(snapshot.stat().st_mode) == 0o600
    assert stat.S_IMODE(vault.folder.stat().st_mode) == 0o700
    write_year(tmp_path, 41)
    renewed = vault.renew()
    assert ask(renewed, 41, "1000") == 1
    assert [each.name for each in vault.folder.glob("snapshot-*")] == ["snapshot-2.parquet"]


def test_a_snapshot_that_was_changed_is_refused(tmp_path: Path) -> None:
    write_year(tmp_path, 39)
    vault = make_vault(tmp_path, "v", Loss.of(1))
    (snapshot,) = vault.folder.glob("snapshot-*")
    snapshot.write_bytes(snapshot.read_bytes() + b" ")
    with closing(vault.ledger()) as ledger, pytest.raises(DataError, match="was changed or damaged"):
        vault.desk(ledger)
    snapshot.unlink()
    with closing(vault.ledger()) as ledger, pytest.raises(DataError, match="cannot be read"):
        vault.desk(ledger)
