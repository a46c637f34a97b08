"""The HTML of objects in notebooks: a title and a small table, everything escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

__all__ = ["render_table", "text"]


def render_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a title and a table as HTML.

    Examples
    --------
    >>> render_table("2 < 3", ["column"], [["age"]])
    '<p><b>2 &lt; 3</b></p><table><thead><tr><th>column</th></tr></thead><tbody><tr><td>age</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<p><b>{html.escape(title)}</b></p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def text(content: str) -> str:
    """Return text as HTML that keeps its lines."""
    return f"<pre>{html.escape(content)}</pre>"
