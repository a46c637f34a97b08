"""The language of filters: ``age >= 40 and sex = "F"``.

::

    filter      = term { "or" term }
    term        = factor { "and" factor }
    factor      = "not" factor | "(" filter ")" | comparison
    comparison  = column ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
                | column "between" value "and" value
                | column [ "not" ] "in" "(" value { "," value } ")"
                | column "is" [ "not" ] "missing"
    column      = a name, or any text between `backquotes`
    value       = a number, a word such as married, or a text between "double" or 'single' quotes

A quote inside quotes of its kind is written twice.

Dates are texts such as "2024-12-31". Ordinal attributes compare by their declared order. A comparison is false for a
missing value, and ``not`` makes it true. There are no functions, no arithmetic and no other columns' values: what a
filter can say about a record is a set of values per attribute, and nothing in it is ever executed.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass

from shoal.errors import FilterError
from shoal.schema._domain import Kind
from shoal.schema._schema import Attribute, Schema
from shoal.schema.conditions import FIRST, LAST, And, Condition, Cut, In, Not, Or, Ranges, Texts

LONGEST = 4096
DEEPEST = 40
_WORDS = {"and", "or", "not", "in", "between", "is", "missing"}
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<text>"(?:[^"]|"")*"|'(?:[^']|'')*')
    | (?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?(?![\w.]))
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<name>[^\W\d][\w.-]*)
    | (?P<sign><=|>=|!=|<>|==|=|<|>|\(|\)|,)
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    place: int


def parse(text: str | None, schema: Schema, *, derived: bool = False) -> Condition | None:
    """Return the condition that a filter stands for; None and an empty text mean all records.

    Derived columns, which are left out of releases, may be named only where ``derived`` is true.

    Raises
    ------
    FilterError
        If the text is not a filter, or does not fit the schema. The message depends on these two alone.

    Examples
    --------
    >>> from shoal.schema import Domain
    >>> schema = Schema(attributes=(Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=120)),))
    >>> parse("age >= 40", schema)
    In(attribute='age', values=Ranges(parts=(((40.0, 0), (inf, 1)),), missing=False))
    """
    if text is None or not text.strip():
        return None
    if len(text) > LONGEST:
        raise FilterError(f"a filter may have at most {LONGEST:,} characters.")
    parser = _Parser(_tokens(text), schema, derived=derived)
    condition = parser.either(0)
    parser.end()
    return condition


def quote_column(name: str) -> str:
    """Return a column's name as a filter holds it."""
    return f"`{name.replace('`', '``')}`"


def column_name(written: str) -> str:
    """Return the name of a column that stands in a filter, between backquotes or not."""
    return written[1:-1].replace("``", "`") if written.startswith("`") else written


def normal(text: str | None) -> str:
    """Return a filter on one line with single spaces, as it stands in the ledger."""
    return " ".join((text or "").split())


def _tokens(text: str) -> list[_Token]:
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            if not text[position:].strip():
                break
            raise FilterError(
                f"the filter cannot be read at character {position + 1}.", hint="see `shoal vault ask --help`"
            )
        kind, token = match.lastgroup, match[match.lastgroup]
        if kind == "name" and token.lower() in _WORDS:
            kind, token = "word", token.lower()
        tokens.append(_Token(kind, token, match.start(kind if kind != "word" else "name") + 1))
        position = match.end()
    return [*tokens, _Token("end", "", len(text) + 1)]


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(self, tokens: list[_Token], schema: Schema, *, derived: bool) -> None:
        self._tokens, self._schema, self._derived = tokens, schema, derived

    def either(self, depth: int) -> Condition:
        return self._read_joined("or", Or, lambda: self._read_joined("and", And, lambda: self._factor(depth)))

    def end(self) -> None:
        if self._tokens[0].kind != "end":
            raise self._expected_error("`and`, `or` or the end")

    def _read_joined(self, sign: str, join: type[And | Or], read: Callable[[], Condition]) -> Condition:
        """Read one or more parts with a sign between them."""
        parts = [read()]
        while self._skip(sign):
            parts.append(read())
        return parts[0] if len(parts) == 1 else join(tuple(parts))

    def _factor(self, depth: int) -> Condition:
        if depth > DEEPEST:
            raise FilterError(f"a filter may nest brackets and `not` at most {DEEPEST} levels deep.")
        if self._skip("not"):
            return Not(self._factor(depth + 1))
        if self._skip("("):
            condition = self.either(depth + 1)
            self._need(")")
            return condition
        return self._comparison()

    def _comparison(self) -> Condition:
        reader = self._column()
        if self._skip("is"):
            negated = self._skip("not")
            self._need("missing")
            return _maybe_not(reader.missing(), negated=negated)
        if self._skip("between"):
            low = self._value()
            self._need("and")
            high = self._value()
            return And((reader.compare(">=", low), reader.compare("<=", high)))
        negated = self._skip("not")
        if self._skip("in"):
            self._need("(")
            listed = self._read_joined(",", Or, lambda: reader.compare("=", self._value()))
            self._need(")")
            return _maybe_not(listed, negated=negated)
        sign = self._tokens[0].text
        if negated or sign not in _SIGNS:
            raise self._expected_error("a comparison such as `=`, `<=`, `in`, `between` or `is missing`")
        self._tokens.pop(0)
        return reader.compare(_SIGNS[sign], self._value())

    def _column(self) -> _ColumnReader:
        token = self._tokens[0]
        if token.kind not in ("name", "quoted"):
            raise self._expected_error("the name of a column")
        name = column_name(token.text)
        if name not in self._schema:
            raise FilterError(f"the filter names an unknown column at character {token.place}.")
        attribute = self._schema[name]
        if attribute.role.names_someone and not (self._derived and attribute.derived is not None):
            raise FilterError(
                f"column `{name}` identifies people and cannot be used in a filter.", hint="ask for a look-up"
            )
        self._tokens.pop(0)
        return _ColumnReader(attribute)

    def _value(self) -> _Token:
        token = self._tokens[0]
        if token.kind not in ("text", "number", "name"):
            raise self._expected_error("a number, or a text in quotes")
        return self._tokens.pop(0)

    def _skip(self, text: str) -> bool:
        if self._tokens[0].kind in ("word", "sign") and self._tokens[0].text == text:
            self._tokens.pop(0)
            return True
        return False

    def _need(self, text: str) -> None:
        if not self._skip(text):
            raise self._expected_error(f"`{text}`")

    def _expected_error(self, what: str) -> FilterError:
        return FilterError(f"expected {what} at character {self._tokens[0].place} of the filter.")


