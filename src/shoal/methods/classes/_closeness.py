"""Formulas between closeness and differential privacy; every figure is rounded to the safe side."""

from __future__ import annotations

from fractions import Fraction

from shoal.errors import ParameterError
from shoal.exact import Arguments, Number, above, ball, below

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
