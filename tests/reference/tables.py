"""What tables compute, in plain Python over lists of rows: slow, and short enough to be seen to be right."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

Row = dict[str, Any]


def parse_csv(text: str, delimiter: str, *, blanks: bool = False) -> tuple[list[list[str | None]], bool]:
    """Return the rows, with or without blank ones, empty fields as None, and whether the last quote is closed."""
    rows: list[list[str | None]] = []
    row: list[str | None] = []
    field, state, touched = "", "start", False
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if state == "quoted":
            if character != '"':
                field += character
            elif text[position : position + 1] == '"':
                field += '"'
                position += 1
            else:
                state = "plain"
        elif character == '"' and state == "start":
            state, touched = "quoted", True
        elif character == delimiter:
            row.append(field or None)
            field, state, touched = "", "start", True
        elif character in "\r\n":
            if character == "\r" and text[position : position + 1] == "\n":
                position += 1
            if touched or blanks:
                rows.append([*row, field or None])
            row, field, state, touched = [], "", "start", False
        else:
            field += character
            state, touched = "plain", True
    if touched:
        rows.append([*row, field or None])
    return rows, state != "quoted"


def group(rows: Sequence[Row], columns: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """Count the distinct tuples."""
    return Counter(tuple(row[column] for column in columns) for row in rows)


def recode(
    rows: Sequence[Row], release: Callable[[Row], Row | None], *, drop: Sequence[str] = ()
) -> Counter[tuple[tuple[str, Any], ...]]:
    """Return the multiset of released rows; ``release`` gives the new quasi-identifiers, or None to suppress."""
    released: Counter[tuple[tuple[str, Any], ...]] = Counter()
    for row in rows:
        changed = release(row)
        if changed is not None:
            released[multiset_key({name: value for name, value in (row | changed).items() if name not in drop})] += 1
    return released


def multiset_key(row: Row) -> tuple[tuple[str, Any], ...]:
    """Return a row as something that can be counted."""
    return tuple(sorted(row.items()))


def pseudonym(value: str | None, key: bytes) -> str | None:
    """Return the keyed pseudonym of an identifier."""
    return None if value is None else hmac.new(key, value.encode(), hashlib.sha256).hexdigest()


def sampled(row_number: int, probability: float | Fraction, key: bytes) -> bool:
    """Return whether a record is in the sample."""
    drawn = int.from_bytes(hashlib.sha256(key + str(row_number).encode()).digest()[:8], "big")
    return Fraction(drawn, 1 << 64) < Fraction(int(Fraction(probability) * (1 << 64)), 1 << 64)


def separation(values: Sequence[Any]) -> float:
    """Return the share of pairs of records that a column tells apart."""
    pairs = [(a, b) for i, a in enumerate(values) for b in values[i + 1 :]]
    return sum(a != b for a, b in pairs) / len(pairs) if pairs else 0.0


def ascending(value: Any) -> tuple[bool, Any]:
    """Return a key that sorts None last."""
    return (value is None, value if value is not None else "")
