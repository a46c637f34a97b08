"""Tuples of small codes as one number: sorted, compared, joined and shipped as such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Packing"]

Words = npt.NDArray[np.int64]
_BITS = 62  # of a word; signed 64-bit integers are what all engines have


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """Where the code of each column lies: in which word, and how far from its right end.

    The first column is the most significant, so that words sort as tuples do.

    Examples
    --------
    >>> packing = Packing.of([10, 3])
    >>> packing.pack([np.array([7, 7]), np.array([0, 2])])
    [array([28, 30])]
    """

    words: tuple[int, ...]
    shifts: tuple[int, ...]
    bits: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Packing:
        """Lay out columns with codes in ``[0, size)``; one word as long as they fit."""
        bits = tuple(max(size - 1, 0).bit_length() for size in sizes)
        words, used = [], [0]
        for width in bits:
            if used[-1] + width > _BITS:
                used.append(0)
            words.append(len(used) - 1)
            used[-1] += width
        shifts = []
        for word, width in zip(words, bits, strict=True):
            used[word] -= width
            shifts.append(used[word])
        return cls(words=tuple(words), shifts=tuple(shifts), bits=bits)

    @property
    def number(self) -> int:
        """The number of words."""
        return max(self.words, default=-1) + 1

    def part(self, column: int, codes: npt.NDArray[np.integer]) -> Words:
        """Return what the codes of one column add to its word."""
        return codes.astype(np.int64) << self.shifts[column]

    def pack(self, columns: Sequence[npt.NDArray[np.integer]]) -> list[Words]:
        """Return the words of the tuples."""
        packed = [np.zeros(len(columns[0]), dtype=np.int64) for _ in range(self.number)]
        for column, codes in enumerate(columns):
            packed[self.words[column]] += self.part(column, codes)
        return packed

    def order(self, columns: Sequence[npt.NDArray[np.integer]]) -> tuple[Words, npt.NDArray[np.bool_]]:
        """Return the order that sorts the tuples, and where in it a new tuple starts."""
        words = self.pack(columns)
        order = np.lexsort(words[::-1]) if len(words) > 1 else np.argsort(words[0], kind="stable")
        new = np.zeros(len(order), dtype=np.bool_)
        new[:1] = True
        for word in words:
            new[1:] |= np.diff(word[order]) != 0
        return order, new
