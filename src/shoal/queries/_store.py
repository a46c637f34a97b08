"""The files of a ledger: a SQLite table that only grows, and a secret key."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.queries._refusals import LedgerError

__all__ = ["SCHEMA", "beside", "canonical", "connect", "make_key", "parsed", "read_key", "reason", "sync_folder"]

KEY_BYTES = 32
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
    try:
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(file, "wb") as out:
            out.write(secret)
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise LedgerError(f"the key `{path.name}` of the ledger cannot be made: {reason(error)}.") from None
    return secret


def read_key(path: Path) -> bytes:
    """Return the secret key of a file."""
    try:
        secret = path.read_bytes()
    except OSError as error:
        raise LedgerError(f"the key `{path.name}` of the ledger cannot be read: {reason(error)}.") from None
    if len(secret) != KEY_BYTES:
        raise LedgerError(f"the key `{path.name}` of the ledger must be {KEY_BYTES} bytes.")
    return secret


def sync_folder(path: Path) -> None:
    """Make new names in a folder survive a power failure; systems that cannot open a folder do it by themselves."""
    with suppress(PermissionError):
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def reason(error: Exception) -> str:
    """Say why something failed, in a few words."""
    if isinstance(error, OSError):
        return (error.strerror or "the system refuses").lower()
    # SQLite's messages speak of files and locks, never of what is in them
    return str(error)
