"""Elements of a page, and their style.

Text goes in as text and comes out escaped: there is no way to put markup in by accident. Pages are made for light and
dark, for a phone, a screen and paper; colours are those of Okabe and Ito.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from html import escape

#: attributes whose names are words of Python or are written otherwise
_NAMES = {"class_": "class", "for_": "for", "view_box": "viewBox"}


class Html(str):
    """Markup that was made by :func:`element`; any other string is text."""

    __slots__ = ()

    def __html__(self) -> str:
        """Tell templates that this is markup already."""
        return self


def element(tag: str, /, *children: str | Iterable[str], **attributes: object) -> Html:
    """Return an element; children that are not :class:`Html` are escaped.

    An attribute that is None is left out. The result is well-formed XML, so that a parser can check a whole page.

    Examples
    --------
    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    written = "".join(
        f' {_NAMES.get(name, name.replace("_", "-"))}="{_attribute(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    content = join(*children)
    if not content and tag in _EMPTY:
        return Html(f"<{tag}{written}/>")
    return Html(f"<{tag}{written}>{content}</{tag}>")


def _attribute(value: object) -> str:
    text = str(value)
    # most are numbers and plain words: thousands in the report of a wide table
    return text if text.isascii() and text.isalnum() else escape(clean(text), quote=True)


_EMPTY = frozenset({"meta", "input", "br", "hr", "rect", "circle", "line", "path"})


def join(*children: str | Iterable[str]) -> Html:
    """Return children one after the other."""
    parts: list[str] = []
    for child in children:
        if isinstance(child, Html):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(escape(clean(child), quote=False))
        else:
            parts.append(join(*child))
    return Html("".join(parts))


def clean(text: str) -> str:
    r"""Return ``text`` with every character that is not seen, or turns others around, spelt out.

    Control characters, the bidirectional overrides with which text can be made to read as another, lone surrogates and
    what no XML may hold become ``\u....``; letters of every script stay.

    Examples
    --------
    >>> print(clean("ab\u202ecd"))
    ab\u202ecd
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"\\u{ord(sign):04x}" if _is_invisible(sign) else sign for sign in text)


def _is_invisible(sign: str) -> bool:
    # Cc control, Cf format (bidirectional and zero-width), Cs surrogate, Cn unassigned, Zl and Zp separators
    return sign != "\n" and unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"}


def shorten(text: str, length: int) -> str:
    """Return the first ``length`` signs of a text, on one line.

    Examples
    --------
    >>> shorten("a long text", 7)
    'a long…'
    """
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length and len(text) <= 4 * length else f"{line[: length - 1].rstrip()}…"


_LIGHT = (
    "--paper:#fff;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--card:#f6f8fa;"
    "--released:#0072b2;--original:#d55e00;--aside:#8c959f;--warn:#7a4100;--warn-paper:#fff4e0"
)
_DARK = (
    "--paper:#0f1419;--ink:#e6edf3;--soft:#9aa7b4;--line:#30363d;--card:#171d24;"
    "--released:#56b4e9;--original:#e69f00;--aside:#6e7781;--warn:#ffd28a;--warn-paper:#33260f"
)

_MARKS = """
.chart text{font:12px system-ui,sans-serif;fill:var(--ink,#1b1f24)}
.chart .figure{fill:var(--soft,#57606a);font-variant-numeric:tabular-nums}
.chart .aside{font-style:italic}
.chart rect.row{fill:transparent}
.chart .mark:hover rect.row{fill:var(--line,#d0d7de);fill-opacity:.5}
.chart rect.released,.chart circle.released{fill:var(--released,#0072b2)}
.chart rect.original{fill:none;stroke:var(--original,#d55e00);stroke-width:1.5}
.chart rect.aside{fill:none;stroke:var(--aside,#8c959f);stroke-width:1.5;stroke-dasharray:3 2}
.chart .step{fill:var(--paper,#fff);stroke:var(--aside,#8c959f)}
.chart .ring{fill:none;stroke:var(--original,#d55e00);stroke-width:3}
.chart .rail{stroke:var(--line,#d0d7de);stroke-width:2}
.chart .frontier{stroke:var(--aside,#8c959f);stroke-width:1.5;stroke-dasharray:4 3}
.chart .point{stroke-width:1.8}
.chart .point.beaten{fill:var(--paper,#fff)}
"""
#: Okabe and Ito's colours but for yellow, which is not seen on white
_METHODS = "".join(
    f".chart .method{number}{{fill:{colour};stroke:{colour}}}"
    for number, colour in enumerate(("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#7b4fb5"))
)
_MARKS = f"{_METHODS}{_MARKS}".strip()

#: goes into a picture that is a file of its own
CHART_CSS = ".chart{background:#fff}" + _MARKS.replace("\n", "")

CSS = f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media (prefers-color-scheme:dark){{:root:not(:has(#light:checked)){{{_DARK}}}}}
:root:has(#dark:checked){{color-scheme:dark;{_DARK}}}
:root:has(#light:checked){{color-scheme:light}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}}
main,header.top,footer{{max-width:1120px;margin:0 auto;padding:0 20px}}
h1{{font-size:1.7rem;line-height:1.2;margin:.2rem 0 .4rem}}
h2{{font-size:1.25rem;margin:2.2rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--line)}}
h3{{font-size:1rem;margin:0 0 .3rem}}
p{{margin:.3rem 0 .7rem}}
.soft{{color:var(--soft)}}
.variant{{background:var(--card);border:1px solid var(--line);border-left:5px solid var(--released);padding:10px 14px;
border-radius:6px;margin:14px 0}}
.internal .variant,.warning{{background:var(--warn-paper);color:var(--warn);border-color:var(--warn)}}
.warning{{border-left:5px solid;padding:8px 14px;border-radius:6px;margin:10px 0}}
.promise{{border:1px solid var(--line);border-radius:8px;padding:12px 16px;margin:10px 0}}
.promise>p:first-child{{font-size:1.1rem;font-weight:600}}
.badge{{display:inline-block;border:1px solid currentColor;border-radius:99px;padding:0 9px;font-size:.8rem}}
nav{{margin:14px 0}} nav h2{{border:0;margin:0;padding:0;font-size:1rem}}
.facts{{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin:12px 0}}
.fact{{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px 12px}}
.fact b{{display:block;font-size:1.35rem;font-variant-numeric:tabular-nums}}
.cards{{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(340px,100%),1fr));gap:14px;align-items:start}}
figure{{margin:0;border:1px solid var(--line);border-radius:8px;padding:12px 14px;min-width:0}}
figcaption{{margin-bottom:6px}}
.chart{{display:block;width:100%;max-width:460px;height:auto}}
.wide .chart{{max-width:860px}}
.wide{{margin-top:14px}}
{_MARKS}
details{{margin-top:6px}}
summary{{cursor:pointer;color:var(--soft);font-size:.9rem}}
.scroll{{overflow-x:auto}}
table{{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}}
th,td{{text-align:right;padding:4px 8px;border-bottom:1px solid var(--line);vertical-align:top}}
th:first-child,td:first-child{{text-align:left}}
th{{overflow-wrap:normal}}
td:first-child{{min-width:8.5em}}
td:nth-child(2){{white-space:nowrap}}
.words th,.words td{{text-align:left;white-space:normal!important}}
.words td:first-child,.words td:nth-child(2){{min-width:9em}}
dl{{display:grid;grid-template-columns:minmax(9em,max-content) 1fr;gap:4px 18px;margin:.3rem 0 .7rem}}
dt{{font-weight:600}} dd{{margin:0;white-space:pre-line}}
nav ol{{columns:2;column-gap:32px;margin:.2rem 0}}
a{{color:var(--released)}}
.scroll{{margin-bottom:14px}}
figure .scroll{{margin-bottom:0}}
code,pre{{font:.88em ui-monospace,monospace;background:var(--card);border-radius:4px;padding:1px 4px}}
pre{{padding:10px 12px;white-space:pre-wrap}}
ol,ul{{padding-left:1.3rem;margin:.3rem 0}}
li{{margin:.25rem 0}}
nav li{{margin:0;padding:.25rem 0;break-inside:avoid}}
.choices{{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:.9rem;color:var(--soft);padding:12px 0 0}}
.choices label{{white-space:nowrap}}
.legend b{{font-weight:600}}
.legend .o{{color:var(--original)}} .legend .r{{color:var(--released)}}
footer{{margin-top:2.5rem;padding-bottom:2rem;color:var(--soft);font-size:.85rem}}
@media (max-width:480px){{main,header.top,footer{{padding:0 14px}}h1{{font-size:1.4rem}}th,td{{padding:4px 5px}}}}
@media print{{
:root,:root:has(#dark:checked){{color-scheme:light;{_LIGHT}}}
.choices{{display:none}}
figure,.promise,tr,.facts,dl>*{{break-inside:avoid}}
h2,h3{{break-after:avoid}}
thead{{display:table-header-group}}
body{{font-size:10.5pt}}
main,header.top,footer{{max-width:none;padding:0}}
.cards{{grid-template-columns:repeat(2,1fr)}}
.scroll{{overflow:visible}}
figure details:not([open]){{display:none}}
details::details-content{{content-visibility:visible;display:block;height:auto}}
summary{{list-style:none}}
a{{color:inherit;text-decoration:none}}
@page{{size:A4;margin:16mm 15mm 18mm}}
@page{{@bottom-right{{content:counter(page) " / " counter(pages);font:9pt system-ui,sans-serif;color:#57606a}}}}
*{{print-color-adjust:exact}}
}}
""".strip()
