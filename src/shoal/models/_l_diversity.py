"""l-diversity: every class holds l different sensitive values, counted, by their entropy, or with none too frequent."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.exact import WHOLE, Number, Quantity, ball, below, fraction, logarithm, plain, product_is_one, sign, within
from shoal.guarantees import CLASSES, Words
from shoal.kernels import Counts
from shoal.models._model import ANY_SHARE, KNOWN, MEANING, NOTHING_RULED_OUT, REPLAY, Achieved, Capabilities, Mask
from shoal.models._ratios import LIMIT, Ratios
from shoal.models._sensitive import Rows, SensitiveModel

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, slots=True, repr=False)
class DistinctLDiversity(SensitiveModel):
    """Every class holds at least l different values of a sensitive attribute.

    Cost O(classes).

    Parameters
    ----------
    attribute
        The sensitive attribute.
    l
        The least number of different values, an integer in [1, inf).

    Guarantee
    ---------
    Syntactic: ``|{values in E}| >= l`` for every equivalence class E of the release [Bild24, 2.1.4, Def. 3, variant
    1]. The quasi-identifiers of a person leave at least l values possible. Implies l-anonymity.

    Assumptions
    -----------
    The intruder cannot rule values out, and does not care about probabilities: one value may be far more frequent than
    the others (skewness), and all may mean nearly the same (similarity). See :class:`EntropyLDiversity`,
    :class:`RecursiveLDiversity` and :class:`TCloseness`.

    Examples
    --------
    >>> DistinctLDiversity("diagnosis", 3).statement()
    'Records that share their quasi-identifiers show at least 3 different values of `diagnosis`.'
    """

    l: int = field(metadata=WHOLE)  # noqa: E741 - the name in the literature
    name: ClassVar[str] = "distinct-l-diversity"
    short: ClassVar[str] = "l"
    label: ClassVar[str] = "different values, at least"
    advice: ClassVar[str] = (
        "People who look alike must have at least l different secrets among them, so that finding a person's "
        "group does not give the secret away. 2 or 3 is usual."
    )
    shown_by_records: ClassVar[bool] = True
    assumes: ClassVar[tuple[str, ...]] = (KNOWN, NOTHING_RULED_OUT, ANY_SHARE, MEANING, REPLAY)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(monotone_generalization=True, minimal_class_size=self.l, sensitive=(self.attribute,))

    def decide_rows(self, rows: Rows) -> Mask:
        """Return the rows with at least l values, and l people to have them."""
        return np.asarray(np.minimum(rows.lengths, rows.crowds) >= self.l)

    def strongest_of(self, rows: Rows) -> Achieved:
        return Achieved(l=int(np.minimum(rows.lengths, rows.crowds).min()))

    def statement(self, words: Words = CLASSES) -> str:
        people = "" if words.person is None else f"are of at least {self.l} persons and "
        return f"Records {words.sharing} {people}show at least {self.l} different values of `{self.attribute}`."


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
    advice: ClassVar[str] = (
        "Like l-diversity, but rare secrets count for less: the mix must be as uncertain as l equally likely values."
    )
    assumes: ClassVar[tuple[str, ...]] = (
        KNOWN,
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

    def decide_rows(self, rows: Rows) -> Mask:
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


@dataclass(frozen=True, slots=True, repr=False)
class RecursiveLDiversity(SensitiveModel):
    """The most frequent sensitive value of a class stays below c times all but the l - 1 most frequent ones.

    Cost O(p) for l <= 2, else O(p log p), p the number of values present in all classes.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    c
        How dominant the most frequent value may be, a number in (0, inf). A float means the decimal typed.
    l
        An integer in [1, inf); l - 1 values may be ruled out by the intruder.

    Guarantee
    ---------
    Syntactic: ``r_1 < c (r_l + r_{l+1} + ... + r_m)`` for every equivalence class E of the release, r_i the number of
    records with the i-th most frequent value of E [Bild24, 2.1.4, Def. 3, variant 2]. After the intruder rules out up
    to l - 2 values, the values left are (c, 2)-diverse: none of them is more than about c times as frequent as the
    others together.

    Assumptions
    -----------
    The intruder can rule out at most l - 2 values. The values may be alike in meaning, and rare or common in the whole
    table.

    Examples
    --------
    >>> RecursiveLDiversity("diagnosis", c=3, l=2)
    RecursiveLDiversity(attribute='diagnosis', c=3, l=2)
    """

    c: Number = field(metadata=within("(0, inf)"))
    l: int = field(metadata=WHOLE)  # noqa: E741 - the name in the literature
    name: ClassVar[str] = "recursive-l-diversity"
    advice: ClassVar[str] = "Like l-diversity, but the most frequent secret of a group must not outweigh the others."

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(monotone_generalization=True, minimal_class_size=self.l, sensitive=(self.attribute,))

    def decide_rows(self, rows: Rows) -> Mask:
        people = rows.crowds >= self.l
        if self.l > 2:
            return np.asarray(people & (self._diversities(rows) >= self.l))
        most = np.maximum.reduceat(rows.counts, rows.starts)
        return np.asarray(people & Ratios(most, rows.sizes - (self.l - 1) * most).below(fraction(self.c)))

    def strongest_of(self, rows: Rows) -> Achieved:
        """Return the greatest l that holds for c; 0 where not even l = 1 does."""
        return Achieved(l=int(np.minimum(self._diversities(rows), rows.crowds).min()))

    def statement(self, words: Words = CLASSES) -> str:
        others = {1: "all values", 2: "all other values"}.get(self.l, f"all but the {self.l - 1} most frequent values")
        return (
            f"{words.among}, the most frequent value of `{self.attribute}` is less "
            f"than {plain(self.c)} times as frequent as {others} together."
        )

    def assumptions(self) -> tuple[str, ...]:
        ruled_out = "no value" if self.l <= 2 else "at most 1 value" if self.l == 3 else f"at most {self.l - 2} values"
        return KNOWN, f"They can rule out {ruled_out} of `{self.attribute}` for a person.", MEANING, REPLAY

    def _diversities(self, rows: Rows) -> Counts:
        """Return the greatest l per row for which ``r_1 < c (r_l + ...)``; the tails shrink as l grows."""
        lengths, starts = rows.lengths, rows.starts
        counts = _descending(rows)
        before = np.cumsum(counts) - counts  # records before an entry, over all rows
        tails = np.repeat(rows.sizes + before[starts], lengths) - before
        verdicts = Ratios(np.repeat(counts[starts], lengths), tails).below(fraction(self.c))
        return np.add.reduceat(verdicts.astype(np.int64), starts)


def _descending(rows: Rows) -> Counts:
    """Return the counts of every row, the greatest first."""
    owners = np.repeat(np.arange(len(rows)), rows.lengths)
    largest = int(rows.counts.max())
    if (largest + 1) * len(rows) >= LIMIT:
        ranks = np.unique(rows.counts, return_inverse=True)[1]
        return rows.counts[np.lexsort((-ranks, owners))]
    # One sort of one key: the row, then how much the count falls short of the largest one
    keys = owners * (largest + 1)
    shortfalls = np.sort(keys + (largest - rows.counts), kind="stable") - keys
    return np.asarray(largest - shortfalls)
