"""What stands for a class, and what is lost by it."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from reference.errors import information_loss, semantic_sse
from shoal.hierarchies import Concepts, Hierarchy, build
from shoal.methods.classes import Partition, _typical
from shoal.methods.classes._typical import Errors, concept_errors, number_errors, typical_concepts
from shoal.schema import Attribute, Groups, Provenance

NAN = math.nan


@pytest.fixture
def hierarchy() -> Hierarchy:
    rule = Groups(levels=((("infection", ("cold", "flu", "measles")), ("injury", ("burn", "fracture"))),))
    return build(Attribute(name="illness", hierarchy=rule), pa.array([]))


def _taxonomy(hierarchy: Hierarchy) -> Concepts:
    """Return the same concepts, level by level, as a taxonomy of the clustering methods."""
    starts = np.cumsum([0, *(len(labels) for labels in hierarchy.labels)])
    parents = np.full(starts[-1], -1)
    for level in range(hierarchy.height):
        below, above = hierarchy.codes[level], hierarchy.codes[level + 1]
        parents[starts[level] + below] = starts[level + 1] + above
    return Concepts.from_parents(parents.tolist())


def test_the_typical_concept_is_the_least_marginal_one(hierarchy: Hierarchy) -> None:
    draw = np.random.default_rng(1)
    leaves, labels = draw.integers(0, 5, 300), np.arange(300) % 40
    taxonomy = _taxonomy(hierarchy)
    found = typical_concepts(hierarchy, leaves, Partition(labels))
    for number in range(40):
        assert found[number] == taxonomy.centroid(taxonomy.counts(leaves[labels == number]))


def test_very_many_values_take_the_commonest(hierarchy: Hierarchy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_typical, "CELLS", 1)
    leaves = np.array([2, 2, 0, 1, 1, 0])
    assert typical_concepts(hierarchy, leaves, Partition([0, 0, 0, 1, 1, 1])).tolist() == [2, 1]
    assert typical_concepts(hierarchy, np.array([3, 1, 1, 3]), Partition([0, 0, 0, 0])).tolist() == [1]


def _towns() -> Hierarchy:
    """Four values in two groups."""
    codes = (np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0]))
    return Hierarchy(
        attribute="town",
        labels=(("a", "b", "c", "d"), ("ab", "cd"), ("*",)),
        codes=tuple(level.astype(np.int32) for level in codes),
        shares=tuple(np.zeros(size) for size in (4, 2, 1)),
        leaves=tuple(np.ones(size, dtype=np.int64) for size in (4, 2, 1)),
        provenance=Provenance.DECLARED,
    )


def test_numbers_lose_what_the_published_measure_says() -> None:
    before, after = np.array([1.0, 5.0, 7.0, 9.0, 30.0]), np.array([3.0, 3.0, 8.0, 8.0, 30.0])
    assert number_errors(before, after).measures()["sse/sst"] == pytest.approx(information_loss(before, after))


def test_a_missing_value_counts_as_one_deviation_against_a_number_only() -> None:
    before = np.array([1.0, 3.0, NAN, NAN])
    assert number_errors(before, before).sse == 0.0
    assert number_errors(before, np.array([1.0, 3.0, 2.0, NAN])).sse == 1.0
    assert number_errors(before, np.array([1.0, NAN, NAN, NAN])).sse == 1.0
    assert number_errors(np.array([NAN, NAN]), np.array([NAN, NAN])) == Errors()


def test_a_constant_loses_nothing() -> None:
    assert number_errors(np.array([4.0, 4.0]), np.array([4.0, 4.0])).measures() == {"sse": 0.0, "sse/sst": 0.0}


def test_concepts_lose_their_semantic_distance() -> None:
    hierarchy = _towns()
    tree = Concepts.from_parents([4, 4, 5, 5, 6, 6, -1])
    leaves, released = np.array([0, 1, 2, 3, 0]), np.array([0, 0, 5, 6, 4])
    found = concept_errors(hierarchy, leaves, released, 6)
    wanted = semantic_sse(leaves[:, None], released[:, None], [tree.distances])
    spread = semantic_sse(leaves[:, None], np.full((5, 1), 6), [tree.distances])
    assert found.sse == pytest.approx(wanted / tree.distances[0, 2] ** 2)
    assert found.sst == pytest.approx(spread / tree.distances[0, 2] ** 2)


def test_errors_of_attributes_add_up_with_their_weights() -> None:
    total = Errors(sse=1.0, sst=4.0) + Errors(sse=1.0, sst=1.0).multiply(3.0)
    assert total.measures() == {"sse": 4.0, "sse/sst": 4.0 / 7.0}


def test_very_large_numbers_do_not_overflow() -> None:
    before, after = np.array([1e308, 1.2e308, -1e308, -1.2e308]), np.array([1.1e308, 1.1e308, -1.1e308, -1.1e308])
    small = number_errors(before / 1e300, after / 1e300)
    assert number_errors(before, after).sse == pytest.approx(small.sse)
    assert small.sse > 0
