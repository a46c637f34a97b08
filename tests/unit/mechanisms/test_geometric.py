"""Many exact draws at once: what they are, and how rarely a table does not decide."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.mechanisms import RandomSource, SeededSource, discrete_laplaces, geometrics
from shoal.mechanisms._coins import WeightedChoice


class Words(RandomSource):
    """A source that gives one word again and again, and fair bits when a draw goes on."""

    cryptographic = False

    def __init__(self, word: int) -> None:
        self.word, self.rest = word, SeededSource(1)
        self.asked = 0

    def random_bytes(self, size: int) -> bytes:
        self.asked += 1
        return self.word.to_bytes(8, "little") * (size // 8) if self.asked == 1 else self.rest.random_bytes(size)


def balls(weights: list[Fraction]) -> Callable[[], list[Any]]:
    from shoal.exact import ball

    return lambda: [ball(weight) for weight in weights]


@pytest.mark.parametrize("word", [0, 1, 2**62 - 1, 2**62, 2**62 + 1, 2**63, 2**64 - 2, 2**64 - 1])
def test_all_draws_are_those_that_one_draw_would_be(word: int) -> None:
    choice = WeightedChoice(balls([Fraction(1, 4), Fraction(1, 4), Fraction(0), Fraction(1, 2)]))
    assert choice.draw_all(3, source=Words(word)).tolist() == [[0, 1, 3, 3][word >> 62]] * 3


def test_a_word_that_lies_on_an_end_is_decided_by_more_bits() -> None:
    choice = WeightedChoice(balls([Fraction(1, 3), Fraction(2, 3)]))
    source = Words(2**64 // 3)
    found = choice.draw_all(400, source=source)
    assert source.asked > 1
    assert set(found.tolist()) == {0, 1}
    assert 80 < int((found == 0).sum()) < 190  # a third of the word belongs to the first part


@pytest.mark.parametrize("x", ["1e-7", "0.01", "0.9", 3, 40])
def test_geometric_draws_have_their_mean(x: str | int) -> None:
    found = geometrics(x, 40_000, source=SeededSource(4))
    ratio = np.exp(-float(Fraction(str(x))))
    mean, deviation = ratio / -np.expm1(-float(Fraction(str(x)))), np.sqrt(ratio) / -np.expm1(-float(Fraction(str(x))))
    assert abs(found.mean() - mean) < 6 * deviation / 200
    assert found.min() >= 0


def test_no_draws_are_no_draws() -> None:
    assert geometrics(1, 0).tolist() == []
    assert discrete_laplaces(1, 0).tolist() == []


def test_both_signs_are_drawn_and_zero_does_not_count_twice() -> None:
    found = discrete_laplaces(1, 40_000, source=SeededSource(5))
    ratio = np.exp(-1)
    for value in (-1, 0, 1):
        expected = 40_000 * (1 - ratio) / (1 + ratio) * ratio ** abs(value)
        assert abs(int((found == value).sum()) - expected) < 6 * np.sqrt(expected)


@pytest.mark.parametrize("draw", [geometrics, discrete_laplaces])
def test_a_rate_must_be_above_0(draw: Callable[..., object]) -> None:
    with pytest.raises(ParameterError, match="above 0"):
        draw(0, 3)
