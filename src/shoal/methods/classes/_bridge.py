"""The bridge between closeness and differential privacy: what one kind of promise says in the words of the other.

Every figure is rounded to the safe side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from shoal.errors import ParameterError
from shoal.exact import STARTING_BITS, Arguments, Number, above, ball, below, plain, round_up, working_precision
from shoal.guarantees import Strength
from shoal.methods.truthful.parameters import exact_delta, minimal_epsilon, parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One promise in the words of another."""

    #: The statement, in plain words.
    text: str
    #: What it rests on.
    strength: Strength = Strength.CONDITIONAL
    #: What must hold for it.
    assumptions: tuple[str, ...]
    #: Where it is proved.
    source: str
    #: The numbers in it by name.
    quantities: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.text} ({self.strength}; {self.source})"]
        return "\n".join([*lines, *(f"  assuming: {assumption}" for assumption in self.assumptions)])


@dataclass(frozen=True, slots=True)
class Bridge:
    """What follows from the numbers given."""

    statements: tuple[Statement, ...]

    def __str__(self) -> str:
        return "\n\n".join(str(statement) for statement in self.statements)


def bridge(
    *,
    t: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    k: int | None = None,
    beta: Number | None = None,
    records: int | None = None,
) -> Bridge:
    """Say what a promise means in the words of another kind of promise, with all assumptions.

    Parameters
    ----------
    t
        Multiplicative closeness, above 1: what it says as differential privacy. With ``k`` and ``records``, also the
        epsilon of confidential attributes that gives stochastic t-closeness.
    epsilon
        Differential privacy, above 0: the closeness that gives it. With ``delta``, the sampling rate and the threshold
        of truthful differential privacy. With ``k`` and ``records``, also the stochastic closeness that randomised
        confidential attributes give.
    k, beta
        Sampling with probability ``beta`` and suppressing below ``k``: the (epsilon, delta) that this gives.
    records
        The number of released records.

    Examples
    --------
    >>> print(bridge(t=2).statements[0].text)
    A release that is 2-close shows an intruder a person's confidential value with 1.3863-differential privacy.
    """
    arguments = Arguments("bridge")
    closeness = None if t is None else arguments.rational("t", t, "(1, inf)")
    loss = None if epsilon is None else arguments.rational("epsilon", epsilon, "(0, 40]")
    chance = None if delta is None else arguments.rational("delta", delta, "(0, 1)")
    rate = None if beta is None else arguments.rational("beta", beta, "(0, 1)")
    arguments.finish()
    _check(closeness, loss, chance, k, rate, records)
    found: list[Statement] = []
    if closeness is not None:
        found += _from_closeness(closeness)
        if k is not None and records is not None:
            found.append(_stochastic_from_t(closeness, k, records))
    elif rate is not None and k is not None:
        found += _from_threshold(k, rate, loss, chance)
    elif loss is not None and chance is not None:
        found.append(_from_budget(loss, chance))
    elif loss is not None:
        found.append(_from_epsilon(loss))
        if k is not None and records is not None:
            found.append(_stochastic_from_epsilon(loss, k, records))
    return Bridge(tuple(found))


def _from_closeness(t: Fraction) -> list[Statement]:
    epsilon = closeness_epsilon(t)
    with working_precision(STARTING_BITS):
        gain = round_up(ball(t).log())
    return [
        Statement(
            text=f"A release that is {plain(t)}-close shows an intruder a person's confidential value with "
            f"{_up(epsilon)}-differential privacy.",
            assumptions=PRIOR,
            source="t = exp(epsilon / 2), DFSC15 Prop. 3",
            quantities={"t": plain(t), "epsilon": epsilon},
        ),
        Statement(
            text=f"The release changes what the intruder believed about any value by a factor of at most {plain(t)}: "
            f"a gain of {_up(gain)} in the logarithm.",
            assumptions=PRIOR[:1],
            source="SC13 7.3.1",
            quantities={"t": plain(t), "epsilon": gain},
        ),
    ]


def _from_epsilon(epsilon: Fraction) -> Statement:
    t = closeness_factor(epsilon)
    return Statement(
        text=f"To show a person's confidential value with {plain(epsilon)}-differential privacy, a release has to be "
        f"{_down(t)}-close or closer.",
        assumptions=PRIOR,
        source="t = exp(epsilon / 2), DFSC15 Prop. 3",
        quantities={"epsilon": plain(epsilon), "t": t},
    )


