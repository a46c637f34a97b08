"""Re-identification risk of a table from the sizes of its equivalence classes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.models import Classes

__all__ = ["ClassSizes", "Reidentification", "reidentification", "reidentification_of_sizes"]

#: lower ends of the class-size bands that assessments show
_BANDS = (1, 2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSizes:
    """How many classes and records have a size in ``[smallest, largest]``; ``largest`` is None for no upper end."""

    smallest: int
    largest: int | None
    classes: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reidentification:
    """How likely an intruder who knows the quasi-identifiers finds a person's record.

    Parameters
    ----------
    records, classes
        The size of the table and its number of equivalence classes.
    smallest, largest
        The smallest and the largest class; 0 for an empty table.
    unique
        Records that are alone in their class.
    prosecutor
        The highest risk of one record when the intruder knows that the person is in the table: 1 / smallest class.
    journalist
        The highest risk when the intruder does not know that: 1 / smallest class *of the population* among the
        classes of the table. None without a population; it is then at most the prosecutor's.
    marketer
        The share of records that an intruder who links everybody is expected to link correctly: the mean over
        records of 1 / class size (of the population where one is given).
    sizes
        The distribution of class sizes.
    """

    records: int
    classes: int
    smallest: int
    largest: int
    unique: int
    prosecutor: float
    journalist: float | None
    marketer: float
    sizes: tuple[ClassSizes, ...]

    def below(self, k: int) -> int:
        """Return the number of records in classes smaller than ``k``, for a ``k`` that starts a band of ``sizes``."""
        return sum(band.records for band in self.sizes if band.smallest < k)


def reidentification(classes: Classes) -> Reidentification:
    """Measure the re-identification risk of ``classes`` [METHODS: prosecutor, journalist and marketer risk].

    Cost: O(classes).

    Examples
    --------
    >>> import numpy as np
    >>> risk = reidentification(Classes(sizes=np.array([1, 1, 2, 6])))
    >>> risk.unique, risk.prosecutor, risk.marketer
    (2, 1.0, 0.4)
    """
    present = classes.sizes > 0
    found = reidentification_of_sizes(*np.unique(classes.sizes[present], return_counts=True))
    if classes.population is None or not present.any():
        return found
    crowd = np.maximum(classes.population, classes.sizes)[present]
    return replace(
        found,
        journalist=1 / int(crowd.min()),
        marketer=float((classes.sizes[present] / crowd).sum() / found.records),
    )


def reidentification_of_sizes(sizes: npt.NDArray[np.int64], times: npt.NDArray[np.int64]) -> Reidentification:
    """Measure the risk of classes of which no more is known than that there are ``times[i]`` of ``sizes[i]`` records.

    Cost: O(different sizes).

    Examples
    --------
    >>> import numpy as np
    >>> reidentification_of_sizes(np.array([1, 2, 6]), np.array([2, 1, 1])).marketer
    0.4
    """
    records, classes = int(sizes @ times), int(times.sum())
    smallest = int(sizes.min()) if classes else 0
    return Reidentification(
        records=records,
        classes=classes,
        smallest=smallest,
        largest=int(sizes.max(initial=0)),
        unique=int(times[sizes == 1].sum()),
        prosecutor=1 / smallest if smallest else 0.0,
        journalist=None,
        marketer=classes / records if records else 0.0,
        sizes=tuple(_bands(sizes, times)),
    )


def _bands(sizes: npt.NDArray[np.int64], times: npt.NDArray[np.int64]) -> list[ClassSizes]:
    bands = []
    for position, smallest in enumerate(_BANDS):
        largest = _BANDS[position + 1] - 1 if position + 1 < len(_BANDS) else None
        inside = sizes >= smallest if largest is None else (sizes >= smallest) & (sizes <= largest)
        bands.append(
            ClassSizes(
                smallest=smallest,
                largest=largest,
                classes=int(times[inside].sum()),
                records=int(sizes[inside] @ times[inside]),
            )
        )
    return bands
