"""How fast a worse breach becomes less likely."""

from __future__ import annotations

from collections.abc import Iterable

from shoal.exact import STARTING_BITS, Number, ball, round_up, working_precision
from shoal.methods.truthful._ranges import worst_case
from shoal.methods.truthful._worst_case import Definition

__all__ = ["chernoff_delta", "smoothness"]


def smoothness(
    k: int, beta: Number, epsilons: Iterable[Number], *, definition: Definition = "probabilistic"
) -> list[float]:
    """Return the curve epsilon' -> d(k, beta, epsilon'), each value rounded up.

    The operator keeps all these pairs at once: a worse breach of epsilon is less likely [Bild24 Thm 11].

    Examples
    --------
    >>> from shoal.methods.truthful.parameters import sampling_rate
    >>> ["%.1e" % delta for delta in smoothness(75, sampling_rate(1), [1, "1.5", 2])]
    ['9.0e-07', '1.1e-09', '1.5e-11']
    """
    return [worst_case(k, beta, epsilon, definition, "smoothness").maximum(k) for epsilon in epsilons]


def chernoff_delta(k: int, beta: Number, epsilon: Number) -> float:
    """Return the Chernoff bound of [LQS10 Thm 6] on d(k, beta, epsilon), rounded up.

    exp(-k (ln(gamma / beta) - (gamma - beta) / gamma)), gamma = 1 - (1 - beta) e^-epsilon. Its ratio at epsilon' =
    z epsilon to epsilon is the function f of f-smooth (epsilon, delta)-privacy. Far above `exact_delta`; it is
    here for comparison and for proofs.

    Notes
    -----
    The seed's proof replaces n_m = ceil(k / gamma) - 1 by k / gamma, which is larger. The bound holds all the
    same: Chernoff at the threshold j gives T(j; n) <= exp(-(j ln(j / (beta n)) - j + beta n)), which increases
    with n up to n = j / beta; put n = j / gamma, then j = k.

    Examples
    --------
    >>> round(chernoff_delta(75, "0.632", 1), 4)
    0.0359
    """
    case = worst_case(k, beta, epsilon, "probabilistic", "chernoff_delta")
    with working_precision(STARTING_BITS):
        b = ball(case.beta)
        gamma = 1 - (1 - b) * (-ball(case.epsilon)).exp()
        return min(1.0, round_up((-k * ((gamma / b).log() - (gamma - b) / gamma)).exp()))
