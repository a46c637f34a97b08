from __future__ import annotations

import math

import numpy as np
import pytest

from reference.errors import information_loss, semantic_sse
from shoal.hierarchies import Hierarchy
from shoal.methods.classes import Taxonomy
from shoal.methods.classes._errors import Errors, concept_errors, number_errors
from shoal.methods.classes._semantic import taxonomy
from shoal.schema import Provenance

NAN = math.nan


def _hierarchy() -> Hierarchy:
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
    hierarchy = _hierarchy()
    tree = Taxonomy.from_parents([4, 4, 5, 5, 6, 6, -1])
    leaves, released = np.array([0, 1, 2, 3, 0]), np.array([0, 0, 5, 6, 4])
    found = concept_errors(hierarchy, leaves, released, 6)
    wanted = semantic_sse(leaves[:, None], released[:, None], [tree.distances])
    spread = semantic_sse(leaves[:, None], np.full((5, 1), 6), [tree.distances])
    assert found.sse == pytest.approx(wanted / tree.distances[0, 2] ** 2)
    assert found.sst == pytest.approx(spread / tree.distances[0, 2] ** 2)


def test_a_hierarchy_is_the_taxonomy_of_its_levels() -> None:
    found, wanted = taxonomy(_hierarchy()), Taxonomy.from_parents([4, 4, 5, 5, 6, 6, -1])
    assert np.array_equal(found.ancestors, wanted.ancestors)
    assert found.domain.tolist() == [0, 1, 2, 3]


def test_errors_of_attributes_add_up_with_their_weights() -> None:
    total = Errors(sse=1.0, sst=4.0) + Errors(sse=1.0, sst=1.0).weighted(3.0)
    assert total.measures() == {"sse": 4.0, "sse/sst": 4.0 / 7.0}


def test_very_large_numbers_do_not_overflow() -> None:
    before, after = np.array([1e308, 1.2e308, -1e308, -1.2e308]), np.array([1.1e308, 1.1e308, -1.1e308, -1.1e308])
    small = number_errors(before / 1e300, after / 1e300)
    assert number_errors(before, after).sse == pytest.approx(small.sse)
    assert small.sse > 0
