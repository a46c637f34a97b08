"""What identifies the input of a comparison, so that finished points are found again and never mistaken."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from shoal import __version__
from shoal.plan import Plan
from shoal.schema import FromFile, Taxonomy
from shoal.tables import Table

__all__ = ["input_fingerprint", "point_key"]

_BLOCK = 1 << 20


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
        if isinstance(rule, FromFile | Taxonomy) and rule.path is not None:
            _add_file(digest, plan.schema.folder / rule.path)
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
