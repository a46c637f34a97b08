"""The binomial sampler: exact on every script of bits, whole on every shape of input."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference.mechanisms import binomial_masses, exact_distribution
from shoal.errors import ParameterError
from shoal.mechanisms import SeededSource, _binomial, binomial


@pytest.mark.parametrize("eighths", range(9))
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_the_distribution_is_exactly_binomial(count: int, eighths: int) -> None:
    beta = Fraction(eighths, 8)
    found, _ = exact_distribution(
        lambda source: int(binomial([count], beta, source=source)[0]), useful_bits=max(count, 1)
    )
    expected = {i: mass for i, mass in enumerate(binomial_masses(count, beta)) if mass}
    assert found == expected


def test_two_counts_are_exactly_independent() -> None:
    found, _ = exact_distribution(
        lambda source: tuple(binomial([2, 1], Fraction(3, 4), source=source).tolist()), useful_bits=2
    )
    first, second = binomial_masses(2, Fraction(3, 4)), binomial_masses(1, Fraction(3, 4))
    assert found == {(i, j): p * q for i, p in enumerate(first) for j, q in enumerate(second)}


def test_rates_at_the_ends() -> None:
    counts = [0, 1, 8, 9, 1000]
    assert binomial(counts, 0).tolist() == [0] * 5
    assert binomial(counts, 1).tolist() == counts
    source = SeededSource(2)
    assert binomial(counts, Fraction(1, 2**64), source=source).tolist() == [0] * 5
    assert binomial(counts, 1 - Fraction(1, 2**64), source=source).tolist() == counts


def test_large_counts_are_drawn_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_binomial, "CHUNK_BYTES", 64)
    counts = np.array([5, 10_000, 0, 300, 1, 512, 513, 7] * 20)
    drawn = binomial(counts, "0.5", source=SeededSource(4))
    assert ((drawn >= 0) & (drawn <= counts)).all()
    expected, spread = counts.sum() / 2, np.sqrt(counts.sum()) / 2
    assert abs(drawn.sum() - expected) < 6 * spread


def test_a_count_larger_than_a_chunk_stays_in_bounds() -> None:
    drawn = binomial([100_000_000], "0.25", source=SeededSource(8))
    assert abs(int(drawn[0]) - 25_000_000) < 6 * 4331


def test_about_two_random_bits_are_used_per_trial() -> None:
    class Counting(SeededSource):
        taken = 0

        def random_bytes(self, size: int) -> bytes:
            self.taken += size
            return super().random_bytes(size)

    source = Counting(1)
    binomial([1_000_000], Fraction(2**63 + 12345, 2**64), source=source)
    assert 1.9e6 < 8 * source.taken < 2.1e6


def test_the_input_is_left_alone() -> None:
    counts = np.array([5, 6])
    binomial(counts, 1)[0] = 99
    binomial(counts, "0.5")
    assert counts.tolist() == [5, 6]


@pytest.mark.parametrize("empty", [[], np.array([], dtype=np.int64)])
def test_no_counts_give_no_draws(empty: object) -> None:
    assert binomial(empty, "0.5").shape == (0,)


@pytest.mark.parametrize("beta", ["0.1", 1.5, -0.5, Fraction(1, 2**65)])
def test_a_rate_that_the_sampler_cannot_keep_exactly_is_refused(beta: object) -> None:
    with pytest.raises(ParameterError, match=r"`beta` of `binomial` must be a multiple of 2\^-64"):
        binomial([1], beta)  # type: ignore[arg-type]


@pytest.mark.parametrize("counts", [[-1, 3], [[1, 2]], [1.5], np.array([2**63], dtype=np.uint64)])
def test_senseless_counts_are_refused(counts: object) -> None:
    with pytest.raises(ParameterError, match="`counts` of `binomial`"):
        binomial(counts, "0.5")  # type: ignore[arg-type]
