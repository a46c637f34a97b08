"""The audit's own mathematics."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count

import pytest
from scipy import stats

from shoal.errors import ParameterError
from shoal.mechanisms import SeededSource, bernoulli
from shoal.testing.audit import audit, clopper_pearson


@pytest.mark.parametrize(("successes", "trials"), [(1, 10), (5, 100), (99, 100), (3000, 10_000), (1, 20_000)])
@pytest.mark.parametrize("error", [0.05, 5e-4, 1e-9])
def test_clopper_pearson_agrees_with_the_beta_quantiles(successes: int, trials: int, error: float) -> None:
    lower, upper = clopper_pearson(successes, trials, error=error)
    assert lower == pytest.approx(stats.beta.ppf(error, successes, trials - successes + 1), rel=1e-9)
    assert upper == pytest.approx(stats.beta.isf(error, successes + 1, trials - successes), rel=1e-9)


def test_clopper_pearson_at_the_ends() -> None:
    assert clopper_pearson(0, 50, error=0.01)[0] == 0
    assert clopper_pearson(0, 50, error=0.01)[1] == pytest.approx(1 - 0.01 ** (1 / 50), rel=1e-12)
    assert clopper_pearson(50, 50, error=0.01) == (pytest.approx(0.01 ** (1 / 50), rel=1e-12), 1)


@pytest.mark.parametrize(("successes", "trials", "error"), [(-1, 5, 0.1), (6, 5, 0.1), (1, 5, 0.0), (1, 5, 0.5)])
def test_clopper_pearson_refuses_senseless_questions(successes: int, trials: int, error: float) -> None:
    with pytest.raises(ParameterError, match="`clopper_pearson` needs"):
        clopper_pearson(successes, trials, error=error)


def _coin(biases: dict[str, float], seed: int) -> Callable[[str], bool]:
    source = SeededSource(seed)
    return lambda name: bernoulli(biases[name], source=source)


@pytest.mark.slow
def test_the_bound_is_below_the_truth_and_near_it() -> None:
    result = audit(_coin({"first": 0.75, "second": 0.25}, 1), "first", "second", trials=5000)
    assert math.log(3) - 0.2 < result.epsilon < math.log(3)


def test_the_direction_is_found() -> None:
    result = audit(_coin({"first": 0.0, "second": 0.5}, 2), "first", "second", trials=1000)
    assert result.reversed
    assert result.event == {True}
    assert result.unlikely == 0


def test_equal_inputs_show_nothing() -> None:
    result = audit(_coin({"first": 0.5, "second": 0.5}, 3), "first", "second", trials=2000)
    assert result.epsilon < 0.1


@pytest.mark.slow
def test_delta_is_granted() -> None:
    # The event has probability 1/4 on one input and 0 on the other: all of it is delta.
    coin = _coin({"first": 0.25, "second": 0.0}, 4)
    assert audit(coin, "first", "second", trials=2000).refutes(3)
    assert not audit(coin, "first", "second", trials=2000, delta=0.25).refutes(0.1)


def test_the_event_is_chosen_on_other_runs_than_it_is_measured_on() -> None:
    """Outcomes that never come again look telling on the runs that choose, and prove nothing."""
    fresh = count()
    result = audit(lambda _: next(fresh), "first", "second", trials=500)
    assert result.likely == 0
    assert result.epsilon == 0


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_stated() -> None:
    # epsilon = ln 3 is true; at 50 % confidence the bound may exceed it in half of the audits, and does in fewer.
    coin = _coin({"first": 0.75, "second": 0.25}, 5)
    alarms = sum(audit(coin, "first", "second", trials=200, confidence=0.5).refutes(math.log(3)) for _ in range(60))
    assert alarms <= 30


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delta": 1.0}, r"`delta` of `audit` must be in \[0, 1\); got 1.0"),
        ({"trials": 0}, "`trials` of `audit` must be at least 1; got 0"),
        ({"confidence": 1.0}, r"`confidence` of `audit` must be in \(0, 1\); got 1.0"),
    ],
)
def test_senseless_audits_are_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        audit(lambda data: data, 0, 1, **arguments)  # type: ignore[arg-type]
