"""Finished points on disk, one JSON file each, so that a comparison that was stopped goes on where it was.

A point is found again by a digest of everything that its figures depend on, so that none is mistaken for another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from shoal import __version__
from shoal.comparison._point import Point
from shoal.errors import OutputError, reason
from shoal.plan import Plan
from shoal.tables import Table
from shoal.writing import write_file

_FORMAT = 3
_BLOCK = 1 << 20


class PointStore:
    """A folder of finished points, or nothing that remembers nothing."""

    def __init__(self, folder: str | Path | None) -> None:
        self._folder = None if folder is None else Path(folder)
        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OutputError(f"the folder `{self._folder.name}` cannot be created: {reason(error)}") from None

    def find(self, point: Point) -> Point | None:
        """Return a finished point with the same key, numbered as asked for; a damaged file counts as none."""
        if self._folder is None:
            return None
        try:
            content = json.loads((self._folder / f"{point.key}.json").read_text(encoding="utf-8"))
            if content.pop("format") != _FORMAT:
                return None
            found = Point.from_json(content)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return replace(found, number=point.number) if found.key == point.key else None

    def keep(self, point: Point) -> None:
        """Write a finished point; it is there whole or not at all."""
        if self._folder is None:
            return
        path = self._folder / f"{point.key}.json"
        content = json.dumps({"format": _FORMAT, **point.to_json()}, indent=2) + "\n"
        write_file(path, content.encode(), overwrite=True, told=False)


def input_fingerprint(table: Table) -> str:
    """Return a digest of the data: of the file's bytes and how it was read, else of the records in their order."""
    digest = hashlib.sha256()
    path = table.source.path
    if path is not None and path.exists():
        digest.update(json.dumps([table.source.kind, table.source.details]).encode())
        for file in sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]:
            _add_file(digest, file)
        return digest.hexdigest()
    _add_records(digest, table.to_arrow())
    return digest.hexdigest()


def point_key(plan: Plan, fingerprint: str, settings: Mapping[str, object]) -> str:
    """Return a digest of everything that the figures of a point depend on."""
    digest = hashlib.sha256(json.dumps([__version__, fingerprint, plan.dumps(), dict(settings)]).encode())
    for attribute in plan.schema:
        rule = attribute.hierarchy
        if rule is not None and rule.file is not None:
            _add_file(digest, plan.schema.folder / rule.file)
    return digest.hexdigest()[:32]


def _add_file(digest: hashlib._Hash, path: Path) -> None:
    digest.update(f"file {path.stat().st_size} ".encode())
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)


def _add_records(digest: hashlib._Hash, records: pa.Table) -> None:
    """Add records column by column, whatever chunks they come in."""
    digest.update(str(records.schema.remove_metadata()).encode())
    for column in records.columns:
        for start in range(0, len(column), _BLOCK):
            chunk = column.slice(start, _BLOCK).combine_chunks()
            whole = pa.concat_arrays(chunk.chunks) if isinstance(chunk, pa.ChunkedArray) else chunk
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, pa.schema([("c", whole.type)])) as writer:
                # a copy without an offset: slices of the same values must give the same bytes
                writer.write_batch(pa.record_batch([whole.take(pa.array(range(len(whole))))], names=["c"]))
            digest.update(sink.getvalue())
