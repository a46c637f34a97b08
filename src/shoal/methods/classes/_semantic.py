"""MDAV on the quasi-identifiers of a table with categories in their semantic distance, no coordinates in between."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.hierarchies import Hierarchy
from shoal.methods.classes._columns import QuasiIdentifier
from shoal.methods.classes._distance import Space
from shoal.methods.classes._mdav import _mdav_mixed
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._records import Records
from shoal.methods.classes._taxonomy import Taxonomy
from shoal.schema import Kind

__all__ = ["CONCEPTS", "RECORDS", "semantic_mdav", "suits"]

RECORDS = 5_000
"""More records are placed as points first: semantic distances run in NumPy, points in the compiled kernel."""
CONCEPTS = 1_000
"""Hierarchies with more concepts are placed as points: distances of all pairs of concepts cost O(concepts^3)."""


def suits(columns: tuple[QuasiIdentifier, ...], records: int) -> bool:
    """Say whether there are categories, and records and concepts few enough to compare them one by one."""
    categorical = _categorical(columns)
    sizes = [sum(len(labels) for labels in column.hierarchy.labels) for column in categorical]
    return bool(categorical) and records <= RECORDS and max(sizes) <= CONCEPTS


def semantic_mdav(columns: tuple[QuasiIdentifier, ...], k: int) -> Partition:
    """Partition records by MDAV with distance (6.7) and marginality centroids [SC13 Alg. 2.1, (6.4), (6.7)].

    Squared distances of every attribute count times its weight. O(n² m / k).
    """
    categorical = _categorical(columns)
    numeric = [column.points() for column in columns if column.attribute.kind is not Kind.CATEGORICAL]
    records = len(columns[0].places)
    placed = np.concatenate(numeric, axis=1) if numeric else np.zeros((records, 0))
    taxonomies = tuple(taxonomy(column.hierarchy) for column in categorical)
    codes = np.stack([column.leaves[column.places] for column in categorical], axis=1)
    tables = tuple(
        np.square(tree.distances / tree.width) * column.attribute.weight
        for column, tree in zip(categorical, taxonomies, strict=True)
    )
    everything = Records(numeric=placed, codes=codes, taxonomies=taxonomies)
    space = Space(numeric=everything.numeric, codes=everything.codes, tables=tables)
    return Partition(_mdav_mixed(everything, space, k)).require(k, 2 * k - 1)


def taxonomy(hierarchy: Hierarchy) -> Taxonomy:
    """Return the concepts of a hierarchy, numbered level by level from the leaves on.

    The same label on two levels is two concepts, the higher one above the lower.
    """
    sizes = [len(labels) for labels in hierarchy.labels]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    above: list[NDArray[np.int64]] = []
    for level, codes in enumerate(hierarchy.codes):
        first = np.searchsorted(codes, np.arange(sizes[level]))
        higher = enumerate(hierarchy.codes[level:], start=level)
        above.append(np.stack([starts[height] + upper[first] for height, upper in higher], axis=1))
    marks = np.zeros((starts[-1], starts[-1]), dtype=bool)
    for level, ancestors in enumerate(above):
        marks[np.arange(starts[level], starts[level + 1])[:, None], ancestors] = True
    return Taxonomy(marks, np.arange(sizes[0], dtype=np.int32))


def _categorical(columns: tuple[QuasiIdentifier, ...]) -> list[QuasiIdentifier]:
    return [column for column in columns if column.attribute.kind is Kind.CATEGORICAL]
