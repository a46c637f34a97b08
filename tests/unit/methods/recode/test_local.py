"""What all local methods share: drafts, and the choice of the best one."""

from __future__ import annotations

import numpy as np
import pytest

from reference.recoding import hierarchy, released_texts
from shoal.errors import Cancelled, ParameterError, RequirementError
from shoal.methods.recode import Generalize, Iterate, Mondrian, Recode, Specialize, Subtree, _local
from shoal.methods.recode._local import LocalDraft, Vocabulary
from shoal.methods.recode._top_down import OccupiedTuples
from shoal.models import DistinctLDiversity, KAnonymity, TCloseness
from shoal.quality import Discernibility
from shoal.tables import Frequencies, SensitiveAttribute

LOCAL = [
    Mondrian(intervals=True),
    Mondrian(relaxed=True, intervals=True),
    Specialize(intervals=True),
    Iterate(),
    Subtree(),
]
AGE = hierarchy("age", [list(range(8)), [0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 0, 0, 1, 1, 1, 1], [0] * 8])
NUMBER = hierarchy("age", [list(range(8)), [0] * 8], ordered=True)
SEX = hierarchy("sex", [[0, 1], [0, 0]])
SMALL = hierarchy("age", [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]], ordered=True)
#: the third value is alone at level 1 as well
LONELY = hierarchy("x", [[0, 1, 2], [0, 0, 1], [0, 0, 0]])


def table(first: object, tuples: dict[tuple[int, int], int], *, sensitive: bool = False) -> Frequencies:
    codes = np.array(list(tuples), dtype=np.int32).reshape(-1, 2)
    values = np.arange(len(tuples), dtype=np.int32)[:, None] % 2
    return Frequencies(
        hierarchies=(first, SEX),
        codes=np.asfortranarray(codes),
        counts=np.array(list(tuples.values()), dtype=np.int64),
        sensitive=(SensitiveAttribute(name="disease", size=2, ordered=False),) if sensitive else (),
        sensitive_codes=np.asfortranarray(values if sensitive else values[:, :0]),
    )


ALL = {(age, sex): 1 for age in range(8) for sex in range(2)}


@pytest.mark.parametrize("method", LOCAL, ids=repr)
def test_every_method_keeps_k_and_beats_or_equals_the_best_node(method: Recode) -> None:
    frequencies = table(AGE, ALL)
    whole = Generalize().recode(frequencies, [KAnonymity(4)])
    found = method.recode(frequencies, [KAnonymity(4)])
    assert found.value <= whole.value
    assert np.bincount(found.recoding.classes).min() >= 4
    assert found.bound is None
    assert "full-domain" in found.explain()


@pytest.mark.parametrize("method", LOCAL, ids=repr)
def test_every_method_can_be_stopped_and_tells_progress(method: Recode) -> None:
    told: list[str] = []
    method.recode(table(AGE, ALL), [KAnonymity(4)], progress=lambda _done, _total, message: told.append(message))
    assert told
    with pytest.raises(Cancelled):
        method.recode(table(AGE, ALL), [KAnonymity(4)], cancelled=lambda: True)


@pytest.mark.parametrize("method", LOCAL, ids=repr)
def test_every_method_says_what_stands_in_the_way(method: Recode) -> None:
    with pytest.raises(RequirementError, match="k = 16"):
        method.recode(table(AGE, ALL), [KAnonymity(17)])


@pytest.mark.parametrize("method", LOCAL, ids=repr)
def test_every_method_works_on_no_records(method: Recode) -> None:
    assert method.recode(table(AGE, {}), [KAnonymity(3)]).recoding.number == 0


@pytest.mark.parametrize("method", LOCAL, ids=repr)
def test_every_method_reports_the_measure_asked_for(method: Recode) -> None:
    frequencies = table(AGE, ALL)
    found = type(method)(quality="discernibility").recode(frequencies, [KAnonymity(4)])
    assert found.value == pytest.approx(Discernibility().value(found.recoding, frequencies))


