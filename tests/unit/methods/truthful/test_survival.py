"""What a class is worth: integers that rise by bounded steps."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from shoal.errors import ParameterError
from shoal.methods.truthful._survival import SCALE, STEEPNESS, Survival, surviving_classes, surviving_records
from shoal.methods.truthful.parameters import parameters

PAIRS = [("0.9", "1e-5"), ("0.1", "1e-6"), ("5", "1e-6"), ("0.01", "1e-4"), ("1", "0.3")]


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_a_class_is_worth_at_most_what_it_gives_and_all_of_it_once_it_is_large(epsilon: str, delta: str) -> None:
    found = parameters(epsilon, delta)
    worth = surviving_records(found.beta, found.k)
    sizes = np.arange(1, len(worth.table))
    expected = sizes * stats.binom.sf(found.k - 2, sizes - 1, float(found.beta)) * SCALE
    assert (worth.of(sizes) <= expected + 1).all()
    large = sizes >= 3.5 * found.k / float(found.beta)
    assert (worth.of(sizes)[large] >= expected[large] - 2).all()


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_steps_are_limited_and_worths_never_fall(epsilon: str, delta: str) -> None:
    found = parameters(epsilon, delta)
    worth = surviving_records(found.beta, found.k)
    values = worth.of(np.arange(2 * len(worth.table)))
    steps = np.diff(values)
    assert (steps >= 0).all()
    assert steps.max() <= worth.step <= STEEPNESS * SCALE + 1
    assert values[found.k - 1] == 0, "a class that can release nothing is worth nothing"


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_the_worth_of_a_class_as_such_is_its_chance_to_be_released(epsilon: str, delta: str) -> None:
    found = parameters(epsilon, delta)
    worth = surviving_classes(found.beta, found.k)
    sizes = np.arange(len(worth.table))
    chances = stats.binom.sf(found.k - 1, sizes, float(found.beta))
    assert np.abs(worth.of(sizes) / SCALE - chances).max() < 1.5 / SCALE
    assert worth.step == np.diff(worth.table).max()
    assert worth.of(np.array([10 * len(sizes)]))[0] == worth.table[-1]


def test_k_of_one_keeps_every_sampled_record() -> None:
    worth = surviving_records(Fraction(1, 2), 1)
    assert worth.of(np.arange(50)).tolist() == (np.arange(50) * SCALE).tolist()


def test_a_table_that_falls_or_holds_fractions_is_refused() -> None:
    for table in ([0.0, 2.0, 1.0], [0.0, 0.5], [1.0, 2.0], []):
        with pytest.raises(ParameterError):
            Survival(table=np.array(table), slope=0)
    with pytest.raises(ParameterError):
        Survival(table=np.array([0.0]), slope=-1)


def test_an_epsilon_that_asks_for_classes_of_millions_is_refused() -> None:
    with pytest.raises(ParameterError, match="smaller epsilon"):
        surviving_records(Fraction(99, 100), 10**8)
