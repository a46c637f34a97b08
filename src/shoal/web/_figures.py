"""Numbers, texts and small pictures for the pages. Pictures are SVG made of attributes: no script, no style."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from shoal.schema import RULES, Flat, read_rule

__all__ = ["FILTERS", "frontier", "lattice_picture"]

_EDGES_DRAWN = 80
NOTHING = "\N{EN DASH}"


def percent(value: float | None, digits: int = 1) -> str:
    """Return a share in percent; a share that is not zero never looks like zero."""
    if value is None:
        return NOTHING
    if 0 < value < 0.5 * 10 ** -(digits + 2):
        return f"under {10**-digits:g} %"
    return f"{100 * value:.{digits}f} %"


def number(value: float | None) -> str:
    """Return a number with thousands separated."""
    if value is None:
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def size(value: int) -> str:
    """Return a size in the unit that fits."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:,.0f} {unit}" if unit == "bytes" or value >= 10 else f"{value:.1f} {unit}"
        value = value / 1000  # type: ignore[assignment]
    return ""


def bar(value: float, largest: float) -> Markup:
    """Return a bar whose length is the share of ``value`` in ``largest``."""
    length = 0 if not largest else max(0.5 if value else 0, 100 * value / largest)
    return Markup(
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="{}" height="10" rx="1"/></svg>'
    ).format(f"{length:.2f}")


def band(sizes: Mapping[str, Any]) -> str:
    """Return a band of class sizes in words."""
    low, high = sizes["smallest"], sizes["largest"]
    return f"{low:,} or more" if high is None else f"{low:,}" if low == high else f"{low:,} to {high:,}"


def rule_text(rule: Mapping[str, Any] | None, key: str) -> str:
    """Return a part of a hierarchy rule as the text of its field."""
    value = (rule or {}).get(key)
    if value is None or not isinstance(value, list | dict):
        return "" if value is None else str(value)
    if key == "cuts":
        return "\n".join(", ".join(f"{cut:g}" for cut in level) for level in value)
    if key == "groups":
        return "\n\n".join("\n".join(f"{label} = {' | '.join(of)}" for label, of in level.items()) for level in value)
    if isinstance(value, dict):
        return "\n".join(f"{child} = {parent}" for child, parent in value.items())
    return ", ".join(f"{each:g}" if isinstance(each, int | float) else str(each) for each in value)


def rule_name(rule: Mapping[str, Any] | None) -> str:
    """Return which rule it is."""
    return next((name for name in RULES if name in (rule or {})), Flat.name)


def rule_words(rule: Mapping[str, Any] | None) -> str:
    """Say a hierarchy in a few words."""
    return (read_rule(rule) if rule else Flat()).explain()


def when(text: str) -> str:
    """Return a time to the minute."""
    return f"{text[:10]} {text[11:16]} UTC"


def ticks(text: str) -> Markup:
    """Return a sentence with what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(p) if n % 2 else escape(p) for n, p in enumerate(parts))


FILTERS: dict[str, Callable[..., Any]] = {
    "percent": percent,
    "number": number,
    "size": size,
    "bar": bar,
    "band": band,
    "rule_text": rule_text,
    "rule_name": rule_name,
    "rule_words": rule_words,
    "ticks": ticks,
    "when": when,
}


def frontier(points: Sequence[Mapping[str, Any]], *, x: str, y: str, across: str, up: str) -> Markup:
    """Return a scatter plot; a point has ``x``, ``y``, a ``label`` and a ``mark`` (a class of the style sheet)."""
    shown = [point for point in points if point.get(x) is not None and point.get(y) is not None]
    if not shown:
        return Markup('<p class="quiet">Nothing to draw.</p>')
    right, top = max(float(p[x]) for p in shown) or 1.0, max(float(p[y]) for p in shown) or 1.0
    dots = [
        Markup('<circle class="{}" cx="{}" cy="{}" r="{}"><title>{}</title></circle>').format(
            point["mark"],
            f"{60 + 500 * float(point[x]) / right:.1f}",
            f"{250 - 225 * float(point[y]) / top:.1f}",
            7 if point["mark"] == "chosen" else 5,
            point["label"],
        )
        for point in sorted(shown, key=lambda p: p["mark"] == "chosen")
    ]
    frame = Markup(
        '<line class="axis" x1="60" y1="250" x2="570" y2="250"/><line class="axis" x1="60" y1="15" x2="60" y2="250"/>'
        '<text x="60" y="268">0</text><text x="560" y="268" text-anchor="end">{}</text>'
        '<text x="52" y="30" text-anchor="end">{}</text>'
        '<text x="310" y="285" text-anchor="middle">{}</text>'
        '<text x="14" y="135" text-anchor="middle" transform="rotate(-90 14 135)">{}</text>'
    ).format(f"{right:.3g}", f"{top:.3g}", across, up)
    return Markup('<svg class="plot" viewBox="0 0 580 295" role="img" aria-label="{}">{}{}</svg>').format(
        f"{up} against {across}, {len(shown)} points", frame, Markup("").join(dots)
    )


def lattice_picture(search: Mapping[str, Any]) -> Markup:
    """Return the explored part of the lattice: a row per sum of levels, the values themselves at the bottom."""
    nodes = search["lattice"]["nodes"][:400]
    rows: dict[int, list[Mapping[str, Any]]] = {}
    for node in nodes:
        rows.setdefault(sum(node["levels"]), []).append(node)
    widest, heights = max(map(len, rows.values())), sorted(rows)
    width, step = max(300, min(1000, widest * 26)), 34
    place: dict[tuple[int, ...], tuple[float, float]] = {}
    for rank, total in enumerate(heights):
        row = sorted(rows[total], key=lambda node: node["levels"])
        for n, node in enumerate(row):
            place[tuple(node["levels"])] = (width * (n + 1) / (len(row) + 1), step * (len(heights) - rank) - step / 2)
    chosen = tuple(search["levels"] or ())
    lines = _edges(place) if len(nodes) <= _EDGES_DRAWN else []
    dots = []
    for node in nodes:
        levels = tuple(node["levels"])
        mark = "chosen" if levels == chosen else "kept" if node["value"] is not None else "failed"
        dots.append(
            Markup('<circle class="{}" cx="{}" cy="{}" r="{}"><title>{}</title></circle>').format(
                mark,
                f"{place[levels][0]:.1f}",
                f"{place[levels][1]:.1f}",
                8 if mark == "chosen" else 5,
                _node_text(search["attributes"], node),
            )
        )
    return Markup('<svg class="plot lattice" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}</svg>').format(
        width,
        step * len(heights),
        f"{len(nodes)} combinations of levels that were looked at",
        Markup("").join(lines),
        Markup("").join(dots),
    )


def _edges(place: Mapping[tuple[int, ...], tuple[float, float]]) -> list[Markup]:
    lines = []
    for levels, (x, y) in place.items():
        for j in range(len(levels)):
            above = (*levels[:j], levels[j] + 1, *levels[j + 1 :])
            if above in place:
                lines.append(
                    Markup('<line class="edge" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
                        x, y, *place[above]
                    )
                )
    return lines


def _node_text(attributes: Sequence[str], node: Mapping[str, Any]) -> str:
    levels = ", ".join(f"{name} {level}" for name, level in zip(attributes, node["levels"], strict=True))
    value = "does not keep the promise" if node["value"] is None else f"value {node['value']:.4g}"
    return f"{levels}: {value}, {node['suppressed']:,} suppressed"
