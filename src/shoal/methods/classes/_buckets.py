"""Buckets of confidential values: near values together, every bucket with about the same number of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees import Event
from shoal.hierarchies import TOP, semantic_distance
from shoal.kernels import Floats, Integers
from shoal.methods.classes._columns import embedding
from shoal.schema import Attribute, Kind
from shoal.tables import SensitiveAttribute, group

if TYPE_CHECKING:
    from shoal.guarantees import Decision, Evidence

Codes = NDArray[np.integer]


MISSING = "missing"


LISTED = 12
"""A set of more values is named by its first ones."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Buckets:
    """The bucket of every record, and the values that are released for every bucket."""

    #: The bucket of each record: 0, 1, ...; none is empty.
    numbers: Integers
    #: ``labels[a][i]`` is what attribute a releases for bucket i: an interval, a concept or a set of values.
    labels: tuple[tuple[str, ...], ...]

    @property
    def sizes(self) -> Integers:
        """The number of records of each bucket."""
        return np.bincount(self.numbers).astype(np.int64)

    def __repr__(self) -> str:
        return f"Buckets({len(self.numbers)} records in {len(self.sizes)} buckets)"


def make_buckets(
    attributes: Sequence[SensitiveAttribute], codes: Codes, count: int, weights: Integers | None = None
) -> Buckets:
    """Return buckets of one attribute (by order, or clustered where it has none) or of several at once (clustered).

    There are fewer than ``count`` where there are fewer different values, or where one value has more records than a
    bucket should. ``weights`` say how many records every row of ``codes`` stands for; one where not given.

    Notes
    -----
    A bucket depends on the values alone, so records with the same values are in the same bucket. [DFSC15 6.2] cuts the
    ranking after every N / (t + 1) records even between equal values; then which of them are in which bucket would be
    told by nothing in the data, and the buckets would not be a coarser confidential attribute.
    """
    if count < 1:
        raise ParameterError(f"`count` of `make_buckets` must be at least 1; got {count}.")
    if len(attributes) == 1 and attributes[0].ordered:
        return ordered_buckets(attributes[0], codes[:, 0], count, weights)
    return clustered_buckets(attributes, codes, count, weights)


def ordered_buckets(
    attribute: SensitiveAttribute, codes: Codes, count: int, weights: Integers | None = None
) -> Buckets:
    """Cut the values of an ordered attribute into intervals, as near as possible to equal numbers of records.

    The i-th cut is the border between two values that is nearest to the record i N / count [DFSC15 6.2]. O(N).

    Examples
    --------
    >>> age = SensitiveAttribute(name="age", size=4, ordered=True, labels=("20", "30", "40", "50"))
    >>> buckets = ordered_buckets(age, np.array([3, 0, 1, 2, 1, 0]), 3)
    >>> buckets.numbers.tolist(), buckets.labels
    ([2, 0, 1, 2, 1, 0], (('20', '30', '[40, 50]'),))
    """
    sizes = _count_codes(codes, weights, attribute.size)
    present = np.flatnonzero(sizes)
    below = np.cumsum(sizes[present])
    ideal = np.arange(1, count) * int(sizes.sum()) / count
    after = np.clip(np.searchsorted(below, ideal), 0, len(below) - 1)
    before = np.maximum(after - 1, 0)
    cuts = np.where(np.abs(below[before] - ideal) <= np.abs(below[after] - ideal), before, after)
    cuts = np.unique(np.append(cuts, len(present) - 1))
    starts = np.concatenate(([0], cuts[:-1] + 1))
    of_code = np.zeros(attribute.size, dtype=np.int64)
    of_code[present] = np.searchsorted(cuts, np.arange(len(present)))
    labels = tuple(_interval(attribute, present[i : j + 1]) for i, j in zip(starts, cuts, strict=True))
    return Buckets(numbers=of_code[codes], labels=(labels,))


