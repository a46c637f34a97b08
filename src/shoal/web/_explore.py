"""What there is to see of a release: the promise, the search, distributions and single records, as plain JSON."""

from __future__ import annotations

import dataclasses
import math
import os
import secrets
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shoal import Release, Table, hierarchies, tables
from shoal.risk import Reidentification
from shoal.tables import Frequencies
from shoal.web._solutions import number, search

__all__ = ["before", "explore", "histogram", "loss"]

_BARS, _LEVEL_BARS, _RECORDS = 12, 24, 60
#: records beyond which a few are picked on the engine
_MANY = 100_000


def explore(table: Table, release: Release, folder: Path) -> dict[str, Any]:
    """Return what the app shows of ``release``, which was made from ``table`` and written to ``folder``."""
    wanted = dict.fromkeys(name for model in release.plan.class_models for name in model.capabilities.sensitive)
    frequencies = tables.encode(table, sensitive=tuple(wanted)).frequencies
    return {
        "promises": [
            {"model": promise.model, "statement": promise.statement, "strength": str(promise.strength)}
            for promise in release.guarantee.promises
        ],
        "assumptions": list(dict.fromkeys(a for promise in release.guarantee.promises for a in promise.assumptions)),
        "steps": [event.describe() for event in release.guarantee.events],
        "measures": {name: number(value) for name, value in ({**release.measures, "loss": loss(release)}).items()},
        "before": dataclasses.asdict(before(release)),
        "after": dataclasses.asdict(release.after),
        "guessed": release.plan.schema.guessed,
        "private": release.private is not None,
        # quasi-identifiers are then as they were, and classes are of those whose secrets are mixed
        "mixed": getattr(release.plan.method, "form", None) in ("permuted", "anatomy"),
        "search": None if release.search is None else search(release.search, frequencies, release.plan.class_models),
        "distributions": _distributions(table, release, frequencies, folder),
        "records": _records(table, release, frequencies),
        "files": sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()),
    }


def before(release: Release) -> Reidentification:
    """Return the risk of the input, which differential privacy keeps out of the release, but not from its owner."""
    found = release.before or (release.private and release.private.before)
    assert found  # noqa: S101 - a release has one or the other
    return found


def loss(release: Release) -> float | None:
    """Return the loss with respect to the input, likewise."""
    return release.measures.get("loss") if release.private is None else release.private.loss


def _distributions(table: Table, release: Release, frequencies: Frequencies, folder: Path) -> list[dict[str, Any]]:
    """Count the values of every released column, in the one file of the release or in each of several."""
    found = []
    for name in [part.file for part in release.parts] or ["data.parquet"]:
        file = pq.ParquetFile(folder / name)
        for column in file.schema_arrow.names:
            entry = _distribution(table, release, frequencies, file.read(columns=[column]).column(0), column)
            found.append(entry | {"file": name if release.parts else None})
    return found


def _distribution(
    table: Table, release: Release, frequencies: Frequencies, released: pa.ChunkedArray, name: str
) -> dict[str, Any]:
    """Count the values of a column before and after, in the same bars where both can be told in the same values."""
    if name not in release.plan.schema:  # a column that the method added
        return {"column": name, "role": "added", "original": [], "released": _plain_histogram(released), "same": False}
    levels = None if release.search is None else release.search.levels
    if name in frequencies.attributes and levels is not None:
        original, after = _at_level(frequencies, name, levels, released)
    else:
        values = table.select(name).to_arrow().column(0)
        edges = _edges(values)
        original = histogram(values, edges)
        after = histogram(released, edges) if _isnumber(released.type) else _plain_histogram(released)
    return {
        "column": name,
        "role": release.plan.schema[name].role.value,
        "original": original,
        "released": after,
        "same": [bar["label"] for bar in original] == [bar["label"] for bar in after],
    }


