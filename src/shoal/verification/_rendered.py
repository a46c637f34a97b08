"""Make again what is made of the data and the plan: summary, report, joined view, hierarchies, links of tables."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from shoal import hierarchies, tables
from shoal.guarantees import Check, Data, Evidence
from shoal.methods.brief import Brief
from shoal.methods.classes import joined_view
from shoal.report import gather, render_html, render_text
from shoal.schema import Attribute, Flat, Role, Schema
from shoal.schema.rules import text
from shoal.verification._files import JOINED, REPORT, SUMMARY


def check_rendered(evidence: Evidence) -> list[Check]:
    """Make the summary and the report again, and compare; those of another version of Shoal may look otherwise."""
    if not evidence.certificate.same_wording:
        detail = "written by an older version of Shoal: not compared"
        return [Check(subject=name, passed=True, detail=detail, shown=False) for name in (SUMMARY, REPORT)]
    try:
        document = gather(evidence.folder, evidence.certificate, evidence.tables)
        made = {SUMMARY: render_text(document), REPORT: render_html(document)}
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        detail = "the certificate does not say what is needed to make it again"
        return [Check(subject=name, passed=False, detail=detail) for name in (SUMMARY, REPORT)]
    return [_compared(evidence.folder / name, text) for name, text in made.items()]


def _compared(path: Path, text: str) -> Check:
    same = path.is_file() and path.read_text(encoding="utf-8") == text
    detail = "says what the data and the certificate say" if same else "does not say what the data and certificate say"
    return Check(subject=path.name, passed=same, detail=detail)


def check_links(evidence: Evidence) -> list[Check]:
    """Check that tables linked by a class column have the same classes; that others share columns only if they may."""
    certificate = evidence.certificate
    linked = [data for data in certificate.tables if data.class_column is not None]
    checks = []
    if linked:
        first, *others = (evidence.tallied(data, [str(data.class_column)]) for data in linked)
        same = all(sizes == first for sizes in others)
        detail = f"the same {len(first):,} classes in {len(linked)} tables" if same else "classes differ between tables"
        checks.append(Check(subject="class link", passed=same and len(linked) > 1, detail=detail))
        checks.append(_check_view(evidence, linked))
    names = [name for data in certificate.tables for name in _unlinked(data)]
    if len(certificate.tables) > 1 and not evidence.plan.method.keeps.shared_columns:
        shared = sorted({name for name in names if names.count(name) > 1})
        detail = f"`{shared[0]}` is in several tables" if shared else "the tables share no column"
        checks.append(Check(subject="columns of all tables", passed=not shared, detail=detail))
    return checks


def _check_view(evidence: Evidence, linked: list[Data]) -> Check:
    """Compare the view that joins the tables with the one that belongs to them."""
    identifying, confidential = linked[0], linked[-1]
    link, columns = str(identifying.class_column), tuple(_unlinked(confidential))
    people, values = (tables.scanned(evidence.folder / data.file) for data in (identifying, confidential))
    text = joined_view(people, values, columns, link) + "\n"
    return _compared(evidence.folder / JOINED, text)


def _unlinked(data: Data) -> list[str]:
    return [column.name for column in data.columns if column.name != data.class_column]


def check_hierarchies(plan: Brief, evidence: Evidence) -> list[Check]:
    """Make the hierarchies of sensitive columns again from the plan, for the released values, and compare."""
    checks = []
    listed = {entry.name for entry in evidence.certificate.files}
    for data in evidence.certificate.tables:
        for column in data.columns:
            if column.hierarchy is None or column.name not in plan.schema:
                continue
            if column.hierarchy not in listed or not (evidence.folder / column.hierarchy).is_file():
                detail = "the certificate names it, but does not fingerprint it"
                checks.append(Check(subject=column.name, passed=False, detail=detail))
                continue
            rule = plan.schema[column.name].hierarchy
            if rule is not None and rule.data_dependent:
                detail = "on the publisher's word: its levels were read off the original table"
                checks.append(Check(subject=column.hierarchy, passed=True, detail=detail, shown=False))
                continue
            same = _rebuilt(plan, evidence, data, column.name) == (evidence.folder / column.hierarchy).read_bytes()
            detail = "follows from plan.toml" if same else "is not the hierarchy that plan.toml declares"
            checks.append(Check(subject=column.hierarchy, passed=same, detail=detail))
    return checks


def _rebuilt(plan: Brief, evidence: Evidence, data: Data, name: str) -> bytes:
    """Return the hierarchy file of a sensitive column, for the released values, as the plan declares it."""
    first, *others = (each.name for each in data.columns if each.name != name)
    grouped = Attribute(name=first, role=Role.QUASI_IDENTIFIER, hierarchy=Flat())
    unread = (Attribute(name=other, role=Role.INSENSITIVE) for other in others)
    schema = Schema(attributes=(plan.schema[name], grouped, *unread), folder=plan.schema.folder)
    table = evidence.tables[data.file]
    encoded = tables.encode(table.with_schema(schema, allow_empty=True), sensitive=(name,))
    hierarchy = encoded.frequencies.sensitive[0].hierarchy
    if hierarchy is None:
        return b""
    released = {*text(tables.distinct_values(table, name).combine_chunks()).to_pylist()}
    with TemporaryDirectory() as scratch:
        hierarchies.write_arx(hierarchy, Path(scratch) / "again.csv", only=released)
        return (Path(scratch) / "again.csv").read_bytes()
