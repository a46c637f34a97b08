"""What every request can use: what is kept, what runs, which tables are open."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request

from shoal.errors import DataError
from shoal.web._jobs import Jobs, status
from shoal.web._store import NotFound, Store, now

if TYPE_CHECKING:
    from shoal import Schema, Table

__all__ = ["Context", "Here", "OpenTables", "receive"]

SCHEMA = "schema.toml"


class OpenTables:
    """The tables used last, each with a lock: an engine's connection is for one thread at a time."""

    def __init__(self, limit: int = 3) -> None:
        self._limit, self._lock = limit, threading.Lock()
        self._tables: OrderedDict[Path, tuple[threading.Lock, list[Table]]] = OrderedDict()

    @contextmanager
    def open(self, path: Path) -> Iterator[Table]:
        """Give the table in ``path``, read once."""
        import shoal

        with self._lock:
            lock, held = self._tables.setdefault(path, (threading.Lock(), []))
            self._tables.move_to_end(path)
            while len(self._tables) > self._limit:
                self._tables.popitem(last=False)
        with lock:
            if not held:
                held.append(shoal.read(path))
            yield held[0]

    def forget(self, folder: Path) -> None:
        """Let go of the tables in ``folder``."""
        with self._lock:
            for path in [path for path in self._tables if path.parent == folder]:
                del self._tables[path]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The parts of the app."""

    store: Store
    jobs: Jobs
    opened: OpenTables

    @contextmanager
    def table(self, identity: str) -> Iterator[Table]:
        """Give an uploaded table, without a schema, to one request at a time."""
        folder, about = self.store.tables.path(identity), self.store.tables.about(identity)
        with self.opened.open(folder / about["file"]) as table:
            yield table

    def schema(self, identity: str) -> Schema:
        """Return the schema of an uploaded table."""
        from shoal import schema

        return schema.load(self.store.tables.path(identity) / SCHEMA)

    def column(self, identity: str, number: int) -> str:
        """Return the name of a column; the web knows columns by number, for a name may be anything."""
        columns: list[dict[str, Any]] = self.store.tables.about(identity)["columns"]
        if not 0 <= number < len(columns):
            raise NotFound("there is no such column")
        return str(columns[number]["name"])

    def run(self, identity: str) -> dict[str, Any]:
        """Return what a run was asked for and how far it is."""
        return self.store.runs.about(identity) | {"status": status(self.store.runs.path(identity))}

    def begin(self, table: str, about: dict[str, Any], files: dict[str, str]) -> dict[str, Any]:
        """Write a run down and start it."""
        source = self.store.tables.about(table)
        identity = self.store.runs.new()
        folder = self.store.runs.path(identity)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        about |= {
            "table": table,
            "table_name": source["name"],
            "table_folder": str(self.store.tables.path(table).absolute()),
            "file": source["file"],
            "created": now(),
        }
        self.store.runs.note(identity, about)
        self.jobs.submit(identity)
        return self.run(identity)


def _context(request: Request) -> Context:
    context = request.app.state.context
    assert isinstance(context, Context)  # noqa: S101
    return context


Here = Annotated[Context, Depends(_context)]


async def receive(request: Request, path: Path) -> int:
    """Write the body of a request to ``path`` as it arrives, and refuse it when it grows beyond the limit."""
    limit, size = int(request.scope.get("upload_limit", 0)), 0
    with path.open("xb") as file:
        path.chmod(0o600)
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                raise DataError(f"this is larger than the {limit / 2**20:,.0f} MB that the app accepts")
            file.write(chunk)
    return size
