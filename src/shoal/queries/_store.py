"""The files of a ledger: a SQLite table that only grows, a secret key, and the anchor.

The anchor says how far a ledger has come and is kept apart from it, so that a ledger cut short is noticed. It is one
record of fixed size, overwritten in place and synced after every commit. It also is the lock that lets one process
write at a time; the lock goes with the process, even if it is killed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import LedgerError, LedgerUnusable, ParameterError, reason
from shoal.writing import sync

KEY_BYTES = 32
# of the anchor
SIZE = 256
# seconds to wait for the anchor's lock
PATIENCE = 30.0
SCHEMA = """
CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, code BLOB NOT NULL) STRICT;
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_last BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
"""


def connect(path: Path) -> sqlite3.Connection:
    """Open the database: commits go to a log that is synced every time."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    try:
        if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise sqlite3.OperationalError("the file system cannot hold a write-ahead log")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA trusted_schema = OFF")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def canonical(content: Mapping[str, Any]) -> str:
    """Return the one text that stands for an entry."""
    return json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def parsed(body: str, number: int) -> Mapping[str, Any]:
    """Return the entry that a text stands for."""
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict) or "event" not in found:
        raise LedgerError(f"entry {number} of the ledger cannot be read.")
    return found


def beside(path: Path, suffix: str) -> Path:
    """Return the place of a companion of the ledger."""
    return path.with_name(f"{path.name}.{suffix}")


def make_key(path: Path) -> bytes:
    """Make a secret key that only its owner can read."""
    secret = secrets.token_bytes(KEY_BYTES)
    with usable(f"the key `{path.name}` of the ledger cannot be created"):
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(file, "wb") as out:
            out.write(secret)
            out.flush()
            os.fsync(out.fileno())
    return secret


def read_key(path: Path) -> bytes:
    """Return the secret key of a file."""
    with usable(f"the key `{path.name}` of the ledger cannot be read"), path.open("rb") as stream:
        is_shared = sys.platform != "win32" and os.fstat(stream.fileno()).st_mode & 0o077
        secret = stream.read(KEY_BYTES + 1)
    if is_shared:
        raise LedgerUnusable(
            f"others may read or change the key `{path.name}` of the ledger, and with it the ledger.",
            hint="let only its owner do so: chmod 600; if somebody may have read it, make a new ledger",
        )
    if len(secret) != KEY_BYTES:
        raise LedgerError(f"the key `{path.name}` of the ledger must be {KEY_BYTES} bytes.")
    return secret


def sync_folder(path: Path) -> None:
    """Make new names in a folder survive a power failure; systems that cannot open a folder do it by themselves."""
    with suppress(PermissionError):
        sync(path)


@contextmanager
def usable(problem: str, then: str = "") -> Iterator[None]:
    """Say what cannot be done where the system refuses; files that are missing or damaged are another matter."""
    try:
        yield
    except OSError as error:
        kind = LedgerError if isinstance(error, FileNotFoundError) else LedgerUnusable
        raise kind(f"{problem}: {reason(error)}{then}.") from None
    except sqlite3.Error as error:
        # SQLite's messages speak of files and locks, never of what is in them
        refused = isinstance(error, sqlite3.OperationalError) and "no such table" not in str(error)
        kind = LedgerUnusable if refused else LedgerError
        raise kind(f"{problem}: {error}{then}.") from None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger."""

    number: int
    content: Mapping[str, Any]
    code: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """The number of the last entry and its code, which depends on all entries before it.

    Examples
    --------
    >>> str(Head(12, bytes(32)))[:12]
    '12:000000000'
    """

    number: int
    code: bytes

    def __str__(self) -> str:
        return f"{self.number}:{self.code.hex()}"

    @classmethod
    def parse(cls, text: str) -> Head:
        """Return the head that somebody wrote down."""
        number, _, code = text.strip().partition(":")
        try:
            return cls(int(number), bytes.fromhex(code))
        except ValueError:
            raise ParameterError("a head is a number, a colon and a code of 64 hexadecimal digits.") from None


class OpenedFile:
    """Where a file stands that is open: what is written to one that was removed or replaced, nobody finds again."""

    def __init__(self, path: Path) -> None:
        self._path, self._opened = path.absolute(), path.stat()

    def check(self) -> None:
        """Refuse to go on if another file, or none, stands there now."""
        if not os.path.samestat(self._path.stat(), self._opened):
            raise LedgerError(f"`{self._path.name}` was replaced by another file; nothing is answered.")


class Anchor:
    """The file beside a ledger that holds its head."""

    def __init__(self, path: Path, key: bytes, *, create: bool = False) -> None:
        self._key = key
        flags = os.O_RDWR | (os.O_CREAT | os.O_EXCL if create else 0) | getattr(os, "O_BINARY", 0)
        with usable(f"the anchor `{path.name}` cannot be used"):
            try:
                self._file = os.open(path, flags, 0o600)
            except FileNotFoundError:
                raise LedgerError(
                    f"the anchor `{path.name}` of the ledger is missing.",
                    hint="without it, a ledger that was cut short looks complete; see `shoal vault ledger --help`",
                ) from None
            self.place = OpenedFile(path)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def read(self) -> Head:
        """Return the head that was written last."""
        with usable("the anchor of the ledger cannot be read"):
            os.lseek(self._file, 0, os.SEEK_SET)
            record = os.read(self._file, SIZE)
        text, _, code = record.decode("ascii", "replace").rstrip().rpartition(" ")
        if len(record) != SIZE or not hmac.compare_digest(code.encode(), self._code(text).encode()):
            raise LedgerError("the anchor of the ledger was changed or belongs to another key.")
        return Head.parse(text.removeprefix("shoal ledger head "))

    def write(self, head: Head) -> None:
        """Write the head; it is durable after `sync`, and only then may an answer leave."""
        text = f"shoal ledger head {head}"
        record = f"{text} {self._code(text)}".ljust(SIZE - 1).encode() + b"\n"
        with usable("the anchor of the ledger cannot be written"):
            os.lseek(self._file, 0, os.SEEK_SET)
            written = os.write(self._file, record)
        if written != SIZE:
            raise LedgerUnusable("the anchor of the ledger cannot be written: the disk is full.")

    def sync(self) -> None:
        """Make what was written survive a power failure; other threads may write the next head meanwhile."""
        with usable("the anchor of the ledger cannot be written"):
            getattr(os, "fdatasync", os.fsync)(self._file)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the only right to write, among all processes."""
        end = time.monotonic() + PATIENCE
        while not try_lock(self._file):
            if time.monotonic() > end:
                raise LedgerUnusable("another process holds the ledger.", hint="wait for it, or stop it")
            time.sleep(0.0005)
        try:
            yield
        finally:
            unlock(self._file)

    def _code(self, text: str) -> str:
        return hmac.new(self._key, b"head " + text.encode(), hashlib.sha256).hexdigest()


try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    def try_lock(file: int) -> bool:
        try:
            # a byte beyond the record, which nobody reads
            os.lseek(file, SIZE, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True

    def unlock(file: int) -> None:
        os.lseek(file, SIZE, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]

else:

    def try_lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
