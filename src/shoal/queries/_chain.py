"""The entries of a ledger as a chain of codes, and the accounts that they add up to.

Whoever looks at a ledger checks the code of every entry from the first to the last. Adding the entries up again takes
far longer; a checkpoint saves it: the accounts as they stood after some entry, kept beside the ledger.

What a checkpoint says follows from the entries, and the entries count: a checkpoint carries a code, HMAC-SHA-256 with
the ledger's key over its text, and names the entry by number and code, which depends on all entries before it. So one
that was changed, or belongs to other entries, is not used; an older one put back is still true, and what came after it
is added to it; and a lost one costs time.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoal.errors import LedgerError, ParameterError, ShoalError
from shoal.queries._accounts import Accounts
from shoal.queries._store import Anchor, Head, canonical, parsed
from shoal.writing import write_file

# entries that are added up again at most when a ledger is opened
ADDED_UP = 2_000

Row = tuple[int, str, bytes]


class Chain:
    """The accounts as of the last entry that this process has checked."""

    def __init__(self, connection: sqlite3.Connection, anchor: Anchor, key: bytes, kept: CheckpointFile) -> None:
        self._connection, self._anchor, self._key, self._kept = connection, anchor, key, kept
        self._checkpointed = 0
        self._known = Head(0, b"")
        self.forget()

    def forget(self) -> None:
        """Know no more than the last entry that was there: the next `catch_up` begins at the first."""
        self.accounts, self.head = Accounts(), Head(0, b"")

    def catch_up(self, *, trust: bool = True) -> None:
        """Check the entries since the last look, bring the accounts up to date, then compare with the anchor.

        Unless ``trust`` is false, entries before the checkpoint are checked and not added up again.
        """
        self._check_rows(self._started() if trust and not self.head.number else self.head.number)
        self._compare_with_anchor()
        if self.head.number - self._checkpointed >= ADDED_UP:
            self._kept.write(Checkpoint.of(self.head, self.accounts))
            # a failure to write it is not tried again with every entry
            self._checkpointed = self.head.number

    def audit(self) -> None:
        """Check and add up every entry from the first, and compare the checkpoint with what it should say."""
        self.forget()
        kept = self._usable()
        if kept is not None:
            self._check_rows(0, last=kept.head.number)
            if Checkpoint.of(self.head, self.accounts) != kept:
                raise LedgerError(
                    "the accounts stored alongside the ledger do not match what its entries add up to.",
                    hint="the entries are what counts: remove the file that ends in `.accounts`, and check again",
                )
        self.catch_up(trust=False)

    def append(self, content: Mapping[str, Any]) -> Row:
        """Add an entry to the accounts and return the row to store."""
        body = canonical({**content, "time": datetime.now(UTC).isoformat(timespec="milliseconds")})
        number = self.head.number + 1
        code = self._code(self.head.code, number, body)
        self.accounts.apply(content)
        self.head = Head(number, code)
        return number, body, code

    def committed(self) -> None:
        """Remember the last entry, so that an older copy put back while this process runs is noticed."""
        self._known = self.head

    def code_at(self, number: int) -> Head | None:
        """Return the stored head as it was after an entry."""
        row = self._connection.execute("SELECT code FROM entries WHERE number = ?", (number,)).fetchone()
        return None if row is None else Head(number, bytes(row[0]))

    def _started(self) -> int:
        """Begin with the checkpoint; return the entry up to which the accounts need not be added up."""
        kept = self._usable()
        if kept is None:
            return 0
        try:
            self.accounts = kept.accounts()
        except (KeyError, TypeError, ValueError, ShoalError):
            return 0
        self._checkpointed = kept.head.number
        return kept.head.number

    def _usable(self) -> Checkpoint | None:
        """Return the checkpoint if it belongs to a stored entry, whose code is yet to be checked."""
        kept = self._kept.read()
        return kept if kept is not None and self.code_at(kept.head.number) == kept.head else None

    def _check_rows(self, added: int, last: int | None = None) -> None:
        """Check the entries after the head, and add up those after ``added``."""
        number, code = self.head.number, self.head.code
        if number and self.code_at(number) != self.head:
            raise LedgerError("entries of the ledger were changed or removed.")
        rows = self._connection.execute(
            "SELECT number, body, code FROM entries WHERE number > ? AND number <= ? ORDER BY number",
            (number, _LARGEST if last is None else last),
        )
        for stored, body, stored_code in rows:
            number, code = number + 1, self._code(code, number + 1, body)
            if stored != number or not hmac.compare_digest(bytes(stored_code), code):
                raise LedgerError(f"entry {number} of the ledger was changed, removed or made with another key.")
            if number > added:
                self.accounts.apply(parsed(body, number))
        self.head = Head(number, code)

    def _code(self, before: bytes, number: int, body: str) -> bytes:
        return hmac.digest(self._key, b"entry %b %d %b" % (before, number, body.encode()), "sha256")

    def _compare_with_anchor(self) -> None:
        anchored, head = self._anchor.read(), self.head
        if self._known.number and self.code_at(self._known.number) != self._known:
            raise LedgerError("the ledger is an older copy of itself: it lacks entries that were there.")
        if anchored.number > head.number:
            missing = anchored.number - head.number
            raise LedgerError(f"the ledger was cut short: {missing} entries at its end are missing.")
        if anchored.number and self.code_at(anchored.number) != anchored:
            raise LedgerError("the ledger and its anchor do not belong together.")
        if anchored != head:
            # a process died between its commit and its anchor
            self._anchor.write(head)
            self._anchor.sync()
        self.committed()


# of SQLite
_LARGEST = (1 << 63) - 1


# raised whenever the same entries add up to other accounts: what an older version kept is then added up again
VERSION = 2


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The accounts after an entry, as text."""

    head: Head
    text: str

    @classmethod
    def of(cls, head: Head, accounts: Accounts) -> Checkpoint:
        """Return how accounts stand after an entry."""
        return cls(head, canonical(accounts.to_json()))

    def accounts(self) -> Accounts:
        """Return the accounts."""
        return Accounts.of_json(json.loads(self.text))


class CheckpointFile:
    """The file beside a ledger that holds its last checkpoint."""

    def __init__(self, path: Path, key: bytes) -> None:
        self._path, self._key = path, key

    def read(self) -> Checkpoint | None:
        """Return what was written last; None if nothing was, or it is not what was written."""
        try:
            line, _, text = self._path.read_text(encoding="ascii").partition("\n")
            said, _, code = line.rpartition(" ")
            title, _, head = said.rpartition(" ")
            found = Checkpoint(Head.parse(head), text)
        except (OSError, UnicodeDecodeError, LedgerError, ParameterError):
            return None
        known = title == _TITLE and hmac.compare_digest(code.encode(), self._code(found).encode())
        return found if known else None

    def write(self, checkpoint: Checkpoint) -> None:
        """Replace what was written before; where that fails, opening the ledger takes longer."""
        text = f"{_TITLE} {checkpoint.head} {self._code(checkpoint)}\n{checkpoint.text}"
        with suppress(ShoalError):
            write_file(self._path, text.encode("ascii"), overwrite=True, private=True, told=False)

    def _code(self, checkpoint: Checkpoint) -> str:
        text = f"{_TITLE} {checkpoint.head}\n{checkpoint.text}".encode()
        return hmac.new(self._key, b"accounts " + text, hashlib.sha256).hexdigest()


_TITLE = f"shoal ledger accounts {VERSION}"
