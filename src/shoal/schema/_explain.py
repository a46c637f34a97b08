"""Turn pydantic's errors into sentences about keys; what the file holds is not shown, for it may be data."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from shoal.errors import Problems

__all__ = ["explain", "nearest"]

_EXPECTED = {
    "bool_type": "true or false",
    "date_type": "a date such as 2024-12-31",
    "dict_type": "a table",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "a table",
    "string_type": "text",
}


def explain(error: ValidationError, subject: str, fields: Mapping[str, Any], problems: Problems) -> None:
    """Add one sentence per problem to ``problems``."""
    for detail in error.errors(include_url=False):
        problems.add(f"{subject}: {_sentence(detail, fields)}" if detail["loc"] else f"{subject} must be a table")


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the word that was probably meant, if any."""
    return next(iter(difflib.get_close_matches(word.lower(), list(words), n=1)), None)


def _sentence(detail: ErrorDetails, fields: Mapping[str, Any]) -> str:
    key = str(detail["loc"][0])
    match detail["type"]:
        case "extra_forbidden":
            return f"unknown key `{key}`{_guess(key, fields) or f'; the keys are {_listed(fields)}'}"
        case "missing":
            words = _words(fields[key].annotation)
            return f"`{key}` is missing" + (f"; it is one of {_listed(words)}" if words else "")
        case "enum":
            words = _words(fields[key].annotation)
            return f"`{key}` must be one of {_listed(words)}{_guess(str(detail['input']), words)}"
        case "greater_than_equal" | "less_than_equal":
            bound = next(iter((detail.get("ctx") or {}).values()), "")
            return f"`{key}`, the version of the format, must be {bound}"
        case "expected":
            return f"{_place(detail)} must be {detail['msg']}"
        case kind:
            return f"{_place(detail)} must be {_EXPECTED.get(kind, 'of another type')}"


def _place(detail: ErrorDetails) -> str:
    """Name the key, and the item of a list; keys of deeper tables may be values of the data and are not shown."""
    key, *deeper = detail["loc"]
    item = next((place + 1 for place in deeper if isinstance(place, int)), None)
    return f"`{key}`" if item is None else f"item {item} of `{key}`"


def _words(annotation: Any) -> list[str]:
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return [str(word.value) for word in annotation]
    return []


def _guess(word: str, words: Iterable[str]) -> str:
    guess = nearest(word, words)
    return f" (did you mean `{guess}`?)" if guess else ""


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
