"""Knowledge refinement: move what the analyst believes towards the truth, as far as privacy allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.exact import Number, ball, positive, precisions, rational, working_precision
from shoal.mechanisms._coins import WeightedChoice, bernoulli_real
from shoal.mechanisms._mechanism import Neighbours
from shoal.mechanisms._priors import AbsoluteDistance, CategoricalPrior, Distance, NominalDistance, Prior, as_array
from shoal.mechanisms._random import SYSTEM, RandomSource

QueryKind = Literal["individual", "statistical"]

# of floats; probabilities are exact whatever the exponent
LARGEST_EXPONENT = 700.0


@dataclass(frozen=True, slots=True, init=False)
class Refinement:
    """Sample the prior with the mass near the true answer raised and the mass far from it lowered.

    Parameters
    ----------
    prior
        P_f, what the analyst believes; chosen without the data.
    epsilon : number, above 0
        The privacy cost of one answer.
    query : "individual" or "statistical"
        Whether the answer depends on one record only, or on any number of them.
    distance
        What near means; by default the absolute distance for numbers and the nominal one for categories.
    delta : number in [0, 1)
        Above 0, more mass is moved from the farthest values to the true one.
    balance : number in (0, 1)
        For statistical queries: a_u = e^(balance epsilon) and a_d = e^(-(1 - balance) epsilon).

    Guarantee
    ---------
    [SC13 5.1-5.2] (seed 000). Values near the answer get the factor a_u, the others a_d, where p_u = (1 - a_d) / (a_u
    - a_d) is the mass of the ball with factor a_u; the shell of one distance where the ball's mass passes p_u gets
    what makes the sum 1, a factor in [a_d, a_u] (Algorithm 5.1 with the masses of the primed sets). *Individual*
    (Prop. 3): a_u = e^epsilon, a_d = e^-epsilon; an absent record is answered from the prior itself, and the factors
    bound the ratio to it: epsilon-differential privacy for neighbours that add or remove the record. *Statistical*
    (Prop. 2): a_u / a_d = e^epsilon bounds the ratio between any two tables.

    With delta, mass m is moved from the farthest values to the true one. [SC13 5.2] takes m = delta (individual) and
    m = delta / 2 (statistical); the set that loses m then breaks P[S] <= e^epsilon P'[S] + delta by e^epsilon m -
    delta. Here m = delta e^-epsilon and m = delta / (1 + e^epsilon), which keep it: P(S) <= e^epsilon Q(S) <=
    e^epsilon (R(S) + m), and in the statistical case R(S) <= Q(S) + m <= e^epsilon Q'(S) + m <= e^epsilon (R'(S) + m)
    + m, Q before and R after the move.

    Assumptions
    -----------
    One record per person. The prior and the distance are chosen without the data. Sampling is exact. Running time is
    not protected; it depends on the size of the prior, hardly on the answer.

    Notes
    -----
    O(n log n) for a prior of n values. The distribution itself is never released: only a sample is private.

    Examples
    --------
    >>> from shoal.mechanisms import CategoricalPrior
    >>> mechanism = Refinement(CategoricalPrior({"0": "0.99", "1": "0.01"}), epsilon=1, query="individual")
    >>> round(float(mechanism.mass_raised), 4)
    0.2689
    >>> mechanism.release("1") in ("0", "1")
    True
    """

    prior: Prior
    epsilon: Fraction
    query: QueryKind
    distance: Distance
    delta: Fraction
    balance: Fraction

    def __init__(
        self,
        prior: Prior,
        *,
        epsilon: Number,
        query: QueryKind,
        distance: Distance | None = None,
        delta: Number = 0,
        balance: Number = "0.5",
    ) -> None:
        near = NominalDistance() if isinstance(prior, CategoricalPrior) else AbsoluteDistance()
        object.__setattr__(self, "prior", prior)
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon", "Refinement"))
        object.__setattr__(self, "query", query)
        object.__setattr__(self, "distance", near if distance is None else distance)
        object.__setattr__(self, "delta", rational(delta, "delta", "Refinement"))
        object.__setattr__(self, "balance", rational(balance, "balance", "Refinement"))
        if query not in get_args(QueryKind):
            raise ParameterError(f"`query` of `Refinement` must be 'individual' or 'statistical'; got {query!r}.")
        if not 0 <= self.delta < 1:
            raise ParameterError(f"`delta` of `Refinement` must be in [0, 1); got {delta!r}.")
        if not 0 < self.balance < 1:
            raise ParameterError(f"`balance` of `Refinement` must be in (0, 1); got {balance!r}.")
        # a distance that does not know the prior's values fails here, and never for some answers only
        if self.distance.ranks(prior, 0).shape != (len(prior.weights),):
            raise ParameterError("`distance` of `Refinement` must rank every value of the prior.")

    @property
    def domain(self) -> str:
        """What goes in."""
        return f"one of {len(self.prior.weights)} values of the prior, or none"

    @property
    def neighbours(self) -> Neighbours | Literal["any two tables"]:
        """The neighbour relation of the guarantee."""
        return "add/remove" if self.query == "individual" else "any two tables"

    @property
    def mass_raised(self) -> float:
        """p_u, the prior mass that is raised."""
        up, down = (math.exp(-float(exponent)) for exponent in self.exponents)
        return up * (1 - down) / (1 - up * down)

    @property
    def exponents(self) -> tuple[Fraction, Fraction]:
        """The pair (u, v) with a_u = e^u and a_d = e^-v [SC13 Table 5.2]."""
        if self.query == "individual":
            return self.epsilon, self.epsilon
        return self.balance * self.epsilon, (1 - self.balance) * self.epsilon

    def privacy_map(self, records: int) -> tuple[Fraction, Fraction]:
        """Return (epsilon, delta) for so many records added or removed that the answer depends on: 1, or 0 of them."""
        affected = min(records, 1)
        return affected * self.epsilon, affected * self.delta

    def release(self, answer: str | Number | None, *, source: RandomSource = SYSTEM) -> str | int | float:
        """Return a sample of the refined prior; None says that there is no record to answer from.

        An answer that the prior cannot place (a category that it does not know, no finite number) is answered from
        the prior as well, so that no answer is refused. A source other than the system's is for tests.
        """
        position = None if answer is None else self.prior.position(answer)
        # both are drawn: the time must not tell whether there is a record
        refined, unrefined = _Refined(self, position or 0).draw(source), _draw(as_array(self.prior), source)
        return self.prior.value(unrefined if position is None else refined)

    def interval(self, confidence: float = 0.95) -> int | float | None:
        """Return a with P[abs(response - answer) <= a] >= confidence whatever the answer is; None for categories.

        A ball of prior mass c has mass min(a_u c, 1 - a_d (1 - c)) after the refinement. Delta only helps.
        """
        if isinstance(self.prior, CategoricalPrior):
            return None
        weights = as_array(self.prior)
        needed, size = self._mass_for(confidence) * int(weights.sum()), weights.size
        ends = np.concatenate(([0], np.cumsum(weights)))
        centre, low, high = np.arange(size), 0, size - 1
        while low < high:
            radius = (low + high) // 2
            mass = ends[np.minimum(centre + radius + 1, size)] - ends[np.maximum(centre - radius, 0)]
            low, high = (low, radius) if mass.min() >= needed else (radius + 1, high)
        exact = low * self.prior.step
        return int(exact) if exact.denominator == 1 else float(exact)

    def certainty(self) -> float:
        """Return the probability that the response is the answer, for the value where it is smallest."""
        weights = as_array(self.prior)
        mass = float(weights.min()) / float(weights.sum())
        up, down = (min(float(exponent), LARGEST_EXPONENT) for exponent in self.exponents)
        return min(math.exp(up) * mass, 1 - math.exp(-down) * (1 - mass))

    def _mass_for(self, confidence: float) -> float:
        """Return the prior mass of a ball that has this probability after the refinement."""
        up, down = (min(float(exponent), LARGEST_EXPONENT) for exponent in self.exponents)
        return max(confidence * math.exp(-up), 1 - (1 - confidence) * math.exp(down), 0.0)


class _Refined:
    """The prior refined around one true answer. Never leaves this module: it tells the answer."""

    def __init__(self, mechanism: Refinement, position: int) -> None:
        self.mechanism, self.position = mechanism, position
        ranks, weights = mechanism.distance.ranks(mechanism.prior, position), as_array(mechanism.prior)
        self.order = np.argsort(ranks, kind="stable")
        self.weights, self.ranks = weights[self.order], ranks[self.order]
        self.total = int(weights.sum())
        by_rank = np.zeros(int(self.ranks[-1]) + 1, dtype=np.int64)
        np.add.at(by_rank, self.ranks, self.weights)
        self.ends = np.cumsum(by_rank)
        # U'_u is all ranks whose balls stay within p_u; the next rank is the shell
        self.shell = int(np.searchsorted(self.ends, _threshold(*mechanism.exponents, self.total), side="right"))

    def draw(self, source: RandomSource) -> int:
        """Return a position of the prior: a region by its refined mass, a value in it by the prior, then the move."""
        region = WeightedChoice(self._regions).draw(source=source)
        low, high = np.searchsorted(self.ranks, (self.shell, self.shell + 1))
        start, stop = ((0, low), (low, high), (high, self.ranks.size))[region]
        value = start + _draw(self.weights[start:stop], source)
        rank = int(self.ranks[value])
        if self.mechanism.delta and bernoulli_real(lambda: self._moved(rank), source=source):
            return self.position
        return int(self.order[value])

    def _before(self, rank: int) -> int:
        return int(self.ends[rank - 1]) if rank else 0

    def _factors(self) -> tuple[Any, Any]:
        up, down = self.mechanism.exponents
        return ball(up).exp(), (-ball(down)).exp()

    def _regions(self) -> list[Any]:
        """Return the refined masses of U'_u, the shell and U'_d; the shell's makes the sum 1."""
        up, down = self._factors()
        raised = up * self._before(self.shell)
        lowered = down * (self.total - int(self.ends[self.shell]))
        return [raised, (self.total - raised - lowered).nonnegative_part(), lowered]

    def _rank_mass(self, rank: int) -> Any:
        shell = self._regions()[1]
        up, down = self._factors()
        weight = int(self.ends[rank]) - self._before(rank)
        mass = shell if rank == self.shell else (up if rank < self.shell else down) * weight
        return mass / self.total

    def _moved(self, rank: int) -> Any:
        """Return the part of a rank's mass that goes to the true value: the farthest ranks go first, up to m."""
        up, down = self._factors()
        epsilon = ball(self.mechanism.epsilon)
        # e^epsilon m, or (1 + e^epsilon) m, is what the move may cost
        cost = epsilon.exp() if self.mechanism.query == "individual" else 1 + epsilon.exp()
        moved = ball(self.mechanism.delta) / cost
        if rank >= self.shell:
            beyond = down * (self.total - int(self.ends[rank])) / self.total
        else:
            beyond = 1 - up * int(self.ends[rank]) / self.total
        share = (moved - beyond) / self._rank_mass(rank)
        return share.max(ball(Fraction(0))).min(ball(Fraction(1)))


def _draw(weights: NDArray[np.int64], source: RandomSource) -> int:
    ends = np.cumsum(weights)
    return int(np.searchsorted(ends, source.below(int(ends[-1])), side="right"))


@lru_cache(maxsize=256)
def _threshold(up: Fraction, down: Fraction, total: int) -> int:
    """Return floor(p_u total); where that cannot be decided both neighbours give the same distribution."""
    for bits in precisions():
        with working_precision(bits):
            raised, lowered = ball(up).exp(), (-ball(down)).exp()
            mass = (1 - lowered) / (raised - lowered) * total
            threshold = mass.floor().unique_fmpz()
        if threshold is not None:
            return int(threshold)
    return int(mass.mid().floor().unique_fmpz())
