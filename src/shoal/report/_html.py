"""A report as one page that needs nothing else: no script, no font, no request; and single pictures, and paper."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from shoal import stopping
from shoal.errors import InputError, ParameterError, quoted
from shoal.exact import share
from shoal.report._board import board_sections
from shoal.report._charts import (
    Chart,
    budget_chart,
    class_sizes_chart,
    column_chart,
    inside_chart,
    levels_chart,
)
from shoal.report._document import Document, PeopleFigures, PromiseFigures, Variant
from shoal.report._internal import lattice_chart
from shoal.report._markup import Html, element, join, shorten
from shoal.report._page import FACTS, details, facts, figure, key, page, section, table_of, ticks
from shoal.report._text import (
    ABOUT,
    FEWEST,
    FOUND,
    GUESSED,
    KEPT,
    KEPT_HEADER,
    LEARNING,
    STRENGTHS,
    format_measure,
    kept_rows,
    learnt_rows,
    notice,
    people_rows,
    risk_figures,
    say_hidden,
)
from shoal.writing import Scratch

#: So many tables are named at the top of a report; of more it says how many there are.
_NAMED = 3


def render_html(document: Document) -> str:
    """Return the report as a page."""
    return page(
        shorten(document.about.get("title", "Report on an anonymised release"), 200),
        about=_render_origin(document),
        content=_content(document),
        footer=f"Report format {document.version}. {document.software}.",
        class_=str(document.variant),
    )


def charts(document: Document) -> list[Chart]:
    """Return every chart of the report; a name that occurs twice belongs to several released tables."""
    pictures = [levels_chart(document.levels)] if document.levels else []
    if document.lattice is not None:
        pictures.append(lattice_chart(document.lattice))
    if document.budget is not None:
        pictures.append(budget_chart(document.steps, document.budget))
    for table in document.tables:
        if table.risk is not None:
            pictures.append(class_sizes_chart(table.risk, document.before))
        for column in table.columns:
            inside = inside_chart(column)
            pictures += [column_chart(column), *([] if inside is None else [inside])]
    return pictures


def _render_origin(document: Document) -> str:
    sizes = sorted(table.records for table in document.tables)
    records = " and ".join(f"{table.records:,} records in {table.file}" for table in document.tables)
    if len(sizes) > _NAMED:
        records = f"{len(sizes):,} tables of {sizes[0]:,} to {sizes[-1]:,} records"
    return f"{records}. Made {document.created[:10]}."


def _content(document: Document) -> Iterable[Html]:
    yield element("div", element("b", notice(document)[0]), " ", notice(document)[1], class_="variant", role="note")
    if document.guessed:
        yield element("div", GUESSED, class_="warning", role="note")
    if document.rehearsal is not None:
        yield element("p", element("b", document.rehearsal.line), id="rehearsal")
        yield table_of(("an attacker who knows", "finds"), document.rehearsal.rows)
    sections = list(_sections(document))
    links = [element("li", element("a", title, href=f"#{key(title)}")) for title, _ in sections]
    yield element("nav", element("h2", "Contents", id="contents"), element("ol", links), aria_labelledby="contents")
    yield from (section(title, content) for title, content in sections)


def _sections(document: Document) -> Iterable[tuple[str, str | Iterable[str]]]:
    if document.about:
        yield "What it is for", _about(document)
    yield "What is promised", [_promise(promise) for promise in document.promises]
    if document.described:
        yield "What each column is", _render_columns(document)
    yield "What was done", _done(document)
    yield "How well people are hidden", _risks(document)
    if document.attention:
        yield "What needs attention", element("ul", [element("li", ticks(t)) for t in document.attention])
    if document.board is not None:
        yield from board_sections(document, document.board)
    yield "What the data look like", _data(document)
    yield "What this release does not do", element("ul", [element("li", ticks(t)) for t in document.limitations])
    yield "How to check it", _checking(document)


def _about(document: Document) -> Iterable[Html]:
    rows = [(ABOUT[name], text) for name, text in document.about.items()]
    yield element("dl", [join(element("dt", name), element("dd", element("bdi", text))) for name, text in rows])
    yield element("p", "In the words of the publisher; no file can show whether they are true.", class_="soft")


def _render_columns(document: Document) -> Iterable[Html]:
    rows = [(each.name, str(each.role), each.done, each.reason) for each in document.described]
    yield table_of(("column", "role", "what was done", "reason"), rows, words=True)
    if not all(each.given for each in document.described):
        words = "Where nobody gave a reason, the meaning of the role is shown instead."
        yield element("p", words, class_="soft")


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
    parts.append(element("p", "; ".join(shorten(text, 300) for text in about), class_="soft"))
    if promise.exact:
        rows = [(key, value) for key, value in promise.exact.items()]
        parts.append(details("Exact values", table_of(("quantity", "value"), rows)))
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
            "Records that look alike to an intruder form a class. In a class of ten, each record has a chance of "
            "one in ten of being the person whom the intruder seeks, judging by these columns.",
        )
    for table in document.tables:
        if table.risk is None and table.hidden_among is None and table.learnt is None:
            continue
        if len(document.tables) > 1:
            yield element("h3", table.file)
        if table.hidden_among is not None:
            yield element("p", say_hidden(table.hidden_among))
        if table.learnt is not None:
            yield element("p", f"{LEARNING}:")
            yield table_of(("", ""), learnt_rows(table.learnt))
        if table.risk is None:
            continue
        yield element("div", facts(table.risk), class_="facts")
        if document.before is not None:
            pairs = itertools.zip_longest(risk_figures(document.before), risk_figures(table.risk), fillvalue="")
            rows = ((name, *pair) for name, pair in zip((*FACTS, FEWEST), pairs, strict=False))
            yield table_of(("", "before", "after"), rows)
        yield element("p", "Classes are formed by the quasi-identifiers.", class_="soft")
        yield element("div", figure(class_sizes_chart(table.risk, document.before)), class_="cards")
    if document.own_values:
        yield element("p", f"{KEPT}:")
        yield table_of(KEPT_HEADER, kept_rows(document.own_values))
    yield from _people(document.people)


def _people(found: Sequence[PeopleFigures]) -> Iterable[Html]:
    if not found:
        return
    for title, rows in people_rows(found).items():
        yield element("h3", title)
        yield table_of(("", *("before", "after")[: len(found)]), rows)
    yield element("p", FOUND, class_="soft")
    if len(found) == 1:
        words = "There are no figures for after: the release shows who is in it, or random numbers made it."
        yield element("p", words, class_="soft")


def _data(document: Document) -> Iterable[Html]:
    if document.variant is Variant.INTERNAL:
        legend = (element("b", "outlined: original", class_="o"), ", ", element("b", "filled: released", class_="r"))
        yield element("p", *legend, ". Generalised values are spread evenly over what they stand for.", class_="legend")
    if document.measures:
        rows = [(name, format_measure(value)) for name, value in document.measures.items()]
        yield table_of(("quality measure", "value"), rows)
    if document.query_error is not None:
        yield element("p", f"Random counts from the release are off by {share(document.query_error)} on average.")
    if document.associations:
        pairs = [(f"{a} and {b}", f"{before:.3f}", f"{after:.3f}") for a, b, before, after in document.associations]
        yield details(
            "Associations between columns that changed most (0: none, 1: one determines the other)",
            table_of(("columns", "before", "after"), pairs),
        )
    for table in document.tables:
        if len(document.tables) > 1:
            yield element("h3", table.file)
        shown = [
            figure(column_chart(column), role=str(column.role), inside=inside_chart(column)) for column in table.columns
        ]
        yield element("div", shown, class_="cards")


def _checking(document: Document) -> Iterable[Html]:
    yield element("p", "Anyone who has the release folder can check it, without anything else:")
    yield element("pre", "shoal verify RELEASE_FOLDER")
    yield element(
        "p",
        "This compares the fingerprints of all files with the certificate and checks again every promise that can be "
        "decided from the data alone. The fingerprint of this page is also in certificate.json.",
    )
    rows = [(file.name, f"{file.bytes:,}", file.sha256) for file in document.files]
    yield table_of(("file", "bytes", "SHA-256"), rows)


_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "chromium-headless-shell")
_OPTIONS = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
_SECONDS = 60


def find_chart(document: Document, name: str) -> Chart:
    """Return the chart with a name, such as ``class-sizes`` or ``column:age``."""
    pictures = {chart.name: chart for chart in reversed(charts(document))}
    if name not in pictures:
        raise ParameterError(f"the report has no chart `{name}`.", hint=f"it has {quoted(reversed(pictures))}")
    return pictures[name]


def svg_to_png(chart: Chart, *, scale: int = 3) -> bytes:
    """Draw a chart with a Chromium that is installed.

    Raises
    ------
    InputError
        If there is none, or it fails; SVG needs none.
    """
    options = (
        f"--window-size={chart.width},{chart.height}",
        f"--force-device-scale-factor={scale}",
        "--screenshot={}",
    )
    return _print_with_browser(chart.svg(alone=True), ".svg", ".png", options, instead="write the chart as SVG")


def page_to_pdf(page: str) -> bytes:
    """Print a report with a Chromium that is installed, as its print button would.

    Raises
    ------
    InputError
        If there is none, or it fails; HTML needs none.
    """
    options = ("--no-pdf-header-footer", "--print-to-pdf={}")
    return _print_with_browser(page, ".html", ".pdf", options, instead="write HTML and print it with your browser")


def _print_with_browser(text: str, source: str, kind: str, options: tuple[str, ...], *, instead: str) -> bytes:
    """Let the browser make a file of one kind from a text of another; the last option takes the file's name."""
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise InputError(
            f"Chromium, which draws {kind[1:].upper()} files, is not installed.", hint=f"install Chromium, or {instead}"
        )
    scratch = Scratch()
    try:
        page, drawn = scratch.path / f"page{source}", scratch.path / f"drawn{kind}"
        page.write_text(text, encoding="utf-8")
        try:
            _run_browser(
                browser,
                *_OPTIONS,
                # Chromium refuses to start as root with its sandbox; what is drawn holds no script
                *(["--no-sandbox"] if os.geteuid() == 0 else []),
                f"--user-data-dir={scratch.path}/profile",
                *(option.format(drawn) for option in options),
                page.as_uri(),
                folder=scratch.path,
            )
            return drawn.read_bytes()
        except (OSError, subprocess.SubprocessError):
            raise InputError(f"the browser could not draw the {kind[1:].upper()} file", hint=instead) from None
    finally:
        scratch.remove()


def _run_browser(browser: str, *arguments: str, folder: Path) -> None:
    """Run the browser, whose files all go into a folder, until it is done; it ends with this process."""
    # the system kills it with whoever started it, even where that is killed
    guard = [path, "--pdeathsig", "KILL"] if (path := shutil.which("setpriv")) else []
    process = subprocess.Popen(  # noqa: S603 - a browser from the PATH, on a file of ours
        [*guard, browser, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(folder)},
        start_new_session=True,
    )
    with stopping.child(process):
        if process.wait(_SECONDS):
            raise subprocess.SubprocessError
