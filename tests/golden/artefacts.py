"""Make a golden release and say what came out, as texts that are the same on every run and machine."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import shoal
from golden.cases import KEY, Case
from shoal.mechanisms import SeededSource
from shoal.report import internal_report, render_html

DIGITS = 9
"""Significant digits of a float that are compared: the last ones may differ between processors."""

Artefacts = dict[str, str]


def release(case: Case, folder: Path) -> tuple[shoal.Release, shoal.Table]:
    """Make the release of a case with random numbers from its seed; the one place that knows how that is done."""
    described = case.described(folder)
    table = shoal.read(case.records(described))
    plan = shoal.Plan(schema=described, models=case.promises, method=case.method, measures=case.measures)
    population = None
    if case.population is not None:
        population = shoal.read(case.population().select(list(described.quasi_identifiers)))
    made = plan.run(
        table,
        source=SeededSource(case.seed),
        pseudonym_key=KEY if case.pseudonyms else None,
        population=population,
    )
    return made, table


def artefacts(case: Case) -> Artefacts:
    """Return everything that a case's release consists of or says, by file name."""
    with TemporaryDirectory() as scratch:
        made, original = release(case, Path(scratch))
        folder = made.write(Path(scratch) / "release", csv=case.csv)
        found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
        texts = {name: text_of(path) for name, path in found.items()}
        texts["str.txt"] = str(made)
        texts["explain.txt"] = made.explain()
        texts["verify.txt"] = _verified(folder)
        if made.private is not None:
            texts["private.json"] = _json(json.loads(made.private.to_json()))
        if case.internal:
            texts["internal.html"] = _page(_internal(folder, original), folder)
        return texts


def _verified(folder: Path) -> str:
    """Return what verification says, without the line about signatures, which is the same for every folder here."""
    found = shoal.verify(folder)
    return str(replace(found, checks=tuple(check for check in found.checks if check.subject != "signature")))


def _internal(folder: Path, original: shoal.Table) -> str:
    plan = shoal.Plan.load(folder / "plan.toml")
    return render_html(internal_report(folder, original.with_schema(plan.schema), plan))


def text_of(path: Path) -> str:
    """Return a file of a release as text; what differs from run to run is left out."""
    if path.suffix == ".parquet":
        return _rows(pq.read_table(path))
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv" and path.parent.name != "hierarchies":
        head, *lines = text.splitlines()
        return "\n".join([head, *sorted(lines)]) + "\n"
    if path.name == "certificate.json":
        return _certificate(json.loads(text))
    return _page(text, path.parent) if path.suffix == ".html" else text


def _rows(table: pa.Table) -> str:
    """Return the columns with their types, then the rows, sorted."""
    head = [f"{column.name}: {column.type}" for column in table.schema]
    lines = sorted(
        json.dumps([_plain(value) for value in row.values()], ensure_ascii=False) for row in table.to_pylist()
    )
    return "\n".join([*head, "", *lines]) + "\n"


def _certificate(content: dict[str, Any]) -> str:
    """Leave out the time, versions, and fingerprints of files whose bytes depend on versions."""
    content["created"] = "..."
    content["software"] = dict.fromkeys(content["software"], "...")
    content["files"] = [entry["name"] for entry in content["files"]]
    return _json(content)


def _page(text: str, folder: Path) -> str:
    """Leave out the style sheet, parts of pixels and what `_certificate` leaves out; one element per line."""
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    software = ", ".join(f"{name} {version}" for name, version in certificate["software"].items())
    text = re.sub(r"<style>.*?</style>", "<style>...</style>", text, flags=re.DOTALL)
    text = re.sub(r"style-src &#x27;sha256-[^;]*&#x27;", "style-src ...", text)
    text = text.replace(software, "...").replace(certificate["created"][:10], "...")
    for file in certificate["files"]:
        text = re.sub(rf"[\d,]+((?:<[^<>]*>)+){file['sha256']}", r"...\1...", text)
    # a tenth of a pixel may hang on the last bit of a sum
    text = re.sub(r'="(-?\d+)\.\d"', r'="\1"', text)
    return text.replace("><", ">\n<")


def _json(content: object) -> str:
    return json.dumps(_plain(content), indent=2, ensure_ascii=False) + "\n"


def _plain(value: object) -> object:
    """Return a value with floats rounded, and anything that JSON does not know as text."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return value if value is None or isinstance(value, bool | int | str) else str(value)
