"""A report as one page that needs nothing else: no script, no font, no request."""

from __future__ import annotations

import base64
import hashlib
import itertools
from collections.abc import Iterable, Sequence

from shoal.exact import share
from shoal.report._charts import (
    Chart,
    budget_chart,
    class_sizes_chart,
    levels_chart,
)
from shoal.report._document import Document, PromiseFigures, Risk, TableFigures, Variant
from shoal.report._histogram import column_chart
from shoal.report._markup import CSS, Html, element, join, shortened
from shoal.report._plots import lattice_chart
from shoal.report._words import FEWEST, GUESSED, STRENGTHS, hidden, measured, notice, risk_figures

__all__ = ["charts", "facts", "figure", "page", "render_html", "section", "table_of", "ticks"]


def render_html(document: Document) -> str:
    """Return the report as a page."""
    return page(
        "Report on an anonymised release",
        about=_made(document),
        content=_sections(document),
        footer=f"Report format {document.version}. {document.software}.",
        class_=str(document.variant),
    )


def page(title: str, *, about: str, content: Iterable[Html], footer: str, class_: str) -> str:
    """Return a page that needs nothing else.

    The content security policy lets a browser use the style sheet of this page and nothing else, so that even a value
    of the data that reached the page as markup could neither run nor load anything.
    """
    digest = base64.b64encode(hashlib.sha256(CSS.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        # a style sheet is not escaped in HTML; it is ours, and holds nothing of the data
        Html(f"<style>{CSS}</style>"),
    )
    body = element(
        "body",
        element("header", _choices(), element("h1", title), element("p", about, class_="soft"), class_="top"),
        element("main", content),
        element("footer", footer),
        class_=class_,
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def charts(document: Document) -> list[Chart]:
    """Return every chart of the report; a name that occurs twice belongs to several released tables."""
    found = [levels_chart(document.levels)] if document.levels else []
    if document.lattice is not None:
        found.append(lattice_chart(document.lattice))
    if document.budget is not None:
        found.append(budget_chart(document.steps, document.budget))
    for table in document.tables:
        if table.risk is not None:
            found.append(class_sizes_chart(table.risk, document.before))
        found += [column_chart(column) for column in table.columns]
    return found


def _made(document: Document) -> str:
    records = " and ".join(f"{table.records:,} records in {table.file}" for table in document.tables)
    return f"{records}. Made {document.created[:10]}."


def _choices() -> Html:
    themes = [("auto", "system", "checked"), ("light", "light", None), ("dark", "dark", None)]
    return element(
        "div",
        [
            element("label", element("input", type="radio", name="theme", id=key, checked=on), f" {words}")
            for key, words, on in themes
        ],
        class_="choices",
        role="group",
        aria_label="Colours",
    )


def _sections(document: Document) -> Iterable[Html]:
    yield element("div", element("b", notice(document)[0]), " ", notice(document)[1], class_="variant", role="note")
    if document.guessed:
        yield element("div", GUESSED, class_="warning", role="note")
    yield section("What is promised", [_promise(promise) for promise in document.promises])
    yield section("What was done", _done(document))
    yield section("How well people are hidden", _risks(document))
    yield section("What the data look like", _data(document))
    yield section(
        "What this release does not do", element("ul", [element("li", ticks(t)) for t in document.limitations])
    )
    yield section("How to check it", _checking(document))


def section(title: str, *content: str | Iterable[str]) -> Html:
    """Return a titled part of a page."""
    key = title.lower().replace(" ", "-")
    return element("section", element("h2", title, id=key), *content, aria_labelledby=key)


def _promise(promise: PromiseFigures) -> Html:
    name, meaning = STRENGTHS[promise.strength]
    about = [f"model {promise.model}", *(f"{key} = {value}" for key, value in promise.parameters.items())]
    if promise.neighbours:
        about.append(f"neighbours: {promise.neighbours}")
    if promise.file:
        about.append(f"about {promise.file}")
    parts: list[Html] = [
        element("p", ticks(promise.statement)),
        element(
            "p", element("span", name, class_="badge"), " ", f"{meaning} The unit of protection is one {promise.unit}."
        ),
    ]
    if promise.assumptions:
        assumed = [element("li", ticks(text)) for text in promise.assumptions]
        parts += [element("h3", "Assuming"), element("ul", assumed)]
    parts.append(element("p", "; ".join(shortened(text, 300) for text in about), class_="soft"))
    if promise.exact:
        rows = [(key, value) for key, value in promise.exact.items()]
        parts.append(_details("Exact values", table_of(("quantity", "value"), rows)))
    return element("div", parts, class_="promise")


def _done(document: Document) -> Iterable[Html]:
    yield element("ol", [element("li", ticks(step.description)) for step in document.steps])
    yield element("p", f"Randomness: {document.randomness}.", class_="soft")
    shown = [levels_chart(document.levels)] if document.levels else []
    if document.budget is not None:
        shown.append(budget_chart(document.steps, document.budget))
        total = (
            f"In total, the steps spend epsilon {document.budget.epsilon:.6g} and delta {document.budget.delta:.3g}."
        )
        yield element("p", total)
    if shown:
        yield element("div", [figure(chart) for chart in shown], class_="cards")
    if document.lattice is not None:
        yield element("div", figure(lattice_chart(document.lattice)), class_="wide")


def _risks(document: Document) -> Iterable[Html]:
    if any(table.risk is not None for table in document.tables):
        yield element(
            "p",
            "Records that look alike to an intruder form a class. In a class of ten, each record is the person whom "
            "the intruder seeks with a chance of one in ten, judging by these columns.",
        )
    for table in document.tables:
        if table.risk is None and table.hidden_among is None:
            continue
        if len(document.tables) > 1:
            yield element("h3", table.file)
        if table.hidden_among is not None:
            yield element("p", hidden(table.hidden_among))
        if table.risk is None:
            continue
        yield element("div", facts(table.risk), class_="facts")
        if document.before is not None:
            yield _compared(document.before, table.risk)
        yield element("p", "Classes are formed by ", ticks(table.classes_by), ".", class_="soft")
        yield element("div", figure(class_sizes_chart(table.risk, document.before)), class_="cards")


def facts(risk: Risk) -> list[Html]:
    """Return the headline figures of a risk."""
    shown = zip((*_FACTS, FEWEST), risk_figures(risk), strict=False)
    return [element("div", element("b", figure), name, class_="fact") for name, figure in shown]


_FACTS = (
    "records",
    "classes",
    "smallest class",
    "records alone in their class",
    "highest risk of one record",
    "average risk",
)


def _compared(before: Risk, after: Risk) -> Html:
    return table_of(("", "before", "after"), _rows(before, after))


def _rows(before: Risk, after: Risk) -> Iterable[tuple[str, str, str]]:
    figures = itertools.zip_longest(risk_figures(before), risk_figures(after), fillvalue="")
    return ((name, *pair) for name, pair in zip((*_FACTS, FEWEST), figures, strict=False))


def _data(document: Document) -> Iterable[Html]:
    if document.variant is Variant.INTERNAL:
        legend = (element("b", "outlined: original", class_="o"), ", ", element("b", "filled: released", class_="r"))
        yield element("p", *legend, ". Generalised values are spread evenly over what they stand for.", class_="legend")
    if document.measures:
        rows = [(name, measured(value)) for name, value in document.measures.items()]
        yield table_of(("quality measure", "value"), rows)
    if document.query_error is not None:
        yield element("p", f"Random counts from the release are off by {share(document.query_error)} on average.")
    if document.associations:
        pairs = [(f"{a} and {b}", f"{before:.3f}", f"{after:.3f}") for a, b, before, after in document.associations]
        yield _details(
            "Associations between columns that changed most (0: none, 1: one determines the other)",
            table_of(("columns", "before", "after"), pairs),
        )
    for table in document.tables:
        yield from _columns(table, named=len(document.tables) > 1)


def _columns(table: TableFigures, *, named: bool) -> Iterable[Html]:
    if named:
        yield element("h3", table.file)
    yield element(
        "div", [figure(column_chart(column), role=str(column.role)) for column in table.columns], class_="cards"
    )


def figure(chart: Chart, *, role: str = "") -> Html:
    """Return a chart with its title, and its figures as a table."""
    words = ", ".join(part for part in (role, chart.note) if part)
    return element(
        "figure",
        element(
            "figcaption",
            element("h3", element("bdi", shortened(chart.title, 120))),
            element("span", words, class_="soft") if words else Html(""),
        ),
        chart.svg(),
        # levels are few, and their table says what the released values look like
        _details("The figures as a table", table_of(chart.header, chart.rows), shown=chart.name == "levels"),
    )


def _details(title: str, content: Html, *, shown: bool = False) -> Html:
    return element("details", element("summary", title), content, open="open" if shown else None)


def table_of(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Return a table; long texts are shortened."""
    head = element("tr", [element("th", text, scope="col") for text in header])
    body = [element("tr", [element("td", element("bdi", shortened(text, 200))) for text in row]) for row in rows]
    table = element("table", element("thead", head), element("tbody", body))
    # what scrolls can be reached with the keyboard
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label="Table")


def _checking(document: Document) -> Iterable[Html]:
    yield element("p", "Anyone who has the release folder can check it, without anything else:")
    yield element("pre", "shoal verify RELEASE_FOLDER")
    yield element(
        "p",
        "This compares the fingerprints of all files with the certificate and checks again every promise that can be "
        "decided from the data alone. The fingerprint of this page is in certificate.json, too.",
    )
    rows = [(file.name, f"{file.bytes:,}", file.sha256) for file in document.files]
    yield table_of(("file", "bytes", "SHA-256"), rows)


def ticks(text: str) -> Html:
    """Return a sentence with what stands between backticks as code."""
    parts = shortened(text, 2000).split("`")
    if len(parts) % 2 == 0:
        return join(shortened(text, 2000))
    return join(element("code", element("bdi", part)) if number % 2 else part for number, part in enumerate(parts))