_SIGNS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_RANGES: dict[str, Callable[[float], tuple[Cut, Cut]]] = {
    "=": lambda x: ((x, 0), (x, 1)),
    "<": lambda x: (FIRST, (x, 0)),
    "<=": lambda x: (FIRST, (x, 1)),
    ">": lambda x: ((x, 1), LAST),
    ">=": lambda x: ((x, 0), LAST),
}


@dataclass(frozen=True, slots=True)
class _ColumnReader:
    """Turns comparisons with one column into sets of its values."""

    attribute: Attribute

    def missing(self) -> Condition:
        numbers = self.attribute.kind in (Kind.NUMERIC, Kind.DATE)
        return In(self.attribute.name, Ranges((), missing=True) if numbers else Texts(frozenset(), missing=True))

    def compare(self, sign: str, token: _Token) -> Condition:
        if sign == "!=":
            # false for a missing value, like every comparison
            present = Not(self.missing())
            return And((Not(self.compare("=", token)), present))
        if self.attribute.kind in (Kind.NUMERIC, Kind.DATE):
            return In(self.attribute.name, Ranges((_RANGES[sign](self._number(token)),)))
        return In(self.attribute.name, Texts(self._texts(sign, token)))

    def _number(self, token: _Token) -> float:
        name = self.attribute.name
        if self.attribute.kind is Kind.DATE:
            try:
                return dt.date.fromisoformat(_unquote(token)).toordinal()
            except ValueError:
                raise FilterError(
                    f'column `{name}` must be compared with a date such as "2024-12-31" (at character {token.place}).'
                ) from None
        number = float(token.text) if token.kind == "number" else None
        if number is None or abs(number) > 1e300:
            raise FilterError(f"column `{name}` must be compared with a number (at character {token.place}).")
        # -0.0 equals 0.0, and must be the same text in the ledger
        return number + 0.0

    def _texts(self, sign: str, token: _Token) -> frozenset[str]:
        name, value = self.attribute.name, _unquote(token)
        known = None if self.attribute.domain is None else self.attribute.domain.values
        if known is not None and value not in known:
            raise FilterError(f"column `{name}` has no such value (at character {token.place}).")
        if sign == "=":
            return frozenset({value})
        if known is None or self.attribute.kind is not Kind.ORDINAL:
            raise FilterError(
                f"column `{name}` has no order; compare it with `=`, `!=` or `in` (at character {token.place})."
            )
        position = known.index(value)
        chosen = {
            "<": known[:position],
            "<=": known[: position + 1],
            ">": known[position + 1 :],
            ">=": known[position:],
        }
        return frozenset(chosen[sign])


def _unquote(token: _Token) -> str:
    if token.kind in ("number", "name"):
        return token.text
    quote = token.text[0]
    return token.text[1:-1].replace(quote * 2, quote)


def _maybe_not(condition: Condition, *, negated: bool) -> Condition:
    return Not(condition) if negated else condition
