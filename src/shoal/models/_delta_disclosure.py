"""delta-disclosure privacy: the logarithms of sensitive probabilities change by at most delta."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.exact import Number, above, ball, enclosures, fraction, logarithm, plain, within
from shoal.guarantees import CLASSES, Words
from shoal.models._model import Achieved, Mask
from shoal.models._multiplicative_closeness import FactorModel, close, factor_of
from shoal.models._sensitive import Rows


@dataclass(frozen=True, slots=True, repr=False)
class DeltaDisclosure(FactorModel):
    """The logarithm of the share of every sensitive value differs by at most delta between class and release.

    The same as :class:`MultiplicativeCloseness` with t = exp(delta). That is irrational, so the ratios of counts are
    compared with both ends of a ball around it; the ball shrinks until both agree. Cost O(values present).

    Parameters
    ----------
    attribute
        The sensitive attribute.
    delta
        The greatest difference of natural logarithms, a number in [0, inf). A float means the decimal typed. For binary
        logarithms, as other tools use, multiply by ln 2 = 0.693.

    Guarantee
    ---------
    Syntactic: ``|ln(p_v / q_v)| <= delta`` for every equivalence class E of the release and every value v of the
    release, p the distribution in E and q the one in the release; a value that is missing in E violates it (Brickell
    and Shmatikov 2008; the distance is that of [DFSC15, Def. 4]). The definition has ``<``. That is the same for delta
    > 0, because the logarithm of a rational number other than 1 is irrational; here 0 asks for equal distributions.

    Assumptions
    -----------
    What the intruder believed before is the distribution in the release. Each attribute is protected on its own; who is
    in the release is not hidden.

    Examples
    --------
    >>> DeltaDisclosure("diagnosis", 1.5)
    DeltaDisclosure(attribute='diagnosis', delta=1.5)
    """

    delta: Number = field(metadata=within("[0, inf)"))
    name: ClassVar[str] = "delta-disclosure"

    @property
    def bound(self) -> float:
        """The greatest factor allowed."""
        return math.exp(min(float(fraction(self.delta)), 100.0))

    def weaker(self, factor: Fraction) -> DeltaDisclosure:
        """Return the model that allows ``factor`` times the difference."""
        return dataclasses.replace(self, delta=fraction(self.delta) * factor)

    def satisfied(self, rows: Rows) -> Mask:
        """Return the rows in which no share of a value differs by more than a factor exp(delta)."""
        # Ratios of 64-bit counts are below exp(88): a greater delta asks for the presence of every value alone.
        delta = min(fraction(self.delta), Fraction(100))
        for low, high in enclosures(lambda: ball(delta).exp()):
            verdict = close(rows, low)
            if low == high or np.array_equal(verdict, close(rows, high)):
                break
        return verdict

    def strongest_of(self, rows: Rows) -> Achieved:
        """Return the greatest difference of logarithms, rounded up; infinite if a row misses a value."""
        factor = factor_of(rows)
        if factor in (1, float("inf")):
            return Achieved(delta=0 if factor == 1 else factor)
        return Achieved(delta=above(lambda: logarithm(fraction(factor))))

    def statement(self, words: Words = CLASSES) -> str:
        return (
            f"{words.among}, the natural logarithm of the share of every value of "
            f"`{self.attribute}` differs by at most {plain(self.delta)} from the one in the whole release."
        )
