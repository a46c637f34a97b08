"""Exact numbers: reading, checks and texts, and balls around those that are not rational.

One rule holds for every number that a person types, in Python, in a plan or schema file, or on the command line: it
means what it prints. The float 0.1 is one tenth, not the binary number next to it; the text "1/3" is a third. Numbers
that are not rational (exponentials, logarithms) live in python-flint balls: intervals that provably hold them.
"""

from __future__ import annotations

import math
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from shoal.errors import ParameterError, ParameterProblem, Problems

if TYPE_CHECKING:
    from flint import arb

#: What a person may type for a number.
Number = int | float | str | Decimal | Fraction
#: What a model reports: exact, or a float on the safe side where the exact figure is irrational.
Quantity = int | float | Fraction

# 64-bit sampling rates put thresholds about 2^-64 away from integers, so fewer than 128 bits would rarely decide.
STARTING_BITS = 128
MAXIMAL_BITS = 1 << 14
# Shares nearer than this to none or all are not written in digits.
_SMALLEST_SHARE = 1e-6
# A decimal number or a fraction. Longer exponents would fill the memory; floats need three digits.
_WRITTEN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?|[+-]?\d+/\d+", re.ASCII)

# The precision of python-flint is one global of the process. Balls are sound at every precision; the lock keeps
# another thread from making them needlessly wide, which would make answers differ from run to run.
_precision_lock = threading.RLock()


def fraction(value: Number) -> Fraction:
    """Return the exact number that was typed: for a float, the shortest decimal that reads back as it.

    Raises
    ------
    ValueError, OverflowError, ZeroDivisionError
        If the value is not a finite number.

    Examples
    --------
    >>> fraction(0.2), fraction("1/3"), fraction("1e-6")
    (Fraction(1, 5), Fraction(1, 3), Fraction(1, 1000000))
    """
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    text = repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)
    if not _WRITTEN.fullmatch(text.strip()):
        raise ValueError("not a number in plain digits, or one with too long an exponent")
    return Fraction(text)


def rational(value: Number, name: str, owner: str | None = None) -> Fraction:
    """Return the exact number that was typed, see `fraction`, or refuse what is not a finite one.

    The error names the parameter and the thing that has it, its ``owner``.

    Examples
    --------
    >>> rational(0.1, "epsilon", "Laplace")
    Fraction(1, 10)
    """
    number = _read(value)
    if number is None:
        raise ParameterError(
            f"{_quote_parameter(name, owner)} must be a finite number; got {value!r}.",
            hint="use an int, a float, a Fraction, a Decimal, or a string such as '1e-6' or '1/3'",
        )
    return number


def is_finite(value: object) -> bool:
    """Return whether a value is a number that floating point can hold: whole numbers may be too large.

    Examples
    --------
    >>> is_finite(0.5), is_finite(10**400), is_finite(math.nan), is_finite("1")
    (True, False, False, False)
    """
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return number and abs(value) <= sys.float_info.max  # type: ignore[arg-type]


def positive(value: Number, name: str, owner: str | None = None) -> Fraction:
    """Return the exact number that was typed, or refuse one that is not above 0."""
    exact = rational(value, name, owner)
    if exact <= 0:
        raise ParameterError(f"{_quote_parameter(name, owner)} must be above 0; got {value!r}.")
    return exact


