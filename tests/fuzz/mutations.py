"""Changes of valid texts and values that keep most of their structure, so that what reads them is reached deeply."""

from __future__ import annotations

import json
import random
import re
from typing import Any

#: numbers and words that programs trip over
EXTREMES = ["0", "-1", "1e400", "-0.0", "nan", "inf", "1e-320", "9" * 40, "2**63", "9223372036854775808", "true", ""]
LETTERS = [*"\0\r\t\"'`[]{}#=", "\\", "\ufeff", "\u202e", "\U0001f600", "\u00df"]
TOKEN = re.compile(r"\d+(?:\.\d+)?|\w+|[^\w\s]")


def text(chosen: random.Random, content: str) -> str:
    """Return a text with up to three small changes."""
    for _ in range(chosen.choice([0, 1, 1, 2, 3])):
        content = chosen.choice([_token, _line, _letter, _number])(chosen, content)
    return content


def _token(chosen: random.Random, content: str) -> str:
    """Replace a token by another of the text."""
    found = list(TOKEN.finditer(content))
    if len(found) < 2:
        return content
    one, other = chosen.choice(found), chosen.choice(found)
    return content[: one.start()] + other.group() + content[one.end() :]


def _line(chosen: random.Random, content: str) -> str:
    """Drop, double or move a line."""
    lines = content.split("\n")
    line = lines.pop(chosen.randrange(len(lines)))
    for _ in range(chosen.randrange(3)):
        lines.insert(chosen.randrange(len(lines) + 1), line)
    return "\n".join(lines)


def _letter(chosen: random.Random, content: str) -> str:
    at = chosen.randrange(len(content) + 1)
    return content[:at] + chosen.choice([*LETTERS, ""]) + content[at + chosen.randrange(2) :]


def _number(chosen: random.Random, content: str) -> str:
    found = list(re.finditer(r"\d+(?:\.\d+)?", content))
    if not found:
        return content
    one = chosen.choice(found)
    return content[: one.start()] + chosen.choice(EXTREMES) + content[one.end() :]


def octets(chosen: random.Random, content: bytes) -> bytes:
    """Return bytes with a few of them changed, doubled or cut off."""
    changed = bytearray(content)
    for _ in range(chosen.choice([0, 1, 2, 5])):
        at = chosen.randrange(len(changed))
        what = chosen.randrange(4)
        if what == 0:
            changed[at] = chosen.randrange(256)
        elif what == 1:
            changed[at] ^= 1 << chosen.randrange(8)
        elif what == 2:
            del changed[at : at + chosen.randrange(1, 9)]
        else:
            changed[at:at] = changed[at : at + 8]
    return bytes(changed)


def document(chosen: random.Random, content: str) -> str:
    """Return a JSON document with one value replaced, dropped or added."""
    value = json.loads(content)
    places = list(_places(value))
    for _ in range(chosen.choice([0, 1, 1, 2])):
        parent, key = chosen.choice(places)
        try:
            old = parent[key]
        except (KeyError, IndexError):
            continue
        new = chosen.choice([None, [], {}, 0, -1, 10**30, 1e308, "", "x" * 300, "\0", [old], {"a": old}, str(old)])
        if chosen.random() < 0.2:
            del parent[key]
        else:
            parent[key] = new
    return json.dumps(value)


def _places(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from _places(inner)
