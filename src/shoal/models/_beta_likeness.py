"""beta-likeness: no sensitive value becomes much more likely in a class than in the release."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.exact import FLAG, Number, ball, fraction, logarithm, plain, sign, within
from shoal.guarantees import CLASSES, Words
from shoal.kernels.screening import Proportions
from shoal.models._model import KNOWN, PRIOR, REPLAY, Achieved, Capabilities, Mask, Scope
from shoal.models._multiplicative_closeness import likelihood_ratios
from shoal.models._ratios import Ratios
from shoal.models._sensitive import Rows, SensitiveModel
from shoal.tables import SensitiveAttribute


@dataclass(frozen=True, slots=True, repr=False)
class BetaLikeness(SensitiveModel):
    """The share of a sensitive value grows by at most beta times itself from the release to a class.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    beta
        The greatest relative gain, a number in [0, inf). A float means the decimal typed.
    enhanced
        Also bound the gain of value v by ``-ln q_v``, which keeps frequent values from becoming certain.

    Guarantee
    ---------
    Syntactic: ``(p_v - q_v) / q_v <= beta`` for every equivalence class E of the release and every value v with ``p_v >
    q_v``, p the distribution in E and q the one in the release; enhanced: ``<= min(beta, -ln q_v)`` (Cao and Karras
    2012, Def. 2 and 3; [Bild24, 2.1.4]). The logarithm of a rational number is irrational, so the enhanced bound is
    never met with equality, and ball arithmetic decides what rounding errors would leave open. Cost O(values present).

    Assumptions
    -----------
    What the intruder believed before is the distribution in the release. That a value becomes less likely, or
    impossible, is not covered. Each attribute is protected on its own; who is in the release is not hidden.

    Examples
    --------
    >>> BetaLikeness("diagnosis", 2, enhanced=True)
    BetaLikeness(attribute='diagnosis', beta=2, enhanced=True)
    """

    beta: Number = field(metadata=within("[0, inf)"))
    enhanced: bool = field(default=False, kw_only=True, metadata=FLAG)
    name: ClassVar[str] = "beta-likeness"
    advice: ClassVar[str] = "No secret becomes much more likely than in the whole table when the group is known."
    assumes: ClassVar[tuple[str, ...]] = (
        KNOWN,
        PRIOR,
        "A value may become less likely in a group, or be ruled out.",
        REPLAY,
    )

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            monotone_generalization=True,  # a mixture of probabilities does not exceed the greatest of them
            scope=Scope.REFERENCE,
            sensitive=(self.attribute,),
        )

    def proportions(self, attribute: SensitiveAttribute) -> Proportions | None:
        return Proportions(upper_factor=1 + float(fraction(self.beta)), upper_offset=0.0, exact=not self.enhanced)

    def weaker(self, factor: Fraction) -> BetaLikeness:
        """Return the plain model that allows ``factor`` times the gain."""
        return dataclasses.replace(self, beta=fraction(self.beta) * factor, enhanced=False)

    def decide_rows(self, rows: Rows) -> Mask:
        ratios, shares = _gains(rows)
        allowed = ratios.at_most(1 + fraction(self.beta))
        if self.enhanced:
            allowed &= _logarithmic(ratios, shares)
        return np.logical_and.reduceat(allowed, rows.starts)

    def strongest_of(self, rows: Rows) -> Achieved:
        """Return the greatest gain; infinite if it is more than the enhanced bound allows whatever beta is."""
        ratios, shares = _gains(rows)
        if self.enhanced and not _logarithmic(ratios, shares).all():
            return Achieved(beta=float("inf"))
        return Achieved(beta=max(Fraction(ratios.largest()) - 1, Fraction(0)))

    def statement(self, words: Words = CLASSES) -> str:
        more = "; the more frequent a value is in the whole release, the smaller the factor" if self.enhanced else ""
        return (
            f"{words.among}, no value of `{self.attribute}` is more than "
            f"{plain(1 + fraction(self.beta))} times as frequent as in the whole release{more}."
        )


def _gains(rows: Rows) -> tuple[Ratios, Ratios]:
    """Return p / q and q for every value present in a row."""
    totals, records = rows.totals(), rows.records
    shares = Ratios(totals[rows.codes], np.full(len(rows.codes), records))
    return likelihood_ratios(rows, totals, records), shares


def _logarithmic(ratios: Ratios, shares: Ratios) -> Mask:
    """Return where p <= q, or ``p / q - 1 <= -ln q``, exactly."""
    gains, bounds = ratios.quotients() - 1, -np.log(shares.quotients())
    verdict = gains < bounds
    # Quotients are right to 2^-51 and logarithms to 4 ulp and the error of their argument.
    near = np.abs(gains - bounds) <= 2.0**-48 * (1 + gains + bounds)
    for index in np.flatnonzero(near).tolist():
        gain, share = ratios[index] - 1, shares[index]
        # Not 0 for a gain > 0: the exponential of a rational number other than 0 is transcendental.
        verdict[index] = gain <= 0 or sign(lambda: -logarithm(share) - ball(gain)) > 0  # noqa: B023
    return verdict | ratios.at_most(Fraction(1))
