"""The audit lets sound mechanisms pass and catches broken twins of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction

import numpy as np
import pytest

from shoal.mechanisms import ExponentialMechanism, PermuteAndFlip, SeededSource, Selection, binomial, discrete_gaussians
from shoal.methods.truthful._sets_split import Noise, Split
from shoal.methods.truthful.parameters import Definition, Parameters, parameters
from shoal.testing.audit import Audit, audit

TRIALS = 10_000


def operator(found: Parameters, *, k: int | None = None, sampled: bool = True) -> Callable[[int], Hashable]:
    """Return the truthful operator on one class of n records, drawn ahead for speed."""
    threshold, source = found.k if k is None else k, SeededSource(21)
    streams: dict[int, Iterator[int]] = {}

    def run(n: int) -> int:
        if n not in streams:
            counts = np.full(2 * TRIALS, n)
            drawn = binomial(counts, found.beta, source=source) if sampled else counts
            streams[n] = iter(np.where(drawn >= threshold, drawn, 0).tolist())
        return next(streams[n])

    return run


def audit_operator(mechanism: Callable[[int], Hashable], n: int) -> Audit:
    return audit(mechanism, n, n - 1, delta=1e-6, trials=TRIALS)


@pytest.mark.parametrize("definition", ["probabilistic", "standard"])
@pytest.mark.parametrize("share", [1.0, 1.2, 2.0])
def test_the_operator_passes_on_classes_around_the_threshold(definition: Definition, share: float) -> None:
    found = parameters(1, "1e-6", definition=definition)
    result = audit_operator(operator(found), int(found.k / float(found.beta) * share))
    assert not result.refutes(1)


def test_the_audit_finds_most_of_what_a_mechanism_spends() -> None:
    # One of twenty scores rises by the sensitivity: its probability rises by the factor 20 e / (e + 19) = e^0.92.
    source, made = SeededSource(23), ExponentialMechanism(epsilon=1, sensitivity=1, monotone=True)
    result = audit(lambda scores: made.select(scores, source=source), [1.0] + [0.0] * 19, [0.0] * 20, trials=5000)
    assert 0.65 < result.epsilon <= 1


def test_the_operator_without_sampling_is_caught() -> None:
    found = parameters(1, "1e-6")
    assert audit_operator(operator(found, sampled=False), 100).refutes(4)


def test_a_k_that_is_too_small_is_caught() -> None:
    found = parameters(1, "1e-6")
    assert audit_operator(operator(found, k=3), 3).refutes(2)
    assert audit_operator(operator(found, k=10), 11).refutes(1)


def tables_of_a_record(noise: Noise, tables: int, trials: int) -> Callable[[int], Hashable]:
    """Return how many records all tables together show of the class of one record, n in each; drawn ahead."""
    source = SeededSource(29)
    streams: dict[int, Iterator[int]] = {}

    def run(n: int) -> int:
        if n not in streams:
            drawn = discrete_gaussians(noise.variance, 3 * trials * tables, source=source).reshape(-1, tables)
            left = n - noise.m - drawn[(drawn >= -noise.m).all(axis=1)]
            streams[n] = iter(np.where(left >= 1, left, 0).sum(axis=1).tolist())
        return next(streams[n])

    return run


def test_many_tables_pass_and_tables_that_each_spend_the_whole_budget_are_caught() -> None:
    tables, trials = 100, 2000
    sound, alone = (
        Split.of(Fraction(2), Fraction("0.001"), declared=[None] * each, pairs=0).declared[0] for each in (tables, 1)
    )
    results = [
        audit(tables_of_a_record(noise, tables, trials), 400, 401, delta=0.001, trials=trials)
        for noise in (sound, alone)
    ]
    assert not results[0].refutes(2)
    assert results[1].refutes(4)


@pytest.mark.parametrize("mechanism", [ExponentialMechanism, pytest.param(PermuteAndFlip, marks=pytest.mark.deep)])
def test_selections_pass_and_their_broken_twins_are_caught(mechanism: type[Selection]) -> None:
    source = SeededSource(22)
    # One score rises and ten fall by the sensitivity: what monotone scores cannot do.
    with_record, without = [1.0] + [0.0] * 10, [0.0] + [1.0] * 10
    made = mechanism(epsilon=1, sensitivity=1)

    def exact_argmax(scores: list[float]) -> int:
        return int(np.argmax(scores))

    def select(scores: list[float]) -> int:
        return made.select(scores, source=source)

    def twice_as_sharp(scores: list[float]) -> int:
        # Calling general scores monotone doubles the exponent.
        return mechanism(epsilon=1, sensitivity=1, monotone=True).select(scores, source=source)

    assert not audit(select, with_record, without, trials=4000).refutes(1)
    assert audit(twice_as_sharp, with_record, without, trials=4000).refutes(1)
    assert audit(exact_argmax, with_record, without, trials=4000).refutes(5)