def _stochastic_from_epsilon(epsilon: Fraction, k: int, records: int) -> Statement:
    t = stochastic_t(epsilon, records=records, smallest=k)
    return _stochastic(
        text=f"Classes of at least {k:,} of {records:,} records whose confidential values are randomised with "
        f"{plain(epsilon)}-differential privacy are stochastically {_up(t)}-close.",
        quantities={"epsilon": plain(epsilon), "k": k, "records": records, "t": t},
    )


def _stochastic_from_t(t: Fraction, k: int, records: int) -> Statement:
    epsilon = stochastic_epsilon(t, records=records, smallest=k)
    return _stochastic(
        text=f"For stochastic {plain(t)}-closeness of classes of at least {k:,} of {records:,} records, randomise "
        f"their confidential values with {_down(epsilon)}-differential privacy.",
        quantities={"t": plain(t), "k": k, "records": records, "epsilon": epsilon},
    )


def _stochastic(*, text: str, quantities: Mapping[str, object]) -> Statement:
    return Statement(text=text, assumptions=RANDOMISED, source="DFSC15 Prop. 1", quantities=quantities)


SAMPLED = (
    "Each record is sampled independently; the generalisation does not depend on the sample, and every released "
    "column is generalised by it.",
    "Neighbours: add or remove one record.",
)


def _from_budget(epsilon: Fraction, delta: Fraction) -> Statement:
    found = parameters(epsilon, delta)
    return Statement(
        text=f"For ({plain(epsilon)}, {float(found.delta):g})-differential privacy of real records, sample each with "
        f"probability {_down(float(found.beta))} and suppress every combination that appears fewer than {found.k:,} "
        "times.",
        strength=Strength.UNCONDITIONAL,
        assumptions=SAMPLED,
        source="LQS10 Thm 1",
        quantities={
            "epsilon": plain(epsilon),
            "delta": str(found.delta),
            "beta": str(found.beta),
            "k": found.k,
            "exact delta": found.exact_delta,
        },
    )


def _from_threshold(k: int, beta: Fraction, epsilon: Fraction | None, delta: Fraction | None) -> list[Statement]:
    if epsilon is not None:
        pairs = [(float(epsilon), exact_delta(k, beta, epsilon))]
    elif delta is not None:
        pairs = [(minimal_epsilon(k, beta, delta), float(delta))]
    else:
        with working_precision(STARTING_BITS):
            least = round_up(-ball(1 - beta).log())
        # from the least epsilon that the theorem speaks of
        pairs = [(loss, exact_delta(k, beta, loss)) for loss in (least, 1.5 * least, 2 * least) if loss <= 40]
    return [
        Statement(
            text=f"Sampling records with probability {plain(beta)} and suppressing every combination that appears "
            f"fewer than {k:,} times is ({_up(loss)}, {_up(chance)})-differentially private.",
            strength=Strength.UNCONDITIONAL,
            assumptions=SAMPLED,
            source="LQS10 Thm 1",
            quantities={"k": k, "beta": plain(beta), "epsilon": loss, "delta": chance},
        )
        for loss, chance in pairs
    ]


def _check(
    t: Fraction | None,
    epsilon: Fraction | None,
    delta: Fraction | None,
    k: int | None,
    beta: Fraction | None,
    records: int | None,
) -> None:
    if t is None and epsilon is None and (k is None or beta is None):
        raise ParameterError(
            "`bridge` needs something to start from",
            hint="give t, epsilon, epsilon and delta, or k and beta; k and records add stochastic closeness",
        )
    if t is not None and (epsilon is not None or delta is not None or beta is not None):
        raise ParameterError("`bridge` starts from t or from differential privacy, not from both.")
    if beta is not None and (k is None or records is not None):
        raise ParameterError("`beta` of `bridge` needs `k`, and cannot be combined with `records`.")
    if beta is None and (k is None) != (records is None):
        raise ParameterError(
            "`k` and `records` of `bridge` must be given together: the smallest class and the number of records."
        )
    if beta is not None and epsilon is not None and delta is not None:
        raise ParameterError("`bridge` computes epsilon or delta from `k` and `beta`; give one of them at most.")


def _up(value: float) -> str:
    """Return a decimal of five digits that is not below the value."""
    return _decimal(value, 1)


def _down(value: float) -> str:
    """Return a decimal of five digits that is not above the value."""
    return _decimal(value, -1)


