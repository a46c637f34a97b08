"""The ways to ask: the methods of a session and a client, and queries as one line of text.

::

    count [ where FILTER ]
    sum of COLUMN [ where FILTER ]
    mean of COLUMN [ where FILTER ]
    median of COLUMN [ where FILTER ]
    quantile SHARE of COLUMN [ where FILTER ]
    histogram of COLUMN [ at EDGE, EDGE, ... ] [ where FILTER ]
    look up COLUMN, COLUMN, ... of IDENTIFIER "PERSON"

A column's name may stand between `backquotes`; a backquote in it is then written twice.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from shoal.errors import FilterError, ParameterError
from shoal.exact import Number
from shoal.mechanisms import NumericPrior, Prior
from shoal.queries._look_up import LookUp
from shoal.queries._query import Answer, Query
from shoal.queries._statistics import Count, Histogram, Mean, Noise, Quantile, Sum
from shoal.schema import Kind
from shoal.schema.filters import column_name
from shoal.tables import Filter, filter_text


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
        rho: Number | None = None,
        prior: NumericPrior | None = None,
        delta: Number = 0,
    ) -> Answer:
        """Return how many records there are; see :class:`Count`."""
        return self.ask(Count(where=self._text(where), epsilon=epsilon, scale=scale, rho=rho, prior=prior, delta=delta))

    def sum(
        self,
        column: str,
        where: Filter = None,
        *,
        epsilon: Number | None = None,
        scale: Number | None = None,
        rho: Number | None = None,
        noise: Noise = "laplace",
        grid: Number | None = None,
    ) -> Answer:
        """Return the sum of a numeric column; see :class:`Sum`."""
        return self.ask(
            Sum(column=column, where=self._text(where), epsilon=epsilon, scale=scale, rho=rho, noise=noise, grid=grid)
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
        rho: Number | None = None,
        edges: Sequence[float | int | str] = (),
    ) -> Answer:
        """Return how many records have each value; see :class:`Histogram`."""
        return self.ask(
            Histogram(column=column, where=self._text(where), epsilon=epsilon, scale=scale, rho=rho, edges=tuple(edges))
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


_NAME = r"(?:`(?:[^`]|``)+`|[^\W\d][\w.-]*)"
_WHERE = r"(?:\s+where\s+(?P<where>.+))?"
_LOOK_UP = re.compile(
    rf"look[\s-]?up\s+(?P<columns>{_NAME}(?:\s*,\s*{_NAME})*)\s+of\s+(?P<identifier>{_NAME})\s+"
    r"""(?P<person>"(?:[^"]|"")*"|'(?:[^']|'')*')""",
    re.IGNORECASE | re.DOTALL,
)
_OTHERS = re.compile(
    rf"(?:(?P<count>count)|(?P<kind>sum|mean|median|histogram|quantile\s+(?P<share>[\d./eE-]+))\s+of\s+(?P<column>{_NAME})"
    rf"""(?:\s+at\s+(?P<edges>[\d"'][^a-df-zA-DF-Z]*?))?){_WHERE}""",
    re.IGNORECASE | re.DOTALL,
)


def parse_query(text: str, *, epsilon: Number | None = None, delta: Number = 0, rho: Number | None = None) -> Query:
    """Return the query that a line of text stands for; ``rho`` is for counts, sums and histograms.

    Examples
    --------
    >>> parse_query('mean of age where sex = "F"', epsilon="0.1")
    Mean(epsilon='0.1', where='sex = "F"', column='age', grid=None)
    >>> parse_query("histogram of age at 0, 18, 65, 120", epsilon=1).edges
    ('0', '18', '65', '120')
    """
    text = text.strip()
    if found := _LOOK_UP.fullmatch(text):
        columns = tuple(column_name(name) for name in re.findall(_NAME, found["columns"]))
        quote, person = found["person"][0], found["person"][1:-1]
        return LookUp(
            identifier=column_name(found["identifier"]),
            person=person.replace(quote * 2, quote),
            columns=columns,
            epsilon=epsilon,
            delta=delta,
        )
    found = _OTHERS.fullmatch(text)
    if found is None:
        raise FilterError(
            "the question could not be understood.",
            hint="for example: count where age >= 40; mean of age; median of age; histogram of sex",
        )
    if found["count"]:
        return Count(where=found["where"], epsilon=epsilon, rho=rho)
    return _about_column(found, epsilon, rho)


def _about_column(found: re.Match[str], epsilon: Number | None, rho: Number | None) -> Query:
    kind, column, where = found["kind"].split()[0].lower(), column_name(found["column"]), found["where"]
    if kind == "histogram":
        edges = tuple(edge.strip().strip("\"'") for edge in (found["edges"] or "").split(",") if edge.strip())
        return Histogram(column=column, where=where, epsilon=epsilon, rho=rho, edges=edges)
    if found["edges"]:
        raise FilterError("only a histogram takes edges.")
    if kind == "sum":
        return Sum(column=column, where=where, epsilon=epsilon, rho=rho)
    if rho is not None:
        raise ParameterError("only counts, sums and histograms can be paid for in rho; this question needs an epsilon.")
    if kind == "mean":
        return Mean(column=column, where=where, epsilon=epsilon)
    return Quantile(column=column, share=found["share"] or "0.5", where=where, epsilon=epsilon)
