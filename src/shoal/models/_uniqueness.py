"""Uniqueness: few are the only ones with their quasi-identifiers, in the table or by an estimate in the population."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from shoal.exact import (
    STARTING_BITS,
    Number,
    above,
    ball,
    fraction,
    one_of,
    plain,
    within,
    working_precision,
)
from shoal.guarantees import CLASSES, Words
from shoal.kernels.superpopulation import SizeCounts
from shoal.models._model import (
    KNOWN,
    SIZE_ALONE,
    Achieved,
    Capabilities,
    Mask,
    Model,
    ReleaseModel,
    Scope,
    costs_of,
    select_occupied,
)
from shoal.models._population_estimates import by_pitman, by_slide_negative_binomial, by_zayatz, zayatz_fraction
from shoal.tables import Classes

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, slots=True, repr=False)
class SampleUniqueness(ReleaseModel):
    """At most a given share of the released records are alone in their class.

    Parameters
    ----------
    share
        The greatest share of unique records, a number in [0, 1]. A float means the decimal typed.

    Guarantee
    ---------
    Syntactic: the number of classes of one record over the number of released records is at most ``share``. With 0 it
    is 2-anonymity [Bild24, 2.1.4, Def. 1].

    :meth:`keep` removes as few unique records as needed, those that cost most if released. No choice suppresses
    fewer records, as removing others raises the share. Cost O(classes).

    Assumptions
    -----------
    Uniqueness in the release bounds uniqueness in the population from above. It says nothing about records that two or
    three share, and sensitive values are not protected.

    Examples
    --------
    >>> import numpy as np
    >>> SampleUniqueness(0.1).keep(Classes(sizes=np.array([1, 9, 1])), np.array([True, True, True])).tolist()
    [True, True, False]
    """

    share: Number = field(metadata=within("[0, 1]"))
    name: ClassVar[str] = "sample-uniqueness"
    advice: ClassVar[str] = "At most this share of the released people are unique."
    assumes: ClassVar[tuple[str, ...]] = (
        KNOWN,
        "Records that look like only one or two others are not covered.",
        SIZE_ALONE,
    )

    def keep(self, classes: Classes, kept: Mask) -> Mask:
        result = select_occupied(classes, kept)
        unique = np.flatnonzero(result & (classes.crowds == 1))
        others = int(classes.crowds[result].sum()) - len(unique)
        share = fraction(self.share)
        # u unique records are allowed where u / (u + others) <= share
        allowed = len(unique) if share == 1 else int(others * share / (1 - share))
        unique = unique[np.argsort(costs_of(classes)[unique], kind="stable")]
        result[unique[allowed:]] = False
        return result

    def strongest(self, classes: Classes, released: Mask) -> Achieved:
        sizes = classes.crowds[released]
        return Achieved(share=Fraction(int((sizes == 1).sum()), int(sizes.sum())))

    def statement(self, words: Words = CLASSES) -> str:
        if words.person is not None:
            alone = f"the only one with {words.quasi_identifiers('their')}"
            none = f"Nobody is {alone} in any class."
            some = f"The share of persons in classes who are {alone} is at most {plain(self.share)}."
            return none if fraction(self.share) == 0 else some
        if fraction(self.share) == 0:
            return f"No record is the only one with {words.quasi_identifiers('its')}."
        theirs = words.quasi_identifiers("their")
        return f"The share of records that are the only one with {theirs} is at most {plain(self.share)}."


Estimator = Literal["dankar", "zayatz", "pitman", "snb"]

#: up to this sampling fraction Dankar's rule trusts Pitman's model
_SMALL = Fraction(1, 10)
#: figures have seven digits and are rounded up
_SHORT = Context(prec=7, rounding=ROUND_CEILING)
_WHOSE = {
    "dankar": "by the rule of Dankar and others",
    "zayatz": "by Zayatz's model",
    "pitman": "by Pitman's model",
    "snb": "by the slide negative binomial model",
}


@dataclass(frozen=True, slots=True, repr=False)
class EstimatedUniqueness(Model):
    """By an estimate, at most a given share of the population is alone with its values. An estimate is no bound.

    For samples of a population of which there is no table, as ARX offers it. :class:`SampleUniqueness` with 0 is
    stronger and certain: who is not alone in the table is not alone in the population. Cost O(classes log classes).

    Parameters
    ----------
    share
        The greatest estimated share of people who are unique in the population, in [0, 1].
    sampling_fraction
        The share of the population in the table, in (0, 1].
    estimator
        ``zayatz``, ``pitman``, ``snb`` (slide negative binomial), or ``dankar``: the rule of Dankar, El Emam, Neisa and
        Roffey (2012), which chooses one of them (see :func:`shoal.risk.population_uniqueness`).

    Guarantee
    ---------
    Syntactic: the estimate, computed from the class sizes of the release, is at most ``share``; where the model has no
    solution it counts as 1. Zayatz's estimate is rational and compared exactly; the solution of the others is found in
    floating point, proved to be one by Krawczyk's test, and compared by balls, a tie that 512 bits leave open being
    refused. Without classes of one record it is 0. Uniqueness in the population is [Bild24, 2.1.4, Def. 1] of a table
    that nobody has.

    :meth:`keep` removes records that are alone, those that cost most if released, until the estimate is low enough; the
    estimates are not monotone, so that fewer might do.

    Assumptions
    -----------
    The table is a simple random sample. On populations with known truth the estimates were wrong by half, either way.
    Records that were left out are missing from the sample that the estimate is made of.

    Examples
    --------
    >>> import numpy as np
    >>> sizes = Classes(sizes=np.array([1] * 6 + [30] * 20))
    >>> float(EstimatedUniqueness(0.01, 0.1, "zayatz").find_achieved(sizes)["share"]) < 0.01
    True
    """

    share: Number = field(metadata=within("[0, 1]"))
    sampling_fraction: Number = field(metadata=within("(0, 1]"))
    estimator: Estimator = field(default="dankar", metadata=one_of(*get_args(Estimator)))
    name: ClassVar[str] = "estimated-uniqueness"
    advice: ClassVar[str] = (
        "By an estimate, at most this share of the whole population is unique, if the table is a random "
        "sample of it. An estimate, which may be wrong by half."
    )
    assumes: ClassVar[tuple[str, ...]] = (
        KNOWN,
        "The table is a simple random sample of the population, a share of {sampling_fraction} of it.",
        "It is an estimate, not a bound: on populations where the truth is known, it was off by half in either "
        "direction, and by more where few records are alike.",
        "Records that were left out are not part of the sample that the estimate is made from.",
        SIZE_ALONE,
    )

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(monotone_generalization=False, scope=Scope.RELEASE, estimated_population=True)

    def keep(self, classes: Classes, kept: Mask) -> Mask:
        result = select_occupied(classes, kept)
        unique = np.flatnonzero(result & (classes.crowds == 1))
        others = SizeCounts.of(classes.crowds[result & (classes.crowds > 1)])
        if not self._holds(others, len(unique)):
            unique = unique[np.argsort(costs_of(classes)[unique], kind="stable")]
            low, high = 0, len(unique)  # none alone is never unique; all of them are too many
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self._holds(others, middle) else (low, middle)
            result[unique[low:]] = False
        return result

    def strongest(self, classes: Classes, released: Mask) -> Achieved:
        sizes = classes.crowds[released]
        unique = int((sizes == 1).sum())
        if not unique:
            return Achieved(share=0)
        estimates = self._estimates(_with(SizeCounts.of(sizes[sizes > 1]), unique))
        return Achieved(
            share=min(float(_SHORT.create_decimal_from_float(above(estimate.ball))) for estimate in estimates)
        )

    def statement(self, words: Words = CLASSES) -> str:
        return (
            f"Estimated {_WHOSE[self.estimator]}, at most {plain(self.share)} of the people in the population are the "
            f"only ones with {words.quasi_identifiers('their')}; an estimate, which may be wrong."
        )

    def _holds(self, others: SizeCounts, unique: int) -> bool:
        """Return whether the estimate for so many records that are alone, beside other classes, is low enough."""
        share = fraction(self.share)
        return not unique or any(estimate.at_most(share) for estimate in self._estimates(_with(others, unique)))

    def _estimates(self, counts: SizeCounts) -> tuple[_Estimate, ...]:
        """Return the estimates of which the least is meant."""
        chance = fraction(self.sampling_fraction)
        people = max(round(counts.records / chance), counts.records)
        if people == counts.records:
            return (_Estimate.from_value(Fraction(counts.having(1), people)),)
        zayatz = _Estimate(partial(by_zayatz, counts, people), lambda: zayatz_fraction(counts, people))
        if self.estimator == "zayatz":
            return (zayatz,)
        pitman = self.estimator == "pitman" or (self.estimator == "dankar" and chance <= _SMALL)
        other = partial(by_pitman if pitman else by_slide_negative_binomial, counts, people)
        with working_precision(STARTING_BITS):
            solution = other()
        if self.estimator != "dankar":
            return (_Estimate.from_value(Fraction(1)) if solution is None else _Estimate(other, first=solution),)
        if solution is None:
            return (zayatz,)
        return (_Estimate(other, first=solution),) if pitman else (zayatz, _Estimate(other, first=solution))


@dataclass(frozen=True, slots=True)
class _Estimate:
    """An estimate as a ball of the working precision, of the first one tried, and as a fraction where it is one."""

    found: Callable[[], arb | None]
    exact: Callable[[], Fraction] | None = None
    first: arb | None = None

    @classmethod
    def from_value(cls, value: Fraction) -> _Estimate:
        return cls(lambda: ball(value), lambda: value)

    def ball(self) -> arb:
        """Return a ball around the estimate; 1 where the solution is not proved."""
        from flint import ctx

        found = self.first if ctx.prec == STARTING_BITS and self.first is not None else self.found()
        return ball(1) if found is None else found

    def at_most(self, share: Fraction) -> bool:
        """Decide whether the estimate is at most a share; what 512 bits leave open is taken for more."""
        for bits in (STARTING_BITS, 4 * STARTING_BITS):
            with working_precision(bits):
                gap = self.ball() - ball(share)
                if gap > 0 or gap < 0:
                    return bool(gap < 0)
        return self.exact is not None and self.exact() <= share


def _with(others: SizeCounts, unique: int) -> SizeCounts:
    """Return the sizes with so many classes of one record more."""
    return replace(
        others,
        sizes=np.concatenate([np.ones(1, np.int64), others.sizes]),
        numbers=np.concatenate([np.array([unique]), others.numbers]),
    )