def _at_level(
    frequencies: Frequencies, name: str, levels: Sequence[int], released: pa.ChunkedArray
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Count the values of the level that was chosen, in the order of the hierarchy."""
    j = frequencies.attributes.index(name)
    hierarchy, level = frequencies.hierarchies[j], levels[j]
    codes = hierarchy.generalize(frequencies.codes[:, j], level)
    before = np.bincount(codes, weights=frequencies.counts, minlength=len(hierarchy.labels[level])).astype(np.int64)
    counted = released.value_counts()
    texts = hierarchies.text(counted.field("values")).to_pylist()
    after = dict(zip(texts, counted.field("counts").to_pylist(), strict=True))
    shown = [(label, int(count)) for label, count in zip(hierarchy.labels[level], before, strict=True) if count]
    if len(shown) > _LEVEL_BARS:
        rest = sorted(shown, key=lambda pair: -pair[1])[_LEVEL_BARS:]
        kept = {label for label, _ in shown} - {label for label, _ in rest}
        shown = [(label, count) for label, count in shown if label in kept]
        more: list[tuple[str | None, int, int]] = [
            (f"{len(rest):,} other values", sum(n for _, n in rest), sum(after.get(label, 0) for label, _ in rest))
        ]
    else:
        more = []
    rows = [(label, count, after.get(label, 0)) for label, count in shown] + more
    named = [("missing" if label is None else label, old, new) for label, old, new in rows]
    return [{"label": n, "count": old} for n, old, _ in named], [{"label": n, "count": new} for n, _, new in named]


def histogram(values: pa.ChunkedArray, edges: Sequence[float] | None = None) -> list[dict[str, Any]]:
    """Count values: between ``edges`` for numbers, else the most frequent ones and the rest together."""
    missing = values.null_count
    bars: list[dict[str, Any]] = []
    if edges is not None:
        numbers = np.asarray(pc.cast(values.drop_null(), pa.float64()).to_numpy())
        counts = np.histogram(numbers, bins=np.asarray(edges))[0]
        bars = [
            {"label": f"{low:,.6g} to {high:,.6g}", "count": int(count)}
            for low, high, count in zip(edges, edges[1:], counts, strict=False)
        ]
    else:
        counted = values.drop_null().value_counts()
        texts = hierarchies.text(counted.field("values")).to_pylist()
        pairs = sorted(
            zip(texts, counted.field("counts").to_pylist(), strict=True),
            key=lambda pair: (-pair[1], pair[0]),
        )
        bars = [{"label": label, "count": count} for label, count in pairs[:_BARS]]
        rest = sum(count for _, count in pairs[_BARS:])
        if rest:
            bars.append({"label": f"{len(pairs) - _BARS:,} other values", "count": rest, "rest": True})
    return bars + ([{"label": "missing", "count": missing, "rest": True}] if missing else [])


def _plain_histogram(values: pa.ChunkedArray) -> list[dict[str, Any]]:
    """Count values of any type: lists and structures have no text of their own."""
    return histogram(values) if not pa.types.is_nested(values.type) else [{"label": "lists", "count": len(values)}]


def _edges(values: pa.ChunkedArray) -> list[float] | None:
    if not _isnumber(values.type) or pc.count_distinct(values).as_py() <= _BARS:
        return None
    bounds = pc.min_max(values).as_py()
    low, high = float(bounds["min"]), float(bounds["max"])
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        return None
    return [float(edge) for edge in np.linspace(low, high, _BARS + 1)]


def _isnumber(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _records(table: Table, release: Release, encoded: Frequencies) -> dict[str, Any] | None:
    """Return some records before and after: the class of a record is that of its tuple of quasi-identifiers."""
    if release.search is None:
        return None
    recoding = release.search.recoding
    if len(encoded.codes) != len(recoding.classes):
        return None
    rows = _sample(table, encoded.records)
    names = [name for name in table.columns if name not in release.plan.schema.identifiers]
    leaves = np.column_stack([hierarchies.leaf_codes(h, rows.column(h.attribute)) for h in encoded.hierarchies])
    classes = _classes(encoded.codes, recoding.classes, leaves)
    before = [hierarchies.text(rows.column(name).combine_chunks()).to_pylist() for name in names]
    place = {name: j for j, name in enumerate(recoding.attributes)}
    shown = []
    for i, group in enumerate(classes):
        old = [column[i] for column in before]
        new = None
        if group >= 0:
            new = [
                recoding.labels[place[name]][recoding.codes[group, place[name]]] if name in place else old[n]
                for n, name in enumerate(names)
            ]
        shown.append({"before": old, "after": new})
    return {"columns": names, "rows": shown}


def _sample(table: Table, records: int) -> pa.Table:
    """Return some records, picked at random."""
    if records > _MANY:
        table = tables.bernoulli(table, Fraction(10 * _RECORDS, records), os.urandom(32))
    rows = table.to_arrow()
    chosen = secrets.SystemRandom().sample(range(rows.num_rows), min(_RECORDS, rows.num_rows))
    return rows.take(pa.array(sorted(chosen), pa.int64()))


def _classes(tuples: Any, classes: Any, leaves: Any) -> list[int]:
    wanted = {tuple(row) for row in leaves.tolist()}
    keep = np.flatnonzero(np.isin(tuples[:, 0], leaves[:, 0]))
    found = {
        row: int(group)
        for row, group in zip(map(tuple, tuples[keep].tolist()), classes[keep].tolist(), strict=True)
        if row in wanted
    }
    return [found.get(tuple(row), -1) for row in leaves.tolist()]
