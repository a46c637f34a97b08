"""A vault: a table, its schema, a ledger and the analysts who may ask."""

from __future__ import annotations

import hashlib
import secrets
import tomllib
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError, ParameterError, SchemaError, reason
from shoal.queries._accounts import WHOLE
from shoal.queries._loss import Loss
from shoal.queries._records import records_of
from shoal.queries._store import Head
from shoal.queries._unit import Unit
from shoal.queries.account import LEDGER, Account, check_bound, make_parent
from shoal.queries.ledger import Ledger
from shoal.queries.session import Desk, check_unit
from shoal.schema import Schema, dumps, load, toml_value
from shoal.tables import Table, read
from shoal.writing import staged

__all__ = ["Vault", "token_digest"]

SETTINGS = "vault.toml"
TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """The folder of a vault: settings, ledger, key and anchor. The records stay where they are.

    Parameters
    ----------
    folder
        Where the vault is kept; readable by its owner only.
    source, table
        Where the records are; see :func:`shoal.read`.
    schema
        The schema file. A vault is bound to what it said when the vault was made: bounds decide how much noise
        answers get.
    digest
        The SHA-256 digest of that schema.
    account
        The folder of the :class:`shoal.Account` that pays for the answers; None: the vault has a budget of its own.
    """

    folder: Path
    source: str
    schema: Path
    digest: str
    table: str | None = None
    account: Path | None = None

    @classmethod
    def create(
        cls,
        folder: str | Path,
        source: str,
        *,
        schema: str | Path,
        budget: Loss | None = None,
        account: str | Path | Account | None = None,
        table: str | None = None,
        records_per_person: int | None = None,
    ) -> Vault:
        """Make a vault.

        ``budget`` is what all analysts together may spend on one person, who is one record unless the schema has a
        person column; answers then look at no more than ``records_per_person`` records of each, 1 by default. Instead,
        ``account`` names the account of the table, from which releases are paid as well.
        """
        if (budget is None) == (account is None):
            raise ParameterError("a vault needs either its own `budget` or the `account` of its table.")
        folder, schema = Path(folder), Path(schema).absolute()
        described = load(schema)
        if described.guessed:
            raise SchemaError(
                "a vault needs a schema that a person has confirmed; this one is a draft.",
                hint="check it, declare domains, and remove `guessed = true`",
            )
        # reading it now tells the steward, and not an analyst, what is wrong with the data
        place = source if "://" in source else str(Path(source).absolute())
        records = read(place, schema=described, table=table)
        payer = account if account is None or isinstance(account, Account) else Account.open(account)
        if payer is not None:
            _check_account(payer, records, records_per_person)
        make_parent(folder)
        home = None if payer is None else payer.folder.absolute()
        made = cls(folder=folder, source=place, schema=schema, digest=_digest(described), table=table, account=home)
        settings = {"source": place, "schema": str(schema), "digest": made.digest}
        settings |= {} if table is None else {"table": table}
        settings |= {} if home is None else {"account": str(home)}
        text = "".join(f"{name} = {toml_value(value)}\n" for name, value in settings.items())
        with staged(folder, private=True) as staging:
            (staging / SETTINGS).write_text(text, encoding="utf-8")
            if budget is not None:
                Ledger.create(staging / LEDGER, budget=budget, unit=Unit.of(described, records_per_person)).close()
        return made

    @classmethod
    def open(cls, folder: str | Path) -> Vault:
        """Read the settings of a vault."""
        folder = Path(folder)
        try:
            settings: dict[str, Any] = tomllib.loads((folder / SETTINGS).read_text(encoding="utf-8"))
            return cls(
                folder=folder,
                source=settings["source"],
                schema=Path(settings["schema"]),
                digest=settings["digest"],
                table=settings.get("table"),
                account=Path(settings["account"]) if "account" in settings else None,
            )
        except OSError as error:
            raise InputError(f"`{folder.name}` is not a vault: {reason(error)}.") from None
        except (tomllib.TOMLDecodeError, KeyError, UnicodeDecodeError):
            raise InputError(f"`{SETTINGS}` of the vault `{folder.name}` cannot be read.") from None

    def ledger(self, *, expect: Head | None = None) -> Ledger:
        """Open the ledger after checking it."""
        return Ledger.open(self._place, expect=expect)

    @property
    def _place(self) -> Path:
        return (self.account or self.folder) / LEDGER

    def restore_anchor(self) -> Ledger:
        """Make a new anchor for the ledger; see :meth:`Ledger.restore_anchor`."""
        return Ledger.restore_anchor(self._place)

    def desk(self, ledger: Ledger, *, in_memory: bool | None = None) -> Desk:
        """Read the records and return the desk that answers about them."""
        described = load(self.schema)
        if _digest(described) != self.digest:
            raise SchemaError(
                "the schema has changed since the vault was made; its bounds decide how much noise the answers get.",
                hint="restore the schema, or make a new vault",
            )
        unit = ledger.unit
        check_unit(ledger, Unit.of(described, unit.records if described.person else None))
        table = read(self.source, schema=described, table=self.table)
        if self.account is not None:
            check_bound(ledger, table)
        schema, records = records_of(table, unit, in_memory=in_memory)
        return Desk(schema, records, ledger, unit=unit)

    def admit(self, name: str, budget: Loss) -> str:
        """Add an analyst, or give a known one a new budget and token; return the token, which is stored nowhere."""
        if not name or name == WHOLE or not name.isprintable() or len(name) > 100:
            raise ParameterError(f"the name of an analyst must be printable and not `{WHOLE}`.")
        token = secrets.token_urlsafe(TOKEN_BYTES)
        with closing(self.ledger()) as ledger:
            ledger.set_budget(name, budget)
            ledger.set_token(name, token_digest(token))
        return token

    def dismiss(self, name: str) -> None:
        """Take an analyst's token away; what was spent stays spent."""
        with closing(self.ledger()) as ledger:
            ledger.set_token(name, None)


def token_digest(token: str) -> str:
    """Return what is stored of a token. Tokens hold 256 random bits, so a plain digest cannot be guessed back."""
    return hashlib.sha256(token.encode()).hexdigest()


def _check_account(account: Account, table: Table, records_per_person: int | None) -> None:
    assert table.schema is not None  # noqa: S101 - it was read with one
    with account.inspected() as ledger:
        check_bound(ledger, table)
        if records_per_person is not None:
            check_unit(ledger, Unit.of(table.schema, records_per_person))


def _digest(schema: Schema) -> str:
    return hashlib.sha256(dumps(schema).encode()).hexdigest()
