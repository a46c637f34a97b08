"""The chance that a value exchanged inside its class is still the record's own, counted exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from shoal.kernels import Integers


@dataclass(frozen=True, slots=True)
class OwnValue:
    """The chance of a record to show its own value after a uniformly random exchange inside every class.

    One of a class of n records, m of which have its value, shows that value with probability m / n.
    """

    column: str
    #: Of all records on average: the expected share of those that show their own value.
    mean: Fraction
    #: Of the record that is surest of it.
    greatest: Fraction

    @classmethod
    def of(cls, column: str, classes: Integers, counts: Integers) -> Self:
        """Return the chances, given the records of every value of every class.

        Examples
        --------
        >>> OwnValue.of("illness", np.array([0, 0, 1]), np.array([2, 1, 3]))
        OwnValue(column='illness', mean=Fraction(7, 9), greatest=Fraction(1, 1))
        """
        _, places = np.unique(classes, return_inverse=True)
        sizes, squares, most = (np.zeros(int(places.max()) + 1, dtype=np.int64) for _ in range(3))
        np.add.at(sizes, places, counts)
        np.add.at(squares, places, counts * counts)
        np.maximum.at(most, places, counts)
        different, of_size = np.unique(sizes, return_inverse=True)
        summed, largest = np.zeros(len(different), dtype=np.int64), np.zeros(len(different), dtype=np.int64)
        np.add.at(summed, of_size, squares)
        np.maximum.at(largest, of_size, most)
        expected = sum((Fraction(*pair) for pair in zip(summed.tolist(), different.tolist(), strict=True)), Fraction(0))
        greatest = max(Fraction(*pair) for pair in zip(largest.tolist(), different.tolist(), strict=True))
        return cls(column, expected / int(counts.sum()), greatest)
