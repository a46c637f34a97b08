"""Multiplicative closeness: no sensitive value is t times more or less frequent in a class than in the release.

delta-disclosure privacy says the same of logarithms.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.exact import Number, Quantity, above, ball, enclosures, fraction, logarithm, plain, within
from shoal.guarantees import CLASSES, Words
from shoal.kernels import Counts
from shoal.kernels.screening import Proportions
from shoal.models._model import KNOWN, PRIOR, REPLAY, Achieved, Capabilities, Mask, Scope
from shoal.models._ratios import Ratios, arithmetic
from shoal.models._sensitive import Rows, SensitiveModel
from shoal.tables import SensitiveAttribute


@dataclass(frozen=True, slots=True, repr=False)
class FactorModel(SensitiveModel):
    """A model that bounds the factor by which the shares of values differ between a class and the release."""

    assumes: ClassVar[tuple[str, ...]] = (KNOWN, PRIOR, REPLAY)

    @property
    @abstractmethod
    def bound(self) -> Fraction | float:
        """The greatest factor allowed; a float where that is irrational."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            monotone_generalization=True,  # a mixture of probabilities stays between q / bound and bound q
            scope=Scope.REFERENCE,
            sensitive=(self.attribute,),
            factor=self.bound if isinstance(self.bound, Fraction) else None,
        )

    def proportions(self, attribute: SensitiveAttribute) -> Proportions | None:
        factor = float(self.bound)
        return Proportions(lower=1 / factor, upper_factor=factor, upper_offset=0.0, exact=True)


@dataclass(frozen=True, slots=True, repr=False)
class MultiplicativeCloseness(FactorModel):
    """t-closeness in the sense of differential privacy: probabilities change by a factor of at most t.

    Cost O(values present).

    Parameters
    ----------
    attribute
        The sensitive attribute. Values that are rarer than the classes cannot be present in all of them: gather values
        into buckets first.
    t
        The greatest factor allowed, a number in [1, inf). A float means the decimal typed.

    Guarantee
    ---------
    Syntactic: ``max_v max(p_v / q_v, q_v / p_v) <= t`` for every equivalence class E of the release, p the distribution
    in E and q the one in the release; infinite if a value of the release is missing in E [DFSC15, Def. 4 and Prop. 2].

    Conditional: with t = exp(epsilon / 2) the intruder's view of a person's value is epsilon-differentially private
    *if* the intruder's prior is the distribution in the release [DFSC15, Prop. 3].

    Assumptions
    -----------
    For the conditional statement, the prior above. Each attribute is protected on its own; who is in the release is not
    hidden.

    Examples
    --------
    >>> MultiplicativeCloseness("diagnosis", 2).statement()[:77]
    'Among records that share their quasi-identifiers, the share of every value of'
    """

    t: Number = field(metadata=within("[1, inf)"))
    name: ClassVar[str] = "multiplicative-closeness"
    advice: ClassVar[str] = "Belonging to a group changes the odds of any secret by a factor of at most t."

    @property
    def bound(self) -> Fraction:
        return fraction(self.t)

    def weaker(self, factor: Fraction) -> MultiplicativeCloseness:
        """Return the model that allows ``factor`` times the excess of the factor over 1."""
        return dataclasses.replace(self, t=1 + (fraction(self.t) - 1) * factor)

    def decide_rows(self, rows: Rows) -> Mask:
        return close(rows, fraction(self.t))

    def strongest_of(self, rows: Rows) -> Achieved:
        """Return the greatest factor; infinite if a row misses a value."""
        return Achieved(t=factor_of(rows))

    def statement(self, words: Words = CLASSES) -> str:
        return (
            f"{words.among}, the share of every value of `{self.attribute}` differs by a factor of at "
            f"most {plain(self.t)} from its share in the whole release."
        )


def likelihood_ratios(rows: Rows, totals: Counts, records: int) -> Ratios:
    """Return p / q = c N / (Q e) for every value present in a row.

    A row has e records, c of them with the value; the release has N = ``records``, Q of them with the value.
    """
    kind = arithmetic(int(rows.sizes.max(initial=0)) * records)
    sizes = np.repeat(rows.sizes.astype(kind), rows.lengths)
    return Ratios(rows.counts.astype(kind) * records, totals[rows.codes].astype(kind) * sizes)


def close(rows: Rows, factor: Fraction) -> Mask:
    """Return the rows with ``1 / factor <= p / q <= factor`` for every value of the release, exactly."""
    totals = rows.totals()
    verdict = _complete(rows, totals)
    if verdict.any():
        chosen = rows.select(verdict)
        ratios = likelihood_ratios(chosen, totals, rows.records)
        inside = ratios.at_most(factor) & ratios.at_least(1 / factor)
        verdict[verdict] = np.logical_and.reduceat(inside, chosen.starts)
    return verdict


def factor_of(rows: Rows) -> Quantity:
    """Return the greatest ``max(p / q, q / p)`` over all rows and values; infinite if a row misses a value."""
    totals = rows.totals()
    if not _complete(rows, totals).all():
        return float("inf")
    ratios = likelihood_ratios(rows, totals, rows.records)
    return max(Fraction(ratios.largest()), 1 / Fraction(ratios.smallest()))


def _complete(rows: Rows, totals: Counts) -> Mask:
    """Return the rows in which no value of the release is missing."""
    return np.asarray(rows.lengths == np.count_nonzero(totals))


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
    advice: ClassVar[str] = "The share of any secret in a group stays within a factor of its share in the whole table."

    @property
    def bound(self) -> float:
        return math.exp(min(float(fraction(self.delta)), 100.0))

    def weaker(self, factor: Fraction) -> DeltaDisclosure:
        """Return the model that allows ``factor`` times the difference."""
        return dataclasses.replace(self, delta=fraction(self.delta) * factor)

    def decide_rows(self, rows: Rows) -> Mask:
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
