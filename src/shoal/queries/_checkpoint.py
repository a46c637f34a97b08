"""The accounts as they stood after some entry, kept beside a ledger so that opening it need not add them up again.

What a checkpoint says follows from the entries, and the entries count: a checkpoint carries a code, HMAC-SHA-256 with
the ledger's key over its text, and names the entry by number and code, which depends on all entries before it. So one
that was changed, or belongs to other entries, is not used; an older one put back is still true, and what came after it
is added to it; and a lost one costs time.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import LedgerError, ParameterError, ShoalError
from shoal.queries._accounts import Accounts
from shoal.queries._store import Head, canonical
from shoal.writing import write_file

__all__ = ["Checkpoint", "CheckpointFile"]

# raised whenever the same entries add up to other accounts: what an older version kept is then added up again
VERSION = 1


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