def clustered_buckets(
    attributes: Sequence[SensitiveAttribute], codes: Codes, count: int, weights: Integers | None = None
) -> Buckets:
    """Cluster the values of one nominal attribute, or the combinations of several attributes, by their distance.

    Values are placed by their semantic distance [SC13 (6.6)], ordered attributes by their mid-rank. Then, as in MDAV,
    the combination farthest from the mean of the rest and those nearest to it make a bucket, until it has its share of
    the records. A nominal attribute without a hierarchy, where no two values are nearer than others, is divided as
    evenly as possible instead.

    Notes
    -----
    With several attributes, the *combination* of their released labels is a function of the bucket; closeness of the
    buckets is closeness of the joint distribution, the stronger of the two readings of [DFSC15 4], and of every
    attribute on its own. O(v (m + count)) for v combinations.

    Examples
    --------
    >>> illness = SensitiveAttribute(name="illness", size=3, ordered=False, labels=("cold", "flu", "burn"))
    >>> clustered_buckets([illness], np.array([[0], [1], [2], [2]]), 2).labels
    (('burn', '{cold, flu}'),)
    """
    labels, firsts = group(np.asarray(codes, dtype=np.int32))
    tuples, sizes = codes[firsts], _count_codes(labels, weights)
    if len(attributes) == 1 and attributes[0].hierarchy is None and not attributes[0].ordered:
        buckets = _evenly(sizes, count)
    else:
        positions = [_place(attribute, codes[:, i], weights) for i, attribute in enumerate(attributes)]
        buckets = _nearest(np.concatenate(positions, axis=1)[firsts], sizes, count)
    names = tuple(
        tuple(
            _name(attribute, codes[:, i], np.unique(tuples[buckets == number, i]))
            for number in range(buckets.max() + 1)
        )
        for i, attribute in enumerate(attributes)
    )
    return Buckets(numbers=buckets[labels], labels=names)


def _count_codes(codes: Codes, weights: Integers | None, size: int = 0) -> Integers:
    """Return the number of records with each code."""
    return np.bincount(codes, weights=weights, minlength=size).astype(np.int64)


def _evenly(weights: Integers, count: int) -> Integers:
    """Put the heaviest value into the lightest bucket, again and again."""
    buckets, loads = np.zeros(len(weights), dtype=np.int64), np.zeros(min(count, len(weights)), dtype=np.int64)
    for value in np.argsort(-weights, kind="stable"):
        buckets[value] = loads.argmin()
        loads[buckets[value]] += weights[value]
    return buckets


def _nearest(places: Floats, weights: Integers, count: int) -> Integers:
    nearest = np.zeros(len(weights), dtype=np.int64)
    left = np.arange(len(weights))
    for number in range(min(count, len(weights)) - 1):
        share = weights[left].sum() / (count - number)
        mean = weights[left] @ places[left] / weights[left].sum()
        seed = left[np.square(places[left] - mean).sum(axis=1).argmax()]
        order = left[np.argsort(np.square(places[left] - places[seed]).sum(axis=1), kind="stable")]
        taken = int(np.abs(np.cumsum(weights[order])[:-1] - share).argmin()) + 1
        nearest[order[:taken]] = number + 1
        left = np.sort(order[taken:])
        if len(left) == 1:
            break
    return np.unique(nearest, return_inverse=True)[1]


def _place(attribute: SensitiveAttribute, codes: Codes, weights: Integers | None) -> Floats:
    """Return a point for the value of every record; the greatest distance of an attribute is about 1."""
    sizes = _count_codes(codes, weights, attribute.size)
    if attribute.ordered:
        return ((np.cumsum(sizes) - sizes / 2) / int(sizes.sum()))[codes][:, None]
    present = np.flatnonzero(sizes)
    if attribute.hierarchy is None:
        squared = 1.0 - np.eye(len(present))
    else:
        squared = np.square(semantic_distance(attribute.hierarchy, present[:, None], present))
    return embedding(squared, sizes[present])[np.searchsorted(present, codes)]