def _decimal(value: float, direction: int) -> str:
    from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

    context = Context(prec=5, rounding=ROUND_CEILING if direction > 0 else ROUND_FLOOR)
    rounded = context.create_decimal(Decimal(value)).normalize()
    return f"{rounded:f}" if 1e-4 <= value < 1e9 else f"{rounded:e}"


PRIOR = (
    "Before seeing the release, the intruder believes about the person's confidential value what its distribution in "
    "the whole release says, and nothing more.",
    "Seeing the release, the intruder finds the class of the person and believes what the distribution in it says. An "
    "intruder who knows other people's values can learn more.",
    "It is about the confidential value as released, so about its bucket where values were replaced by buckets. Who is "
    "in the release is not hidden.",
)
"""What closeness must assume to be differential privacy of an intruder's view."""

RANDOMISED = (
    "The confidential values of every record are randomised independently of the others, all attributes of a record "
    "together with the stated epsilon.",
    "It is about the distribution that the released values are drawn from; the values drawn can differ from it.",
)
"""What stochastic closeness assumes."""


def closeness_epsilon(t: Number) -> float:
    """Return the epsilon with t = exp(epsilon / 2), rounded up [DFSC15 Prop. 3].

    >>> closeness_epsilon(2)
    1.3862943611198908
    """
    exact = _rational("t", t, "[1, inf)", "closeness_epsilon")
    return above(lambda: 2 * ball(exact).log())


def closeness_factor(epsilon: Number) -> float:
    """Return the t with t = exp(epsilon / 2), rounded down [DFSC15 Prop. 3].

    >>> closeness_factor(1)
    1.648721270700128
    """
    exact = _rational("epsilon", epsilon, "[0, 700]", "closeness_factor")
    return below(lambda: (ball(exact) / 2).exp())


def stochastic_t(epsilon: Number, *, records: int, smallest: int) -> float:
    """Return the t of stochastic closeness that randomised confidential attributes have, rounded up.

    ``epsilon`` is the differential privacy of the confidential attributes of one record, all together; a float means
    the decimal typed. ``records`` is N, and ``smallest`` the size of the smallest class.

    Guarantee
    ---------
    Stochastic t-closeness [DFSC15 Def. 3]: for every class E, the distribution from which the confidential values of E
    are drawn differs from the one of all records by a factor of at most

        t = max_E |E| / N (1 + (N - |E|) / |E| e^epsilon) = e^epsilon - (e^epsilon - 1) min_E |E| / N

    [DFSC15 Prop. 1, with N - |E| as its derivation has it; the closing formula prints N - |E| - 1, which is too small].

    Assumptions
    -----------
    The values of different records are randomised independently, and a change of the record's own values changes the
    probability of every output by a factor of at most e^epsilon (replace neighbours).

    Examples
    --------
    >>> stochastic_t(1, records=1000, smallest=5)
    2.7096904193167504
    >>> stochastic_t(1, records=10, smallest=10)
    1.0
    """
    exact = _rational("epsilon", epsilon, "(0, 700]", "stochastic_t")
    _check_sizes(records, smallest, "stochastic_t")
    return above(lambda: (smallest + (records - smallest) * ball(exact).exp()) / records)


def stochastic_epsilon(t: Number, *, records: int, smallest: int) -> float:
    """Return the greatest epsilon for which `stochastic_t` is at most t, rounded down.

    The inverse of the formula: e^epsilon = (t N - k) / (N - k) for the smallest class size k.

    Examples
    --------
    >>> epsilon = stochastic_epsilon(2, records=1000, smallest=5)
    >>> epsilon
    0.695656592165371
    >>> stochastic_t(epsilon, records=1000, smallest=5) <= 2
    True
    """
    exact = _rational("t", t, "(1, inf)", "stochastic_epsilon")
    _check_sizes(records, smallest, "stochastic_epsilon")
    if smallest == records:
        raise ParameterError(
            "`smallest` of `stochastic_epsilon` must be below `records`: a single class is 1-close whatever epsilon is."
        )
    return below(lambda: ball((exact * records - smallest) / (records - smallest)).log())


def _rational(name: str, value: Number, interval: str, owner: str) -> Fraction:
    arguments = Arguments(owner)
    exact = arguments.rational(name, value, interval)
    arguments.finish()
    return exact


def _check_sizes(records: int, smallest: int, owner: str) -> None:
    arguments = Arguments(owner)
    arguments.whole("records", records)
    arguments.whole("smallest", smallest)
    arguments.finish()
    if smallest > records:
        raise ParameterError(f"`smallest` of `{owner}` must be at most `records`; got {smallest} of {records}.")
