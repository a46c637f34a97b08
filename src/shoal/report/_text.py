"""A report for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from shoal.report._charts import share
from shoal.report._document import Document, Risk
from shoal.report._markup import clean, shortened
from shoal.report._words import STRENGTHS, hidden, notice

__all__ = ["render_text"]


def render_text(document: Document) -> str:
    """Return the report as plain text; signs that a terminal would obey are spelt out."""
    lines = [*_wrapped(" ".join(notice(document)), indent=""), ""]
    lines += ["Promised", *_bullets(f"{p.statement} ({STRENGTHS[p.strength][0]})" for p in document.promises)]
    assumed = dict.fromkeys(text for promise in document.promises for text in promise.assumptions)
    if assumed:
        lines += ["Assuming", *_bullets(assumed)]
    lines += ["Done", *_bullets(step.description for step in document.steps)]
    if document.budget is not None:
        lines += ["Budget", f"  epsilon {document.budget.epsilon:.6g}, delta {document.budget.delta:.3g}"]
    for table in document.tables:
        if table.risk is not None:
            lines += [f"Risk, {table.file}", *_risk(table.risk, document.before)]
        elif table.hidden_among is not None:
            lines += [f"Risk, {table.file}", *_bullets([hidden(table.hidden_among)])]
    if document.measures:
        lines += ["Quality"]
        lines += [
            f"  {shortened(clean(name), 40):<40}{'not defined' if value is None else f'{value:,.6g}'}"
            for name, value in document.measures.items()
        ]
    lines += ["Limitations", *_bullets(document.limitations)]
    return "\n".join(lines) + "\n"


def _risk(after: Risk, before: Risk | None) -> list[str]:
    shown = [after] if before is None else [before, after]
    rows = [
        ("records", [f"{risk.records:,}" for risk in shown]),
        ("classes", [f"{risk.classes:,}" for risk in shown]),
        ("smallest class", [f"{risk.smallest:,}" for risk in shown]),
        ("unique records", [f"{risk.unique:,}" for risk in shown]),
        ("highest risk", [share(risk.prosecutor) for risk in shown]),
        ("average risk", [share(risk.marketer) for risk in shown]),
    ]
    head = [] if before is None else [f"  {'':<20}{'before':>12}{'after':>12}"]
    return [*head, *(f"  {name:<20}{''.join(f'{figure:>12}' for figure in figures)}" for name, figures in rows)]


def _bullets(sentences: Iterable[str]) -> list[str]:
    return [line for sentence in sentences for line in _wrapped(sentence, indent="  - ")]


def _wrapped(sentence: str, *, indent: str) -> list[str]:
    text = clean(shortened(sentence, 2000))
    return textwrap.wrap(text, width=96, initial_indent=indent, subsequent_indent=" " * len(indent))
