"""What one column is: its role, kind, domain, missing values, weight and hierarchy."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from enum import StrEnum

from shoal.errors import Problems, SchemaError
from shoal.schema._rules import HierarchyRule

__all__ = ["Attribute", "Bound", "Domain", "Kind", "Missing", "Provenance", "Role"]

Bound = int | float | dt.date

LARGEST_EXACT = 2**53
INEXACT = (
    "has a declared domain beyond 2^53, where one record may decide how the numbers of others are written; declare "
    "bounds within 9,007,199,254,740,991 of 0, or declare the column as categorical and list its `values`"
)


class Role(StrEnum):
    """What an attribute tells about a person.

    ``IDENTIFIER`` names a person and is dropped or replaced by a keyed pseudonym. ``QUASI_IDENTIFIER`` is known
    to an intruder from elsewhere and is generalised. ``SENSITIVE`` is what the intruder wants to learn; it is
    released as it is. ``INSENSITIVE`` is neither; it is released as it is.
    """

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


class Kind(StrEnum):
    """How the values of an attribute relate: names, ordered names, numbers, or days."""

    CATEGORICAL = "categorical"
    ORDINAL = "ordinal"
    NUMERIC = "numeric"
    DATE = "date"


class Missing(StrEnum):
    """What a missing value means.

    ``CATEGORY``: missing is a value of its own; two missing values are alike. ``DROP``: records that miss the
    value are left out of the release and counted. ``REFUSE``: a missing value is an error.
    """

    CATEGORY = "category"
    DROP = "drop"
    REFUSE = "refuse"


class Provenance(StrEnum):
    """Where a domain or hierarchy came from; differential privacy accepts only ``DECLARED`` ones."""

    DECLARED = "declared"
    INFERRED = "inferred from the data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The values an attribute may take, known without looking at the data.

    Parameters
    ----------
    values
        All values, as text; for an ordinal attribute in ascending order.
    minimum, maximum
        Inclusive bounds of a numeric or date attribute.
    """

    values: tuple[str, ...] | None = None
    minimum: Bound | None = None
    maximum: Bound | None = None

    def __post_init__(self) -> None:
        if self.values is not None:
            object.__setattr__(self, "values", tuple(self.values))
        problems = Problems()
        if self.values is not None and (self.minimum is not None or self.maximum is not None):
            problems.add("a domain has either `values` or `minimum` and `maximum`")
        if self.values is not None and len(set(self.values)) != len(self.values):
            problems.add("`values` of a domain must differ")
        if self.values is not None and not self.values:
            problems.add("`values` of a domain must not be empty")
        bounds = [bound for bound in (self.minimum, self.maximum) if bound is not None]
        if any(isinstance(bound, dt.datetime) for bound in bounds):
            problems.add("`minimum` and `maximum` of a domain of dates must be days without a time")
        elif any(not isinstance(bound, dt.date) and not _finite(bound) for bound in bounds):
            problems.add("`minimum` and `maximum` of a domain must be finite")
        elif len(bounds) == 2:
            if isinstance(bounds[0], dt.date) != isinstance(bounds[1], dt.date):
                problems.add("`minimum` and `maximum` of a domain must both be numbers or both be dates")
            elif bounds[0] > bounds[1]:  # type: ignore[operator]
                problems.add("`minimum` of a domain must not exceed `maximum`")
        problems.raise_as(SchemaError)

    @property
    def bounded(self) -> bool:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One column of the data and what it means.

    Parameters
    ----------
    name
        The column's name.
    role, kind
        See :class:`Role` and :class:`Kind`; their words are understood too: ``role="sensitive"``.
    domain
        Declared values or bounds, or None where they are read off the data (never under differential privacy).
    missing
        See :class:`Missing`.
    weight
        How much the analysts care about this attribute, in [0, inf); quality measures weigh with it.
    hierarchy
        How values generalise, or None for ``value -> *``.
    pseudonym
        For an identifier: replace it by a keyed pseudonym instead of dropping it.
    """

    name: str
    role: Role = Role.INSENSITIVE
    kind: Kind = Kind.CATEGORICAL
    domain: Domain | None = None
    missing: Missing = Missing.CATEGORY
    weight: float = 1.0
    hierarchy: HierarchyRule | None = None
    pseudonym: bool = False

    def __post_init__(self) -> None:
        problems = Problems()
        self._read_words(problems)
        if not self.name:
            problems.add("a column must have a name")
        if not (math.isfinite(self.weight) and self.weight >= 0):
            problems.add(f"column `{self.name}`: `weight` must be in [0, inf); got {self.weight}")
        if self.pseudonym and self.role is not Role.IDENTIFIER:
            problems.add(f"column `{self.name}`: `pseudonym` is for identifiers; this column is {self.role}")
        if self.kind is Kind.ORDINAL and (self.domain is None or self.domain.values is None):
            problems.add(f"column `{self.name}`: an ordinal column needs all its `values` in ascending order")
        self._check_domain(problems)
        if self.hierarchy is not None and not self.hierarchy.fits(self.kind):
            problems.add(
                f"column `{self.name}`: the rule `{self.hierarchy.name}` of its hierarchy is for columns of kind "
                f"{' or '.join(self.hierarchy.kinds)}; this column is {self.kind}"
            )
        problems.raise_as(SchemaError)

    def _read_words(self, problems: Problems) -> None:
        for name, words in (("role", Role), ("kind", Kind), ("missing", Missing)):
            try:
                object.__setattr__(self, name, words(getattr(self, name)))
            except ValueError:
                problems.add(f"column `{self.name}`: `{name}` must be one of {', '.join(words)}")
        problems.raise_as(SchemaError)

    def _check_domain(self, problems: Problems) -> None:
        if self.domain is None:
            return
        bounds = [bound for bound in (self.domain.minimum, self.domain.maximum) if bound is not None]
        if bounds and self.kind in (Kind.CATEGORICAL, Kind.ORDINAL):
            problems.add(f"column `{self.name}`: `minimum` and `maximum` are for numeric and date columns")
        elif any(isinstance(bound, dt.date) != (self.kind is Kind.DATE) for bound in bounds):
            problems.add(f"column `{self.name}`: the bounds of a {self.kind} column must be {self.kind} values")
