"""The exponential mechanism, sampled exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from shoal.exact import Number
from shoal.mechanisms._bernoulli import bernoulli_real
from shoal.mechanisms._random import SYSTEM, RandomSource
from shoal.mechanisms._selection import Selection
from shoal.mechanisms._weights import TABLE_BITS, Weights

__all__ = ["ExponentialMechanism"]


class ExponentialMechanism(Selection):
    """Choose candidate i with probability proportional to exp(rate s_i).

    rate = epsilon / Delta for monotone scores and epsilon / (2 Delta) in general; see `Selection` for the parameters.

    Guarantee
    ---------
    epsilon-differential privacy (McSherry and Talwar; [Bild24 Thm 2], seed 003). Let neighbours' scores be s_i and
    s_i + a_i. The probability of i changes by the factor exp(rate a_i) / (weighted mean of exp(rate a_j)). In
    general |a_i| <= Delta, and the factor is within exp(+-2 rate Delta); for monotone scores all a_i lie in [0,
    Delta] (or all in [-Delta, 0]), and it is within exp(+-rate Delta).

    Assumptions
    -----------
    The scores' sensitivity is as stated. The sampling is exact: the probabilities are those of the rational numbers
    that the scores are, with no rounding, so there is no floating-point leak. Running time is not protected.

    Examples
    --------
    >>> mechanism = ExponentialMechanism(epsilon=1, sensitivity=1, monotone=True)
    >>> mechanism.select([0.0, 1000.0, 3.5])
    1
    >>> mechanism.cost()
    Fraction(1, 1)
    """

    __slots__ = ()

    def select(self, scores: ArrayLike | Sequence[Number], *, source: RandomSource = SYSTEM) -> int:
        """Return the position of one candidate.

        Notes
        -----
        Rejection sampling. Propose i with probability proportional to an integer W_i >= 2^b w_i, w_i = exp(-rate
        (max - s_i)), by a uniform integer below the sum of all W; accept with probability exactly 2^b w_i / W_i
        (`bernoulli_real`). Then i is returned with probability proportional to W_i (2^b w_i / W_i), that is to
        w_i. W_i is within 0.02 % of 2^b w_i where the mass is, so one proposal nearly always does. O(n) vectorised
        work.
        """
        weights = Weights.of(scores, self.rate)
        bits = TABLE_BITS - weights.size.bit_length()  # the sum of all bounds stays below 2^63
        bounds = weights.upper_bounds(bits)
        ends = np.cumsum(bounds)
        while True:
            proposed = int(np.searchsorted(ends, source.below(int(ends[-1])), side="right"))
            scale = Fraction(2**bits, int(bounds[proposed]))
            if bernoulli_real(weights.scaled(proposed, scale), source=source):
                return proposed
