"""A hierarchy made for the values of one column: integer codes at every level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import HierarchyError, Problems
from shoal.schema import Provenance

__all__ = ["TOP", "Hierarchy"]

TOP = "*"
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Hierarchy:
    """The levels of one attribute, from its values (level 0) to ``*`` (the last level).

    Leaves are numbered so that the code at every level is non-decreasing in the leaf code: one sort of the leaves
    then sorts every level.

    Parameters
    ----------
    attribute
        The column's name.
    labels
        ``labels[level][code]`` is the released value; None is the missing value.
    codes
        ``codes[level][leaf]`` is the code of the leaf's ancestor at that level; ``codes[0]`` is the identity.
    shares
        ``shares[level][code]`` is the part of the domain that the value covers: 0 for a single value (and for a
        missing one, which tells nothing less than before), 1 for ``*``.
    leaves
        ``leaves[level][code]`` is the number of leaves below the value.
    provenance
        Whether the levels *and the domain* were declared, or inferred from the data.
    source
        What the leaves were taken from, as messages call it: "its hierarchy `zip.csv`".
    positions
        Where each leaf of an ordered attribute (numbers, days, ordinal values) stands in its domain, strictly
        ascending in [0, 1]: an interval of leaves covers the difference of its ends. None where the attribute has no
        order, where the order of the tree is another one, or where there is a missing leaf.

    Notes
    -----
    Shares of attributes with a value list are ``(leaves - 1) / (all leaves - 1)``; of numeric and date attributes
    the width of the interval over the width of the domain.
    """

    attribute: str
    labels: tuple[tuple[str | None, ...], ...]
    codes: tuple[Codes, ...]
    shares: tuple[npt.NDArray[np.float64], ...]
    leaves: tuple[npt.NDArray[np.int64], ...]
    provenance: Provenance
    source: str = "its hierarchy"
    positions: npt.NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        problems = Problems()
        if len(self.labels[-1]) != 1:
            problems.add(f"the hierarchy of column `{self.attribute}` must end with one value for all: `{TOP}`")
        for level, (fine, coarse) in enumerate(zip(self.codes, self.codes[1:], strict=False), start=1):
            if np.any(np.diff(coarse) < 0):
                problems.add(f"the leaves of the hierarchy of column `{self.attribute}` are not in tree order")
            # nested: two leaves together at one level stay together at the next
            if np.any((np.diff(fine) == 0) & (np.diff(coarse) != 0)):
                problems.add(
                    f"the hierarchy of column `{self.attribute}` is not nested: values that are together at level "
                    f"{level - 1} are apart at level {level}"
                )
        problems.raise_as(HierarchyError)

    def __repr__(self) -> str:
        # labels are values of the data, which no printed text may hold
        sizes = ", ".join(str(len(labels)) for labels in self.labels)
        return f"Hierarchy(attribute={self.attribute!r}, values per level=({sizes}), {self.provenance})"

    @property
    def height(self) -> int:
        """The number of the last level, where everything is ``*``."""
        return len(self.labels) - 1

    @property
    def levels(self) -> int:
        """The number of levels, the values themselves and ``*`` included."""
        return len(self.labels)

    @property
    def size(self) -> int:
        """The number of leaves."""
        return len(self.labels[0])

    @property
    def missing(self) -> int | None:
        """The leaf of the missing value, which is the last one, or None where there is none."""
        return self.size - 1 if self.size and self.labels[0][-1] is None else None

    def generalize(self, leaves: Codes, level: int) -> Codes:
        """Return the codes of ``leaves`` at ``level``."""
        return np.asarray(self.codes[level][leaves])