@pytest.mark.slow
@pytest.mark.parametrize("method", LOCAL, ids=repr)
def test_every_method_keeps_sensitive_models(method: Recode) -> None:
    frequencies = table(AGE, ALL, sensitive=True)
    for model in (DistinctLDiversity("disease", 2), TCloseness("disease", 0.1)):
        found = method.recode(frequencies, [KAnonymity(2), model])
        assert found.value <= Generalize().recode(frequencies, [KAnonymity(2), model]).value


@pytest.mark.parametrize("method", [Mondrian, Specialize])
def test_numbers_are_released_as_intervals_of_the_data_only_where_that_is_asked_for(method: type[Recode]) -> None:
    frequencies = table(NUMBER, {(age, 0): 1 for age in range(8)})
    found = method(intervals=True).recode(frequencies, [KAnonymity(4)])
    texts = {released_texts(found.recoding, number)[0] for number in range(found.recoding.number)}
    assert texts == {"[0, 3]", "[4, 7]"}
    assert found.recoding.shares[0] == pytest.approx([3 / 7, 3 / 7])
    assert method().recode(frequencies, [KAnonymity(4)]).recoding.labels[0] == ("*",)


def test_relaxed_mondrian_divides_the_records_of_the_median_value() -> None:
    # six records of one age: strict Mondrian must keep them together, relaxed does not
    tuples = {(3, 0): 2, (3, 1): 2, (0, 0): 1, (7, 1): 1}
    strict, relaxed = (
        Mondrian(relaxed=relaxed, intervals=True).recode(table(NUMBER, tuples), [KAnonymity(3)])
        for relaxed in (False, True)
    )
    assert relaxed.value <= strict.value
    assert {released_texts(relaxed.recoding, n)[0] for n in range(relaxed.recoding.number)} == {"[0, 3]", "[3, 7]"}


def test_small_children_stay_behind_in_relaxed_mondrian_alone() -> None:
    tuples = {(0, 0): 3, (2, 0): 3, (4, 0): 1, (6, 0): 2}
    strict, relaxed = (
        Mondrian(relaxed=relaxed, intervals=True).recode(table(AGE, tuples), [KAnonymity(3)])
        for relaxed in (False, True)
    )
    assert strict.recoding.number == 3
    assert {released_texts(relaxed.recoding, n)[0] for n in range(relaxed.recoding.number)} == {"0", "2", "2.1"}


def test_subtree_releases_a_value_alike_in_all_records() -> None:
    tuples = {(age, sex): 9 if age < 4 else 1 for age in range(8) for sex in range(2)}
    frequencies = table(AGE, tuples)
    found = Subtree(suppression_limit=0).recode(frequencies, [KAnonymity(4)])
    by_value: dict[int, set[str | None]] = {}
    for (age, _), number in zip(tuples, found.recoding.classes, strict=True):
        by_value.setdefault(age, set()).add(released_texts(found.recoding, number)[0])
    assert {age: len(texts) for age, texts in by_value.items()} == dict.fromkeys(range(8), 1)
    # frequent ages stay, rare ones are gathered
    assert by_value[0] == {"0"}
    assert by_value[7] == {"2.1"}
    assert found.value < Generalize(suppression_limit=0).recode(frequencies, [KAnonymity(4)]).value


def test_iterate_anonymises_the_remainder_with_another_node() -> None:
    tuples = {(0, 0): 5, (2, 0): 5, (4, 0): 1, (5, 0): 1, (6, 0): 1, (7, 1): 3}
    frequencies = table(AGE, tuples)
    found = Iterate(suppression_limit=0.2).recode(frequencies, [KAnonymity(3)])
    assert found.suppressed == 0
    texts = {released_texts(found.recoding, number) for number in range(found.recoding.number)}
    assert texts == {("0", "0"), ("2", "0"), ("7", "1"), ("2.1", "0")}


