"""What every request can use: what is kept, what runs, which tables are open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request

from shoal.errors import DataError
from shoal.web._jobs import Jobs
from shoal.web._opened import OpenTables
from shoal.web._store import Store

if TYPE_CHECKING:
    from shoal import Schema, Table

__all__ = ["Context", "Here", "receive"]

SCHEMA = "schema.toml"


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
        from shoal.web._store import NotFound

        columns: list[dict[str, Any]] = self.store.tables.about(identity)["columns"]
        if not 0 <= number < len(columns):
            raise NotFound("there is no such column")
        return str(columns[number]["name"])


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
