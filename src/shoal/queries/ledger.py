"""The durable ledger: what was spent is on the disk before an answer exists.

Entries stand in a SQLite table that only grows. Each carries a code, HMAC-SHA-256 over the code before it, its number
and its text, with a key from a file of its own; so an entry cannot be changed, left out or made up without the key. The
number and code of the last entry also stand in the anchor (`shoal.queries._store`), so entries cannot be cut off at
the end. What none of this can notice is an older copy of all files put back together: write the head down elsewhere
and compare it (``shoal vault ledger --expect``).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from shoal.errors import LedgerError, LedgerUnusable, ShoalError
from shoal.queries._accounts import (
    VERSION_ENTRY,
    WHOLE,
    Receipt,
    Standing,
    budget_entry,
    loss_of,
    spend_entry,
)
from shoal.queries._chain import Chain, CheckpointFile, Row
from shoal.queries._loss import Loss
from shoal.queries._store import (
    SCHEMA,
    Anchor,
    Entry,
    Head,
    OpenedFile,
    beside,
    connect,
    make_key,
    read_key,
    sync_folder,
    usable,
)
from shoal.queries._unit import RECORD, Unit
from shoal.schema.conditions import EVERYBODY, Region

__all__ = ["Entry", "Head", "Ledger", "Receipt", "loss_of"]

_Append = Callable[[Mapping[str, Any]], Head]


@dataclass(slots=True, eq=False)
class _Request:
    """A spending that waits for the next commit, and what became of it."""

    account: str
    loss: Loss
    region: Region
    query: str
    version: int | None = None
    batch: _Batch | None = None
    outcome: Receipt | ShoalError | None = None


@dataclass(slots=True, eq=False)
class _Batch:
    """Spendings that share a commit; nothing may be answered before they are settled, that is anchored durably."""

    requests: list[_Request] = field(default_factory=list)
    settled: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class Ledger:
    """A record of spendings that cannot be overspent, forgotten or quietly changed.

    Open one with `create` or `open`. Threads share a ledger object, and processes share its files: one writes at a
    time, and spendings of several threads that wait for each other share one commit.

    Guarantee
    ---------
    When `spend` returns, the spending is durable (SQLite in WAL mode with ``synchronous = FULL``, then the anchor,
    each synced), and the accounts never exceed their budgets in exact arithmetic. A crash at any moment loses no
    spending that was answered; it may leave a spending that was not.

    Assumptions
    -----------
    The disk keeps what it says it has synced. The key is secret; see ``docs/explanation/vault-threat-model.md``.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> ledger = Ledger.create(folder / "study.ledger", budget=Loss.of(1))
    >>> ledger.set_budget("alice", Loss.of("0.5"))
    >>> receipt = ledger.spend("alice", Loss.of("0.1"), query="count")
    >>> receipt.number, str(receipt.standing.left)
    (3, 'epsilon 0.4')
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, anchor: Anchor, key: bytes) -> None:
        self.path = path
        self._connection, self._anchor, self._key = connection, anchor, key
        self._process = os.getpid()
        with usable(f"the ledger `{path.name}` cannot be opened"):
            self._place = OpenedFile(path)
        self._lock = threading.Lock()
        self._waiting: deque[_Request] = deque()
        self._chain = Chain(connection, anchor, key, CheckpointFile(beside(path, "accounts"), key))

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        budget: Loss,
        unit: Unit = RECORD,
        key: Path | None = None,
        anchor: Path | None = None,
    ) -> Self:
        """Make a ledger, a file, for one table and the budget of all analysts together.

        Its key and anchor are made beside it unless other places are given. The unit whose losses are counted stays.
        """
        path = Path(path)
        key_path, anchor_path = key or beside(path, "key"), anchor or beside(path, "head")
        for each in (path, anchor_path):
            if each.exists():
                raise LedgerUnusable(f"`{each.name}` already exists.", hint="a ledger is never replaced")
        secret = read_key(key_path) if key_path.exists() else make_key(key_path)
        with usable(f"the ledger `{path.name}` cannot be created"):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            connection = connect(path)
            connection.executescript(SCHEMA)
            kept = Anchor(anchor_path, secret, create=True)
            kept.write(Head(0, b""))
            kept.sync()
            for folder in {path.parent, anchor_path.parent, key_path.parent}:
                sync_folder(folder)
        ledger = cls(path, connection, kept, secret)
        if unit != RECORD:
            ledger._record(unit.entry())
        ledger.set_budget(WHOLE, budget)
        return ledger

    @classmethod
    def open(
        cls, path: str | Path, *, key: Path | None = None, anchor: Path | None = None, expect: Head | None = None
    ) -> Self:
        """Open a ledger after checking every entry; ``expect`` is a head that was written down before.

        What entries before the last checkpoint add up to is read from it (`shoal.queries._chain`); `check` adds
        everything up again.
        """
        path = Path(path)
        if not path.exists():
            raise LedgerError(f"there is no ledger `{path.name}`.", hint="shoal vault create makes one")
        secret = read_key(key or beside(path, "key"))
        with ExitStack() as opened:
            kept = Anchor(anchor or beside(path, "head"), secret)
            opened.callback(kept.close)
            with usable(f"the ledger `{path.name}` cannot be opened"):
                connection = connect(path)
                opened.callback(connection.close)
                sound = [row[0] for row in connection.execute("PRAGMA quick_check")] == ["ok"]
            if not sound:
                raise LedgerError(f"the ledger `{path.name}` is damaged.")
            ledger = cls(path, connection, kept, secret)
            ledger._checked(expect, whole=False)
            opened.pop_all()
        return ledger

    @classmethod
    def restore_anchor(cls, path: str | Path, *, key: Path | None = None, anchor: Path | None = None) -> Self:
        """Make a new anchor where the old one is lost; entries cut off before this are not noticed any more.

        An entry says that it happened.
        """
        path = Path(path)
        place = anchor or beside(path, "head")
        if place.exists():
            raise LedgerUnusable(f"the anchor `{place.name}` is there: only a lost one is made anew.")
        # it gets its name when the entry is there: one that nobody reads of would hide what was cut off
        made = beside(place, "new")
        with usable(f"the anchor `{place.name}` cannot be made anew"):
            try:
                made.unlink(missing_ok=True)
                fresh = Anchor(made, read_key(key or beside(path, "key")), create=True)
                fresh.write(Head(0, b""))
                fresh.close()
                with closing(cls.open(path, key=key, anchor=made)) as ledger:
                    ledger._record({"event": "anchored"})
                made.rename(place)
                sync_folder(place.parent)
            finally:
                made.unlink(missing_ok=True)
        return cls.open(path, key=key, anchor=anchor)

    def close(self) -> None:
        """Close the files, after the spending that is being recorded."""
        with self._lock:
            self._connection.close()
            self._anchor.close()

    # -- spending

    def check_budget(self, account: str, loss: Loss, region: Region = EVERYBODY) -> None:
        """Refuse a spending that would be refused now, without spending anything."""
        with self._lock, self._reading():
            self._chain.accounts.check(account, loss, region)

    def price(self, loss: Loss) -> Loss:
        """Return what a loss counts in the terms of the budget: of rho, or of epsilon."""
        with self._lock, self._reading():
            return self._chain.accounts.price(loss)

    @property
    def in_rho(self) -> bool:
        """Whether rho is added up, and not epsilon."""
        with self._lock, self._reading():
            return self._chain.accounts.in_rho

    def begin_version(self) -> int:
        """Declare that a new version of the table begins, and return its number.

        The largest charge of any value becomes everybody's charge, for epsilon, delta and rho apart: a person may have
        other values in the new version. Questions name the version of their copy of the table; those that name an
        older one or none are charged to everybody from now on.
        """
        with self._lock, self._writing() as append:
            append(VERSION_ENTRY)
            version = self._chain.accounts.version
        self._anchor.sync()
        return version

    def spend(
        self, account: str, loss: Loss, region: Region = EVERYBODY, *, query: str = "", version: int | None = None
    ) -> Receipt:
        """Record a spending durably, or refuse it.

        It is charged to the people of ``region`` if ``version`` is the version of the table that `begin_version` gave
        last, and to everybody otherwise.

        Raises
        ------
        BudgetSpent
            If the analyst's budget or that of the whole table does not allow it; nothing is recorded.
        LedgerError
            If it cannot be recorded; it may or may not count as spent, and must not be answered.
        """
        request = _Request(account, loss, region, query, version)
        self._waiting.append(request)
        with self._lock:
            if request.batch is None:
                self._commit_waiting()
        # the next batch is committed while this one is anchored
        assert request.batch is not None  # noqa: S101 - whoever had the lock took all that waited
        self._settle(request.batch)
        if isinstance(request.outcome, Receipt):
            return request.outcome
        raise request.outcome or LedgerError("the ledger did not record the spending.")

    def _commit_waiting(self) -> None:
        """Record all spendings that wait, in one commit."""
        batch = _Batch()
        while self._waiting:
            request = self._waiting.popleft()
            request.batch = batch
            batch.requests.append(request)
        failure: LedgerError | None = LedgerError("the ledger was interrupted; nothing is answered.")
        try:
            with self._writing() as append:
                for request in batch.requests:
                    request.outcome = self._try(request, append)
            # refusals were not written: they wait for no disk
            batch.settled = not any(isinstance(request.outcome, Receipt) for request in batch.requests)
            failure = None
        except LedgerError as error:
            failure = error
        finally:
            if failure:
                self._fail(batch, failure)

    def _settle(self, batch: _Batch) -> None:
        """Wait until the anchor of a batch is on the disk; the first to come sees to it for all."""
        with batch.lock:
            if not batch.settled:
                try:
                    self._anchor.sync()
                    batch.settled = True
                except LedgerError as error:
                    self._fail(batch, error)

    def _fail(self, batch: _Batch, failure: LedgerError) -> None:
        for request in batch.requests:
            request.outcome = failure
        batch.settled = True

    def _try(self, request: _Request, append: _Append) -> Receipt | ShoalError:
        accounts = self._chain.accounts
        try:
            region = accounts.charged_region(request.region, request.version)
            accounts.check(request.account, request.loss, region)
        except ShoalError as refusal:
            return refusal
        head = append(spend_entry(request.account, request.loss, region, request.query))
        return Receipt(head.number, head.code.hex(), accounts.standing(request.account))

    # -- administration

    def set_budget(self, account: str, budget: Loss) -> None:
        """Give an account a budget; a new name makes a new analyst.

        Where rho is counted, a budget of epsilon and delta becomes the one of rho that keeps them: what a ledger counts
        never changes, for what was spent would be forgotten.
        """
        if account == WHOLE:
            budget.check_policy()
        with self._lock, self._reading():
            budget = self._chain.accounts.in_measure(budget)
        self._record(budget_entry(account, budget))

    def set_token(self, account: str, digest: str | None) -> None:
        """Give an analyst a token, by its digest, or take it away."""
        self._record({"event": "token", "account": account, "sha256": digest})

    def bind(self, *looks: str) -> None:
        """Say which table the budgets are about, by how it looks; what was spent stays spent."""
        self._record({"event": "table", "digest": self._digest(looks)})

    def bound_to(self, *looks: str) -> bool:
        """Whether the budgets are about the table that looks like this, or about none in particular."""
        with self._lock, self._reading():
            known = self._chain.accounts.table
        return known is None or hmac.compare_digest(known, self._digest(looks))

    def note_written(self, number: int, name: str, digest: str) -> None:
        """Say what became of a spending: the name of a release, and the SHA-256 of its certificate."""
        self._record({"event": "written", "entry": number, "name": name, "sha256": digest})

    def _digest(self, looks: tuple[str, ...]) -> str:
        return hmac.new(self._key, b"table " + json.dumps(looks).encode(), hashlib.sha256).hexdigest()

    @property
    def unit(self) -> Unit:
        """Whose losses are counted: those of a record, unless an entry says otherwise."""
        with self._lock, self._reading():
            return self._chain.accounts.unit

    def standing(self, account: str) -> Standing:
        """Return what an account spent and has left, entries of other processes included."""
        with self._lock, self._reading():
            return self._chain.accounts.standing(account)

    def standings(self) -> dict[str, Standing]:
        """Return how all accounts stand; ``*`` is that of the whole table."""
        with self._lock, self._reading():
            accounts = self._chain.accounts
            return {name: accounts.standing(name) for name in (WHOLE, *accounts.analysts)}

    def tokens(self) -> dict[str, str]:
        """Return whose token each digest is."""
        with self._lock, self._reading():
            return self._chain.accounts.tokens()

    @property
    def head(self) -> Head:
        """The last entry's number and code: write them down elsewhere to notice an older copy put back."""
        with self._lock, self._reading():
            return self._chain.head

    def written(self) -> frozenset[int]:
        """Return the numbers of the entries whose releases are known to have been written."""
        with self._lock, self._reading():
            return frozenset(self._chain.accounts.written)

    def entries(self, *, last: int | None = None, before: int | None = None) -> list[Entry]:
        """Return all entries, or the ``last`` so many of them, or of those ``before`` a number."""
        with self._lock, self._reading():
            end = self._chain.head.number if before is None else before - 1
            rows = self._connection.execute(
                "SELECT number, body, code FROM entries WHERE number > ? AND number <= ? ORDER BY number",
                (0 if last is None else end - last, end),
            ).fetchall()
        return [Entry(number, json.loads(body), code) for number, body, code in rows]

    def check(self, *, expect: Head | None = None) -> Head:
        """Check every entry and add all of them up again from the first, and return the head."""
        return self._checked(expect, whole=True)

    def _checked(self, expect: Head | None, *, whole: bool) -> Head:
        with self._lock:
            self._chain.forget()
            with self._reading(whole=whole):
                if expect is not None and expect != self._chain.code_at(expect.number):
                    raise LedgerError("the ledger does not continue from the expected head: it is an older copy.")
                return self._chain.head

    # -- the chain

    def _record(self, content: Mapping[str, Any]) -> None:
        """Append one entry durably."""
        with self._lock, self._writing() as append:
            append(content)
        self._anchor.sync()

    @contextmanager
    def _writing(self) -> Iterator[_Append]:
        """Give a function that appends entries; they are committed on leaving, and the anchor awaits its sync."""
        with self._reading(begin="BEGIN IMMEDIATE"):
            rows: list[Row] = []

            def append(content: Mapping[str, Any]) -> Head:
                rows.append(self._chain.append(content))
                return self._chain.head

            yield append
            if rows:
                self._connection.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)
                self._connection.execute("COMMIT")
                self._chain.committed()
                self._anchor.write(self._chain.head)

    @contextmanager
    def _reading(self, begin: str = "BEGIN", *, whole: bool = False) -> Iterator[None]:
        """Hold the ledger, with the accounts brought up to its last entry; after a failure they are read anew."""
        if self._process != os.getpid():
            raise LedgerError("a ledger cannot be used after a fork.", hint="open it again in the child")
        with usable("the ledger cannot be used", "; nothing is answered"):
            try:
                with self._anchor.lock():
                    self._place.check()
                    self._anchor.place.check()
                    self._connection.execute(begin)
                    try:
                        (self._chain.audit if whole else self._chain.catch_up)()
                        yield
                    finally:
                        if self._connection.in_transaction:
                            self._connection.execute("ROLLBACK")
            except BaseException:
                self._chain.forget()
                raise
