"""The pieces of a page that needs nothing else: no script, no font, no request."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import partial

from shoal.report._charts import Chart
from shoal.report._document import Risk
from shoal.report._markup import CSS, Html, element, join, shorten
from shoal.report._text import FEWEST, risk_figures


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


def section(title: str, *content: str | Iterable[str]) -> Html:
    """Return a titled part of a page."""
    return element("section", element("h2", title, id=key(title)), *content, aria_labelledby=key(title))


def key(title: str) -> str:
    """Return what a title is called in links."""
    return re.sub("[^a-z0-9]+", "-", title.lower())


def facts(risk: Risk) -> list[Html]:
    """Return the headline figures of a risk."""
    shown = zip((*FACTS, FEWEST), risk_figures(risk), strict=False)
    return [element("div", element("b", figure), name, class_="fact") for name, figure in shown]


FACTS = (
    "records",
    "classes",
    "smallest class",
    "records alone in their class",
    "highest risk of one record",
    "average risk",
)


def figure(chart: Chart, *, role: str = "", inside: Chart | None = None) -> Html:
    """Return a chart with its title, and its figures as a table; a look ``inside`` its groups is folded."""
    words = ", ".join(part for part in (role, chart.note) if part)
    return element(
        "figure",
        element(
            "figcaption",
            element("h3", element("bdi", shorten(chart.title, 120))),
            element("span", words, class_="soft") if words else Html(""),
        ),
        chart.svg(),
        # levels are few, and their table says what the released values look like
        details("The figures as a table", table_of(chart.header, chart.rows), shown=chart.name == "levels"),
        _inside(inside) if inside is not None else Html(""),
    )


def _inside(chart: Chart) -> Html:
    words = element("p", chart.note, class_="soft quiet")
    return details("What was lost inside the groups", join((words, chart.svg(), table_of(chart.header, chart.rows))))


def details(title: str, content: Html, *, shown: bool = False) -> Html:
    """Return what is shown on a click, and in print."""
    return element("details", element("summary", title), content, open="open" if shown else None)


def table_of(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: bool = False) -> Html:
    """Return a table; long texts are shortened. Figures stand at the right, ``words`` at the left."""
    head = element("tr", [element("th", text, scope="col") for text in header])
    shown = ticks if words else partial(shorten, length=200)
    body = [element("tr", [element("td", element("bdi", shown(text))) for text in row]) for row in rows]
    table = element("table", element("thead", head), element("tbody", body), class_="words" if words else None)
    # what scrolls can be reached with the keyboard
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label="Table")


def ticks(text: str) -> Html:
    """Return a sentence with what stands between backticks as code."""
    parts = shorten(text, 2000).split("`")
    if len(parts) % 2 == 0:
        return join(shorten(text, 2000))
    return join(element("code", element("bdi", part)) if number % 2 else part for number, part in enumerate(parts))
