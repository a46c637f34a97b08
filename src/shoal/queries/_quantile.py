"""Which number has a given share of the records below it?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from shoal.errors import ParameterError
from shoal.exact import Number
from shoal.mechanisms import PermuteAndFlip, RandomSource
from shoal.queries._answers import CONFIDENCE, Accuracy, Value
from shoal.queries._conditions import region
from shoal.queries._filters import parse
from shoal.queries._loss import written
from shoal.queries._query import Prepared, Query, as_value, attribute_of, bounds, nice_step, step_of
from shoal.queries._records import ExactFigures, Scale
from shoal.queries._unit import RECORD, Unit
from shoal.schema import Attribute, Kind, Schema

LARGEST_CANDIDATES = 40_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile(Query):
    """Which number has a given share of the records below it?

    Guarantee
    ---------
    epsilon-differential privacy for neighbours that add or remove one record. A candidate c has the score -abs((1 -
    share) below(c) - share above(c)), which one record changes by at most max(share, 1 - share); `PermuteAndFlip`
    chooses among the candidates of the declared range.
    """

    name: ClassVar[str] = "quantile"
    #: A numeric or date column with declared bounds.
    column: str
    #: 0.5 for the median.
    share: Number = "0.5"
    #: The candidates' distance; by default a power of ten that gives at least 1,000 of them.
    grid: Number | None = None

    def prepare(self, schema: Schema, unit: Unit = RECORD) -> Prepared:
        """Check the query against the schema and fix its cost."""
        attribute = attribute_of(schema, self.column, Kind.NUMERIC, Kind.DATE)
        share = written(self.share, "share")
        if not 0 < share < 1 or share.denominator > 10**6:
            raise ParameterError("`share` of a quantile must be in (0, 1), with at most six decimal places.")
        condition, loss, units = parse(self.where, schema), self._loss(), self._candidates(attribute)
        below, above = share.denominator - share.numerator, share.numerator
        chooser = PermuteAndFlip(epsilon=unit.epsilon(loss), sensitivity=max(below, above))
        size = units.high - units.low + 1
        # the best of n candidates is missed by more than (2 Delta / epsilon) ln(n / p) with probability below p
        ranks = 2 * max(share, 1 - share) / unit.epsilon(loss) * Fraction(math.log(size / (1 - CONFIDENCE)))
        said = (
            f"a share of about {float(share):g} of the records is below it: at most {math.ceil(ranks):,} records "
            f"more or fewer than for the best candidate ({CONFIDENCE:.0%} confidence)"
        )

        def answer(records: ExactFigures, source: RandomSource) -> tuple[Value, Accuracy]:
            counts = records.tally(condition, self.column, units)
            everybody, lower, scores = sum(counts), 0, []
            for count in counts:
                scores.append(-abs(below * lower - above * (everybody - lower - count)))
                lower += count
            chosen = units.origin + (units.low + chooser.select(scores, source=source)) * units.step
            return as_value(chosen, attribute), Accuracy(statement=said)

        text = self._text(f"quantile {float(share):g} of {self.column}")
        return Prepared(loss=loss, region=region(condition), text=text, answer=answer, expected=said)

    def _candidates(self, attribute: Attribute) -> Scale:
        low, high = bounds(attribute)
        step = nice_step(low, high, parts=1000) if self.grid is None else step_of(self.grid)
        if attribute.kind is Kind.DATE:
            step = Fraction(max(math.ceil(step), 1))
        size = (high - low) / step
        if not 1 <= size <= LARGEST_CANDIDATES:
            raise ParameterError(f"`grid` of a quantile must give at most {LARGEST_CANDIDATES:,} candidates.")
        return Scale.between(low, high, origin=low, step=step)
