"""Somebody who edits releases and knows Shoal: after every edit the fingerprints and the pages are made to fit."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from shoal import schema
from shoal.copying import inspect_release
from shoal.errors import ShoalError
from shoal.folder import PLAN, REPORT, SUMMARY, ReleaseFolder
from shoal.guarantees import CERTIFICATE, fingerprint, load
from shoal.methods.steps import KINDS
from shoal.plan import Plan
from shoal.report import gather, list_files, render_html, render_text
from shoal.tables import _sites
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._relations import compile_query
from shoal.verification import _files, _verify

Content = dict[str, Any]


_lazy = False


@contextmanager
def without_pages() -> Iterator[None]:
    """Leave the pages as they are, which takes no time, where verification is not going to look at them."""
    global _lazy
    _lazy = True
    try:
        yield
    finally:
        _lazy = False


@contextmanager
def data_read_once() -> Iterator[None]:
    """Look at each file and ask each question about it once: for edits of a certificate beside files that stay."""

    def once(method: Callable[[DuckDBEngine, Any], pa.Table]) -> Callable[[DuckDBEngine, Any], pa.Table]:
        answers: dict[tuple[DuckDBEngine, Any], pa.Table] = {}

        def asked(engine: DuckDBEngine, expression: Any) -> pa.Table:
            question = engine, compile_query(expression, "duckdb")
            if question not in answers:
                answers[question] = method(engine, expression)
            return answers[question]

        return asked

    with (
        patch.object(_verify, "private_copy", inspect_release),  # files that keep their names are looked at once
        patch.object(_sites, "reread", functools.cache(_sites.reread)),
        patch.object(_files, "looked_at", functools.cache(_files.looked_at)),
        patch.object(_files, "compared", functools.cache(_files.compared)),
        patch.object(DuckDBEngine, "fetch", once(DuckDBEngine.fetch)),
        patch.object(DuckDBEngine, "fetch_encoded", once(DuckDBEngine.fetch_encoded)),
    ):
        yield


def copied(folder: Path, to: Path) -> Path:
    """Return a copy of a release to work on."""
    return Path(shutil.copytree(folder, to, symlinks=True))


def read(folder: Path) -> Content:
    """Return what the certificate says."""
    content: Content = json.loads((folder / CERTIFICATE).read_text(encoding="utf-8"))
    return content


def write(folder: Path, content: Content, *, pages: bool = True) -> None:
    """Write a certificate, with the fingerprints and the pages that fit it, as far as that can be had."""
    try:
        made = _pages(folder, content) if pages and not _lazy else {}
    except (ShoalError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        made = {}
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    for entry in content["files"]:
        path = folder / str(entry["name"])
        if path.is_file():
            entry |= {"sha256": fingerprint(path, entry["name"]).sha256, "bytes": path.stat().st_size}
    _store(folder, content)


def let_words_fit(step: Content) -> None:
    """Say of a step what its fields say, where these can be read."""
    with suppress(LookupError, TypeError, ValueError, ArithmeticError, ShoalError):
        step["description"] = KINDS[str(step["step"])].from_fields(step).describe()


def edit(folder: Path, change: Callable[[Content], object], *, pages: bool = True) -> None:
    """Change the certificate."""
    content = read(folder)
    change(content)
    write(folder, content, pages=pages)


def edit_plan(folder: Path, change: Callable[[str], str]) -> bool:
    """Change the plan, and the fingerprint of its schema; say whether it is still a plan."""
    path = folder / PLAN
    text = change(path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    try:
        plan = Plan.load(path)
    except ShoalError:
        return False
    path.write_text(plan.dumps(), encoding="utf-8")
    content = read(folder)
    content["schema_sha256"] = hashlib.sha256(schema.dumps(plan.schema).encode()).hexdigest()
    write(folder, content)
    return True


def leaves(content: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Return the path of every value of a certificate, down to single numbers and texts."""
    if isinstance(content, dict):
        for name, value in content.items():
            yield from leaves(value, (*path, name))
    elif isinstance(content, list):
        yield path
        for number, value in enumerate(content):
            yield from leaves(value, (*path, number))
    else:
        yield path


def changed(content: Content, path: tuple[str | int, ...]) -> Iterator[tuple[str, Content]]:
    """Return certificates in which one value is another, each with what was done to it."""
    for label, value in _others(_at(content, path)):
        forged = copy.deepcopy(content)
        _set(forged, path, value)
        yield label, forged


def _others(value: object) -> Iterator[tuple[str, object]]:
    match value:
        case bool():
            yield "the opposite", not value
        case int():
            yield "one more", value + 1
            yield "a thousand times", value * 1000 + 1000
        case float():
            yield "half", value / 2
        case str():
            yield "other words", f"{value} and nobody can ever learn anything"
            if value.replace(".", "").replace("/", "").isdigit():
                yield "another number", "1/1000"
        case list() if value:
            yield "the first left out", value[1:]
            yield "the first twice", [value[0], *value]
            yield "emptied", []
            if len(value) > 1 and value != value[::-1]:
                yield "turned round", value[::-1]


def _at(content: object, path: tuple[str | int, ...]) -> object:
    for step in path:
        content = content[step]  # type: ignore[index]
    return content


def _set(content: object, path: tuple[str | int, ...], value: object) -> None:
    _at(content, path[:-1])[path[-1]] = value  # type: ignore[index]


def _store(folder: Path, content: Content) -> None:
    (folder / CERTIFICATE).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _pages(folder: Path, content: Content) -> dict[str, str]:
    _store(folder, content)
    certificate = load(folder / CERTIFICATE)
    document = gather(ReleaseFolder(folder))
    text = render_text(document)
    (folder / SUMMARY).write_text(text, encoding="utf-8")
    files = tuple(fingerprint(folder / file.name, file.name) for file in certificate.files if file.name != REPORT)
    again = certificate.model_copy(update={"files": files})
    return {SUMMARY: text, REPORT: render_html(document.model_copy(update={"files": list_files(again)}))}
