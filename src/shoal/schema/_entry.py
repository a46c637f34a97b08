"""Tables of a TOML document, read key by key.

A reader turns a value of the document into one of ours, or says what it should have been. Reading goes on after a
problem, so that one run reports every problem of a file. What the file holds is never shown, for it may be data.
"""

from __future__ import annotations

import datetime as dt
import difflib
import enum
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, overload

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
    """One table of a document; ``subject`` is how messages call it, and ``problems`` where problems are noted."""

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
            if not error.items:
                self._note(f"`{key}` must be {error.expected}")
            for item, expected in error.items.items():
                self._note(f"item {item} of `{key}` must be {expected}")
        return default

    @overload
    def word(self, key: str, words: type[E], default: E) -> E: ...
    @overload
    def word(self, key: str, words: type[E]) -> E | None: ...
    def word(self, key: str, words: type[E], default: E | None = None) -> E | None:
        """Return one of some words; it is required where there is no default."""
        listed = ", ".join(words)

        def read(value: object) -> E:
            try:
                return words(text(value))
            except (Unlike, ValueError):
                meant = nearest(value, words) if isinstance(value, str) else None
                raise Unlike(f"one of {listed}{_did_you_mean(meant)}") from None

        if default is None and key not in self._table:
            self._note(f"`{key}` is missing; it must be one of {listed}")
        return self.get(key, read, default)

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


def _of(expected: str, *kinds: type) -> Reader[Any]:
    """Return what reads values of some kinds; truth values are no numbers."""

    def read(value: object) -> object:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise Unlike(expected)
        return value

    return read


number: Reader[float] = _of("a number", int, float)
whole: Reader[int] = _of("a whole number", int)
text: Reader[str] = _of("text", str)
truth: Reader[bool] = _of("true or false", bool)
#: a table whose content is read elsewhere
table: Reader[dict[str, object]] = _of("a table", dict)
_word_or_number = _of("text or a number", str, int, float)


def word_or_number(value: object) -> str:
    """Read text, or a number as its text."""
    return str(_word_or_number(value))


def day_or_number(value: object) -> float | dt.date:
    """Read a bound of a domain."""
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    try:
        return number(value)
    except Unlike:
        raise Unlike("a number, or a date such as 2024-12-31") from None


def many(read: Reader[T]) -> Reader[tuple[T, ...]]:
    """Return what reads lists; every item that is wrong is told."""

    def read_list(value: object) -> tuple[T, ...]:
        if not isinstance(value, list | tuple):
            raise Unlike("a list")
        values, wrong = [], {}
        for position, item in enumerate(value, start=1):
            try:
                values.append(read(item))
            except Unlike as error:
                wrong[position] = next(iter(error.items.values()), error.expected)
        if wrong:
            raise Unlike("a list", wrong)
        return tuple(values)

    return read_list


def pairs(read: Reader[T], expected: str) -> Reader[tuple[tuple[str, T], ...]]:
    """Return what reads tables of anything by name; names may be values of the data and are not told."""

    def read_table(value: object) -> tuple[tuple[str, T], ...]:
        try:
            return tuple((name, read(item)) for name, item in table(value).items())
        except Unlike:
            raise Unlike(expected) from None

    return read_table
