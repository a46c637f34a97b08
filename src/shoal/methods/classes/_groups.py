"""Sets of attributes, each clustered on its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.errors import ParameterError
from shoal.methods.classes._centroids import aggregate
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._records import Records

__all__ = ["AttributeSet", "aggregate_by_sets", "partition_by_sets"]


@dataclass(frozen=True, slots=True)
class AttributeSet:
    """One of the disjoint sets AS_1, ..., AS_m of attributes: columns of numbers and columns of codes."""

    numeric: tuple[int, ...] = ()
    categorical: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.numeric and not self.categorical:
            raise ParameterError("an `AttributeSet` must hold at least one attribute.")

    def of(self, records: Records) -> Records:
        """Return the records with these attributes only."""
        return records.attributes(numeric=self.numeric, categorical=self.categorical)


def partition_by_sets(
    records: Records, sets: Sequence[AttributeSet], cluster: Callable[[Records], Partition]
) -> tuple[Partition, ...]:
    """Cluster the records once for each set of attributes, independently [SCDF17, section 3].

    Guarantee
    ---------
    That of ``cluster`` for each set on its own. k-anonymity of each set does not give k-anonymity of all attributes
    together.

    Examples
    --------
    >>> from shoal.methods.classes import mdav
    >>> table = Records(numeric=[[1, 8], [2, 9], [7, 1], [8, 2]])
    >>> sets = [AttributeSet(numeric=(0,)), AttributeSet(numeric=(1,))]
    >>> [partition.count for partition in partition_by_sets(table, sets, lambda part: mdav(part, 2))]
    [2, 2]
    """
    require_disjoint(sets)
    return tuple(cluster(attributes.of(records)) for attributes in sets)


def aggregate_by_sets(records: Records, sets: Sequence[AttributeSet], partitions: Sequence[Partition]) -> Records:
    """Replace the values of each set of attributes by the centroids of its partition; other attributes stay."""
    require_disjoint(sets)
    numeric, codes = np.array(records.numeric), np.array(records.codes)
    for attributes, partition in zip(sets, partitions, strict=True):
        masked = aggregate(attributes.of(records), partition)
        numeric[:, list(attributes.numeric)] = masked.numeric
        codes[:, list(attributes.categorical)] = masked.codes
    return records.replace(numeric, codes)


def require_disjoint(sets: Sequence[AttributeSet]) -> None:
    """Raise if an attribute is in two sets."""
    for kind in ("numeric", "categorical"):
        columns = [column for attributes in sets for column in getattr(attributes, kind)]
        if len(columns) != len(set(columns)):
            raise ParameterError(f"sets of attributes must be disjoint; a {kind} attribute is in two of them.")
