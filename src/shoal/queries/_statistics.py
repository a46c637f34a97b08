"""Queries about many records: how many there are, and the sum, the mean and the quantiles of a column."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Literal

from shoal.errors import ParameterError
from shoal.exact import Number
from shoal.mechanisms import NumericPrior, OptimalBoxNoise, OptimalNoise, PermuteAndFlip, RandomSource, Refinement
from shoal.queries._cubes import Scale
from shoal.queries._loss import written
from shoal.queries._query import (
    CONFIDENCE,
    Accuracy,
    Prepared,
    Query,
    Value,
    as_value,
    attribute_of,
    between,
    bounds,
    nice_step,
    noise_of,
    scale_of,
    step_of,
    values,
    within,
)
from shoal.queries._records import ExactFigures
from shoal.queries._unit import RECORD, Unit
from shoal.schema import Attribute, Kind, Missing, Schema
from shoal.schema.conditions import Condition, region
from shoal.schema.filters import parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Query):
    """How many records are there?

    Guarantee
    ---------
    epsilon-differential privacy for neighbours that add or remove one record: the count changes by at most 1, and
    `Laplace` (or `Refinement` for statistical queries) does the rest.
    """

    name: ClassVar[str] = "count"
    #: Instead of ``epsilon``: the scale of the Laplace noise, so that the cost is sensitivity / scale [SC13 Protocol
    #: 1].
    scale: Number | None = None
    #: Instead of ``epsilon``, where the budget counts rho: Gaussian noise of the variance 1 / (2 rho).
    rho: Number | None = None
    #: What is believed about the number; the answer then refines it [SC13 Protocol 2] instead of adding noise.
    prior: NumericPrior | None = None
    #: With a prior only: see :class:`~shoal.mechanisms.Refinement`.
    delta: Number = 0

    def prepare(self, schema: Schema, unit: Unit = RECORD) -> Prepared:
        condition = parse(self.where, schema)
        if self.prior is not None:
            return self._refined(condition, self.prior, unit)
        if written(self.delta, "delta"):
            raise ParameterError("`delta` of a count is allowed only with a `prior`.")
        loss = self._loss(unit, scale=self.scale, rho=self.rho)
        noise = noise_of(loss, unit)
        margin = noise.interval(CONFIDENCE)

        def answer(records: ExactFigures, source: RandomSource) -> tuple[Value, Accuracy]:
            value = noise.release(records.count(condition), source=source)
            return value, within(value, margin)

        said = within(0, margin).statement
        return Prepared(loss=loss, region=region(condition), text=self._text("count"), answer=answer, expected=said)

    def _refined(self, condition: Condition | None, prior: NumericPrior, unit: Unit) -> Prepared:
        if self.rho is not None or self.scale is not None:
            raise ParameterError("a count that refines a `prior` must be paid for in `epsilon`.")
        loss = self._loss(delta=self.delta)
        mechanism = Refinement(prior, epsilon=unit.epsilon(loss), query="statistical", delta=unit.delta(loss))
        margin = mechanism.interval(CONFIDENCE)
        assert margin is not None  # noqa: S101

        def answer(records: ExactFigures, source: RandomSource) -> tuple[Value, Accuracy]:
            value = mechanism.release(records.count(condition), source=source)
            return value, within(value, margin)

        return Prepared(loss=loss, region=region(condition), text=self._text("count refining a prior"), answer=answer)


MISSING = "(missing)"
LARGEST_BINS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram(Query):
    """How many records have each value, or lie between each two edges?

    Guarantee
    ---------
    epsilon-differential privacy for neighbours that add or remove one record: a record is in one bin at most, so all
    bins together change by at most 1. Bins come from the schema or the query, never from the data.
    """

    name: ClassVar[str] = "histogram"
    #: A categorical or ordinal column with declared values, or any numeric or date column.
    column: str
    #: For numbers and dates: ascending; a bin holds its lower edge and not its upper one.
    edges: tuple[float | int | str, ...] = ()
    #: Instead of ``epsilon``: the scale of the Laplace noise of every bin.
    scale: Number | None = None
    #: Instead of ``epsilon``, where the budget counts rho: Gaussian noise of the variance 1 / (2 rho) in every bin.
    rho: Number | None = None

    def prepare(self, schema: Schema, unit: Unit = RECORD) -> Prepared:
        attribute = attribute_of(schema, self.column)
        condition, loss = parse(self.where, schema), self._loss(unit, scale=self.scale, rho=self.rho)
        labels, tally = self._bins(attribute, schema, condition)
        noise = noise_of(loss, unit)
        # every bin at once: each may fail with a share of the probability
        margin = noise.interval(1 - (1 - CONFIDENCE) / len(labels))

        together = f"all {len(labels)} at once ({CONFIDENCE:.0%} confidence)"
        said = f"every count is within {margin:,} of its true value, {together}"

        def answer(records: ExactFigures, source: RandomSource) -> tuple[Value, Accuracy]:
            counts = noise.release_all(tally(records), source=source)
            return dict(zip(labels, (int(n) for n in counts), strict=True)), Accuracy(statement=said)

        text = self._text(f"histogram of {self.column}")
        return Prepared(loss=loss, region=region(condition), text=text, answer=answer, expected=said)

    def _bins(
        self, attribute: Attribute, schema: Schema, condition: Condition | None
    ) -> tuple[list[str], Callable[[ExactFigures], list[int]]]:
        if attribute.kind in (Kind.NUMERIC, Kind.DATE):
            edges = _edges(attribute, self.edges)
            shown = [as_value(Fraction(edge), attribute) for edge in edges]
            labels = [f"[{a}, {b})" for a, b in pairwise(shown)]
            return labels, lambda records: records.tally_between(condition, self.column, edges)
        if self.edges:
            raise ParameterError("`edges` of a histogram are allowed only for numeric and date columns.")
        known: list[str | None] = list(values(attribute, schema))
        if len(known) > LARGEST_BINS:
            raise ParameterError(
                f"a histogram may have at most {LARGEST_BINS:,} bins; `{self.column}` has {len(known):,}."
            )
        if attribute.missing is Missing.CATEGORY:
            known.append(None)
        labels = [MISSING if value is None else value for value in known]
        return labels, lambda records: records.tally_texts(condition, self.column, known)


def _edges(attribute: Attribute, given: tuple[float | int | str, ...]) -> list[float]:
    problem = (
        f"`edges` of a histogram of `{attribute.name}` must be 2 to {LARGEST_BINS + 1:,} ascending "
        f"{attribute.kind} values."
    )
    try:
        found = [
            float(dt.date.fromisoformat(str(edge)).toordinal()) if attribute.kind is Kind.DATE else float(edge)
            for edge in given
        ]
    except ValueError:
        raise ParameterError(problem) from None
    ascending = all(a < b for a, b in pairwise(found))
    if not 2 <= len(found) <= LARGEST_BINS + 1 or not ascending or not all(map(math.isfinite, found)):
        raise ParameterError(problem)
    return found


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
