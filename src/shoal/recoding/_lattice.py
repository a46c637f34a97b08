"""The lattice of a table: a node is one level per quasi-identifier, and its release is a recoding."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.models import Classes
from shoal.tables import Frequencies, Recoding

__all__ = ["Lattice", "group", "recoding_of"]

Levels = Sequence[int]
Labels = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Lattice:
    """The nodes of one table and their equivalence classes, computed from the distinct tuples."""

    def __init__(self, frequencies: Frequencies) -> None:
        self.frequencies = frequencies
        self.heights = frequencies.heights

    @cached_property
    def nodes(self) -> int:
        """The number of nodes."""
        return math.prod(height + 1 for height in self.heights)

    @property
    def top(self) -> tuple[int, ...]:
        """The node in which every value is ``*``."""
        return self.heights

    def labels(self, levels: Levels) -> tuple[Labels, npt.NDArray[np.int32]]:
        """Return the class of every tuple at a node, and the codes of every class."""
        frequencies = self.frequencies
        codes = np.empty_like(frequencies.codes)
        for column, (hierarchy, level) in enumerate(zip(frequencies.hierarchies, levels, strict=True)):
            codes[:, column] = hierarchy.codes[level][frequencies.codes[:, column]]
        return group(codes)

    def classes(self, levels: Levels) -> tuple[Labels, Classes]:
        """Return the class of every tuple at a node, and the classes; a class without records has the label -1."""
        labels, codes = self.labels(levels)
        classes = Classes.of(self.frequencies, labels, number=len(codes))
        if not bool(classes.sizes.all()):
            present = classes.sizes > 0
            labels = np.where(present, np.cumsum(present) - 1, -1)[labels]
            codes = codes[present]
            classes = Classes.of(self.frequencies, labels, number=len(codes))
        return labels, dataclasses.replace(classes, codes=codes)

    def recoding(self, levels: Levels, labels: Labels, classes: Classes, kept: Mask) -> Recoding:
        """Return the release of a node, in which the classes that are not ``kept`` are suppressed."""
        assert classes.codes is not None  # noqa: S101 - set by `classes`
        return recoding_of(self.frequencies, levels, labels, classes.codes, kept)


def group(codes: npt.NDArray[np.int32]) -> tuple[Labels, npt.NDArray[np.int32]]:
    """Return which distinct row each row is, and the distinct rows in lexicographic order."""
    rows, columns = codes.shape
    keys = np.zeros(rows, dtype=np.int64)
    size = 1
    for column in codes.T:
        width = int(column.max(initial=0)) + 1
        if size > (2**62) // width:  # replace the prefix by its rank
            distinct, keys = np.unique(keys, return_inverse=True)
            size = len(distinct)
        keys = keys * width + column
        size *= width
    _, first, labels = np.unique(keys, return_index=True, return_inverse=True)
    return labels.astype(np.int64), codes[first].reshape(-1, columns)


def recoding_of(
    frequencies: Frequencies, levels: Levels, labels: Labels, codes: npt.NDArray[np.int32], kept: Mask
) -> Recoding:
    """Return the recoding of a node, given the class of every tuple, the codes of the classes and what is kept."""
    numbers = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    hierarchies = frequencies.hierarchies
    return Recoding(
        attributes=frequencies.attributes,
        classes=numbers[labels].astype(np.int32),
        codes=codes[kept],
        labels=tuple(hierarchy.labels[level] for hierarchy, level in zip(hierarchies, levels, strict=True)),
        shares=tuple(hierarchy.shares[level] for hierarchy, level in zip(hierarchies, levels, strict=True)),
        depths=tuple(
            np.full(len(hierarchy.labels[level]), level / max(hierarchy.height, 1))
            for hierarchy, level in zip(hierarchies, levels, strict=True)
        ),
        unchanged=tuple(level == 0 for level in levels),
        levels=tuple(int(level) for level in levels),
    )