def plain(value: object) -> object:
    """Return a value as TOML and JSON know it, so that `fraction` gives the same number back.

    Examples
    --------
    >>> plain(Fraction(1, 5)), plain(Fraction(1, 3)), plain(Fraction(2))
    (0.2, '1/3', 2)
    """
    if isinstance(value, tuple):
        return [plain(entry) for entry in value]
    if not isinstance(value, Fraction):
        return value
    if value.denominator == 1:
        return int(value)
    try:
        nearest = float(value)
    except OverflowError:
        return str(value)
    return nearest if math.isfinite(nearest) and fraction(nearest) == value else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedValue:
    """The values that a parameter may have; its text stands in error messages after "must be"."""

    #: ``whole``, ``number``, ``choice``, ``column``, ``columns``, ``flag``, ``text``; ``structure``: a table or a list.
    kind: str
    #: Of whole numbers and numbers, such as ``[0, 1)``.
    interval: str = ""
    #: Of a choice.
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        texts = {
            "whole": f"an integer in {self.interval}",
            "number": f"in {self.interval}",
            "choice": "one of " + ", ".join(f'"{option}"' for option in self.options),
            "column": "the name of a column",
            "columns": "one or more different column names",
            "flag": "true or false",
        }
        return texts.get(self.kind, self.kind)

    @property
    def bounds(self) -> tuple[str | None, str | None]:
        """The ends of the interval as texts; None where there is none."""
        ends = [end.strip() for end in self.interval[1:-1].split(",")] if self.interval else ["inf", "inf"]
        low, high = (None if "inf" in end else end for end in ends)
        return low, high

    def in_plain_words(self) -> str:
        """Return the text for readers who do not know intervals.

        Examples
        --------
        >>> ExpectedValue(kind="number", interval="(0, 1]").in_plain_words()
        'a number, more than 0 and 1 or less'
        """
        if self.kind not in ("whole", "number"):
            return str(self)
        low, high = self.bounds
        least = None if low is None else f"{low} or more" if self.interval.startswith("[") else f"more than {low}"
        most = None if high is None else f"{high} or less" if self.interval.endswith("]") else f"less than {high}"
        bounds = " and ".join(part for part in (least, most) if part is not None)
        kind = "a whole number" if self.kind == "whole" else "a number"
        return f"{kind}, {bounds}" if bounds else kind


@dataclass(slots=True)
class Arguments:
    """Checks the arguments of one model or method and raises all problems together."""

    title: str
    problems: Problems = field(default_factory=Problems)

    def whole(self, name: str, value: object, *, minimum: int = 1) -> int:
        """Return an integer of at least ``minimum``."""
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= minimum:
            return int(value)
        self._refuse(name, ExpectedValue(kind="whole", interval=f"[{minimum}, inf)"), value)
        return minimum

    def rational(self, name: str, value: object, interval: str) -> Fraction:
        """Return the exact number that was typed, if it lies in an interval such as ``"[0, 1)"``."""
        number = _read(value)
        if number is not None and _inside(number, interval):
            return number
        self._refuse(name, ExpectedValue(kind="number", interval=interval), value)
        return Fraction(1)

    def column(self, name: str, value: object) -> str:
        """Return the name of a column."""
        if isinstance(value, str) and value:
            return value
        self._refuse(name, ExpectedValue(kind="column"), value)
        return ""

    def columns(self, name: str, value: object) -> tuple[str, ...]:
        """Return the names of one or more different columns."""
        entries = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (list, tuple)) else ()
        if entries and all(isinstance(entry, str) and entry for entry in entries) and len({*entries}) == len(entries):
            return entries
        self._refuse(name, ExpectedValue(kind="columns"), value)
        return ()

    def groups_of_columns(self, name: str, value: object) -> tuple[tuple[str, ...], ...]:
        """Return groups of one or more different columns each."""
        if isinstance(value, (list, tuple)):
            return tuple(self.columns(name, list(group) if isinstance(group, (list, tuple)) else ()) for group in value)
        self._refuse(name, ExpectedValue(kind="a list of lists of columns"), value)
        return ()

    def sequence(self, name: str, value: object) -> Sequence[object]:
        """Return a list with any entries."""
        if isinstance(value, (list, tuple)):
            return value
        self._refuse(name, ExpectedValue(kind="a list"), value)
        return ()

    def mapping(self, name: str, value: object) -> Mapping[str, Any]:
        """Return a mapping from names of columns, with any values."""
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return value
        self._refuse(name, ExpectedValue(kind="a table with an entry for each column"), value)
        return {}

    def choice(self, name: str, value: object, options: Sequence[str]) -> object:
        """Return a value that is one of the options."""
        if value not in options:
            self._refuse(name, ExpectedValue(kind="choice", options=tuple(options)), value)
        return value

    def flag(self, name: str, value: object) -> bool:
        """Return a truth value."""
        if not isinstance(value, bool):
            self._refuse(name, ExpectedValue(kind="flag"), value)
        return bool(value)

    def read(self, owner: Any) -> None:
        """Read every field of a frozen dataclass as its metadata says (`WHOLE`, `within`, ...), and set it anew."""
        for each in fields(owner):
            if _READ in each.metadata:
                object.__setattr__(owner, each.name, each.metadata[_READ](self, each.name, getattr(owner, each.name)))

    def finish(self) -> None:
        """Raise the problems, if any."""
        self.problems.raise_as(ParameterError)

    def _refuse(self, name: str, expected: ExpectedValue, value: object) -> None:
        self.problems.add(ParameterProblem.of(self.title, name, expected, repr(value)))


