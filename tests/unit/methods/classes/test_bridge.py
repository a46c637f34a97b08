"""The bridge between closeness and differential privacy."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import shoal
from shoal.errors import ParameterError
from shoal.guarantees import Strength
from shoal.methods.classes import closeness_epsilon, closeness_factor


def test_t_is_exp_of_half_of_epsilon_to_the_safe_side() -> None:
    for t in (Fraction(3, 2), 2, 10):
        assert closeness_epsilon(t) == pytest.approx(2 * math.log(t))
        assert closeness_factor(Fraction(closeness_epsilon(t))) == pytest.approx(float(t))
    assert closeness_epsilon(1) == 0.0
    assert closeness_factor(0) == 1.0
    # the float nearest to 2 ln 2 lies below it, so the safe one is above
    assert closeness_epsilon(2) >= 2 * math.log(2)


def test_every_statement_from_closeness_lists_its_assumptions() -> None:
    found = shoal.bridge(t=2)
    assert len(found.statements) == 2
    for statement in found.statements:
        assert statement.strength is Strength.CONDITIONAL
        assert statement.assumptions
    assert found.statements[0].quantities["epsilon"] == pytest.approx(1.386294)
    assert "1.3863" in str(found)


def test_rounded_figures_err_to_the_safe_side() -> None:
    assert "0.81094" in shoal.bridge(t="1.5").statements[0].text  # 0.810930...
    assert "1.6487-close" in shoal.bridge(epsilon=1).statements[0].text  # 1.64872...
    assert "2.7097-close" in shoal.bridge(epsilon=1, k=5, records=1000).statements[1].text


def test_stochastic_closeness_both_ways() -> None:
    there = shoal.bridge(epsilon=1, k=5, records=1000).statements[1].quantities["t"]
    back = shoal.bridge(t=there, k=5, records=1000).statements[2].quantities["epsilon"]  # type: ignore[arg-type]
    assert back == pytest.approx(1.0)


def test_budget_to_threshold_and_back() -> None:
    (there,) = shoal.bridge(epsilon=1, delta="1e-6").statements
    assert there.quantities["k"] == 74
    assert there.strength is Strength.UNCONDITIONAL
    (back,) = shoal.bridge(k=74, beta=str(there.quantities["beta"]), epsilon=1).statements
    assert 0 < float(str(back.quantities["delta"])) <= 1e-6
    (least,) = shoal.bridge(k=74, beta="0.5", delta="1e-6").statements
    assert float(str(least.quantities["epsilon"])) < 1


def test_a_threshold_alone_gives_a_few_points_of_its_curve() -> None:
    found = shoal.bridge(k=20, beta="0.3").statements
    deltas = [float(str(statement.quantities["delta"])) for statement in found]
    assert deltas == sorted(deltas, reverse=True)
    assert len(deltas) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"k": 5},
        {"t": 1},
        {"t": 2, "epsilon": 1},
        {"epsilon": 0},
        {"epsilon": 1, "k": 5},
        {"beta": "0.5"},
        {"k": 5, "beta": 2},
        {"k": 5, "beta": "0.5", "epsilon": 1, "delta": "1e-6"},
        {"k": 5, "beta": "0.5", "records": 10},
        {"delta": "1e-6"},
    ],
)
def test_what_leads_nowhere_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        shoal.bridge(**wrong)  # type: ignore[arg-type]
