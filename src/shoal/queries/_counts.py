"""How many records are there, in all or with each value?"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from shoal.errors import ParameterError
from shoal.exact import Number
from shoal.mechanisms import NumericPrior, RandomSource, Refinement
from shoal.queries._answers import CONFIDENCE, Accuracy, Value, within
from shoal.queries._conditions import Condition, region
from shoal.queries._filters import parse
from shoal.queries._loss import written
from shoal.queries._query import Prepared, Query, as_value, attribute_of, noise_of, values
from shoal.queries._records import ExactFigures
from shoal.queries._unit import RECORD, Unit
from shoal.schema import Attribute, Kind, Missing, Schema


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
        """Check the query against the schema and fix its cost."""
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
        if self.rho is not None:
            raise ParameterError("a count that refines a `prior` is paid in `epsilon`.")
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
        """Check the query against the schema and fix its cost."""
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
