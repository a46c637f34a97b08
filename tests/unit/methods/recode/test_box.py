from __future__ import annotations

import numpy as np

from reference.recoding import hierarchy, score_lattice
from shoal.methods.recode import Box, Lattice
from shoal.tables import Frequencies, SensitiveAttribute

AGE = hierarchy("age", [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])
SEX = hierarchy("sex", [[0, 1], [0, 0]])
TABLE = Frequencies(
    hierarchies=(SEX, AGE),
    codes=np.asfortranarray(np.array([[0, 0], [0, 1], [1, 2], [1, 3]], dtype=np.int32)),
    counts=np.array([2, 2, 3, 1]),
    sensitive=(SensitiveAttribute(name="income", size=2, ordered=False),),
    sensitive_codes=np.array([[0], [1], [0], [0]], dtype=np.int32),
)
FREE = tuple(tuple(np.zeros(len(labels)) for labels in h.labels) for h in TABLE.hierarchies)


def test_scores_are_indexed_by_levels_in_the_order_of_the_attributes() -> None:
    # the number of classes of at least two records
    found = score_lattice(TABLE, np.array([0.0, 0.0, 1.0]), FREE, slope=0.0)
    assert found.shape == (2, 3)
    assert found[0, 0] == 3
    assert found[0, 1] == found[1, 1] == 2
    assert found[1, 2] == 1


def test_the_largest_group_of_a_class_counts_where_a_value_is_predicted() -> None:
    found = score_lattice(TABLE, np.arange(9.0), FREE, slope=1.0, sensitive="income")
    # the classes of the first node have one value each; in the last node six of eight records have the same
    assert found[0, 0] == 8
    assert found[1, 2] == 6
    assert found[0, 1] == 2 + 4


def test_nodes_of_a_box_are_numbered_from_its_lowest_corner() -> None:
    box = Box(Lattice(TABLE), (0, 1), (1, 2), FREE)
    assert {box.levels(number) for number in range(4)} == {(0, 1), (0, 2), (1, 1), (1, 2)}
    assert box.levels(0) == (0, 1)
    assert box.levels(3) == (1, 2)
