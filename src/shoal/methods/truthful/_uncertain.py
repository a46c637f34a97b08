"""Uncertain differential privacy: what an algorithm promises when its input is sampled first."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import ParameterError
from shoal.exact import STARTING_BITS, Number, ball, fraction, rational, round_up, working_precision
from shoal.methods.truthful._worst_case import Definition, check_definition


@dataclass(frozen=True, slots=True, init=False)
class UncertainPrivacy:
    """(beta, epsilon, delta)-UDP: sampling with probability beta, then the algorithm, is (epsilon, delta)-private.

    Guarantee
    ---------
    [LQS10 Def. 4] (seed 002), add/remove neighbours.

    Examples
    --------
    >>> laplace = UncertainPrivacy(beta=1, epsilon=1, delta=0)
    >>> round(float(laplace.sampled_at("0.1").epsilon), 4)
    0.1586
    """

    #: 1 says that the algorithm is (epsilon, delta)-differentially private without sampling.
    beta: Fraction
    epsilon: Fraction
    delta: Fraction
    definition: Definition

    def __init__(self, *, beta: Number, epsilon: Number, delta: Number, definition: Definition = "standard") -> None:
        owner = "UncertainPrivacy"
        for name, value in (("beta", beta), ("epsilon", epsilon), ("delta", delta)):
            object.__setattr__(self, name, rational(value, name, owner))
        object.__setattr__(self, "definition", definition)
        for name, fits, interval in (
            ("beta", 0 < self.beta <= 1, "(0, 1]"),
            ("epsilon", self.epsilon >= 0, "[0, infinity)"),
            ("delta", 0 <= self.delta < 1, "[0, 1)"),
        ):
            if not fits:
                value = float(getattr(self, name))
                raise ParameterError(f"`{name}` of `{owner}` must be in {interval}; got {value!r}.")
        check_definition(definition, owner)

    def sampled_at(self, beta: Number) -> UncertainPrivacy:
        """Return what the same algorithm promises at the smaller sampling rate ``beta``: amplification.

        With b = beta / self.beta: epsilon' = ln(1 + b (e^epsilon - 1)), rounded up, and delta' = b delta.

        Guarantee
        ---------
        For delta = 0 [LQS10 Thm 3]. The seed leaves delta > 0 open; for the standard definition it holds as
        follows. Let X be the output on the sampled rest and Y the output on the sampled rest with the record. By
        convexity Y(S) <= e^epsilon X(S) + delta and X(S) <= e^epsilon Y(S) + delta. The output with the record in
        the data is Z = (1 - b) X + b Y, hence Z(S) <= (1 + b (e^epsilon - 1)) X(S) + b delta. In the other
        direction Z >= (1 - b) X + b e^-epsilon (X - delta), so X <= (Z + b e^-epsilon delta) / (1 - b (1 -
        e^-epsilon)) <= e^epsilon' Z + b delta, because (1 - b (1 - e^-epsilon)) (1 + b (e^epsilon - 1)) >= 1 and 1
        - b (1 - e^-epsilon) >= e^-epsilon.

        Raises
        ------
        ParameterError
            If ``beta`` is larger than the present rate, or delta > 0 under the probabilistic definition, where
            nothing is proved.
        """
        rate = rational(beta, "beta", "sampled_at")
        if not 0 < rate <= self.beta:
            raise ParameterError(f"`beta` of `sampled_at` must be in (0, {float(self.beta)!r}]; got {float(rate)!r}.")
        if self.definition == "probabilistic" and self.delta > 0:
            raise ParameterError(
                f"`delta` of `sampled_at` must be 0 under the probabilistic definition; got {float(self.delta)!r}.",
                hint="use definition='standard', or compute the parameters at the smaller rate",
            )
        share = rate / self.beta
        with working_precision(STARTING_BITS):
            amplified = (ball(share) * ball(self.epsilon).expm1()).log1p()
            epsilon = min(fraction(round_up(amplified)), self.epsilon)
        return UncertainPrivacy(beta=rate, epsilon=epsilon, delta=share * self.delta, definition=self.definition)


def compose(*parts: UncertainPrivacy) -> UncertainPrivacy:
    """Return what running all parts promises, *each on a fresh sample of its own*: epsilons and deltas add.

    Guarantee
    ---------
    [LQS10 Thm 2] (seed 002) for independent samples. The seed's Definition 4 would let the parts share one sample;
    its proof then fails, and so does the statement: two releases of one sample by different schemes can be
    subtracted to show a single record (see docs/explanation/truthful-parameters.md).

    Examples
    --------
    >>> part = UncertainPrivacy(beta="0.5", epsilon="0.25", delta="1e-7")
    >>> both = compose(part, part)
    >>> float(both.epsilon), float(both.delta)
    (0.5, 2e-07)
    """
    if not parts:
        raise ParameterError("`parts` of `compose` must hold at least one guarantee; got none.")
    if len({(part.beta, part.definition) for part in parts}) > 1:
        raise ParameterError(
            "`parts` of `compose` must have one sampling rate and one definition; got several.",
            hint="bring them to the smallest rate with `sampled_at`",
        )
    return UncertainPrivacy(
        beta=parts[0].beta,
        epsilon=sum((part.epsilon for part in parts), Fraction(0)),
        delta=sum((part.delta for part in parts), Fraction(0)),
        definition=parts[0].definition,
    )
