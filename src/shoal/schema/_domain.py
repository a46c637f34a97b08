"""The values that a column may take: their kind, their declared domain, and the way they are written."""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass
from enum import StrEnum

from shoal.errors import Problems, SchemaError

Bound = int | float | dt.date

LARGEST_EXACT = 2**53
INEXACT = (
    "has a declared domain that reaches beyond 2^53, where one record can change how other numbers are written; "
    "declare bounds within 9,007,199,254,740,991 of 0, or declare the column as categorical and list its `values`"
)


class Kind(StrEnum):
    """How the values of an attribute relate: names, ordered names, numbers, or days."""

    CATEGORICAL = "categorical"
    ORDINAL = "ordinal"
    NUMERIC = "numeric"
    DATE = "date"


class Provenance(StrEnum):
    """Where a domain or hierarchy came from; differential privacy accepts all but ``INFERRED`` ones.

    ``DECLARED``: a person wrote it. ``PUBLIC``: it is known of all such columns, as the postal codes of a country.
    ``PAID``: an account paid for reading it off the data with differential privacy. ``INFERRED``: it was read off the
    data, and nobody paid.
    """

    DECLARED = "declared"
    PUBLIC = "publicly known"
    PAID = "paid for"
    INFERRED = "inferred from the data"

    @property
    def reveals_nothing(self) -> bool:
        """Whether differential privacy may rest on it."""
        return self is not Provenance.INFERRED


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The values an attribute may take, known without looking at the data.

    Parameters
    ----------
    values
        All values, as text; for an ordinal attribute in ascending order.
    minimum, maximum
        Inclusive bounds of a numeric or date attribute.
    provenance
        See :class:`Provenance`. Values that were read off the data stand under a key of their own in schema files,
        ``seen_values``, so that no line is left out by accident that says so.
    """

    values: tuple[str, ...] | None = None
    minimum: Bound | None = None
    maximum: Bound | None = None
    provenance: Provenance = Provenance.DECLARED

    def __post_init__(self) -> None:
        if self.values is not None:
            object.__setattr__(self, "values", tuple(self.values))
        problems = Problems()
        if self.values is not None and (self.minimum is not None or self.maximum is not None):
            problems.add("a domain takes either `values` or `minimum` and `maximum`, not both")
        if self.values is not None and len(set(self.values)) != len(self.values):
            problems.add("the `values` of a domain must not repeat")
        if self.values is not None and not self.values:
            problems.add("`values` of a domain must not be empty")
        bounds = [bound for bound in (self.minimum, self.maximum) if bound is not None]
        if any(isinstance(bound, dt.datetime) for bound in bounds):
            problems.add("`minimum` and `maximum` of a date domain must be dates without a time")
        elif any(not isinstance(bound, dt.date) and not _finite(bound) for bound in bounds):
            problems.add("`minimum` and `maximum` of a domain must be finite")
        elif len(bounds) == 2:
            if isinstance(bounds[0], dt.date) != isinstance(bounds[1], dt.date):
                problems.add("`minimum` and `maximum` of a domain must both be numbers or both be dates")
            elif bounds[0] > bounds[1]:  # type: ignore[operator]
                problems.add("`minimum` of a domain must not exceed `maximum`")
        problems.raise_as(SchemaError)

    @property
    def is_bounded(self) -> bool:
        """Whether both bounds are known."""
        return self.minimum is not None and self.maximum is not None

    @property
    def exact(self) -> bool:
        """Whether floating point tells all whole numbers of the domain apart: days, and numbers below 2^53.

        Beyond, a number is written as an integer or as a float near it, and which of the two is decided by the other
        numbers of its column.
        """
        numbers = [bound for bound in (self.minimum, self.maximum) if isinstance(bound, int | float)]
        return all(abs(number) < LARGEST_EXACT for number in [*numbers, *map(_number, self.values or ())])


def _number(value: str) -> float:
    """Return the number that a text stands for, 0 if it is none."""
    try:
        return float(value)
    except ValueError:
        return 0.0


def _finite(bound: int | float) -> bool:
    try:
        return math.isfinite(bound)
    except OverflowError:  # an integer beyond all floats
        return False


_PARTS = {"yyyy": r"([0-9]{4})", "mm": r"([0-9]{1,2})", "dd": r"([0-9]{1,2})"}
_FORMAT = re.compile(r"(yyyy|mm|dd)([./\- ]?)(yyyy|mm|dd)([./\- ]?)(yyyy|mm|dd)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The notation of values and of missing values, where it is not the plain one. Every field is optional.

    Parameters
    ----------
    missing_values
        Texts or numbers that stand for a missing value, such as ``?``, ``NA`` or ``999``.
    date_format
        How days are written, for example ``dd.mm.yyyy``: each of ``dd``, ``mm`` and ``yyyy`` once, with ``.``, ``/``,
        ``-`` or a blank between them, or nothing. A time of day after it is ignored. None for ``2024-12-31``.
    decimal, thousands
        The decimal sign, and the sign between thousands, of numbers. None for those of the file.
    unit
        What stands before or after every number: ``$``, ``%`` or ``years``.
    unreadable
        The largest share of values that may be no number or no day and then count as missing, in [0, 1].
    round_to
        The step to whose multiples the numbers of a column that is released as it is are rounded when they are read;
        halves are rounded up. None leaves them as they are.
    """

    missing_values: tuple[str, ...] = ()
    date_format: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    unit: str | None = None
    unreadable: float = 0.0
    round_to: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing_values", tuple(str(value) for value in self.missing_values))
        problems = Problems()
        if self.date_format is not None and date_pattern(self.date_format) is None:
            problems.add("`date_format` must be made of dd, mm and yyyy, as in `dd.mm.yyyy`")
        if self.decimal not in (None, ".", ","):
            problems.add("`decimal` must be `.` or `,`")
        if self.thousands not in (None, ".", ",", " ", "'"):
            problems.add("`thousands` must be `.`, `,`, `'` or a space")
        elif self.thousands is not None and self.thousands == (self.decimal or "."):
            problems.add("`decimal` and `thousands` must differ")
        if self.unit is not None and re.search(r"^\s*$|[\d.,'+-]", self.unit):
            problems.add("`unit` must be a sign or a word without digits, signs or points")
        if not 0 <= self.unreadable <= 1:
            problems.add("`unreadable` must be in [0, 1]")
        if self.round_to is not None and not 1e-9 <= self.round_to <= 1e12:
            problems.add("`round_to` must be a number above 0, from 1e-9 to 1e12")
        problems.raise_as(SchemaError)

    def problems(self, kind: Kind) -> list[str]:
        """Say what does not go with a kind of column."""
        problems = []
        if self.date_format is not None and kind is not Kind.DATE:
            problems.append("`date_format` applies only to date columns")
        if any((self.decimal, self.thousands, self.unit)) and kind is not Kind.NUMERIC:
            problems.append("`decimal`, `thousands` and `unit` apply only to numeric columns")
        if self.unreadable and kind not in (Kind.NUMERIC, Kind.DATE):
            problems.append("`unreadable` applies only to numeric and date columns")
        if self.round_to is not None and kind is not Kind.NUMERIC:
            problems.append("`round_to` applies only to numeric columns")
        return problems


PLAIN = Reading()


def date_pattern(date_format: str) -> tuple[str, dict[str, int]] | None:
    """Return a regular expression for days written so, and the number of the group of each part; None if it is none."""
    match = _FORMAT.fullmatch(date_format)
    if match is None or {match[1], match[3], match[5]} != set(_PARTS):
        return None
    parts = (match[1], match[3], match[5])
    fixed = not match[2] or not match[4]  # without a sign between them, parts have all their digits
    one, two, three = (_PARTS[part].replace("{1,2}", "{2}") if fixed else _PARTS[part] for part in parts)
    pattern = f"^{one}{re.escape(match[2])}{two}{re.escape(match[4])}{three}([T ,].*)?$"
    return pattern, {part: number for number, part in enumerate(parts, start=1)}
