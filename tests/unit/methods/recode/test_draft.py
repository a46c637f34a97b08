from __future__ import annotations

import numpy as np

from reference.recoding import hierarchy, released_texts
from shoal.methods.recode._draft import LocalDraft, OccupiedTuples, Vocabulary
from shoal.models import KAnonymity
from shoal.tables import Frequencies

AGE = hierarchy("age", [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]], ordered=True)
#: the third value is alone at level 1 as well
LONELY = hierarchy("x", [[0, 1, 2], [0, 0, 1], [0, 0, 0]])


def table(leaves: list[int], counts: list[int], first: object = AGE) -> Frequencies:
    return Frequencies(
        hierarchies=(first,),
        codes=np.array(leaves, dtype=np.int32)[:, None],
        counts=np.array(counts),
        sensitive_codes=np.zeros((len(leaves), 0), dtype=np.int32),
    )


def texts(draft: LocalDraft) -> list[str | None]:
    recoding = draft.recoding()
    return [released_texts(recoding, number)[0] if number >= 0 else "-" for number in recoding.classes]


def test_the_narrowest_value_covers_a_region() -> None:
    draft = LocalDraft(table([0, 1, 2, 3], [1, 1, 1, 1]))
    draft.cover(np.array([0, 0, 1, -1], dtype=np.int32), ordered=[False])
    assert texts(draft) == ["1.0", "1.0", "2", "-"]
    draft.cover(np.array([0, 1, 1, 1], dtype=np.int32), ordered=[False])
    assert texts(draft) == ["0", "*", "*", "*"]


def test_intervals_hold_their_ends() -> None:
    draft = LocalDraft(table([0, 1, 2, 3], [1, 1, 1, 1]))
    draft.cover(np.array([0, 0, 0, 1], dtype=np.int32), ordered=[True])
    assert texts(draft) == ["[0, 2]", "[0, 2]", "[0, 2]", "3"]
    recoding = draft.recoding()
    assert sorted(recoding.shares[0].tolist()) == [0.0, 2 / 3]
    assert recoding.unchanged == (False,)


def test_releases_that_read_the_same_are_one_class() -> None:
    # the two halves were made apart, but both release everything
    draft = LocalDraft(table([0, 1, 2, 3], [1, 1, 1, 1]))
    draft.generalize(np.array([True, True, False, False]), [2])
    draft.generalize(np.array([False, False, True, True]), [2])
    assert draft.recoding().number == 1


def test_the_same_text_at_two_levels_is_one_value() -> None:
    labels = (("a", "b", "c"), ("ab", "c"), ("*",))
    made = hierarchy("x", [[0, 1, 2], [0, 0, 1], [0, 0, 0]])
    repeated = type(made)(
        attribute="x",
        labels=labels,
        codes=made.codes,
        shares=made.shares,
        leaves=made.leaves,
        provenance=made.provenance,
    )
    vocabulary = Vocabulary(repeated)
    leaf = np.array([2], dtype=np.int32)
    assert vocabulary.at(leaf, 0).tolist() == vocabulary.at(leaf, 1).tolist()
    assert vocabulary.at(np.array([0], dtype=np.int32), 0) != vocabulary.at(np.array([0], dtype=np.int32), 1)


def test_what_violates_a_model_is_suppressed() -> None:
    draft = LocalDraft(table([0, 1, 2], [3, 1, 1], LONELY))
    draft.generalize(np.ones(3, dtype=np.bool_), [0])
    settled = draft.settle([KAnonymity(2)])
    assert texts(settled) == ["0", "-", "-"]
    assert settled.suppressed == 2
    assert texts(draft) == ["0", "1", "2"], "the draft itself is as it was"


def test_tuples_without_records_are_left_out() -> None:
    tuples = OccupiedTuples.of(table([2, 0, 2, 1], [1, 2, 3, 0]))
    assert tuples.columns.tolist() == [[0, 2]]
    assert tuples.counts.tolist() == [2, 4]
    assert tuples.labels.tolist() == [1, 0, 1, -1]
