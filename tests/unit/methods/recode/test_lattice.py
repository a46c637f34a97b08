from __future__ import annotations

import numpy as np
import pytest

from reference.recoding import hierarchy, score_lattice
from shoal.methods.recode import Box, Lattice, _lattice
from shoal.models import KAnonymity
from shoal.tables import Frequencies, SensitiveAttribute

AGE = hierarchy("age", [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])
SEX = hierarchy("sex", [[0, 1], [0, 0]])


def table(rows: list[tuple[int, ...]], counts: list[int], **more: object) -> Frequencies:
    codes = np.array(rows, dtype=np.int32)
    return Frequencies(
        hierarchies=(AGE, SEX),
        codes=np.asfortranarray(codes[:, :2]),
        counts=np.array(counts),
        sensitive_codes=np.asfortranarray(codes[:, 2:]),
        **more,
    )


PLAIN = table([(3, 1), (0, 0), (1, 0), (2, 1)], [4, 1, 2, 3])


def test_there_is_one_node_per_combination_of_levels() -> None:
    lattice = Lattice(PLAIN)
    assert lattice.nodes == 6
    assert (lattice.bottom, lattice.top) == ((0, 0), (2, 1))


def test_a_node_has_its_classes_in_order() -> None:
    node = Lattice(PLAIN).node((1, 0))
    assert node.codes().tolist() == [[0, 0], [1, 1]]
    assert node.sizes.tolist() == [3, 7]


def test_a_node_is_the_same_whatever_it_was_rolled_up_from() -> None:
    fresh, used = Lattice(PLAIN), Lattice(PLAIN)
    for levels in ((0, 0), (1, 0), (1, 1), (0, 1)):
        used.node(levels, low=(0, 0))
    for levels in ((2, 0), (1, 1), (2, 1)):
        assert used.node(levels).sizes.tolist() == fresh.node(levels).sizes.tolist()


def test_nodes_that_do_not_fit_the_store_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lattice, "_STORE", 3)
    lattice = Lattice(PLAIN)
    for levels in ((1, 0), (1, 1), (2, 1)):
        assert lattice.node(levels).sizes.sum() == 10
    assert lattice._stored <= 3


def test_histograms_hold_the_values_of_the_chosen_classes() -> None:
    disease = SensitiveAttribute(name="disease", size=3, ordered=False)
    frequencies = table([(0, 0, 2), (1, 0, 0), (1, 0, 2), (3, 1, 1)], [1, 2, 3, 4], sensitive=(disease,))
    node = Lattice(frequencies).node((1, 0))
    histogram = node.classes(np.array([True, False]), sensitive=["disease"]).histogram("disease")
    assert histogram.codes.tolist() == [0, 2]
    assert histogram.counts.tolist() == [2, 4]
    assert histogram.offsets.tolist() == [0, 2]


def test_histograms_of_several_attributes_add_up_over_the_others() -> None:
    described = tuple(SensitiveAttribute(name=name, size=2, ordered=False) for name in ("a", "b"))
    frequencies = table([(0, 0, 0, 0), (0, 0, 0, 1), (1, 0, 1, 1)], [1, 2, 3], sensitive=described)
    classes = Lattice(frequencies).node((1, 0)).classes(np.array([True]), sensitive=["a", "b"])
    assert classes.histogram("a").codes.tolist() == [0, 1]
    assert classes.histogram("a").counts.tolist() == [3, 3]
    assert classes.histogram("b").counts.tolist() == [1, 5]


def test_classes_that_only_the_population_holds_are_not_released() -> None:
    frequencies = table([(0, 0), (1, 0), (3, 1)], [2, 1, 0], population=np.array([5, 1, 9]))
    lattice = Lattice(frequencies)
    node = lattice.node((0, 0))
    assert node.sizes.tolist() == [2, 1, 0]
    assert node.classes(node.sizes > 0).population.tolist() == [5, 1]
    recoding = lattice.recoding((0, 0), lattice.node((0, 0)).keep([KAnonymity(1)]))
    assert recoding.classes.tolist() == [0, 1, -1]


def test_the_release_of_a_node_suppresses_small_classes() -> None:
    recoding = Lattice(PLAIN).recoding((0, 1), Lattice(PLAIN).node((0, 1)).keep([KAnonymity(2)]))
    assert recoding.classes.tolist() == [2, -1, 0, 1]
    assert recoding.codes.tolist() == [[1, 0], [2, 0], [3, 0]]
    assert recoding.levels == (0, 1)


SCORED = Frequencies(
    hierarchies=(SEX, AGE),
    codes=np.asfortranarray(np.array([[0, 0], [0, 1], [1, 2], [1, 3]], dtype=np.int32)),
    counts=np.array([2, 2, 3, 1]),
    sensitive=(SensitiveAttribute(name="income", size=2, ordered=False),),
    sensitive_codes=np.array([[0], [1], [0], [0]], dtype=np.int32),
)
FREE = tuple(tuple(np.zeros(len(labels)) for labels in h.labels) for h in SCORED.hierarchies)


def test_scores_are_indexed_by_levels_in_the_order_of_the_attributes() -> None:
    # the number of classes of at least two records
    found = score_lattice(SCORED, np.array([0.0, 0.0, 1.0]), FREE, slope=0.0)
    assert found.shape == (2, 3)
    assert found[0, 0] == 3
    assert found[0, 1] == found[1, 1] == 2
    assert found[1, 2] == 1


def test_the_largest_group_of_a_class_counts_where_a_value_is_predicted() -> None:
    found = score_lattice(SCORED, np.arange(9.0), FREE, slope=1.0, sensitive="income")
    # the classes of the first node have one value each; in the last node six of eight records have the same
    assert found[0, 0] == 8
    assert found[1, 2] == 6
    assert found[0, 1] == 2 + 4


def test_nodes_of_a_box_are_numbered_from_its_lowest_corner() -> None:
    box = Box(Lattice(SCORED), (0, 1), (1, 2), FREE)
    assert {box.levels(number) for number in range(4)} == {(0, 1), (0, 2), (1, 1), (1, 2)}
    assert box.levels(0) == (0, 1)
    assert box.levels(3) == (1, 2)
