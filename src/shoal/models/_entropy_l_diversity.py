"""Entropy l-diversity: the sensitive values of every class are as uncertain as l equally likely ones."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.exact import Number, Quantity, ball, below, fraction, logarithm, plain, product_is_one, sign, within
from shoal.guarantees import CLASSES, Words
from shoal.models._model import MEANING, NOTHING_RULED_OUT, REPLAY, Achieved, Capabilities, Mask
from shoal.models._sensitive import Rows, SensitiveModel

if TYPE_CHECKING:
    from flint import arb


MARGIN = 1e-9


@dataclass(frozen=True, slots=True, repr=False)
class EntropyLDiversity(SensitiveModel):
    """The entropy of a sensitive attribute in every class is at least that of l equally likely values.

    Entropies farther from ln l than 1e-9 (or a proven bound on the rounding error, if that is larger) are decided in
    floating point; the others in ball arithmetic, and equality by prime factors. Cost O(values present).

    Parameters
    ----------
    attribute
        The sensitive attribute.
    l
        The effective number of values, a number in [1, inf); need not be an integer. A float means the decimal typed.

    Guarantee
    ---------
    Syntactic: ``-sum_i p_i ln p_i >= ln l`` for every equivalence class E of the release, p_i the share of value i in
    E [Bild24, 2.1.4, Def. 3, variant 3]. Implies distinct l-diversity.

    Assumptions
    -----------
    The intruder cannot rule values out. Entropy is an average: a single value may still be likely if many others are
    present. The values may be alike in meaning, and rare or common in the whole table.

    Examples
    --------
    >>> EntropyLDiversity("diagnosis", 2.5).capabilities.minimal_class_size
    3
    """

    l: Number = field(metadata=within("[1, inf)"))  # noqa: E741 - the name in the literature
    name: ClassVar[str] = "entropy-l-diversity"
    assumes: ClassVar[tuple[str, ...]] = (
        NOTHING_RULED_OUT,
        "Uncertainty is an average over values: one value may still be likely if many others are present.",
        MEANING,
        REPLAY,
    )

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            monotone_generalization=True,  # entropy is concave: a mixture has at least the least entropy of its parts
            minimal_class_size=math.ceil(fraction(self.l)),
            sensitive=(self.attribute,),
        )

    def satisfied(self, rows: Rows) -> Mask:
        """Return the rows whose entropy is at least ln l, and that have l people or more."""
        threshold = fraction(self.l)
        difference = _entropies(rows) - (math.log(threshold.numerator) - math.log(threshold.denominator))
        verdict = difference > 0
        known: dict[tuple[int, ...], bool] = {}
        for row in np.flatnonzero(np.abs(difference) <= _margin(rows)).tolist():
            counts = _counts(rows, row)
            if counts not in known:
                known[counts] = _compare(counts, threshold) >= 0
            verdict[row] = known[counts]
        return np.asarray(verdict & (rows.crowds >= self.capabilities.minimal_class_size))

    def strongest_of(self, rows: Rows) -> Achieved:
        """Return the least exponential of an entropy: an integer where it is one, else a float on the safe side."""
        entropies = _entropies(rows)
        near = np.flatnonzero(entropies <= entropies.min() + 2 * _margin(rows)).tolist()
        effective = min(_effective(counts) for counts in {_counts(rows, row) for row in near})
        return Achieved(l=min(effective, int(rows.crowds.min())))

    def statement(self, words: Words = CLASSES) -> str:
        return (
            f"{words.among}, `{self.attribute}` is at least as uncertain as a choice among "
            f"{plain(self.l)} equally likely values."
        )


def _entropies(rows: Rows) -> npt.NDArray[np.float64]:
    """Return ``ln e - (sum c ln c) / e`` per row: the entropy of the shares c / e."""
    if rows.counts.dtype == object:  # beyond floats: their shares are not
        shares = (rows.counts / np.repeat(rows.sizes, rows.lengths)).astype(np.float64)
        return -np.add.reduceat(shares * np.log(shares), rows.starts)
    counts = rows.counts.astype(np.float64)
    return np.log(rows.sizes) - np.add.reduceat(counts * np.log(counts), rows.starts) / rows.sizes


def _margin(rows: Rows) -> float:
    # With u = 2^-53 and logarithms right to 4 ulp: each c ln c has a relative error of at most 10 u, a sum of n of
    # them adds n u, ln e, ln l, the division and the differences another 14 u, all relative to at most ln e + 1.
    rounding = (int(rows.lengths.max()) + 24) * 2.0**-53 * (math.log(int(rows.sizes.max())) + 1)
    return max(MARGIN, rounding)


def _counts(rows: Rows, row: int) -> tuple[int, ...]:
    counts = rows.counts[rows.offsets[row] : rows.offsets[row + 1]].tolist()
    common = math.gcd(*counts)
    return tuple(sorted(count // common for count in counts))


def _compare(counts: tuple[int, ...], threshold: Fraction) -> int:
    """Return the sign of ``entropy - ln threshold``, exactly."""
    if counts[0] == counts[-1]:  # equally likely values
        return (len(counts) > threshold) - (len(counts) < threshold)
    size = sum(counts)
    # exp(e * (entropy - ln l)) is a product of powers of integers
    powers = Counter({size: size})
    for count, times in Counter(counts).items():
        powers[count] -= count * times
    powers[threshold.numerator] -= size
    powers[threshold.denominator] += size

    def quantity() -> arb:
        return sum((exponent * logarithm(base) for base, exponent in powers.items()), start=ball(0))

    return sign(quantity, lambda: product_is_one(powers))


def _effective(counts: tuple[int, ...]) -> Quantity:
    """Return the greatest l that holds."""
    size = sum(counts)

    def quantity() -> arb:
        surprise = (count * logarithm(Fraction(size, count)) for count in counts)
        return (sum(surprise, start=ball(0)) / size).exp()

    effective = below(quantity)
    whole = round(effective)
    return whole if abs(effective - whole) < MARGIN and _compare(counts, Fraction(whole)) == 0 else effective
