"""Attribute disclosure: the chance of guessing a sensitive value from the class of a person."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shoal.kernels import Counts
from shoal.tables import Classes, ClassHistogram, tally


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeDisclosure:
    """The information that the classes of a table give about one sensitive column."""

    #: Its name.
    column: str
    #: The level of its hierarchy at which values count as the same; 0 is the value itself.
    level: int
    #: The number of distinct values at that level.
    values: int
    #: The share of records that the best guess without quasi-identifiers gets right: the commonest value.
    baseline: float
    #: The share of records that the best guess from the class gets right: the commonest value of each class.
    guess: float
    #: The highest chance of a right guess in any class.
    highest: float
    #: The number of records in classes that hold a single value, which is thereby disclosed with certainty.
    certain: int
    #: The share of the guesses that are wrong at first and right with the class, computed: (guess - baseline) / (1 -
    #: baseline).
    gain: float = field(init=False)

    def __post_init__(self) -> None:
        room = 1 - self.baseline
        object.__setattr__(self, "gain", (self.guess - self.baseline) / room if room else 0.0)


def attribute_disclosure(classes: Classes) -> tuple[AttributeDisclosure, ...]:
    """Measure every sensitive column of ``classes``, at every level of its hierarchy below ``*``.

    An intruder who knows that a person is in the table, and the person's quasi-identifiers, guesses the commonest value
    of the class and is right with the share that this value has in it. k-anonymity alone does not limit this: a class
    of many records with one value discloses it (the homogeneity attack).

    Cost: O(values present in classes * levels).

    Examples
    --------
    >>> from shoal.tables import SensitiveAttribute
    >>> illness = ClassHistogram(
    ...     attribute=SensitiveAttribute(name="illness", size=3, ordered=False),
    ...     offsets=np.array([0, 1, 3]), codes=np.array([0, 1, 2]), counts=np.array([4, 1, 3]),
    ... )
    >>> found, = attribute_disclosure(Classes(sizes=np.array([4, 4]), sensitive={"illness": illness}))
    >>> found.baseline, found.guess, found.highest, found.certain
    (0.5, 0.875, 1.0, 4)
    """
    return tuple(
        _measure_level(histogram, level, classes.sizes)
        for histogram in classes.sensitive.values()
        for level in range(_levels(histogram))
    )


def _levels(histogram: ClassHistogram) -> int:
    hierarchy = histogram.attribute.hierarchy
    return 1 if hierarchy is None else max(hierarchy.height, 1)


def _measure_level(histogram: ClassHistogram, level: int, sizes: Counts) -> AttributeDisclosure:
    owners, codes, counts = _at_level(histogram, level)
    records = int(sizes.sum())
    commonest = np.zeros(len(sizes), dtype=np.int64)
    np.maximum.at(commonest, owners, counts)
    total = tally(codes, counts, int(codes.max(initial=-1)) + 1)
    present = sizes > 0
    return AttributeDisclosure(
        column=histogram.attribute.name,
        level=level,
        values=int(np.count_nonzero(total)),
        baseline=int(total.max(initial=0)) / records if records else 0.0,
        guess=int(commonest.sum()) / records if records else 0.0,
        highest=float((commonest[present] / sizes[present]).max(initial=0.0)),
        certain=int(sizes[present & (commonest == sizes)].sum()),
    )


def _at_level(histogram: ClassHistogram, level: int) -> tuple[Counts, Counts, Counts]:
    """Return classes, values and counts of all values present, at a level of the hierarchy."""
    owners = np.repeat(np.arange(len(histogram.offsets) - 1), np.diff(histogram.offsets))
    hierarchy = histogram.attribute.hierarchy
    if not level or hierarchy is None:
        return owners, histogram.codes.astype(np.int64), histogram.counts
    codes = hierarchy.generalize(histogram.codes, level).astype(np.int64)
    width = int(codes.max(initial=0)) + 1
    keys, inverse = np.unique(owners * width + codes, return_inverse=True)
    return keys // width, keys % width, tally(inverse, histogram.counts, len(keys))
