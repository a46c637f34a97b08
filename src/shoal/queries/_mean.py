"""What is the mean of a column?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from shoal.exact import Number
from shoal.mechanisms import OptimalBoxNoise, RandomSource
from shoal.queries._answers import CONFIDENCE, Accuracy, Value, between
from shoal.queries._conditions import region
from shoal.queries._declared import as_value, attribute_of, bounds
from shoal.queries._filters import parse
from shoal.queries._query import Prepared, Query, scale_of
from shoal.queries._records import Records
from shoal.schema import Kind, Schema

__all__ = ["Mean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean(Query):
    """What is the mean of a numeric or date column?

    Guarantee
    ---------
    epsilon-differential privacy for neighbours that add or remove one record. The sum of deviations from the middle
    of the declared bounds changes by at most half their width and the number of records by at most 1; both get one
    draw of `OptimalBoxNoise`, which pays epsilon once for the two [SC13 Thm 3], and the mean is computed from them.
    """

    name: ClassVar[str] = "mean"
    column: str
    grid: Number | None = None

    def prepare(self, schema: Schema) -> Prepared:
        """Check the query against the schema and fix its cost."""
        attribute = attribute_of(schema, self.column, Kind.NUMERIC, Kind.DATE)
        low, high = bounds(attribute)
        middle = (low + high) / 2
        condition, units = parse(self.where, schema), scale_of(attribute, self.grid, origin=middle)
        loss = self._loss()
        noise = OptimalBoxNoise(sensitivities=(units.sensitivity, 1), epsilon=loss.epsilon)
        margins = noise.region(CONFIDENCE)

        def mean(total: Fraction, size: Fraction) -> Fraction:
            return min(max(middle + total * units.step / max(size, Fraction(1)), low), high)

        def answer(records: Records, source: RandomSource) -> tuple[Value, Accuracy]:
            total, size = (
                Fraction(x) for x in noise.release(records.total(condition, self.column, units), source=source)
            )
            ends = [
                mean(total + sign * Fraction(margins[0]), size + other * Fraction(margins[1]))
                for sign in (-1, 1)
                for other in (-1, 1)
            ]
            # with fewer than one record in the interval of the size, nothing is known
            known = size - Fraction(margins[1]) >= 1
            ends = [min(ends), max(ends)] if known else [low, high]
            return as_value(mean(total, size), attribute), between(*(as_value(end, attribute) for end in ends))

        text = self._text(f"mean of {self.column}")
        return Prepared(loss=loss, region=region(condition), text=text, answer=answer)
