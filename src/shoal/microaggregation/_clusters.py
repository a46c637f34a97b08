"""MDAV clusters of the records of a table, by the way that suits their number and their categories."""

from __future__ import annotations

from typing import Literal

from shoal.closeness import People
from shoal.microaggregation import Partition, blocked_mdav, mdav
from shoal.microaggregation._semantic import semantic_mdav, suits
from shoal.schema import Kind

__all__ = ["Categories", "compared_as", "mdav_clusters"]

Categories = Literal["auto", "semantic", "points"]
"""How categories are compared: by their semantic distance; as points that have nearly these distances, which is faster;
or, automatically, by semantic distance where there are at most 20,000 records and 1,000 concepts, else as points."""


def compared_as(people: People, categories: Categories, block: int) -> str:
    """Say how categories are compared: ``"semantic"`` or ``"points"``; blocks are clustered as points."""
    if categories == "points" or 0 < block < len(people):
        return "points"
    few = categories == "semantic" or suits(people.quasi_identifiers, len(people))
    some = any(column.attribute.kind is Kind.CATEGORICAL for column in people.quasi_identifiers)
    return "semantic" if few and some else "points"


def mdav_clusters(people: People, k: int, *, block: int, compared: str) -> Partition:
    """Return MDAV clusters of k to 2k - 1 records."""
    if 0 < block < len(people):
        return blocked_mdav(people.points, k, block_rows=block, scaling="none")
    if compared == "semantic":
        return semantic_mdav(people.quasi_identifiers, k)
    return mdav(people.points, k, scaling="none")
