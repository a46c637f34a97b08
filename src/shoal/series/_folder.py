"""The folder of a series: for every release who is in which joint crowd, and a copy of what was released.

A release is an entry, a folder that appears whole or not at all (:func:`shoal.writing.staged`) before the release
itself does. Every entry carries a code, HMAC-SHA-256 over its content and the code before it; the number and code of
the last one also stand in a file of their own, so that entries cut off at the end are noticed. An older copy of the
whole folder is not: write the head down elsewhere and compare it (``--expect``).
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError, LedgerError, LedgerUnusable, OutputError, ParameterError, reason
from shoal.guarantees import CERTIFICATE
from shoal.writing import check_destination, digest, staged, sync, write_file

DESCRIPTION, SECRET, HEAD, LOCK = "series.json", "secret.key", "head", "lock"
ENTRY, ROWS, RELEASE = "entry.json", "rows.parquet", "release"
VERSION = 1
LEAST_SECRET = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseEntry:
    """The entry of one release in the folder of a series."""

    #: From 1 on.
    number: int
    #: The SHA-256 of its certificate and of the rows that are kept here.
    certificate: str
    rows: str
    #: The certificate of the release before; empty for the first.
    after: str
    #: The least joint crowd, and the promises about sensitive values.
    k: int
    models: tuple[Mapping[str, object], ...]
    #: The role of every released column.
    roles: Mapping[str, str]
    #: People shown before, newcomers, frozen rows and those of them whose people left; people in the table who are not
    #: shown; the loss of the release and that of a release on its own.
    continued: int
    newcomers: int
    frozen: int
    leavers: int
    hidden: int
    loss: float | None
    alone: float | None
    #: The HMAC of all this and of the code before.
    code: str = ""

    def signed(self, key: bytes, before: str) -> str:
        """Return the code of the entry."""
        content = {name: value for name, value in asdict(self).items() if name != "code"}
        text = json.dumps([before, content], sort_keys=True, separators=(",", ":"))
        return hmac.new(key, b"series entry " + text.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesFolder:
    """An opened folder."""

    path: Path
    #: The column that says who somebody is.
    key: str
    secret: bytes
    entries: tuple[ReleaseEntry, ...]

    @classmethod
    def create(cls, path: Path, key: str, secret: bytes | None) -> None:
        """Make an empty folder, readable by its owner only."""
        if secret is not None and len(secret) < LEAST_SECRET:
            raise ParameterError(f"the secret of a series must have at least {LEAST_SECRET} bytes.")
        with staged(path, private=True) as staging:
            written = secrets.token_bytes(32) if secret is None else secret
            (staging / SECRET).touch(mode=0o600)
            (staging / SECRET).write_bytes(written)
            said = {"format": "shoal-series", "version": VERSION, "key": key}
            (staging / DESCRIPTION).write_text(json.dumps(said | {"code": _authenticate(written, said)}) + "\n")
            (staging / HEAD).write_text(_head(0, ""))
            (staging / LOCK).touch()

    @classmethod
    def open(cls, path: Path, *, expect: str | None = None) -> SeriesFolder:
        """Read a folder and check all its entries; ``expect`` is a head that was written down before.

        Raises
        ------
        LedgerError
            If it is damaged, cut short, mixed with another, or older than ``expect``.
        """
        if not (path / DESCRIPTION).is_file():
            raise InputError(f"`{path.name}` is not a series folder.", hint="shoal series create makes one")
        with _usable(path):
            said, secret = json.loads((path / DESCRIPTION).read_text()), (path / SECRET).read_bytes()
            if not isinstance(said, dict) or said.get("format") != "shoal-series" or said.get("version") != VERSION:
                raise LedgerUnusable(f"`{path.name}` is not a series folder of version {VERSION}, the only one known.")
            content = {name: value for name, value in said.items() if name != "code"}
            if not hmac.compare_digest(str(said.get("code")), _authenticate(secret, content)):
                raise LedgerError(f"the secret of `{path.name}` is that of another series, or its description changed.")
            entries = tuple(_entries(path, secret))
            folder = cls(path=path, key=str(said["key"]), secret=secret, entries=entries)
            folder._compare_with_head(expect)
        return folder

    @property
    def head(self) -> str:
        """The number and code of the last entry, to be written down elsewhere."""
        return _head(len(self.entries), self.entries[-1].code if self.entries else "").strip()

    def entry_folder(self, number: int) -> Path:
        """Return where the entry of a release is."""
        return self.path / f"{number:04}"

    def rows(self, number: int) -> pa.Table:
        """Return what is kept of the people of a release.

        Raises
        ------
        LedgerError
            If the file is not the one that was recorded.
        """
        place = self.entry_folder(number) / ROWS
        with _usable(self.path):
            if digest(place)[0] != self.entries[number - 1].rows:
                raise LedgerError(f"what `{self.path.name}` holds of release {number} was changed.")
            return pq.read_table(place)

    def append(self, entry: ReleaseEntry, rows: pa.Table, release: Path) -> ReleaseEntry:
        """Record a release durably, with a copy of its files, before it appears.

        Raises
        ------
        LedgerError
            If another process recorded a release meanwhile; nothing is recorded.
        """
        before = self.entries[-1].code if self.entries else ""
        with _lock_folder(self.path), _usable(self.path):
            if len(SeriesFolder.open(self.path).entries) != len(self.entries):
                raise LedgerUnusable(
                    f"another release of `{self.path.name}` was recorded meanwhile; nothing was written.",
                    hint="run the command again: it then continues that release",
                )
            place = self.entry_folder(entry.number)
            with staged(place, private=True) as staging:
                pq.write_table(rows, staging / ROWS, compression="zstd")
                shutil.copytree(release, staging / RELEASE)
                content = ReleaseEntry(
                    **{
                        **asdict(entry),
                        "rows": digest(staging / ROWS)[0],
                        "certificate": digest(staging / RELEASE / CERTIFICATE)[0],
                    }
                )
                recorded = ReleaseEntry(**{**asdict(content), "code": content.signed(self.secret, before)})
                (staging / ENTRY).write_text(json.dumps(asdict(recorded), indent=2) + "\n")
            write_file(self.path / HEAD, _head(entry.number, recorded.code).encode(), overwrite=True, told=False)
        return recorded

    def restore(self, number: int, output: Path) -> None:
        """Write a release again, byte for byte as it was recorded."""
        if not 1 <= number <= len(self.entries):
            raise ParameterError(f"`{self.path.name}` has no release {number}; it has {len(self.entries)}.")
        check_destination(output)
        source = self.entry_folder(number) / RELEASE
        with _usable(self.path):
            if digest(source / CERTIFICATE)[0] != self.entries[number - 1].certificate:
                raise LedgerError(f"the copy of release {number} in `{self.path.name}` was changed.")
        with staged(output) as staging:
            shutil.copytree(source, staging, dirs_exist_ok=True)

    def _compare_with_head(self, expect: str | None) -> None:
        number, code = _parse_head((self.path / HEAD).read_text(), self.path)
        codes = ["", *(entry.code for entry in self.entries)]
        if number >= len(codes):
            missing = number - len(self.entries)
            raise LedgerError(f"`{self.path.name}` was cut short: {missing} of its last releases are missing.")
        if codes[number] != code:
            raise LedgerError(f"the entries and the head of `{self.path.name}` do not belong together.")
        if number < len(self.entries):
            # a process died between its entry and the head
            write_file(self.path / HEAD, _head(len(self.entries), codes[-1]).encode(), overwrite=True, told=False)
        if expect is not None:
            number, code = _parse_head(expect, self.path)
            if number >= len(codes) or codes[number] != code:
                raise LedgerError(f"`{self.path.name}` is an older copy, or another series: it lacks what you expect.")


def _entries(path: Path, secret: bytes) -> Iterator[ReleaseEntry]:
    names = sorted(each.name for each in path.iterdir() if each.is_dir() and each.name.isdigit())
    before, certificate = "", ""
    for number, name in enumerate(names, start=1):
        if name != f"{number:04}":
            raise LedgerError(f"release {number} is missing in `{path.name}`.")
        said = json.loads((path / name / ENTRY).read_text())
        entry = ReleaseEntry(**{**said, "models": tuple(said["models"])})
        if not hmac.compare_digest(entry.code, entry.signed(secret, before)) or entry.number != number:
            raise LedgerError(f"entry {number} of `{path.name}` was changed, moved or made with another secret.")
        if entry.after != certificate:
            raise LedgerError(f"release {number} of `{path.name}` does not follow the one before it.")
        before, certificate = entry.code, entry.certificate
        yield entry


def _authenticate(secret: bytes, content: Mapping[str, object]) -> str:
    text = json.dumps(content, sort_keys=True)
    return hmac.new(secret, b"series " + text.encode(), hashlib.sha256).hexdigest()


def _head(number: int, code: str) -> str:
    return f"{number}:{code}\n"


def _parse_head(text: str, path: Path) -> tuple[int, str]:
    number, colon, code = text.strip().partition(":")
    if not colon or not number.isdigit():
        raise LedgerError(f"the head of `{path.name}` is damaged, or not of the form NUMBER:CODE.")
    return int(number), code


@contextlib.contextmanager
def _usable(path: Path) -> Iterator[None]:
    """Say which folder cannot be used."""
    try:
        yield
    except FileNotFoundError:
        raise LedgerError(f"`{path.name}` is damaged: a file of it is missing.") from None
    except OutputError:
        raise
    except OSError as error:
        raise LedgerUnusable(f"the series folder `{path.name}` cannot be used: {reason(error)}") from None
    except (ValueError, TypeError, KeyError, pa.ArrowException):
        raise LedgerError(f"`{path.name}` is damaged: a file of it cannot be read.") from None


@contextlib.contextmanager
def _lock_folder(path: Path) -> Iterator[None]:
    """Let one process at a time record a release; the lock goes with the process, even if it is killed."""
    try:
        import fcntl
    except ImportError:  # Windows: the name of the entry can be taken only once
        yield
        return
    with _usable(path):
        handle = os.open(path / LOCK, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        sync(path)
    finally:
        os.close(handle)
