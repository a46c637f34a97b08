"""Stochastic closeness."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from shoal.errors import ParameterError
from shoal.methods.classes import StochasticCloseness, stochastic_epsilon, stochastic_t
from shoal.models import KAnonymity, MultiplicativeCloseness
from shoal.schema import Attribute, Domain, Kind, Role, Schema


def test_it_is_the_greater_of_both_terms_of_the_proof() -> None:
    """[DFSC15 Prop. 1], before its last line: the second term is the greater one for every class."""
    for epsilon, records, sizes in itertools.product((0.1, 1, 3), (10, 1000), ((5, 5), (2, 8), (1, 9))):
        scaled = [size * records // 10 for size in sizes]
        terms = []
        for size in scaled:
            rest = (records - size) / size
            terms.append(records / size / (1 + rest * math.exp(-epsilon)))
            terms.append(size / records * (1 + rest * math.exp(epsilon)))
        assert stochastic_t(epsilon, records=records, smallest=min(scaled)) == pytest.approx(max(terms))


def test_no_randomised_table_is_farther() -> None:
    """Randomised response on two values: the distributions of a class and of all, computed."""
    epsilon, truth = 1.0, 1 / (1 + math.exp(-1.0))
    values = [0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    ones = [truth if value else 1 - truth for value in values]
    everything = sum(ones) / 10
    for size in (1, 2, 3, 5):
        worst = 1.0
        for rows in itertools.combinations(range(10), size):
            mine = sum(ones[row] for row in rows) / size
            worst = max(
                worst,
                mine / everything,
                everything / mine,
                (1 - mine) / (1 - everything),
                (1 - everything) / (1 - mine),
            )
        assert worst <= stochastic_t(epsilon, records=10, smallest=size) * (1 + 1e-12)


def test_the_printed_formula_would_be_too_small() -> None:
    """The erratum: with N - |E| - 1 an attainable distance is not covered."""
    epsilon, records, size = 1.0, 2, 1
    printed = size / records * (1 + (records - size - 1) / size * math.exp(epsilon))
    assert printed < 1 < stochastic_t(epsilon, records=records, smallest=size)


def test_rounding_is_to_the_safe_side() -> None:
    for epsilon in (Fraction(1, 3), 1, 2):
        t = stochastic_t(epsilon, records=997, smallest=7)
        exact = (7 + 990 * math.exp(epsilon)) / 997
        assert t >= exact * (1 - 1e-15)
        back = stochastic_epsilon(t, records=997, smallest=7)
        assert stochastic_t(back, records=997, smallest=7) <= t
        assert back == pytest.approx(float(epsilon))


def test_one_class_is_as_close_as_can_be() -> None:
    assert stochastic_t(5, records=8, smallest=8) == 1.0
    with pytest.raises(ParameterError, match="single class"):
        stochastic_epsilon(2, records=8, smallest=8)


@pytest.mark.parametrize("wrong", [{"records": 0}, {"smallest": 0}, {"records": 3, "smallest": 4}])
def test_sizes_must_fit(wrong: dict[str, int]) -> None:
    with pytest.raises(ParameterError):
        stochastic_t(1, **{"records": 10, "smallest": 2, **wrong})


SCHEMA = Schema(
    attributes=(
        Attribute(name="age", role=Role.QUASI_IDENTIFIER),
        Attribute(name="pay", role=Role.SENSITIVE, kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=10)),
        Attribute(name="ill", role=Role.SENSITIVE, domain=Domain(values=("no", "yes"))),
    )
)


def test_the_method_takes_epsilon_or_t() -> None:
    for wrong in ({}, {"epsilon": 1, "t": 2}):
        with pytest.raises(ParameterError, match="one of"):
            StochasticCloseness(**wrong)  # type: ignore[arg-type]
    assert StochasticCloseness(epsilon=1).find_epsilon(records=10, smallest=2) == 1
    found = StochasticCloseness(t=2).find_epsilon(records=1000, smallest=5)
    assert stochastic_t(found, records=1000, smallest=5) <= 2
    assert float(found) == pytest.approx(0.695656)


def test_domains_must_be_declared() -> None:
    assert not StochasticCloseness(epsilon=1).problems(SCHEMA, (KAnonymity(2),))
    bare = Schema(attributes=(SCHEMA["age"], Attribute(name="ill", role=Role.SENSITIVE)))
    assert any("`ill`" in each for each in StochasticCloseness(epsilon=1).problems(bare, (KAnonymity(2),)))


def test_promises_about_values_that_are_randomised_are_refused() -> None:
    wanted = (KAnonymity(2), MultiplicativeCloseness("ill", 2))
    assert any("by chance" in each for each in StochasticCloseness(epsilon=1).problems(SCHEMA, wanted))
