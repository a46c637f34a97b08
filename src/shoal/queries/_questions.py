"""The questions that a session and a client both ask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from shoal.exact import Number
from shoal.mechanisms import NumericPrior, Prior
from shoal.queries._answers import Answer
from shoal.queries._count import Count
from shoal.queries._histogram import Histogram
from shoal.queries._look_up import LookUp
from shoal.queries._mean import Mean
from shoal.queries._quantile import Quantile
from shoal.queries._query import Query
from shoal.queries._sum import Noise, Sum
from shoal.schema import Kind
from shoal.tables import Filter, filter_text

__all__ = ["Questions"]


class Questions(ABC):
    """One method per kind of query; each builds the query value and asks it.

    ``where`` is a filter as text, ``age >= 40 and sex = "F"``, or as an Ibis expression, ``(_.age >= 40) & (_.sex ==
    "F")``, which is read and never run.
    """

    @abstractmethod
    def ask(self, query: Query) -> Answer:
        """Answer a query value."""

    @abstractmethod
    def _kinds(self) -> Mapping[str, Kind]:
        """Return the kinds of the columns."""

    def _text(self, where: Filter) -> str | None:
        return filter_text(where, self._kinds)

    def count(
        self,
        where: Filter = None,
        *,
        epsilon: Number | None = None,
        scale: Number | None = None,
        prior: NumericPrior | None = None,
        delta: Number = 0,
    ) -> Answer:
        """Return how many records there are; see :class:`Count`."""
        return self.ask(Count(where=self._text(where), epsilon=epsilon, scale=scale, prior=prior, delta=delta))

    def sum(
        self,
        column: str,
        where: Filter = None,
        *,
        epsilon: Number | None = None,
        scale: Number | None = None,
        noise: Noise = "laplace",
        grid: Number | None = None,
    ) -> Answer:
        """Return the sum of a numeric column; see :class:`Sum`."""
        return self.ask(
            Sum(column=column, where=self._text(where), epsilon=epsilon, scale=scale, noise=noise, grid=grid)
        )

    def mean(self, column: str, where: Filter = None, *, epsilon: Number, grid: Number | None = None) -> Answer:
        """Return the mean of a numeric or date column; see :class:`Mean`."""
        return self.ask(Mean(column=column, where=self._text(where), epsilon=epsilon, grid=grid))

    def histogram(
        self,
        column: str,
        where: Filter = None,
        *,
        epsilon: Number | None = None,
        scale: Number | None = None,
        edges: Sequence[float | int | str] = (),
    ) -> Answer:
        """Return how many records have each value; see :class:`Histogram`."""
        return self.ask(
            Histogram(column=column, where=self._text(where), epsilon=epsilon, scale=scale, edges=tuple(edges))
        )

    def quantile(
        self,
        column: str,
        share: Number = "0.5",
        where: Filter = None,
        *,
        epsilon: Number,
        grid: Number | None = None,
    ) -> Answer:
        """Return the number with a given share of the records below it; see :class:`Quantile`."""
        return self.ask(Quantile(column=column, share=share, where=self._text(where), epsilon=epsilon, grid=grid))

    def look_up(
        self,
        identifier: str,
        person: str,
        *columns: str,
        epsilon: Number,
        priors: Mapping[str, Prior] | None = None,
        delta: Number = 0,
    ) -> Answer:
        """Return values of one person; see :class:`LookUp`."""
        return self.ask(
            LookUp(
                identifier=identifier,
                person=person,
                columns=columns,
                epsilon=epsilon,
                priors=priors or {},
                delta=delta,
            )
        )
