"""How many records are there?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.errors import ParameterError
from shoal.exact import Number
from shoal.mechanisms import Laplace, NumericPrior, RandomSource, Refinement
from shoal.queries._answers import CONFIDENCE, Accuracy, Value, within
from shoal.queries._conditions import Condition, region
from shoal.queries._filters import parse
from shoal.queries._loss import written
from shoal.queries._query import Prepared, Query
from shoal.queries._records import Records
from shoal.schema import Schema

__all__ = ["Count"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Query):
    """How many records are there?

    Parameters
    ----------
    scale : number, above 0
        Instead of ``epsilon``: the scale of the Laplace noise, so that the cost is sensitivity / scale [SC13 Protocol
        1].
    prior
        What is believed about the number; the answer then refines it [SC13 Protocol 2] instead of adding noise.
    delta : number in [0, 1)
        With a prior only: see :class:`~shoal.mechanisms.Refinement`.

    Guarantee
    ---------
    epsilon-differential privacy for neighbours that add or remove one record: the count changes by at most 1, and
    `Laplace` (or `Refinement` for statistical queries) does the rest.
    """

    name: ClassVar[str] = "count"
    scale: Number | None = None
    prior: NumericPrior | None = None
    delta: Number = 0

    def prepare(self, schema: Schema) -> Prepared:
        """Check the query against the schema and fix its cost."""
        condition = parse(self.where, schema)
        if self.prior is not None:
            return self._refined(condition, self.prior)
        if written(self.delta, "delta"):
            raise ParameterError("`delta` of a count is for counts with a `prior`.")
        loss = self._loss(scale=self.scale)
        noise = Laplace(sensitivity=1, epsilon=loss.epsilon)
        margin = noise.interval(CONFIDENCE)

        def answer(records: Records, source: RandomSource) -> tuple[Value, Accuracy]:
            value = noise.release(records.count(condition), source=source)
            return value, within(value, margin)

        return Prepared(loss=loss, region=region(condition), text=self._text("count"), answer=answer)

    def _refined(self, condition: Condition | None, prior: NumericPrior) -> Prepared:
        loss = self._loss(delta=self.delta)
        mechanism = Refinement(prior, epsilon=loss.epsilon, query="statistical", delta=loss.delta)
        margin = mechanism.interval(CONFIDENCE)
        assert margin is not None  # noqa: S101

        def answer(records: Records, source: RandomSource) -> tuple[Value, Accuracy]:
            value = mechanism.release(records.count(condition), source=source)
            return value, within(value, margin)

        return Prepared(loss=loss, region=region(condition), text=self._text("count refining a prior"), answer=answer)
