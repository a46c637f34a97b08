"""A vault: a copy of a table, its schema, a ledger and the analysts who may ask."""

from __future__ import annotations

import hashlib
import secrets
import tomllib
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.errors import DataError, InputError, ParameterError, SchemaError, reason
from shoal.mechanisms import SYSTEM
from shoal.policy import in_force
from shoal.queries._accounts import WHOLE
from shoal.queries._loss import Loss
from shoal.queries._records import records_of
from shoal.queries._store import Head
from shoal.queries._unit import Unit
from shoal.queries.account import LEDGER, Account, check_bound, make_parent
from shoal.queries.ledger import Ledger
from shoal.queries.session import Desk, check_unit
from shoal.schema import Schema, dumps, load, toml_value
from shoal.tables import Table, read, write
from shoal.writing import digest, staged, sync, write_file

__all__ = ["Vault", "token_digest"]

SETTINGS = "vault.toml"
SNAPSHOT = "snapshot-{}.parquet"
"""The name of the copy of the table in a version."""
TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """The folder of a vault: settings, a snapshot of the records, ledger, key and anchor.

    Answers come from the snapshot, which was taken when the version of the table began: what happens to the source
    afterwards changes no answer. Of a person it holds the records that were drawn then, the same for all answers and
    servers of that version. `renew` begins the next version.

    Parameters
    ----------
    folder
        Where the vault is kept; readable by its owner only.
    source, table
        Where the records come from; see :func:`shoal.read`.
    schema
        The schema file. A vault is bound to what it said when the vault was made: bounds decide how much noise
        answers get.
    digest
        The SHA-256 digest of that schema.
    version
        The version of the table in the ledger that the snapshot belongs to.
    snapshot
        The SHA-256 digest of the snapshot's file.
    account
        The folder of the :class:`shoal.Account` that pays for the answers; None: the vault has a budget of its own.
    """

    folder: Path
    source: str
    schema: Path
    digest: str
    version: int
    snapshot: str
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
        """Make a vault, with a snapshot of the table as it is now.

        ``budget`` is what all analysts together may spend on one person, who is one record unless the schema has a
        person column; answers then look at no more than ``records_per_person`` records of each, 1 by default. Instead,
        ``account`` names the account of the table, from which releases are paid as well.
        """
        if (budget is None) == (account is None):
            raise ParameterError("a vault needs either its own `budget` or the `account` of its table.")
        folder, schema = Path(folder), Path(schema).absolute()
        # an analyst would see that a vault is renewed or not: no value of a record may decide it
        described = load(schema).total()
        if described.guessed:
            raise SchemaError(
                "a vault needs a schema that a person has confirmed; this one is a draft.",
                hint="check it, declare domains, and remove `guessed = true`",
            )
        policy = in_force()
        if policy is not None:
            policy.check_columns(each.name for each in described if not each.role.left_out)
        # reading it now tells the steward, and not an analyst, what is wrong with the data
        place = _place_of(source)
        records = read(place, schema=described, table=table)
        payer = account if account is None or isinstance(account, Account) else Account.open(account)
        if payer is not None:
            _check_account(payer, records, records_per_person)
        make_parent(folder)
        home = None if payer is None else payer.folder.absolute()
        with staged(folder, private=True) as staging:
            if budget is not None:
                Ledger.create(staging / LEDGER, budget=budget, unit=Unit.of(described, records_per_person)).close()
            ledger = Ledger.open((home or staging) / LEDGER)
            with closing(ledger):
                version, unit = ledger.begin_version(), ledger.unit
            made = cls(
                folder=folder,
                source=place,
                schema=schema,
                digest=_digest(described),
                version=version,
                snapshot=_take_snapshot(unit.bounded(records, SYSTEM), staging, version),
                table=table,
                account=home,
            )
            (staging / SETTINGS).write_text(made._settings(), encoding="utf-8")
        return made

    def renew(self, source: str | None = None) -> Vault:
        """Begin a new version of the table with a snapshot of its source, or of another one, as it is now.

        What was spent on any value counts for everybody from now on (:meth:`Ledger.begin_version`). A server that is
        running still answers from the old snapshot, and each of its questions is charged to everybody.
        """
        place = self.source if source is None else _place_of(source)
        records = read(place, schema=self._schema(), table=self.table)
        with closing(self.ledger()) as ledger:
            version, drawn = ledger.begin_version(), ledger.unit.bounded(records, SYSTEM)
        new = replace(self, source=place, version=version, snapshot=_take_snapshot(drawn, self.folder, version))
        sync(self.folder)
        write_file(self.folder / SETTINGS, new._settings().encode(), overwrite=True, private=True, told=False)
        for old in self.folder.glob(SNAPSHOT.format("*")):
            if old != new._snapshot:
                old.unlink()
        return new

    def _settings(self) -> str:
        settings: dict[str, Any] = {"source": self.source, "schema": str(self.schema), "digest": self.digest}
        settings |= {"version": self.version, "snapshot": self.snapshot}
        settings |= {} if self.table is None else {"table": self.table}
        settings |= {} if self.account is None else {"account": str(self.account)}
        return "".join(f"{name} = {toml_value(value)}\n" for name, value in settings.items())

    @property
    def _snapshot(self) -> Path:
        return self.folder / SNAPSHOT.format(self.version)

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
                version=settings["version"],
                snapshot=settings["snapshot"],
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
        """Read the snapshot and return the desk that answers about it."""
        described = self._schema()
        unit = ledger.unit
        check_unit(ledger, Unit.of(described, unit.records if described.person else None))
        try:
            found = digest(self._snapshot)[0]
        except OSError as error:
            raise DataError(
                f"the snapshot of the vault `{self.folder.name}` cannot be read: {reason(error)}."
            ) from None
        if found != self.snapshot:
            raise DataError(
                f"the snapshot of the vault `{self.folder.name}` was changed or damaged since it was taken.",
                hint="restore it, or begin a new version with `shoal vault version`",
            )
        schema, records = records_of(read(self._snapshot, schema=described), unit, in_memory=in_memory)
        return Desk(schema, records, ledger, version=self.version, unit=unit)

    def _schema(self) -> Schema:
        described = load(self.schema).total()
        if _digest(described) != self.digest:
            raise SchemaError(
                "the schema has changed since the vault was made; its bounds decide how much noise the answers get.",
                hint="restore the schema, or make a new vault",
            )
        return described

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


def _place_of(source: str) -> str:
    return source if "://" in source else str(Path(source).absolute())


def _take_snapshot(records: Table, folder: Path, version: int) -> str:
    """Copy the records to a file that only its owner may read; return its SHA-256 digest."""
    path = folder / SNAPSHOT.format(version)
    write(records, path)
    path.chmod(0o600)
    return digest(path)[0]


def _check_account(account: Account, table: Table, records_per_person: int | None) -> None:
    assert table.schema is not None  # noqa: S101 - it was read with one
    with account.inspected() as ledger:
        check_bound(ledger, table)
        if records_per_person is not None:
            check_unit(ledger, Unit.of(table.schema, records_per_person))


def _digest(schema: Schema) -> str:
    return hashlib.sha256(dumps(schema).encode()).hexdigest()
