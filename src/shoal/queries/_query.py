"""The interface of queries, and their answers.

Cost, region and noise are fixed by the query and the schema, before any record is read.
"""

from __future__ import annotations

import datetime as dt
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from shoal.errors import FilterError, ParameterError, SchemaError
from shoal.exact import Number, fraction
from shoal.hierarchies import Hierarchy, build
from shoal.mechanisms import DiscreteGaussian, Laplace, RandomSource
from shoal.queries._cubes import LARGEST_UNITS, Scale
from shoal.queries._loss import Loss, written
from shoal.queries._records import ExactFigures
from shoal.queries._unit import RECORD, Unit
from shoal.schema import Attribute, Kind, Schema
from shoal.schema.conditions import Region
from shoal.schema.filters import normal


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A query that is ready to be paid for and answered.

    ``expected`` says how wrong the answer may be, as far as that is known before any record is read.
    """

    loss: Loss
    region: Region
    text: str
    answer: Callable[[ExactFigures, RandomSource], tuple[Value, Accuracy]]
    expected: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(ABC):
    """Something to ask."""

    name: ClassVar[str]
    #: What the answer costs; amounts are read as they are written, see :class:`~shoal.queries.Loss`.
    epsilon: Number | None = None
    #: A filter such as ``age >= 40 and sex = "F"``; all records by default.
    where: str | None = None

    @abstractmethod
    def prepare(self, schema: Schema, unit: Unit = RECORD) -> Prepared:
        """Check the query against the schema and fix its cost, and what one record of a unit has of it."""

    def _loss(
        self,
        unit: Unit = RECORD,
        *,
        scale: Number | None = None,
        rho: Number | None = None,
        sensitivity: Fraction = Fraction(1),
        delta: Number = 0,
    ) -> Loss:
        """Return the cost: epsilon or rho as asked for, or what a unit can change over the scale of the noise."""
        if (self.epsilon, scale, rho).count(None) != 2:
            needed = "either `epsilon` or `scale`, or `rho`" if hasattr(self, "scale") else "`epsilon`"
            raise ParameterError(f"a {self.name} needs {needed}.")
        if rho is not None:
            return Loss.of_rho(rho)
        if scale is None:
            assert self.epsilon is not None  # noqa: S101
            return Loss.of(self.epsilon, delta)
        width = written(scale, "scale")
        if width <= 0:
            raise ParameterError("`scale` must be above 0.")
        return Loss.at_least(unit.records * sensitivity / width)

    def _text(self, what: str) -> str:
        return f"{what} where {normal(self.where)}" if normal(self.where) else what


def noise_of(loss: Loss, unit: Unit, sensitivity: int = 1) -> Laplace | DiscreteGaussian:
    """Return the noise that a loss pays for, in one number or in numbers of which a record changes one."""
    if loss.rho_units:
        return DiscreteGaussian(sensitivity=sensitivity, rho=unit.rho(loss))
    return Laplace(sensitivity=sensitivity, epsilon=unit.epsilon(loss))


def scale_of(attribute: Attribute, grid: Number | None, *, origin: Fraction) -> Scale:
    """Return the units that the numbers of an attribute are added up in."""
    low, high = bounds(attribute)
    step = nice_step(low, high, parts=10**6) if grid is None else step_of(grid)
    units = Scale.between(low, high, origin=origin, step=step)
    if not 1 <= units.sensitivity <= LARGEST_UNITS:
        raise ParameterError(
            f"`grid` must divide the declared range of `{attribute.name}` into 1 to {LARGEST_UNITS:,} steps."
        )
    return units


def step_of(grid: Number) -> Fraction:
    """Return the step of a grid."""
    step = written(grid, "grid")
    if step <= 0:
        raise ParameterError("`grid` must be above 0.")
    return step


def attribute_of(schema: Schema, name: str, *kinds: Kind) -> Attribute:
    """Return an attribute that may be asked about, of one of these kinds."""
    if name not in schema:
        raise FilterError("the query names an unknown column.")
    attribute = schema[name]
    if attribute.role.names_someone:
        raise FilterError(f"column `{name}` identifies people and cannot be queried.")
    if kinds and attribute.kind not in kinds:
        raise FilterError(f"column `{name}` is {attribute.kind}; this query needs {' or '.join(kinds)} values.")
    return attribute


def bounds(attribute: Attribute) -> tuple[Fraction, Fraction]:
    """Return the declared bounds of an attribute; days count as their ordinals."""
    domain = attribute.domain
    if domain is None or domain.minimum is None or domain.maximum is None:
        raise SchemaError(
            f"column `{attribute.name}` has no declared bounds, and Shoal does not take them from the data.",
            hint=f"add `minimum` and `maximum` to [columns.{attribute.name}] of the schema",
        )
    low, high = (
        fraction(end.toordinal() if isinstance(end, dt.date) else end) for end in (domain.minimum, domain.maximum)
    )
    if low == high:
        raise SchemaError(f"column `{attribute.name}` can have only one value, so there is nothing to ask about.")
    return low, high


def values(attribute: Attribute, schema: Schema) -> tuple[str, ...]:
    """Return all declared values of a categorical attribute, from its domain or from a hierarchy that lists them."""
    if attribute.domain is not None and attribute.domain.values is not None:
        return attribute.domain.values
    hierarchy = declared_hierarchy(attribute, schema)
    if hierarchy is None:
        raise SchemaError(
            f"column `{attribute.name}` has no declared values, and Shoal does not take them from the data.",
            hint=f"add `values` to [columns.{attribute.name}] of the schema",
        )
    return tuple(value for value in hierarchy.labels[0] if value is not None)


def declared_hierarchy(attribute: Attribute, schema: Schema) -> Hierarchy | None:
    """Return the hierarchy of an attribute if its rule lists all values, else None."""
    if attribute.hierarchy is None or not attribute.hierarchy.lists_values:
        return None
    import pyarrow as pa

    return build(attribute, pa.array([], pa.string()), folder=schema.folder)


def nice_step(low: Fraction, high: Fraction, *, parts: int) -> Fraction:
    """Return a power of ten that cuts [low, high] into at least ``parts`` parts, and at most ten times as many.

    Numbers far from 0 compared with their range get larger steps, so that sums stay exact.

    Examples
    --------
    >>> nice_step(Fraction(0), Fraction(120), parts=1000), nice_step(Fraction(0), Fraction(1), parts=1000)
    (Fraction(1, 10), Fraction(1, 1000))
    """
    step = Fraction(10) ** math.floor(math.log10((high - low) / parts))
    while max(abs(low), abs(high)) / step > LARGEST_UNITS:
        step *= 10
    return step


def as_value(number: Fraction | float, attribute: Attribute) -> float | int | str:
    """Return a number as it is released: days as dates, whole numbers as integers."""
    if attribute.kind is Kind.DATE:
        return dt.date.fromordinal(min(max(round(number), 1), dt.date.max.toordinal())).isoformat()
    exact = Fraction(number)
    return int(exact) if exact.denominator == 1 and abs(exact) < 2**53 else float(number)


CONFIDENCE = 0.95
# six digits are shown: from here on none of them is behind the point
SHOWN_WHOLE = 1e6

Value = int | float | str | Mapping[str, int] | Mapping[str, int | float | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How far the true figure may be from the answer; computed without looking at the data."""

    #: In words.
    statement: str
    #: The true figure lies in [low, high] with this confidence, where the answer is one number.
    low: float | int | str | None = None
    high: float | int | str | None = None
    #: A probability over the noise.
    confidence: float = CONFIDENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one query."""

    #: A number, a text, or numbers by their labels.
    value: Value
    #: See :class:`Accuracy`.
    accuracy: Accuracy
    #: What this answer was charged; disjoint groups of people may add less than this to what is spent.
    cost: Loss
    #: How the account stands after it.
    spent: Loss
    left: Loss
    #: What was asked, as it stands in the ledger.
    query: str
    #: The number of the ledger's entry; None where the ledger is not durable.
    entry: int | None
    #: True if the random bits came from a seed: such an answer protects nobody.
    test_only: bool = False

    def __str__(self) -> str:
        lines = [f"{self.query}", f"  {_shown(self.value)}", f"  {self.accuracy.statement}"]
        lines.append(f"  cost {self.cost}; spent {self.spent}; left {self.left}")
        if self.test_only:
            lines.append("  FOR TESTS ONLY: the random bits came from a seed")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain data; amounts are exact decimal texts."""
        return _plain(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotation:
    """What is known of an answer before it is asked for."""

    #: What it would be charged.
    cost: Loss
    #: What the account has left now.
    left: Loss
    #: What would be asked, as it would stand in the ledger.
    query: str
    #: How far the answer may be from the true figure, in words; None where only the answer tells.
    accuracy: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the estimate as plain data; amounts are exact decimal texts."""
        return _plain(self)


def _plain(said: Answer | Quotation) -> dict[str, Any]:
    parts: dict[str, Any] = {field.name: getattr(said, field.name) for field in fields(said)}
    for name, part in parts.items():
        if isinstance(part, Loss):
            parts[name] = amounts(part)
        elif isinstance(part, Accuracy):
            parts[name] = asdict(part)
        elif isinstance(part, Mapping):
            parts[name] = dict(part)
    return parts


def within(value: float | str | Fraction, margin: float | Fraction) -> Accuracy:
    """Return the accuracy of a number with a symmetric error."""
    number, width = fraction(value), fraction(margin)
    low, high = (float(end) if end.denominator > 1 else int(end) for end in (number - width, number + width))
    shown = f"{int(width):,}" if width.denominator == 1 else f"{float(width):,.6g}"
    return Accuracy(statement=f"within {shown} of the true value ({CONFIDENCE:.0%} confidence)", low=low, high=high)


def between(low: float | str, high: float | str) -> Accuracy:
    """Return the accuracy of a number between two ends."""
    shown = (end if isinstance(end, str) else f"{end:,.6g}" for end in (low, high))
    return Accuracy(
        statement=f"the true value is between {' and '.join(shown)} ({CONFIDENCE:.0%} confidence)", low=low, high=high
    )


def amounts(loss: Loss) -> dict[str, str]:
    """Return a loss as exact decimal texts."""
    return {"epsilon": "0"} | loss.amounts()


def _shown(value: Value) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{label}: {_shown(each)}" for label, each in value.items())
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= SHOWN_WHOLE else f"{value:,.6g}"
    return value if isinstance(value, str) else f"{value:,}"
