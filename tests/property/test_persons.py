"""Persons with several records: every model, search and recoding against a count that looks at one record at a time."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import persons as reference
from reference import recoding
from reference.examples import examples
from shoal.errors import RequirementError
from shoal.methods.base import Watch
from shoal.methods.classes._near_classes import Strategy, microaggregate_points
from shoal.methods.recode import Generalize, Iterate, Mondrian, Recode, Specialize, Subtree
from shoal.methods.recode._linked import best_linked, best_local
from shoal.methods.recode._local import LocalMethod
from shoal.models import (
    AverageRisk,
    BetaLikeness,
    Classes,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    Model,
    MultiplicativeCloseness,
    ProbabilisticKAnonymity,
    PSensitive,
    RecursiveLDiversity,
    SampleUniqueness,
    TCloseness,
)
from shoal.quality import InformationLoss
from shoal.risk import risk_of_classes
from shoal.tables import Frequencies, Holders, SensitiveAttribute

QUICK = examples(12)
METHODS = [
    Generalize(suppression_limit=1),
    Generalize(suppression_limit=1, cells=True),
    Iterate(suppression_limit=1),
    Specialize(suppression_limit=1),
    Specialize(suppression_limit=1, intervals=True),
    Mondrian(suppression_limit=1),
    Mondrian(suppression_limit=1, relaxed=True, intervals=True),
    Subtree(suppression_limit=1),
]
numbers = st.sampled_from
SIZES = [
    st.builds(KAnonymity, st.integers(1, 6)),
    st.builds(ProbabilisticKAnonymity, st.integers(1, 6)),
    st.builds(AverageRisk, numbers([Fraction(1, 5), Fraction(1, 3), Fraction(1, 2)])),
    st.builds(SampleUniqueness, numbers([0, Fraction(1, 5), Fraction(1, 2)])),
]
VALUES = [
    st.builds(DistinctLDiversity, st.just("s0"), st.integers(1, 3)),
    st.builds(EntropyLDiversity, st.just("s0"), numbers([1, Fraction(3, 2), 2, 3])),
    st.builds(RecursiveLDiversity, st.just("s0"), c=numbers([1, 2]), l=st.integers(1, 3)),
    st.builds(TCloseness, st.just("s0"), numbers([Fraction(1, 10), Fraction(1, 4), Fraction(1, 2)])),
    st.builds(BetaLikeness, st.just("s0"), numbers([Fraction(1, 5), 1, 2]), enhanced=st.booleans()),
    st.builds(DeltaDisclosure, st.just("s0"), numbers([Fraction(3, 10), 1])),
    st.builds(MultiplicativeCloseness, st.just("s0"), numbers([Fraction(3, 2), 3])),
    st.builds(PSensitive, st.just(["s0"]), p=st.just(2), k=st.integers(2, 4)),
]
POPULATION = [
    st.builds(KMap, st.integers(1, 8)),
    st.builds(DeltaPresence, st.just(0), numbers([Fraction(1, 4), Fraction(1, 2), 1])),
]
ANY = st.one_of(*SIZES, *VALUES)


def labels(draw: st.DrawFn, frequencies: Frequencies) -> np.ndarray:
    """Draw a class for every row, and some rows without one."""
    number = draw(st.integers(1, 4))
    drawn = np.array([draw(st.integers(-1, number - 1)) for _ in frequencies.counts])
    return np.unique(np.append(drawn, -1), return_inverse=True)[1][:-1].astype(np.int64) - 1


@st.composite
def classed(draw: st.DrawFn, **options: object) -> tuple[Frequencies, np.ndarray]:
    frequencies = draw(reference.tables(sensitive=1, **options))
    return frequencies, labels(draw, frequencies)


@given(classed())
@QUICK
def test_classes_count_persons_and_give_each_one_vote(given_: tuple[Frequencies, np.ndarray]) -> None:
    frequencies, chosen = given_
    classes = Classes.of(frequencies, chosen)
    expected = reference.records(frequencies, chosen)
    histogram = classes.histogram("s0")
    for label, found in expected.items():
        assert classes.persons[label] == len({person for person, _ in found})
        assert classes.sizes[label] == len(found)
        entries = slice(*histogram.offsets[label : label + 2])
        given_votes = dict(zip(histogram.codes[entries].tolist(), histogram.votes[entries].tolist(), strict=True))
        votes = {value: Fraction(int(count), classes.vote) for value, count in given_votes.items()}
        assert votes == reference.votes(found, 0)


@pytest.mark.slow
@pytest.mark.parametrize("most", [4, 40])
@given(data=st.data())
@examples(80)
def test_models_decide_in_persons_what_their_definitions_say(most: int, data: st.DataObject) -> None:
    frequencies, chosen = data.draw(classed(most=most, rows=8, people=6))
    model = data.draw(ANY)
    classes = Classes.of(frequencies, chosen)
    kept = model.keep(classes, np.ones(len(classes), dtype=np.bool_))
    expected = reference.verdicts(model, frequencies, chosen)
    if model.name in ("average-risk", "sample-uniqueness"):
        assert bool(kept.all()) == all(expected.values())
        left = np.append(np.where(kept, np.arange(len(kept)), -1), -1)[chosen]
        assert reference.holds(model, frequencies, left)
    else:
        assert kept.tolist() == [expected[label] for label in range(len(classes))]
    if len(classes) and kept.all():
        achieved = model.find_achieved(classes)
        changed = {name: value for name, value in achieved.items() if isinstance(value, int | Fraction)}
        assert reference.holds(dataclasses.replace(model, **changed), frequencies, chosen)


@pytest.mark.parametrize("residents", [False, True])
@given(data=st.data())
@examples(20)
def test_models_of_a_population_compare_persons_with_it(residents: bool, data: st.DataObject) -> None:
    frequencies = data.draw(reference.tables(population=True, residents=residents))
    chosen = labels(data.draw, frequencies)
    occupied = {int(label) for label, count in zip(chosen, frequencies.counts, strict=True) if count and label >= 0}
    model = data.draw(st.one_of(*POPULATION))
    classes = Classes.of(frequencies, chosen)
    kept = model.keep(classes, np.ones(len(classes), dtype=np.bool_))
    expected = reference.verdicts(model, frequencies, chosen)
    assert {label: bool(kept[label]) for label in occupied} == expected


@pytest.mark.slow
@given(data=st.data(), limit=numbers([Fraction(0), Fraction(1, 5), Fraction(1)]), several=st.booleans())
@examples(40)
def test_the_search_counts_the_residents_of_a_population_once(
    data: st.DataObject, limit: Fraction, several: bool
) -> None:
    frequencies = data.draw(reference.tables(population=True, residents=True))
    if not several:  # of the table's people; the population's may still have several
        frequencies = dataclasses.replace(frequencies, holders=None)
    model = data.draw(st.one_of(*POPULATION))
    expected = recoding.best(frequencies, [model], InformationLoss(), limit)
    method = Generalize(suppression_limit=limit)
    if expected is None:
        with pytest.raises(RequirementError):
            method.recode(frequencies, [model])
        return
    found = method.recode(frequencies, [model])
    assert found.value == pytest.approx(expected[1], rel=1e-12, abs=1e-12)
    if several:
        assert reference.holds(model, frequencies, found.recoding.classes)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=repr)
@given(data=st.data())
@examples(20)
def test_every_recoding_keeps_its_promise_to_persons(method: Recode, data: st.DataObject) -> None:
    frequencies = data.draw(reference.tables(sensitive=1))
    models: list[Model] = [data.draw(st.builds(KAnonymity, st.integers(1, 5)))]
    models += [data.draw(ANY)] if data.draw(st.booleans()) else []
    try:
        found = method.recode(frequencies, models)
    except RequirementError:
        return
    for model in models:
        assert reference.holds(model, frequencies, found.recoding.classes)
    assert found.suppressed == recoding.suppressed(frequencies, found.recoding)


@pytest.mark.slow
@given(frequencies=reference.tables(), k=st.integers(1, 4), limit=numbers([Fraction(0), Fraction(1, 2), Fraction(1)]))
@examples(80)
def test_kept_links_find_the_best_node_at_which_k_persons_share_all_records(
    frequencies: Frequencies, k: int, limit: Fraction
) -> None:
    measure = InformationLoss()
    limits = Generalize(suppression_limit=limit).limits(frequencies, Watch())
    expected = list(reference.linked_values(frequencies, measure, k, limits.suppressed))
    objective = measure.objective(frequencies)
    if not expected:
        with pytest.raises(RequirementError):
            best_linked(frequencies, objective, measure, k, limits, Watch())
        return
    released, found = best_linked(frequencies, objective, measure, k, limits, Watch())
    assert found.value == pytest.approx(min(expected), abs=1e-12)
    assert found.suppressed <= limits.suppressed
    assert reference.holds(KAnonymity(k), released.frequencies, released.recoding.classes)


@pytest.mark.slow
@pytest.mark.parametrize("method", [Iterate, Specialize, Mondrian, Subtree])
@given(frequencies=reference.tables(), k=st.integers(1, 4), limit=numbers([Fraction(1, 2), Fraction(1)]))
@examples(25)
def test_local_recodings_that_keep_links_let_k_persons_share_all_records(
    method: type[LocalMethod], frequencies: Frequencies, k: int, limit: Fraction
) -> None:
    made = method(suppression_limit=limit)
    allowed = math.floor(limit * frequencies.records)
    found = best_local(
        lambda crowd: made.recode(frequencies, [KAnonymity(crowd)]), frequencies, made.measure, k, allowed
    )
    if found is None:
        return
    released, result = found
    holders = frequencies.holders
    assert holders is not None
    records = defaultdict(list)
    for row, person, count in recoding.everybody(holders):
        if released.kept[person % holders.number]:
            shown = released.whole.classes[row]
            assert shown >= 0
            records[person] += [tuple(released.whole.codes[shown].tolist())] * int(count)
    shared = Counter(tuple(sorted(own)) for own in records.values())
    assert min(shared.values()) >= k
    left_out = frequencies.records - sum(map(len, records.values()))
    assert left_out == released.suppressed == result.suppressed <= allowed
    assert result.value == pytest.approx(made.measure.value(released.recoding, released.frequencies))
    assert reference.holds(KAnonymity(k), released.frequencies, released.recoding.classes)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["merge-first", "closeness-first", "best"])
@given(data=st.data())
@examples(40)
def test_clusters_are_merged_until_they_keep_the_promise_to_persons(strategy: Strategy, data: st.DataObject) -> None:
    records, people = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 10))
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    ill = SensitiveAttribute(name="s0", size=3, ordered=data.draw(st.booleans()))
    codes, whose = (
        draw.integers(0, 3, (records, 1)),
        np.unique(draw.integers(0, people, records), return_inverse=True)[1],
    )
    models = [KAnonymity(data.draw(st.integers(1, 4))), data.draw(st.one_of(*VALUES))]
    frequencies = Frequencies(
        hierarchies=(),
        codes=np.empty((records, 0), dtype=np.int32),
        counts=np.ones(records, dtype=np.int64),
        sensitive=(ill,),
        sensitive_codes=codes.astype(np.int32),
        holders=Holders.of_records(whose),
    )
    places = draw.normal(size=(records, 2))
    try:
        found = microaggregate_points(places, (ill,), codes, models, strategy, persons=whose.astype(np.int64))
    except RequirementError:
        assert not all(reference.holds(model, frequencies, [0] * records) for model in models)
        return
    assert all(reference.holds(model, frequencies, found.labels.tolist()) for model in models)


@pytest.mark.slow
@given(data=st.data(), limit=numbers([Fraction(0), Fraction(1, 5), Fraction(1)]))
@examples(30)
def test_the_search_finds_what_brute_force_finds(data: st.DataObject, limit: Fraction) -> None:
    frequencies = data.draw(reference.tables(sensitive=1))
    models: list[Model] = [data.draw(st.builds(KAnonymity, st.integers(1, 5)))]
    models += [data.draw(ANY)] if data.draw(st.booleans()) else []
    expected = recoding.best(frequencies, models, InformationLoss(), limit)
    method = Generalize(suppression_limit=limit)
    if expected is None:
        with pytest.raises(RequirementError):
            method.recode(frequencies, models)
        return
    found = method.recode(frequencies, models)
    assert (found.levels, found.optimal) == (expected[0], True)
    assert found.value == pytest.approx(expected[1], rel=1e-12, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=repr)
@given(data=st.data())
@examples(10)
def test_one_record_each_is_the_same_as_no_persons(method: Recode, data: st.DataObject) -> None:
    if isinstance(method, Iterate | Specialize):  # they take other ways with persons, of the same strength
        method = Generalize(suppression_limit=1)
    alone = data.draw(recoding.tables(sensitive=1))
    rows = np.repeat(np.arange(len(alone.counts)), alone.counts)
    each = Holders.of(rows, np.arange(len(rows)), np.ones(len(rows), dtype=np.int64), len(rows))
    persons = dataclasses.replace(alone, holders=each)
    models: list[Model] = [KAnonymity(data.draw(st.integers(1, 4))), data.draw(ANY)]
    try:
        found = method.recode(alone, models)
    except RequirementError:
        with pytest.raises(RequirementError):
            method.recode(persons, models)
        return
    twin = method.recode(persons, models)
    assert twin.value == found.value
    assert np.array_equal(twin.recoding.classes, found.recoding.classes)


@given(data=st.data())
@examples(60)
def test_persons_counted_together_have_the_risk_that_they_have_apart(data: st.DataObject) -> None:
    frequencies = data.draw(reference.tables())
    assert frequencies.holders is not None
    together = dataclasses.replace(frequencies, holders=reference.gathered(frequencies.holders))
    chosen = np.asarray(labels(data.draw, frequencies))
    apart, same = (dataclasses.asdict(risk_of_classes(each, chosen, "id")) for each in (frequencies, together))
    for unit in ("records", "persons"):
        assert same[unit] == pytest.approx(apart[unit], rel=1e-12)
    assert (same["trajectories"], same["most"]) == (apart["trajectories"], apart["most"])
    assert together.holders is not None
    assert together.holders.present(chosen) == frequencies.holders.present(chosen)
    assert together.persons == frequencies.persons