_READ, _EXPECTED = "read", "expected"
# How a field of a dataclass is read: ``k: int = field(metadata=WHOLE)``; see `Arguments.read` and `described`.
Reading = Mapping[str, Any]
WHOLE: Reading = {_READ: Arguments.whole, _EXPECTED: ExpectedValue(kind="whole", interval="[1, inf)")}
COLUMN: Reading = {_READ: Arguments.column, _EXPECTED: ExpectedValue(kind="column")}
COLUMNS: Reading = {_READ: Arguments.columns, _EXPECTED: ExpectedValue(kind="columns")}
FLAG: Reading = {_READ: Arguments.flag, _EXPECTED: ExpectedValue(kind="flag")}


def within(interval: str) -> Reading:
    """Let a field be read as a number in an interval such as ``"[0, 1)"``."""
    return {
        _READ: lambda arguments, name, value: arguments.rational(name, value, interval),
        _EXPECTED: ExpectedValue(kind="number", interval=interval),
    }


def expecting(interval: str) -> Reading:
    """Describe a field as a number in an interval, which its class reads itself."""
    return {_EXPECTED: ExpectedValue(kind="number", interval=interval)}


def one_of(*options: str) -> Reading:
    """Let a field be read as one of a few words."""
    return {
        _READ: lambda arguments, name, value: arguments.choice(name, value, options),
        _EXPECTED: ExpectedValue(kind="choice", options=options),
    }


