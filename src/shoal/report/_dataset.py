"""The summary and the report of a release of several tables, from its files alone."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal.errors import counted
from shoal.guarantees import Certificate, Event
from shoal.methods.nested import DatasetPlan, ItemsGeneralized, ItemsSuppressed
from shoal.report._markup import element
from shoal.report._page import page, section, table_of
from shoal.schema import Role

_WIDTH = 78
#: numbers of rows below a row that have a line of their own
_BAGS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFigures:
    """What the released tables show."""

    #: The fewest persons who show a pattern of at most 0, 1, 2, ... known items that somebody shows.
    rarest: tuple[int, ...]
    #: By table, how many rows of its parent have how many rows, ascending.
    bags: Mapping[str, Sequence[tuple[int, int]]]
    #: What was done.
    steps: Sequence[Event]


def dataset_summary(certificate: Certificate, plan: DatasetPlan, figures: DatasetFigures) -> str:
    """Return the summary as text."""
    lines = [plan.about.title or "Release of several tables", ""]
    for promise in certificate.promises:
        lines += [*textwrap.wrap(f"Promise: {promise.statement}", _WIDTH, subsequent_indent="  ")]
        for assumption in promise.assumptions:
            lines += textwrap.wrap(f"- {assumption}", _WIDTH, initial_indent="  ", subsequent_indent="    ")
    lines += ["", "What was done:"]
    for step in certificate.steps:
        lines += textwrap.wrap(f"- {step['description']}", _WIDTH, initial_indent="  ", subsequent_indent="    ")
    for title, header, rows in _tables(certificate, plan, figures):
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines += ["", f"{title}:"]
        for row in (header, *rows):
            lines.append("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return "\n".join(lines) + "\n"


def dataset_report(certificate: Certificate, plan: DatasetPlan, figures: DatasetFigures) -> str:
    """Return the report as a page."""
    promises = [
        element(
            "div",
            element("p", promise.statement),
            element("ul", [element("li", assumption) for assumption in promise.assumptions]),
        )
        for promise in certificate.promises
    ]
    content = [
        section("What is promised", promises),
        section(
            "What was done", element("ul", [element("li", str(step["description"])) for step in certificate.steps])
        ),
        *(section(title, table_of(header, rows)) for title, header, rows in _tables(certificate, plan, figures)),
    ]
    if plan.about:
        said = [(name.replace("_", " "), text) for name, text in plan.about.words().items()]
        content.insert(0, section("About this release", table_of(("", ""), said)))
    return page(
        plan.about.title or "Release of several tables",
        about=f"{counted(len(certificate.tables), 'table')}, {counted(certificate.data.records, 'person')}",
        content=content,
        footer="Made of the files of the release alone; `shoal verify` makes it again and compares.",
        class_="report",
    )


_Rows = list[tuple[str, ...]]


def _tables(
    certificate: Certificate, plan: DatasetPlan, figures: DatasetFigures
) -> list[tuple[str, tuple[str, ...], _Rows]]:
    levels = {}
    left_out: dict[str, tuple[int, int]] = {}
    for step in figures.steps:
        if isinstance(step, ItemsGeneralized):
            columns = zip(step.columns, step.levels, step.heights, strict=True)
            levels = {
                name: f"{'levels up to' if name in step.mixed else 'level'} {level} of {height}"
                for name, level, height in columns
            }
        if isinstance(step, ItemsSuppressed):
            left_out = {name: (rows, of) for name, rows, of in zip(step.tables, step.rows, step.of, strict=True)}
    names = [table.name for table in plan.schema]
    rows: _Rows = [
        (name, f"{data.records:,}", f"{left_out[name][0]:,} of {left_out[name][1]:,}", plan.schema[name].parent or "")
        for name, data in zip(names, certificate.tables, strict=True)
    ]
    known: _Rows = [
        (table.name, column.name, column.role.value, levels.get(f"{table.name}.{column.name}", _done(column.role)))
        for table in plan.schema
        for column in table.columns
    ]
    risk: _Rows = [
        (str(m), f"{fewest:,}", "promised" if m == plan.promise.m else "") for m, fewest in enumerate(figures.rarest)
    ]
    bags: _Rows = []
    for name, sizes in figures.bags.items():
        shown = [*sizes[:_BAGS]]
        bags += [(name, str(size), f"{number:,}") for size, number in shown]
        rest = sum(number for _, number in sizes[_BAGS:])
        bags += [(name, f"more than {shown[-1][0]}", f"{rest:,}")] if rest else []
    return [
        ("Tables", ("table", "released rows", "left out", "belong to"), rows),
        ("Columns", ("table", "column", "role", "released"), known),
        ("Risk by known items", ("items known", "fewest persons who fit", ""), risk),
        ("Rows below a row", ("table", "rows", "rows of the parent that have so many"), bags),
    ]


def _done(role: Role) -> str:
    return "not released" if role.names_someone else "as it is"