@pytest.mark.parametrize(
    ("method", "parameters", "message"),
    [
        (Specialize, {"foresight": -1}, "`foresight`"),
        (Iterate, {"first_price": 0.0}, "`first_price`"),
        (Iterate, {"growth": 1.0}, "`growth`"),
        (Iterate, {"saving": 1.0}, "`saving`"),
        (Mondrian, {"suppression_limit": -0.1}, "`suppression_limit` of `Mondrian`"),
        (Subtree, {"quality": "nothing"}, "no quality measure"),
    ],
)
def test_wrong_parameters_are_refused(method: type[Recode], parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        method(**parameters)


@pytest.mark.parametrize("value", ["soon", [1], {"a": "b"}, 10**400], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    ("method", "name"),
    [
        (Subtree, "effort"),
        (Subtree, "time_limit"),
        (Generalize, "cells"),
        (Iterate, "first_price"),
        (Iterate, "growth"),
        (Iterate, "saving"),
        (Mondrian, "relaxed"),
        (Specialize, "intervals"),
    ],
)
def test_a_value_of_another_type_is_refused_as_any_wrong_one_is(method: type[Recode], name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"`{name}` of `{method.__name__}` must be"):
        method(**{name: value})


@pytest.mark.parametrize("name", ["quality", "levels", "aggregates"])
def test_what_is_no_table_is_refused_where_one_is_asked_for(name: str) -> None:
    with pytest.raises(ParameterError, match=f"`{name}` of `Generalize` must be"):
        Generalize(**{name: 5})


@pytest.mark.parametrize("limit", ["effort", "time_limit"])
@pytest.mark.parametrize("method", [Specialize, Mondrian])
def test_no_nodes_are_compared_when_the_limit_is_reached(
    method: type[Recode], limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_local.LocalTask, "full_domain", lambda *_, **__: pytest.fail("the time was over"))
    found = method(**{limit: 1e-9}).recode(table(AGE, ALL), [KAnonymity(4)])
    assert np.bincount(found.recoding.classes).min() >= 4
    assert "is not proved" in found.explain()


def leaves_of(leaves: list[int], counts: list[int], first: object = SMALL) -> Frequencies:
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
    draft = LocalDraft(leaves_of([0, 1, 2, 3], [1, 1, 1, 1]))
    draft.cover(np.array([0, 0, 1, -1], dtype=np.int32), ordered=[False])
    assert texts(draft) == ["1.0", "1.0", "2", "-"]
    draft.cover(np.array([0, 1, 1, 1], dtype=np.int32), ordered=[False])
    assert texts(draft) == ["0", "*", "*", "*"]


def test_intervals_hold_their_ends() -> None:
    draft = LocalDraft(leaves_of([0, 1, 2, 3], [1, 1, 1, 1]))
    draft.cover(np.array([0, 0, 0, 1], dtype=np.int32), ordered=[True])
    assert texts(draft) == ["[0, 2]", "[0, 2]", "[0, 2]", "3"]
    recoding = draft.recoding()
    assert sorted(recoding.shares[0].tolist()) == [0.0, 2 / 3]
    assert recoding.unchanged == (False,)


def test_releases_that_read_the_same_are_one_class() -> None:
    # the two halves were made apart, but both release everything
    draft = LocalDraft(leaves_of([0, 1, 2, 3], [1, 1, 1, 1]))
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
    draft = LocalDraft(leaves_of([0, 1, 2], [3, 1, 1], LONELY))
    draft.generalize(np.ones(3, dtype=np.bool_), [0])
    settled = draft.settle([KAnonymity(2)])
    assert texts(settled) == ["0", "-", "-"]
    assert settled.suppressed == 2
    assert texts(draft) == ["0", "1", "2"], "the draft itself is as it was"


def test_tuples_without_records_are_left_out() -> None:
    tuples = OccupiedTuples.of(leaves_of([2, 0, 2, 1], [1, 2, 3, 0]))
    assert tuples.columns.tolist() == [[0, 2]]
    assert tuples.counts.tolist() == [2, 4]
    assert tuples.labels.tolist() == [1, 0, 1, -1]
