"""Semantic distances in a hierarchy, and typical concepts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from shoal.hierarchies import Hierarchy, build
from shoal.methods.classes import Partition, Taxonomy, _concepts
from shoal.methods.classes._concepts import semantic_distances, typical_concepts
from shoal.schema import Attribute, Groups


@pytest.fixture
def hierarchy() -> Hierarchy:
    rule = Groups(levels=((("infection", ("cold", "flu", "measles")), ("injury", ("burn", "fracture"))),))
    return build(Attribute(name="illness", hierarchy=rule), pa.array([]))


def _taxonomy(hierarchy: Hierarchy) -> Taxonomy:
    """Return the same concepts, level by level, as a taxonomy of the clustering methods."""
    starts = np.cumsum([0, *(len(labels) for labels in hierarchy.labels)])
    parents = np.full(starts[-1], -1)
    for level in range(hierarchy.height):
        below, above = hierarchy.codes[level], hierarchy.codes[level + 1]
        parents[starts[level] + below] = starts[level + 1] + above
    return Taxonomy.from_parents(parents.tolist())


def test_distances_are_those_of_the_taxonomy(hierarchy: Hierarchy) -> None:
    leaves = np.arange(hierarchy.size)
    assert semantic_distances(hierarchy, leaves) == pytest.approx(_taxonomy(hierarchy).distances[:5, :5])


def test_the_typical_concept_is_the_least_marginal_one(hierarchy: Hierarchy) -> None:
    draw = np.random.default_rng(1)
    leaves, labels = draw.integers(0, 5, 300), np.arange(300) % 40
    taxonomy = _taxonomy(hierarchy)
    found = typical_concepts(hierarchy, leaves, Partition(labels))
    for number in range(40):
        assert found[number] == taxonomy.centroid(taxonomy.counts(leaves[labels == number]))


def test_very_many_values_take_the_commonest(hierarchy: Hierarchy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_concepts, "CELLS", 1)
    leaves = np.array([2, 2, 0, 1, 1, 0])
    assert typical_concepts(hierarchy, leaves, Partition([0, 0, 0, 1, 1, 1])).tolist() == [2, 1]
    assert typical_concepts(hierarchy, np.array([3, 1, 1, 3]), Partition([0, 0, 0, 0])).tolist() == [1]
