"""What all queries share: cost, region and noise are fixed by the schema alone, before any record is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from shoal.errors import ParameterError
from shoal.exact import Number
from shoal.mechanisms import RandomSource
from shoal.queries._answers import Accuracy, Value
from shoal.queries._declared import bounds, nice_step
from shoal.queries._filters import normal
from shoal.queries._loss import Loss, written
from shoal.queries._records import LARGEST_UNITS, Records, Scale
from shoal.queries._regions import Region
from shoal.schema import Attribute, Schema

__all__ = ["Prepared", "Query", "scale_of", "step_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A query that is ready to be paid for and answered."""

    loss: Loss
    region: Region
    text: str
    answer: Callable[[Records, RandomSource], tuple[Value, Accuracy]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(ABC):
    """Something to ask.

    Parameters
    ----------
    epsilon : number, above 0
        What the answer costs; amounts are read as they are written, see :class:`~shoal.queries.Loss`.
    where
        A filter such as ``age >= 40 and sex = "F"``; all records by default.
    """

    name: ClassVar[str]
    epsilon: Number | None = None
    where: str | None = None

    @abstractmethod
    def prepare(self, schema: Schema) -> Prepared:
        """Check the query against the schema and fix its cost."""

    def _loss(self, *, scale: Number | None = None, sensitivity: Fraction = Fraction(1), delta: Number = 0) -> Loss:
        """Return the cost: epsilon as asked for, or the sensitivity over the scale of the noise."""
        if (self.epsilon is None) == (scale is None):
            raise ParameterError(f"give `epsilon` to a {self.name}" + (", or `scale`" if self.name != "mean" else ""))
        if scale is None:
            assert self.epsilon is not None  # noqa: S101
            return Loss.of(self.epsilon, delta)
        width = written(scale, "scale")
        if width <= 0:
            raise ParameterError("`scale` must be above 0.")
        return Loss.at_least(sensitivity / width)

    def _text(self, what: str) -> str:
        return f"{what} where {normal(self.where)}" if normal(self.where) else what


def scale_of(attribute: Attribute, grid: Number | None, *, origin: Fraction) -> Scale:
    """Return the units that the numbers of an attribute are added up in."""
    low, high = bounds(attribute)
    step = nice_step(low, high, parts=10**6) if grid is None else step_of(grid)
    units = Scale.between(low, high, origin=origin, step=step)
    if not 1 <= units.sensitivity <= LARGEST_UNITS:
        raise ParameterError(
            f"`grid` must cut the declared range of `{attribute.name}` into 1 to {LARGEST_UNITS:,} steps."
        )
    return units


def step_of(grid: Number) -> Fraction:
    """Return the step of a grid."""
    step = written(grid, "grid")
    if step <= 0:
        raise ParameterError("`grid` must be above 0.")
    return step
