from __future__ import annotations

from collections import Counter

from flint import arb
from scipy import stats

from reference.noise import ALPHA, QuickSource
from shoal.mechanisms._choice import Choice
from shoal.mechanisms._random import RandomSource


class Scripted(RandomSource):
    """Bits written down beforehand, then zeros."""

    cryptographic = False

    def __init__(self, *draws: int) -> None:
        self.draws, self.asked = list(draws), 0

    def random_bytes(self, size: int) -> bytes:
        raise NotImplementedError

    def bits(self, count: int) -> int:
        self.asked += 1
        return self.draws.pop(0) if self.draws else 0


def test_outcomes_come_as_often_as_their_weights_say() -> None:
    source, weights = QuickSource(3), [1.0, 2**0.5, 0.0, 3.0]
    choice = Choice(lambda: [arb(1), arb(2).sqrt(), arb(0), arb(3)])
    seen = Counter(choice.draw(source=source) for _ in range(20_000))
    assert seen[2] == 0
    observed = [seen[i] for i in (0, 1, 3)]
    expected = [20_000 * weights[i] / sum(weights) for i in (0, 1, 3)]
    assert stats.chisquare(observed, expected).pvalue > ALPHA
    assert stats.chisquare(observed, [expected[0] * 1.1, expected[1], expected[2] - expected[0] * 0.1]).pvalue < 0.01


def test_more_bits_are_drawn_until_the_part_is_known() -> None:
    # 1/3 lies inside [u, u + 1] / 2^64 for this u, so 64 bits cannot tell; the next 64 settle it
    u = 2**64 // 3
    choice = Choice(lambda: [arb(1) / 3, arb(2) / 3])
    assert choice.draw(source=(low := Scripted(u, 0))) == 0
    assert choice.draw(source=(high := Scripted(u, 2**64 - 1))) == 1
    assert low.asked == high.asked == 2
    assert choice.draw(source=(sure := Scripted(u - 1))) == 0
    assert sure.asked == 1


def test_an_end_that_is_a_dyadic_number_is_decided() -> None:
    choice = Choice(lambda: [arb(1), arb(1)])
    assert choice.draw(source=Scripted(2**63 - 1, *[2**64 - 1] * 3)) == 0
    assert choice.draw(source=Scripted(2**63, 1)) == 1
