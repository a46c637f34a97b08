"""Tables of a TOML document, read key by key.

A reader turns a value of the document into one of ours, or says what it should have been. Reading goes on after a
problem, so that one run reports every problem of a file. What the file holds is never shown, for it may be data.
"""

from __future__ import annotations

import datetime as dt
import difflib
import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar, overload

from shoal.errors import Problems

T = TypeVar("T")
E = TypeVar("E", bound=enum.StrEnum)
Reader = Callable[[object], T]


class Unlike(Exception):
    """A value is not what a reader reads: ``expected``, at some items of a list, counted from 1, or as a whole."""

    def __init__(self, expected: str, items: Mapping[int, str] | None = None) -> None:
        self.expected, self.items = expected, dict(items or {})
        super().__init__(expected)


class TomlTable:
    """One table of a document.

    Parameters
    ----------
    table
        What was found in the document.
    subject
        How messages call the table.
    problems
        Where problems are noted.
    """

    def __init__(self, table: Mapping[str, object], subject: str, problems: Problems) -> None:
        self._table, self._subject, self._problems = table, subject, problems
        self._keys: list[str] = []
        self.good = True

    @overload
    def get(self, key: str, read: Reader[T], default: T) -> T: ...
    @overload
    def get(self, key: str, read: Reader[T], *, required: bool = False) -> T | None: ...
    def get(self, key: str, read: Reader[T], default: T | None = None, *, required: bool = False) -> T | None:
        """Return what stands at a key; the default where nothing does, or where it is wrong and was noted."""
        self._keys.append(key)
        if key not in self._table:
            if required:
                self._note(f"`{key}` is missing")
            return default
        try:
            return read(self._table[key])
        except Unlike as error:
            for place in _places(key, error):
                self._note(place)
        return default

    @overload
    def word(self, key: str, words: type[E], default: E) -> E: ...
    @overload
    def word(self, key: str, words: type[E]) -> E | None: ...
    def word(self, key: str, words: type[E], default: E | None = None) -> E | None:
        """Return one of some words; it is required where there is no default."""
        self._keys.append(key)
        found = self._table.get(key)
        listed = ", ".join(words)
        if key not in self._table:
            if default is None:
                self._note(f"`{key}` is missing; it must be one of {listed}")
            return default
        try:
            return words(text(found))
        except (Unlike, ValueError):
            meant = nearest(found, words) if isinstance(found, str) else None
            self._note(f"`{key}` must be one of {listed}{_did_you_mean(meant)}")
        return default

    def close(self) -> bool:
        """Note every key that nobody asked for; return whether nothing was wrong."""
        for key in self._table:
            if key not in self._keys:
                known = f"; the valid keys are {', '.join(self._keys)}"
                self._note(f"unknown key `{key}`{_did_you_mean(nearest(key, self._keys)) or known}")
        return self.good

    def _note(self, sentence: str) -> None:
        self.good = False
        self._problems.add(f"{self._subject}: {sentence}")


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the word that was probably meant, if any."""
    return next(iter(difflib.get_close_matches(word.lower(), list(words), n=1)), None)


def _did_you_mean(word: str | None) -> str:
    return f" (did you mean `{word}`?)" if word else ""


def _places(key: str, error: Unlike) -> Iterator[str]:
    if not error.items:
        yield f"`{key}` must be {error.expected}"
    for item, expected in error.items.items():
        yield f"item {item} of `{key}` must be {expected}"


def number(value: object) -> float:
    """Read a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unlike("a number")
    return value


def word_or_number(value: object) -> str:
    """Read text, or a number as its text."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Unlike("text or a number")
    return str(value)


def whole(value: object) -> int:
    """Read a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unlike("a whole number")
    return value


def text(value: object) -> str:
    """Read text."""
    if not isinstance(value, str):
        raise Unlike("text")
    return value


def truth(value: object) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise Unlike("true or false")
    return value


def day_or_number(value: object) -> float | dt.date:
    """Read a bound of a domain."""
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    try:
        return number(value)
    except Unlike:
        raise Unlike("a number, or a date such as 2024-12-31") from None


def table(value: object) -> dict[str, object]:
    """Read a table whose content is read elsewhere."""
    if not isinstance(value, dict):
        raise Unlike("a table")
    return value


def many(read: Reader[T]) -> Reader[tuple[T, ...]]:
    """Return what reads lists; every item that is wrong is told."""

    def read_list(value: object) -> tuple[T, ...]:
        if not isinstance(value, list | tuple):
            raise Unlike("a list")
        found, wrong = [], {}
        for place, item in enumerate(value, start=1):
            try:
                found.append(read(item))
            except Unlike as error:
                wrong[place] = next(iter(error.items.values()), error.expected)
        if wrong:
            raise Unlike("a list", wrong)
        return tuple(found)

    return read_list


def pairs(read: Reader[T], expected: str) -> Reader[tuple[tuple[str, T], ...]]:
    """Return what reads tables of anything by name; names may be values of the data and are not told."""

    def read_table(value: object) -> tuple[tuple[str, T], ...]:
        try:
            return tuple((name, read(item)) for name, item in table(value).items())
        except Unlike:
            raise Unlike(expected) from None

    return read_table
