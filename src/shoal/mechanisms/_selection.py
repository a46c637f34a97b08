"""Choose one of many candidates by their scores: the exponential mechanism and permute-and-flip, sampled exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ParameterError
from shoal.exact import STARTING_BITS, Number, ball, fraction, positive, rational, working_precision
from shoal.mechanisms._coins import below_real, bernoulli_real
from shoal.mechanisms._mechanism import Neighbours, check_neighbours
from shoal.mechanisms._random import SYSTEM, RandomSource


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


TABLE_BITS = 62
STEPS_PER_HALVING = 1 << 12
BLUR = 2.0**-50
SMALLEST = 2.0**-1000


@dataclass(frozen=True, slots=True)
class Weights:
    """Exponential weights of many candidates: exact where it counts, bounded from above everywhere else.

    Candidate i has the weight w_i = exp(-x_i), x_i = rate (max score - score_i), a rational exponent. Samplers propose
    from integers W_i >= 2^bits w_i, which vectorised arithmetic can give, and then correct the proposal with the exact
    w_i of the one candidate proposed.

    A score means what it prints. ``blur`` bounds how far the doubles in ``scores`` are from that, relative to their
    size: 0 for whole numbers and rationals, which are held as they are.
    """

    scores: NDArray[Any]
    best: Fraction
    rate: Fraction
    blur: float = 0.0

    @classmethod
    def of(cls, scores: ArrayLike | Sequence[Number], rate: Fraction) -> Weights:
        """Take scores as they are: floats and integers as NumPy arrays, rationals as objects."""
        given = _checked(np.asarray(scores))
        if given.dtype == object:
            return cls(given, max(given), rate)
        whole = bool((np.abs(given) <= 2**53).all() and (given == np.rint(given)).all())
        # shortest decimals are in the order of their doubles, each within half a unit in the last place
        return cls(given, fraction(given.max().item()), rate, 0.0 if whole else BLUR)

    @property
    def size(self) -> int:
        """The number of candidates."""
        return int(self.scores.size)

    def scaled(self, i: int, scale: Fraction = Fraction(1)) -> Callable[[], Any]:
        """Return a function that encloses scale w_i by a ball at the working precision."""
        score = fraction(self.scores[i].item() if self.is_plain else self.scores[i])
        exponent = self.rate * (self.best - score)
        return lambda: ball(scale) * (-ball(exponent)).exp()

    @property
    def is_plain(self) -> bool:
        """Whether the scores are machine numbers, not rational objects."""
        return self.scores.dtype != object

    def upper_bounds(self, bits: int) -> NDArray[np.int64]:
        """Return integers W_i >= 2^bits w_i, at most 1 + 2^bits w_i (1 + 2^-12) wherever that matters.

        Only addition, subtraction and multiplication of IEEE 754 doubles are trusted, each with a relative error
        of at most 2^-53; no library's exp or log is. Let y_i = x_i / ln 2, so that w_i = 2^-y_i. The gap (where
        decimals are not doubles, lowered by more than the two differ, see `_gaps`), the
        factor rate / ln 2 and their product are three roundings, so (computed product) (1 - 2^-50) <= y_i. Rounded
        down to t / 4096, the bound is 2^-(t / 4096) = 2^-(t div 4096) 2^-((t mod 4096) / 4096), a shift of an
        entry of a table that was rounded up in ball arithmetic; the shift rounds down and the 1 makes up for it.
        """
        with np.errstate(over="ignore"):
            halvings = np.minimum(self._gaps() * self._factor() * (1 - 2.0**-50), 64.0)
        steps = (halvings * STEPS_PER_HALVING).astype(np.int64)
        shifts = np.minimum(steps // STEPS_PER_HALVING + (TABLE_BITS - bits), 63)
        return (_table()[steps % STEPS_PER_HALVING] >> shifts) + 1

    def _gaps(self) -> NDArray[np.float64]:
        """Return max - score: correctly rounded for exact scores, else rounded and no more than the exact gap.

        With m the larger magnitude, each decimal is within 2^-53 m of its double, and the two subtractions round by at
        most 2^-52 m each; 2^-50 m covers them all. Below the normal doubles the smallest one covers them.
        """
        try:
            with np.errstate(over="raise"):
                best: Fraction | float = float(self.best) if self.is_plain else self.best
                gaps: NDArray[np.float64] = (best - self.scores).astype(np.float64, copy=False)
                if not self.blur:
                    return gaps
                size = np.maximum(abs(float(best)), np.abs(self.scores))
                lowered: NDArray[np.float64] = np.maximum(gaps - (size * self.blur + SMALLEST), 0.0)
                return lowered
        except (FloatingPointError, OverflowError):
            raise ParameterError(
                "`scores` of a selection must differ by less than 2^1024; some differ by more."
            ) from None

    def _factor(self) -> float:
        from flint import arb

        with working_precision(STARTING_BITS):
            factor = float((ball(self.rate) / arb.const_log2()).mid())
        if not 2.0**-1000 < factor < 2.0**1000:
            raise ParameterError(
                "`epsilon` / `sensitivity` of a selection must be in (2^-1000, 2^1000).",
                hint="scale the scores so that their sensitivity is near 1",
            )
        return factor


@cache
def _table() -> NDArray[np.int64]:
    """Return ceil(2^(62 - f / 4096)) for f = 0 .. 4095."""
    from flint import arb

    with working_precision(STARTING_BITS):
        powers = ((-arb.const_log2() * f / STEPS_PER_HALVING).exp() * 2**TABLE_BITS for f in range(STEPS_PER_HALVING))
        return np.array([int(power.upper().ceil().unique_fmpz()) for power in powers], dtype=np.int64)


def _checked(scores: NDArray[Any]) -> NDArray[Any]:
    """Return scores that doubles hold exactly as doubles, and others as rationals."""
    if scores.ndim != 1 or scores.size == 0:
        raise ParameterError(f"`scores` of a selection must be one non-empty list; got shape {scores.shape}.")
    if scores.dtype.kind == "f" and scores.dtype.itemsize <= 8:
        unusable = int((~np.isfinite(scores)).sum())
        if unusable:
            raise ParameterError(f"`scores` of a selection must be finite; {unusable} are not.")
        return scores.astype(np.float64, copy=False)
    if scores.dtype.kind in "iu":
        if max(abs(int(scores.max())), abs(int(scores.min()))) <= 2**53:
            return scores.astype(np.float64)
        scores = scores.astype(object)
    if scores.dtype == object:
        return np.array([rational(score, "scores", "selection") for score in scores], dtype=object)
    raise ParameterError(f"`scores` of a selection must be numbers; got {scores.dtype}.")
