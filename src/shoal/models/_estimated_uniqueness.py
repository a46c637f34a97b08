"""Estimated uniqueness: by an estimate, few people of the population are the only ones with their values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from shoal.exact import Arguments, Number, fraction, one_of, plain, within
from shoal.guarantees import CLASSES, Words
from shoal.kernels.superpopulation import SizeCounts, dankar, population_shares
from shoal.models._model import (
    KNOWN,
    SIZE_ALONE,
    Achieved,
    Capabilities,
    Mask,
    Model,
    Scope,
    costs_of,
    released_classes,
)
from shoal.tables import Classes

__all__ = ["EstimatedUniqueness"]

Estimator = Literal["dankar", "zayatz", "pitman", "snb"]

#: estimates are floats: what is compared is a little more, so that another machine decides the same
_MORE = 1 + 1e-9
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
    solution it counts as 1. In floating point, a billionth added. Without classes of one record it is 0. Uniqueness in
    the population is [Bild24, 2.1.4, Def. 1] of a table that nobody has.

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
    >>> float(EstimatedUniqueness(0.01, 0.1, "zayatz").achieved(sizes)["share"]) < 0.01
    True
    """

    share: Number = field(metadata=within("[0, 1]"))
    sampling_fraction: Number = field(metadata=within("(0, 1]"))
    estimator: Estimator = field(default="dankar", metadata=one_of(*get_args(Estimator)))
    name: ClassVar[str] = "estimated-uniqueness"
    assumes: ClassVar[tuple[str, ...]] = (
        KNOWN,
        "The table is a simple random sample of the population, a share of {sampling_fraction} of it.",
        "It is an estimate and no bound: on populations whose truth is known it was wrong by half, either way, and by "
        "more where few records are alike.",
        "Records that were left out are not part of the sample that the estimate is made of.",
        SIZE_ALONE,
    )

    def fit(self, arguments: Arguments) -> None:
        """Refuse to leave the estimator open."""
        arguments.choice("estimator", self.estimator, get_args(Estimator))

    @property
    def capabilities(self) -> Capabilities:
        """What a search may rely on."""
        return Capabilities(monotone_generalization=False, scope=Scope.RELEASE, estimated_population=True)

    def keep(self, classes: Classes, kept: Mask) -> Mask:
        """Return the kept classes without as many of the unique records as the search takes."""
        result = released_classes(classes, kept)
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
        """Return the estimate."""
        sizes = classes.crowds[released]
        found = self._estimate(SizeCounts.of(sizes[sizes > 1]), int((sizes == 1).sum()))
        return Achieved(share=float(np.nextafter(float(f"{found * _MORE:.6e}"), 2)) if found else 0)

    def statement(self, words: Words = CLASSES) -> str:
        """Say what is promised, in one plain sentence."""
        return (
            f"Estimated {_WHOSE[self.estimator]}, at most {plain(self.share)} of the people of the population are the "
            f"only ones with {words.known('their')}; an estimate, which may be wrong."
        )

    def _holds(self, others: SizeCounts, unique: int) -> bool:
        return self._estimate(others, unique) * _MORE <= float(fraction(self.share)) or not unique

    def _estimate(self, others: SizeCounts, unique: int) -> float:
        """Return the estimate for so many records that are alone, beside other classes; 1 where there is none."""
        if not unique:
            return 0.0
        counts = replace(
            others,
            sizes=np.concatenate([np.ones(1, np.int64), others.sizes]),
            numbers=np.concatenate([np.array([unique]), others.numbers]),
        )
        chance = float(fraction(self.sampling_fraction))
        by_pitman, by_zayatz, by_snb = population_shares(counts, max(round(counts.records / chance), counts.records))
        if self.estimator == "dankar":
            return dankar(by_pitman, by_zayatz, by_snb, chance)[1]
        found = {"pitman": by_pitman, "zayatz": by_zayatz, "snb": by_snb}[self.estimator]
        return 1.0 if found is None else min(found, 1.0)
