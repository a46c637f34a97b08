"""Choose one of many candidates by their scores: the exponential mechanism and permute-and-flip, sampled exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from shoal.errors import ParameterError
from shoal.exact import Number, positive, rational
from shoal.mechanisms._coins import below_real, bernoulli_real
from shoal.mechanisms._mechanism import Neighbours, check_neighbours
from shoal.mechanisms._random import SYSTEM, RandomSource
from shoal.mechanisms._weights import TABLE_BITS, Weights


@dataclass(frozen=True, slots=True, init=False)
class Selection(ABC):
    """Choose one of many candidates by their scores, privately."""

    #: The privacy cost of one selection. A float means what it prints: 0.1 is one tenth.
    epsilon: Fraction
    #: Delta: a bound on the change of every score between neighbours, all read as they print. If the scores are float
    #: sums, add a bound on their rounding error.
    sensitivity: Fraction
    #: Whether adding a record never lowers (or never raises) any score. The exponent may then be twice as large.
    monotone: bool
    #: The neighbour relation that the sensitivity is about.
    neighbours: Neighbours

    def __init__(
        self,
        *,
        epsilon: Number,
        sensitivity: Number,
        monotone: bool = False,
        neighbours: Neighbours = "add/remove",
    ) -> None:
        owner = type(self).__name__
        for name, value in (("epsilon", epsilon), ("sensitivity", sensitivity)):
            object.__setattr__(self, name, positive(value, name, owner))
        check_neighbours(neighbours, owner)
        if monotone and neighbours == "replace":
            raise ParameterError(
                f"`monotone` of `{owner}` must be False for neighbours that replace a record; got True.",
                hint="a replaced record is one removed and one added, so scores may move both ways",
            )
        object.__setattr__(self, "monotone", monotone)
        object.__setattr__(self, "neighbours", neighbours)

    @property
    def domain(self) -> str:
        """What goes in."""
        return "one score per candidate; the candidates do not depend on the data"

    @property
    def rate(self) -> Fraction:
        """The factor of the scores in the exponent: epsilon / Delta if monotone, else epsilon / (2 Delta)."""
        return self.epsilon / self.sensitivity / (1 if self.monotone else 2)

    def privacy_map(self, distance: Number) -> Fraction:
        """Return the epsilon between two inputs whose scores differ by at most ``distance`` each."""
        return self.epsilon * abs(rational(distance, "distance", type(self).__name__)) / self.sensitivity

    def cost(self, selections: int = 1) -> Fraction:
        """Return the epsilon spent on so many selections, whatever each learnt from those before; delta is 0."""
        return self.epsilon * selections

    @abstractmethod
    def select(self, scores: ArrayLike | Sequence[Number], *, source: RandomSource = SYSTEM) -> int:
        """Return the position of one candidate."""


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
