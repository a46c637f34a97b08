"""Elements of a page. Text goes in as text and comes out escaped: there is no way to put markup in by accident."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from html import escape

__all__ = ["Html", "clean", "element", "join", "shortened"]

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
        f' {_NAMES.get(name, name.replace("_", "-"))}="{escape(clean(str(value)), quote=True)}"'
        for name, value in attributes.items()
        if value is not None
    )
    content = join(*children)
    if not content and tag in _EMPTY:
        return Html(f"<{tag}{written}/>")
    return Html(f"<{tag}{written}>{content}</{tag}>")


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
    return "".join(_spelt(sign) if _hidden(sign) else sign for sign in text)


def _hidden(sign: str) -> bool:
    # Cc control, Cf format (bidirectional and zero-width), Cs surrogate, Cn unassigned, Zl and Zp separators
    return sign != "\n" and unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"}


def _spelt(sign: str) -> str:
    return f"\\u{ord(sign):04x}"


def shortened(text: str, length: int) -> str:
    """Return the first ``length`` signs of a text, on one line.

    Examples
    --------
    >>> shortened("a long text", 7)
    'a long…'
    """
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length and len(text) <= 4 * length else f"{line[: length - 1].rstrip()}…"
