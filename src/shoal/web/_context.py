"""The state that all requests share: the store, the workers and the open tables."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from weakref import WeakValueDictionary

from fastapi import Depends, Request

from shoal.web._jobs import Jobs, set_aside, status
from shoal.web._store import Changed, NotFound, Store, now
from shoal.web._vaults import VaultServers
from shoal.writing import digest

if TYPE_CHECKING:
    from shoal import Schema, Table


SCHEMA = "schema.toml"


class OpenTables:
    """The tables used last, each with a lock: an engine's connection is for one thread at a time."""

    def __init__(self, limit: int = 3) -> None:
        self._limit, self._lock = limit, threading.Lock()
        self._tables: OrderedDict[Path, tuple[threading.Lock, list[Table]]] = OrderedDict()

    @contextmanager
    def open(self, path: Path, reading: dict[str, Any] | None = None) -> Iterator[Table]:
        """Give the table in ``path``, read once, in the way that ``reading`` says."""
        import shoal

        with self._lock:
            lock, held = self._tables.setdefault(path, (threading.Lock(), []))
            self._tables.move_to_end(path)
            while len(self._tables) > self._limit:
                self._tables.popitem(last=False)
        with lock:
            if not held:
                held.append(shoal.read(path, **(reading or {})))
            yield held[0]

    def forget(self, folder: Path) -> None:
        """Let go of the tables in ``folder``."""
        with self._lock:
            for path in [path for path in self._tables if path.parent == folder]:
                del self._tables[path]


class _Turn:
    """Who measures something has the lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The parts of the app."""

    store: Store
    jobs: Jobs
    opened: OpenTables
    serving: VaultServers = field(default_factory=VaultServers)
    saving: threading.Lock = field(default_factory=threading.Lock)
    _measuring: WeakValueDictionary[Path, _Turn] = field(default_factory=WeakValueDictionary)

    @contextmanager
    def measured_once(self, file: Path) -> Iterator[None]:
        """Let one request at a time measure what goes into ``file``; the others find it there."""
        with self.saving:
            turn = self._measuring.setdefault(file, _Turn())
        with turn.lock:
            yield

    @contextmanager
    def table(self, identity: str) -> Iterator[Table]:
        """Give an uploaded table, without a schema, to one request at a time."""
        folder, about = self.store.tables.path(identity), self.store.tables.about(identity)
        with self.opened.open(folder / about["file"], about.get("reading")) as table:
            yield table

    def population(self, run: str) -> Table | None:
        """Return the population table that a run compares with, if any."""
        return None

    def content(self, identity: str) -> str:
        """Return what a table is recognised by when the same file is opened again."""
        about = self.store.tables.about(identity)
        # tables that were opened by older versions have no note of it
        return str(about.get("content") or digest(self.store.tables.path(identity) / about["file"])[0])

    def schema(self, identity: str) -> Schema:
        """Return the schema of an uploaded table."""
        from shoal import schema

        return schema.load(self.store.tables.path(identity) / SCHEMA)

    def version(self, identity: str) -> str:
        """Return what tells this state of a table's schema from others, so that two windows notice each other."""
        return hashlib.sha256((self.store.tables.path(identity) / SCHEMA).read_bytes()).hexdigest()[:16]

    def check_version(self, identity: str, version: str | None) -> None:
        """Refuse what was decided on another state of the schema than the one that is saved."""
        if version is not None and version != self.version(identity):
            raise Changed(
                "the columns were changed in another window since this page was opened", hint="load the page again"
            )

    def account(self, identity: str) -> Path:
        """Return the folder of an account that there is."""
        self.store.accounts.about(identity)
        return self.store.account(identity)

    def column(self, identity: str, number: int) -> str:
        """Return the name of a column; the web knows columns by number, for a name may be anything."""
        columns: list[dict[str, Any]] = self.store.tables.about(identity)["columns"]
        if not 0 <= number < len(columns):
            raise NotFound("there is no such column")
        return str(columns[number]["name"])

    def runs(self, table: str | None) -> Iterator[dict[str, Any]]:
        """Return what is known of all runs of one table, or of all tables, the newest first."""
        return (about for about in self.store.runs.all() if table is None or about.get("table") == table)

    def run(self, identity: str) -> dict[str, Any]:
        """Return what a run was asked for and how far it is."""
        return self.store.runs.about(identity) | {"status": status(self.store.runs.path(identity))}

    def begin(self, table: str, about: dict[str, Any], files: dict[str, str]) -> dict[str, Any]:
        """Write a run down and start it."""
        identity = self._note(table, about, files)
        self.jobs.submit(identity, self.store.tables.path(table))
        return self.run(identity)

    def restore(self, table: str, about: dict[str, Any], files: dict[str, str]) -> None:
        """Write a run down that was made elsewhere, without its data."""
        set_aside(self.store.runs.path(self._note(table, about | {"restored": True}, files)))

    def _note(self, table: str, about: dict[str, Any], files: dict[str, str]) -> str:
        source = self.store.tables.about(table)
        identity = self.store.runs.new()
        folder = self.store.runs.path(identity)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        about |= {
            "table": table,
            "table_name": source["name"],
            "file": source["file"],
            "reading": source.get("reading", {}),
            "created": now(),
        }
        self.store.runs.note(identity, about)
        return identity


def _context(request: Request) -> Context:
    context = request.app.state.context
    assert isinstance(context, Context)  # noqa: S101
    return context


Here = Annotated[Context, Depends(_context)]


async def receive(request: Request, path: Path) -> int:
    """Write the body of a request, which the guard bounds, to ``path`` as it arrives."""
    size = 0
    with path.open("xb") as file:
        path.chmod(0o600)
        async for chunk in request.stream():
            size += len(chunk)
            file.write(chunk)
    return size
