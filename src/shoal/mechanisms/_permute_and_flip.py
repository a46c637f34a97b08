"""Permute-and-flip, sampled exactly: never worse than the exponential mechanism."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from shoal.exact import Number
from shoal.mechanisms._bernoulli import below_real
from shoal.mechanisms._random import SYSTEM, RandomSource
from shoal.mechanisms._selection import Selection
from shoal.mechanisms._weights import TABLE_BITS, Weights

__all__ = ["PermuteAndFlip"]


class PermuteAndFlip(Selection):
    """Flip a coin of bias exp(-rate (max - s_i)) for each candidate and choose one of those with heads.

    rate = epsilon / Delta for monotone scores and epsilon / (2 Delta) in general; see `Selection` for the parameters.

    Guarantee
    ---------
    epsilon-differential privacy, and at every confidence an error at most that of the exponential mechanism
    (McKenna and Sheldon, "Permute-and-Flip", 2020). *Privacy.* Add independent exponential noise E_i of rate
    ``rate`` to each score and take the largest sum. E_i carries candidate i to the level max with probability
    exp(-rate (max - s_i)); the winner is among those carried so far; above the level, what is left of E_i is again
    exponential, the same for all: the winner is uniform among them. So that is the same choice. Given the others'
    noise, i wins if E_i >= m, with probability exp(-rate max(m, 0)). Between neighbours m moves by at most 2
    Delta, and by at most Delta if all scores move the same way, since then both max_j (s_j + E_j) and s_i move by
    an amount in [0, Delta]. So the probability changes by at most the factor e^epsilon.

    Assumptions
    -----------
    As for `ExponentialMechanism`: the sensitivity is as stated; sampling is exact; running time is not protected.

    Examples
    --------
    >>> PermuteAndFlip(epsilon=1, sensitivity=1).select([0.0, 1000.0, 3.5])
    1
    """

    __slots__ = ()

    def select(self, scores: ArrayLike | Sequence[Number], *, source: RandomSource = SYSTEM) -> int:
        """Return the position of one candidate.

        Notes
        -----
        The first heads in a random order is uniform among all heads, so no order is needed. The coin i is U_i < w_i;
        its first 62 bits are drawn for all candidates at once and compared with an upper bound of w_i. Among the
        candidates that may show heads one is drawn uniformly, and its coin decided exactly by more bits of U_i; heads
        is returned, tails is dropped and another drawn. That is uniform among the heads. O(n) vectorised work.
        """
        weights = Weights.of(scores, self.rate)
        drawn = source.uint64(weights.size) >> np.uint64(64 - TABLE_BITS)
        maybe = np.flatnonzero(drawn.astype(np.int64) < weights.upper_bounds(TABLE_BITS))
        while True:
            at = source.below(maybe.size)
            i = int(maybe[at])
            if below_real(int(drawn[i]), TABLE_BITS, weights.scaled(i), source=source):
                return i
            maybe = np.delete(maybe, at)
