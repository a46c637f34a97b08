"""What all local methods share."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from reference.recoding import hierarchy, released_texts
from shoal.errors import Cancelled, ParameterError, RequirementError
from shoal.methods.recode import Generalize, Iterate, Mondrian, Recode, Specialize, Subtree, _local
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


@pytest.mark.parametrize("method", [Specialize(time_limit=20), Mondrian(time_limit=20)], ids=repr)
def test_no_nodes_are_compared_when_time_is_over(method: Recode, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = iter([0.0, 0.0])  # the start, and how much is left for the draft
    monkeypatch.setattr(_local, "time", SimpleNamespace(monotonic=lambda: next(seen, 21.0)))
    monkeypatch.setattr(_local.LocalTask, "full_domain", lambda *_, **__: pytest.fail("the time was over"))
    found = method.recode(table(AGE, ALL), [KAnonymity(4)])
    assert np.bincount(found.recoding.classes).min() >= 4
    assert "is not proved" in found.explain()
