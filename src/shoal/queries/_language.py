"""Queries as one line of text: ``mean of age where sex = "F"``.

::

    count [ where FILTER ]
    sum of COLUMN [ where FILTER ]
    mean of COLUMN [ where FILTER ]
    median of COLUMN [ where FILTER ]
    quantile SHARE of COLUMN [ where FILTER ]
    histogram of COLUMN [ at EDGE, EDGE, ... ] [ where FILTER ]
    look up COLUMN, COLUMN, ... of IDENTIFIER "PERSON"

A column's name may stand between `backquotes`.
"""

from __future__ import annotations

import re

from shoal.exact import Number
from shoal.queries._count import Count
from shoal.queries._histogram import Histogram
from shoal.queries._look_up import LookUp
from shoal.queries._mean import Mean
from shoal.queries._quantile import Quantile
from shoal.queries._query import Query
from shoal.queries._refusals import FilterError
from shoal.queries._sum import Sum

__all__ = ["parse_query"]

_NAME = r"(?:`[^`]+`|[^\W\d][\w.-]*)"
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


def parse_query(text: str, *, epsilon: Number, delta: Number = 0) -> Query:
    """Return the query that a line of text stands for.

    Examples
    --------
    >>> parse_query('mean of age where sex = "F"', epsilon="0.1")
    Mean(epsilon='0.1', where='sex = "F"', column='age', grid=None)
    >>> parse_query("histogram of age at 0, 18, 65, 120", epsilon=1).edges
    ('0', '18', '65', '120')
    """
    text = text.strip()
    if found := _LOOK_UP.fullmatch(text):
        columns = tuple(name.strip("`") for name in re.findall(_NAME, found["columns"]))
        quote, person = found["person"][0], found["person"][1:-1]
        return LookUp(
            identifier=found["identifier"].strip("`"),
            person=person.replace(quote * 2, quote),
            columns=columns,
            epsilon=epsilon,
            delta=delta,
        )
    found = _OTHERS.fullmatch(text)
    if found is None:
        raise FilterError(
            "the question cannot be read.",
            hint="ask for example: count where age >= 40; mean of age; median of age; histogram of sex",
        )
    if found["count"]:
        return Count(where=found["where"], epsilon=epsilon)
    return _about_column(found, epsilon)


def _about_column(found: re.Match[str], epsilon: Number) -> Query:
    kind, column, where = found["kind"].split()[0].lower(), found["column"].strip("`"), found["where"]
    if kind == "histogram":
        edges = tuple(edge.strip().strip("\"'") for edge in (found["edges"] or "").split(",") if edge.strip())
        return Histogram(column=column, where=where, epsilon=epsilon, edges=edges)
    if found["edges"]:
        raise FilterError("only a histogram has edges.")
    if kind == "sum":
        return Sum(column=column, where=where, epsilon=epsilon)
    if kind == "mean":
        return Mean(column=column, where=where, epsilon=epsilon)
    return Quantile(column=column, share=found["share"] or "0.5", where=where, epsilon=epsilon)
