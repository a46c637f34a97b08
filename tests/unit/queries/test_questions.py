from __future__ import annotations

import pytest

from shoal.errors import FilterError
from shoal.queries import Count, Histogram, LookUp, Mean, Quantile, Query, Sum, parse_query


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("count", Count(epsilon=1)),
        ("  COUNT where age >= 40 ", Count(epsilon=1, where="age >= 40")),
        ("sum of income", Sum(epsilon=1, column="income")),
        ("mean of `two words` where sex = 'F'", Mean(epsilon=1, column="two words", where="sex = 'F'")),
        ("median of age", Quantile(epsilon=1, column="age", share="0.5")),
        (
            "quantile 0.9 of age where town = 'x where y'",
            Quantile(epsilon=1, column="age", share="0.9", where="town = 'x where y'"),
        ),
        ("histogram of sex", Histogram(epsilon=1, column="sex")),
        ("histogram of marital-status where age > 3", Histogram(epsilon=1, column="marital-status", where="age > 3")),
        ("histogram of age at 0, 1.5, 1e2", Histogram(epsilon=1, column="age", edges=("0", "1.5", "1e2"))),
        (
            'histogram of born at "2020-01-01", "2021-01-01" where age > 3',
            Histogram(epsilon=1, column="born", edges=("2020-01-01", "2021-01-01"), where="age > 3"),
        ),
        (
            "look up age, sex of name 'O''Brien'",
            LookUp(epsilon=1, identifier="name", person="O'Brien", columns=("age", "sex")),
        ),
        ("mean of `a``b` where `c``` = 'x'", Mean(epsilon=1, column="a`b", where="`c``` = 'x'")),
        ('look-up `a b` of `my id` "x"', LookUp(epsilon=1, identifier="my id", person="x", columns=("a b",))),
    ],
)
def test_questions_mean_what_they_say(text: str, wanted: Query) -> None:
    assert parse_query(text, epsilon=1) == wanted


@pytest.mark.parametrize(
    "text",
    ["", "how many?", "count age", "sum income", "mean of", "sum of age at 3", "look up age of name", "count where"],
)
def test_other_questions_are_refused(text: str) -> None:
    with pytest.raises(FilterError):
        parse_query(text, epsilon=1)
