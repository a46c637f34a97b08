"""Distinct tuples with counts: the small table that recoding methods search on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.hierarchies import Hierarchy

__all__ = ["Frequencies", "SensitiveAttribute"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SensitiveAttribute:
    """What a model needs to know of a sensitive attribute besides its counts.

    Codes ``0..size-1`` follow the order of the values: ascending for numbers and dates, as declared for ordinal
    attributes, by text otherwise (``ordered`` is False then); a missing value has the last code. ``hierarchy`` is
    present where the schema declares one whose leaves follow the order of the values, and its leaf codes are then the
    codes used here.
    """

    name: str
    size: int
    ordered: bool
    labels: tuple[str | None, ...] = ()
    hierarchy: Hierarchy | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frequencies:
    """Distinct combinations of quasi-identifier leaves and sensitive values, each with its number of records.

    Parameters
    ----------
    hierarchies
        One per quasi-identifier, in the order of the columns of ``codes``.
    codes
        Leaf codes, one row per distinct tuple; shape ``(tuples, quasi-identifiers)``, column-major.
    counts
        Records per tuple; at least 1, or 0 for a tuple that only the population holds.
    sensitive, sensitive_codes
        The sensitive attributes and their codes, shape ``(tuples, sensitive attributes)``.
    population
        Records per tuple of the population table, where one was given.
    """

    hierarchies: tuple[Hierarchy, ...]
    codes: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int64]
    sensitive: tuple[SensitiveAttribute, ...] = ()
    sensitive_codes: npt.NDArray[np.int32]
    population: npt.NDArray[np.int64] | None = None

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers."""
        return tuple(hierarchy.attribute for hierarchy in self.hierarchies)

    @property
    def records(self) -> int:
        """The number of records of the table."""
        return int(self.counts.sum())

    @property
    def heights(self) -> tuple[int, ...]:
        """The top level of every quasi-identifier."""
        return tuple(hierarchy.height for hierarchy in self.hierarchies)