def optional(reading: Reading) -> Reading:
    """Let a field be read as ``reading`` says, or be None where it was left out."""
    return {
        _READ: lambda arguments, name, value: None if value is None else reading[_READ](arguments, name, value),
        _EXPECTED: reading[_EXPECTED],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A parameter of a model or a method, as every face describes it."""

    name: str
    expected: ExpectedValue
    required: bool
    #: A text, a number or a truth value; None for any other.
    default: str | float | bool | None


def describe_parameters(kind: type[Any]) -> tuple[Described, ...]:
    """Return the parameters of a model or a method: from the metadata of its fields, and else from their types."""
    hints = get_type_hints(kind)
    return tuple(
        Described(
            name=each.name,
            expected=each.metadata.get(_EXPECTED) or _expected_of(hints[each.name]),
            required=each.default is MISSING and each.default_factory is MISSING,
            default=each.default if isinstance(each.default, str | int | float | bool) else None,
        )
        for each in fields(kind)
    )


def _expected_of(hint: Any) -> ExpectedValue:
    """Return what a type allows; a union allows what its first part does."""
    if get_origin(hint) is Literal:
        return ExpectedValue(kind="choice", options=tuple(map(str, get_args(hint))))
    if get_origin(hint) in (Union, UnionType):
        return _expected_of(Number if {int, Fraction} <= {*get_args(hint)} and hint != Number else get_args(hint)[0])
    kinds = {bool: "flag", int: "whole", float: "number", str: "text"}
    return ExpectedValue(kind=kinds.get(hint, "structure"))


class Checked:
    """A frozen dataclass whose fields say in their metadata how they are read (`WHOLE`, `within`, ...)."""

    __slots__ = ()
    title: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.title = cls.__name__

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        arguments.read(self)
        if not arguments.problems:
            self.fit(arguments)
        arguments.finish()

    def fit(self, arguments: Arguments) -> None:
        """Report what cannot be said field by field: parameters that do not go together."""


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Compute balls with ``bits`` bits inside the ``with`` block: the one place that sets flint's precision."""
    from flint import ctx

    with _precision_lock, ctx.workprec(bits):
        yield


def precisions() -> Iterator[int]:
    """Yield working precisions to try until a question is decided."""
    bits = STARTING_BITS
    while bits <= MAXIMAL_BITS:
        yield bits
        bits *= 2


def ball(value: Fraction | int) -> arb:
    """Return a ball around a rational number at the working precision."""
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def logarithm(value: Fraction | int) -> arb:
    """Return a ball around the natural logarithm of a positive rational number."""
    return ball(value).log()


def sign(quantity: Callable[[], arb], is_zero: Callable[[], bool] | None = None) -> int:
    """Return the sign of a quantity.

    ``quantity`` is evaluated with 128 bits, then with twice as many until the sign is certain. ``is_zero`` decides
    whether the quantity is 0, and is asked at most once; without it the caller has a proof that it is not.
    """
    bits = STARTING_BITS
    while True:
        with working_precision(bits):
            ball = quantity()
            if ball > 0 or ball < 0:
                return 1 if ball > 0 else -1
        if bits == STARTING_BITS and is_zero is not None and is_zero():
            return 0
        bits *= 2


def enclosures(quantity: Callable[[], arb]) -> Iterator[tuple[Fraction, Fraction]]:
    """Give rational bounds of a quantity, each pair narrower than the one before."""
    bits = STARTING_BITS
    while True:
        with working_precision(bits):
            ball = quantity()
            bounds = _end(ball.lower()), _end(ball.upper())
        yield bounds
        bits *= 2


def round_up(value: arb) -> float:
    """Return a float next above a ball, both by its binary value and by the decimal that it prints."""
    upper = value.upper()
    if not upper.is_finite():
        return math.inf
    bound = _end(upper)
    try:
        rounded = float(bound)
    except OverflowError:
        return math.inf if bound > 0 else -sys.float_info.max
    while math.isfinite(rounded) and min(Fraction(rounded), fraction(rounded)) < bound:
        rounded = math.nextafter(rounded, math.inf)
    return rounded


def round_down(value: arb) -> float:
    """Return a float next below a ball, both by its binary value and by the decimal that it prints."""
    return -round_up(-value)


def above(quantity: Callable[[], arb]) -> float:
    """Return a float next above a quantity, see `round_up`."""
    with working_precision(STARTING_BITS):
        return round_up(quantity())


def below(quantity: Callable[[], arb]) -> float:
    """Return a float next below a quantity, see `round_down`."""
    with working_precision(STARTING_BITS):
        return round_down(quantity())


def product_is_one(exponents: Mapping[int, int]) -> bool:
    """Return whether the product of ``base ** exponent`` is 1, by the prime factors of the bases.

    Examples
    --------
    >>> product_is_one({4: 3, 2: -6}), product_is_one({6: 1, 2: -1})
    (True, False)
    """
    from flint import fmpz

    primes: dict[int, int] = {}
    for base, exponent in exponents.items():
        for prime, multiplicity in fmpz(base).factor():
            primes[int(prime)] = primes.get(int(prime), 0) + exponent * int(multiplicity)
    return not any(primes.values())


def share(value: float) -> str:
    """Return a share in percent, with three significant digits.

    Only nothing reads as ``0%``, and only all of it as ``100%``: neither a small risk nor a small chance to be safe is
    rounded away.

    Examples
    --------
    >>> [share(value) for value in (0, 1 / 2161, 0.0526, 0.2, 0.9996, 1)]
    ['0%', '0.0463%', '5.26%', '20.0%', '99.96%', '100%']
    >>> share(1e-9), share(1 - 1e-9)
    ('<0.0001%', '>99.9999%')
    """
    if value < 0:
        return f"-{share(-value)}"
    if value in (0, 1):
        return f"{value:.0%}"
    if value < _SMALLEST_SHARE:
        return "<0.0001%"
    apart = abs(1 - value)
    if apart < _SMALLEST_SHARE:
        return ">99.9999%" if value < 1 else ">100%"
    digits = max(1, 2 - math.floor(math.log10(100 * value)), -math.floor(math.log10(100 * apart)))
    return f"{value:.{digits}%}"


def _read(value: object) -> Fraction | None:
    """Return the number that a value stands for, or None."""
    if isinstance(value, bool) or not isinstance(value, (str, Decimal, Real)):
        return None
    try:
        return fraction(value)  # type: ignore[arg-type]
    except (ValueError, OverflowError, ZeroDivisionError):  # not a number, infinite, or "1/0"
        return None


def _quote_parameter(name: str, owner: str | None) -> str:
    return f"`{name}`" if owner is None else f"`{name}` of `{owner}`"


def _inside(number: Fraction, interval: str) -> bool:
    lower, upper = (bound.strip() for bound in interval[1:-1].split(","))
    above = lower == "-inf" or number > Fraction(lower) or (interval[0] == "[" and number == Fraction(lower))
    below = upper == "inf" or number < Fraction(upper) or (interval[-1] == "]" and number == Fraction(upper))
    return above and below


def _end(end: arb) -> Fraction:
    exact = end.fmpq()
    return Fraction(int(exact.p), int(exact.q))