def _name(attribute: SensitiveAttribute, codes: Codes, members: Integers) -> str:
    if attribute.ordered:
        return _interval(attribute, members)
    if len(members) == 1:
        return _label(attribute, members[0]) or MISSING
    return _concept(attribute, np.unique(codes), members) or _set(attribute, members)


def _interval(attribute: SensitiveAttribute, members: Integers) -> str:
    known = [label for code in (members[0], members[-1]) if (label := _label(attribute, code)) is not None]
    if len(known) < 2 and len(members) > 1:  # the missing value is the last one
        known.append(str(_label(attribute, members[-2])))
    if not known:
        return MISSING
    text = known[0] if known[0] == known[-1] else f"[{known[0]}, {known[-1]}]"
    return text if _label(attribute, members[-1]) is not None else f"{text} or {MISSING}"


def _label(attribute: SensitiveAttribute, code: np.integer) -> str | None:
    return attribute.labels[int(code)] if attribute.labels else str(int(code))


def _concept(attribute: SensitiveAttribute, present: Integers, members: Integers) -> str | None:
    """Return the concept below which exactly the members lie, of all values that are present."""
    hierarchy = attribute.hierarchy
    if hierarchy is None:
        return None
    for level in range(1, hierarchy.height):
        ancestors = hierarchy.codes[level]
        if len(np.unique(ancestors[members])) == 1:
            below = present[ancestors[present] == ancestors[members[0]]]
            label = hierarchy.labels[level][int(ancestors[members[0]])]
            return label if label not in (None, TOP) and np.array_equal(below, members) else None
    return None


def _set(attribute: SensitiveAttribute, members: Integers) -> str:
    names = [_label(attribute, code) or MISSING for code in members[:LISTED]]
    rest = len(members) - len(names)
    return "{" + ", ".join(names) + (f", and {rest} more" if rest else "") + "}"


class Bucketized(Event):
    """Confidential values were replaced by buckets; ``sizes`` are the records of each."""

    name = "bucketized"
    term = "generalization: rounding"
    effect = "released as buckets of near values"
    kept = "bucket"
    columns: tuple[str, ...]
    buckets: int
    sizes: tuple[int, ...]
    sentence = "Replaced the values of {columns!q} by {buckets:,} buckets of near values."

    def check(self, evidence: Evidence) -> Decision:
        """Compare the buckets with the released values: which, how many, in which order."""
        data = evidence.table_with(self.columns)
        sizes = sorted(evidence.tally_labels(data, self.columns).values())
        if sorted(self.sizes) != sizes or self.buckets != len(sizes):
            return False, "the buckets are not as large as it says"
        for column in data.columns:
            if column.name in self.columns and column.values is not None:
                released = {str(label) for (label,) in evidence.tally_labels(data, [column.name])}
                if {*column.values} != released or len(column.values) != len(released):
                    return False, f"the buckets of `{column.name}` are not those released"
                if not in_ascending_order(column.values, evidence.plan.schema[column.name]):
                    return False, f"the buckets of `{column.name}` are not in their order"
        return True, f"{self.buckets:,}, as released"


def in_ascending_order(labels: Sequence[str], attribute: Attribute) -> bool:
    """Return whether buckets are listed from the least to the greatest, by where each begins; missing values last."""
    begins = [label.removeprefix("[") for label in labels]
    known = [label for label in begins if label != MISSING]
    if known != begins[: len(known)]:
        return False
    if attribute.kind is Kind.ORDINAL and attribute.domain is not None:
        order = attribute.domain.values or ()
        ranks = [
            max((len(value), rank) for rank, value in enumerate(order) if label.startswith(value))[1] for label in known
        ]
        return ranks == sorted(ranks)
    firsts = [label.split(", ")[0].removesuffix(f" or {MISSING}") for label in known]
    numbers = firsts if attribute.kind is Kind.DATE else [float(text) for text in firsts]
    return numbers == sorted(numbers)
