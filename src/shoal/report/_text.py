"""A release and its report as plain text: for the terminal, and for ``summary.txt``."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from shoal.methods import Made
from shoal.report._document import Document, PeopleFigures, Risk
from shoal.report._markup import clean, shortened
from shoal.report._words import ABOUT, FEWEST, GUESSED, STRENGTHS, hidden, measured, notice, people_rows, risk_figures
from shoal.risk import Reidentification

_RISKS = ("records", "equivalence classes", "smallest class", "unique records", "highest risk", "average risk")
#: classes that do not show in the quasi-identifiers are called by another name than those that do
_HIDDEN_RISKS = ("records", "classes", "smallest class", "alone in a class", "highest risk", "average risk")


def summary(release: Made) -> str:
    """Say on one screen what a release promises, what was done, and what it cost; for the holder of the data."""
    promises = release.guarantee.promises
    lines = _section("Promised", (promise.statement for promise in promises))
    lines += _section("Assuming", dict.fromkeys(text for promise in promises for text in promise.assumptions))
    lines += _section("Note", [GUESSED] if release.plan.schema.guessed else [])
    lines += _section("Done", (event.describe() for event in release.guarantee.events))
    lines += _quality(release.measures)
    shown = [risk for risk in (release.before, release.after) if risk is not None]
    apart = len(release.parts) > 1 and release.parts[0].class_column is None
    names = _HIDDEN_RISKS if release.plan.method.shows_members else _RISKS
    lines += _risk("Risk of the worst table" if apart else "Risk", names, shown)
    return "\n".join([*lines, *_people([PeopleFigures.of(each) for each in release.people or ()])])


def _people(found: Sequence[PeopleFigures]) -> list[str]:
    """Return the risk of persons with all their records, and of households: before, and after where it is known."""
    sections = people_rows(found).items() if found else ()
    return [line for title, rows in sections for line in _beside(title, ("before", "after")[: len(found)], rows)]


def render_text(document: Document) -> str:
    """Return the report as plain text; characters that a terminal would obey are spelt out."""
    lines = [*_wrapped(" ".join(notice(document)), indent=""), ""]
    lines += _section("Release", (f"{ABOUT[name]}: {text}" for name, text in document.about.items()))
    lines += _section("Promised", (f"{p.statement} ({STRENGTHS[p.strength][0]})" for p in document.promises))
    lines += _section("Assuming", dict.fromkeys(text for p in document.promises for text in p.assumptions))
    lines += _section("Note", [GUESSED] if document.guessed else [])
    lines += _section("Done", (step.description for step in document.steps))
    if document.budget is not None:
        lines += ["Budget", f"  epsilon {document.budget.epsilon:.6g}, delta {document.budget.delta:.3g}"]
    for table in document.tables:
        if table.risk is not None:
            shown = [table.risk] if document.before is None else [document.before, table.risk]
            lines += _risk(f"Risk, {table.file}", _RISKS, shown)
        elif table.hidden_among is not None:
            lines += _section(f"Risk, {table.file}", [hidden(table.hidden_among)])
    lines += _people(document.people)
    lines += _quality(document.measures)
    lines += _section("Attention", document.attention)
    lines += _section("Limitations", document.limitations)
    return "\n".join(lines) + "\n"


def table_lines(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a small table as lines: the first column left, the others right."""
    shown = [[clean(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, cells)) for cells in zip(*shown, strict=True)]
    lines = [clean(title)]
    for first, *others in shown:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def _section(title: str, sentences: Iterable[str]) -> list[str]:
    """Return a titled list; nothing where there is nothing to say."""
    lines = [line for sentence in sentences for line in _wrapped(sentence, indent="  - ")]
    return [clean(title), *lines] if lines else []


def _quality(measures: Mapping[str, float | None]) -> list[str]:
    if not measures:
        return []
    width = max(24, *map(len, measures))
    return ["Quality", *(f"  {clean(name):<{width}}  {measured(value)}" for name, value in measures.items())]


def _risk(title: str, names: Sequence[str], shown: Sequence[Risk | Reidentification]) -> list[str]:
    """Return the risk of a table as lines; of two tables, the one before and the one after."""
    # the risk before says nothing of persons where it was not asked for
    rows = itertools.zip_longest((*names, FEWEST), *map(risk_figures, shown), fillvalue="")
    return _beside(clean(title), ("before", "after") if len(shown) == 2 else (), [row for row in rows if any(row[1:])])


def _beside(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return figures as lines, those of two tables beside each other."""
    width = max(10, *(len(cell) for _, *cells in rows for cell in cells)) if rows else 10
    first = f"{title:<{16 + width}}{header[0]}" if header else title
    lines = [" ".join([first, *(f"{word:>{width}}" for word in header[1:])])]
    return lines + [f"  {name:<20}{' '.join(f'{cell:>{width}}' for cell in cells)}" for name, *cells in rows]


def _wrapped(sentence: str, *, indent: str) -> list[str]:
    text = clean(shortened(sentence, 20_000))
    return textwrap.wrap(text, width=96, initial_indent=indent, subsequent_indent=" " * len(indent))
