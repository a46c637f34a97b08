"""Equivalence classes as counts: all that a privacy model looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.tables import Frequencies, SensitiveAttribute

__all__ = ["Classes", "Histogram"]

Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Histogram:
    """The values of one sensitive attribute in every class, as compressed rows.

    Class ``i`` holds the values ``codes[offsets[i]:offsets[i + 1]]`` (ascending), each ``counts[...]`` times; only
    values that are present are stored.
    """

    attribute: SensitiveAttribute
    offsets: Counts
    codes: npt.NDArray[np.int32]
    counts: Counts

    def total(self, kept: Mask | None = None) -> Counts:
        """Return the number of records per value over all classes, or over the kept ones."""
        counts = self.counts if kept is None else np.where(np.repeat(kept, np.diff(self.offsets)), self.counts, 0)
        total = np.zeros(self.attribute.size, dtype=np.int64)
        np.add.at(total, self.codes, counts)
        return total


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Classes:
    """The equivalence classes of a (generalised) table.

    Parameters
    ----------
    sizes
        Records per class, each at least 1.
    sensitive
        A histogram per sensitive attribute that a model asks for.
    codes
        The generalised quasi-identifiers of each class, for models that look at combinations of attributes.
    population
        Records per class of the population table, where one was given.
    """

    sizes: Counts
    sensitive: Mapping[str, Histogram] = field(default_factory=dict)
    codes: npt.NDArray[np.int32] | None = None
    population: Counts | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def records(self) -> int:
        """The number of records in all classes."""
        return int(self.sizes.sum())

    def histogram(self, attribute: str) -> Histogram:
        """Return the histogram of a sensitive attribute."""
        return self.sensitive[attribute]

    @classmethod
    def of(cls, frequencies: Frequencies, labels: npt.NDArray[np.integer], *, number: int | None = None) -> Classes:
        """Gather the tuples of ``frequencies`` into classes.

        Parameters
        ----------
        labels
            The class of every tuple, ``0..number-1``; negative for tuples that belong to none (suppressed).
        """
        chosen = labels >= 0
        owners: Counts = labels[chosen].astype(np.int64)
        counts = frequencies.counts[chosen]
        number = int(owners.max(initial=-1)) + 1 if number is None else number
        sizes = np.zeros(number, dtype=np.int64)
        np.add.at(sizes, owners, counts)
        population = None
        if frequencies.population is not None:
            population = np.zeros(number, dtype=np.int64)
            np.add.at(population, owners, frequencies.population[chosen])
        sensitive = {
            attribute.name: _histogram(attribute, owners, frequencies.sensitive_codes[chosen, column], counts, number)
            for column, attribute in enumerate(frequencies.sensitive)
        }
        return cls(sizes=sizes, sensitive=sensitive, population=population)


def _histogram(
    attribute: SensitiveAttribute, labels: Counts, codes: npt.NDArray[np.int32], counts: Counts, number: int
) -> Histogram:
    present = counts > 0
    keys, inverse = np.unique(labels[present] * attribute.size + codes[present], return_inverse=True)
    total = np.zeros(len(keys), dtype=np.int64)
    np.add.at(total, inverse, counts[present])
    owners = keys // max(attribute.size, 1)
    offsets = np.searchsorted(owners, np.arange(number + 1)).astype(np.int64)
    return Histogram(
        attribute=attribute,
        offsets=offsets,
        codes=(keys % max(attribute.size, 1)).astype(np.int32),
        counts=total,
    )
