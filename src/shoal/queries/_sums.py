"""What is the sum or the mean of a column?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from shoal.errors import ParameterError
from shoal.exact import Number
from shoal.mechanisms import OptimalBoxNoise, OptimalNoise, RandomSource
from shoal.queries._answers import CONFIDENCE, Accuracy, Value, between, within
from shoal.queries._conditions import region
from shoal.queries._filters import parse
from shoal.queries._query import Prepared, Query, as_value, attribute_of, bounds, noise_of, scale_of
from shoal.queries._records import ExactFigures
from shoal.queries._unit import RECORD, Unit
from shoal.schema import Kind, Schema

Noise = Literal["laplace", "optimal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum(Query):
    """What is the sum of a numeric column?

    Guarantee
    ---------
    epsilon-differential privacy for neighbours that add or remove one record: values are clamped to the declared
    bounds, rounded to the grid and added up as integers, so the sum changes by at most max(abs(minimum),
    abs(maximum)), exactly.
    """

    name: ClassVar[str] = "sum"
    #: A numeric column with declared bounds.
    column: str
    #: The optimal noise has the smaller variance.
    noise: Noise = "laplace"
    #: Instead of ``epsilon``, for Laplace noise.
    scale: Number | None = None
    #: Instead of ``epsilon``, where the budget counts rho: Gaussian noise.
    rho: Number | None = None
    #: What values are rounded to; by default about a millionth of the declared range.
    grid: Number | None = None

    def prepare(self, schema: Schema, unit: Unit = RECORD) -> Prepared:
        """Check the query against the schema and fix its cost."""
        attribute = attribute_of(schema, self.column, Kind.NUMERIC)
        condition, units = parse(self.where, schema), scale_of(attribute, self.grid, origin=Fraction(0))
        loss = self._loss(unit, scale=self.scale, rho=self.rho, sensitivity=units.sensitivity * units.step)
        if self.noise not in ("laplace", "optimal") or (self.noise == "optimal" and self.epsilon is None):
            raise ParameterError("`noise` of a sum must be 'laplace', or 'optimal' with `epsilon`.")
        noise = (
            noise_of(loss, unit, units.sensitivity)
            if self.noise == "laplace"
            else OptimalNoise.minimal_variance(sensitivity=units.sensitivity, epsilon=unit.epsilon(loss))
        )
        margin = noise.interval(CONFIDENCE) * units.step

        def answer(records: ExactFigures, source: RandomSource) -> tuple[Value, Accuracy]:
            value = noise.release(records.total(condition, self.column, units)[0], source=source) * units.step
            return as_value(value, attribute), within(value, margin)

        text, said = self._text(f"sum of {self.column}"), within(0, margin).statement
        return Prepared(loss=loss, region=region(condition), text=text, answer=answer, expected=said)


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

    def prepare(self, schema: Schema, unit: Unit = RECORD) -> Prepared:
        """Check the query against the schema and fix its cost."""
        attribute = attribute_of(schema, self.column, Kind.NUMERIC, Kind.DATE)
        low, high = bounds(attribute)
        middle = (low + high) / 2
        condition, units = parse(self.where, schema), scale_of(attribute, self.grid, origin=middle)
        loss = self._loss()
        noise = OptimalBoxNoise(sensitivities=(units.sensitivity, 1), epsilon=unit.epsilon(loss))
        margins = noise.region(CONFIDENCE)

        def mean(total: Fraction, size: Fraction) -> Fraction:
            return min(max(middle + total * units.step / max(size, Fraction(1)), low), high)

        def answer(records: ExactFigures, source: RandomSource) -> tuple[Value, Accuracy]:
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
        # a wrong size moves the mean by at most half the width of the bounds per record
        wrong = Fraction(margins[0]) * units.step + Fraction(margins[1]) * (high - low) / 2
        said = (
            f"with n records, within about {float(wrong):,.4g} / n of the true mean, for n well above "
            f"{float(margins[1]):,.4g} ({CONFIDENCE:.0%} confidence)"
        )
        return Prepared(loss=loss, region=region(condition), text=text, answer=answer, expected=said)
