"""Every recoding method against an independent look at what it releases, and the search against brute force."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reference import recoding as reference
from reference.examples import examples
from shoal.errors import RequirementError
from shoal.methods.recode import Generalize, Iterate, Mondrian, Recode, Specialize, Subtree
from shoal.methods.recode import _any_time as any_time
from shoal.models import (
    AverageRisk,
    BetaLikeness,
    Classes,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    Model,
    MultiplicativeCloseness,
    RecursiveLDiversity,
    TCloseness,
)
from shoal.quality import MEASURES, InformationLoss, Measure
from shoal.tables import Frequencies, Recoding, SensitiveAttribute

QUICK = examples(25)
FEW = examples(12)
LOCAL = [
    Mondrian(suppression_limit=1, intervals=True),
    Mondrian(suppression_limit=1, intervals=True, relaxed=True),
    Mondrian(suppression_limit=1, relaxed=True, intervals=False),
    Specialize(suppression_limit=1, intervals=True),
    Specialize(suppression_limit=1, foresight=0, intervals=False),
    Iterate(suppression_limit=1),
    Iterate(suppression_limit=1, saving=0.0),
    Subtree(suppression_limit=1),
    Generalize(suppression_limit=1, cells=True),
]

k_anonymity = st.builds(KAnonymity, st.integers(1, 8))


@st.composite
def sensitive_models(draw: st.DrawFn) -> list[Model]:
    """Draw models of one sensitive attribute, most of them with k-anonymity."""
    number = st.sampled_from([0.1, 0.25, 0.5, 1.0])
    model = draw(
        st.one_of(
            st.builds(TCloseness, st.just("s0"), number),
            st.builds(BetaLikeness, st.just("s0"), st.sampled_from([0.2, 0.5, 1.0, 2.0])),
            st.builds(DeltaDisclosure, st.just("s0"), st.sampled_from([0.3, 1.0])),
            st.builds(MultiplicativeCloseness, st.just("s0"), st.sampled_from([1.5, 3.0])),
            st.builds(EntropyLDiversity, st.just("s0"), st.sampled_from([1.5, 2, 3])),
            st.builds(DistinctLDiversity, st.just("s0"), st.integers(1, 3)),
            st.builds(RecursiveLDiversity, st.just("s0"), c=st.sampled_from([1, 2]), l=st.integers(1, 3)),
        )
    )
    return [draw(k_anonymity), model] if draw(st.booleans()) else [model]


def check_release(frequencies: Frequencies, recoding: Recoding, models: list[Model]) -> None:
    """Look at the released texts alone: equal texts are the classes, and texts hold what they replace."""
    texts = {}
    for row, number in enumerate(recoding.classes.tolist()):
        if number < 0:
            continue
        released = reference.released_texts(recoding, number)
        for hierarchy, text, leaf in zip(frequencies.hierarchies, released, frequencies.codes[row], strict=True):
            assert reference.covers(hierarchy, text, int(leaf))
        texts[row] = released
    assert len({recoding.classes[row] for row in texts}) == len(set(texts.values()))
    found = sorted(set(texts.values()), key=str)
    labels = np.array([found.index(texts[row]) if row in texts else -1 for row in range(len(recoding.classes))])
    numbers = [
        {text: code for code, text in enumerate(sorted(set(column), key=str))} for column in zip(*found, strict=True)
    ]
    codes = [[numbering[text] for numbering, text in zip(numbers, texts, strict=True)] for texts in found]
    classes = Classes.of(frequencies, labels, number=len(found))
    classes = Classes(
        sizes=classes.sizes,
        sensitive=classes.sensitive,
        codes=np.array(codes, dtype=np.int32).reshape(len(found), len(frequencies.hierarchies)),
        population=classes.population,
    )
    assert all(model.holds(classes) for model in models)
    same = Counter()
    for row, codes_of_row in enumerate(map(tuple, frequencies.codes.tolist())):
        if frequencies.counts[row]:
            same[codes_of_row, int(recoding.classes[row])] += 1
    assert len(same) == len({codes for codes, _ in same}), "equal tuples have one class"


def check_optimum(frequencies: Frequencies, models: list[Model], measure: Measure, limit: Fraction) -> None:
    expected = reference.best(frequencies, models, measure, limit)
    method = Generalize(quality=measure, suppression_limit=limit)
    if expected is None:
        with pytest.raises(RequirementError):
            method.recode(frequencies, models)
        return
    found = method.recode(frequencies, models)
    levels, value = expected
    assert found.levels == levels
    assert found.value == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert found.optimal
    assert found.suppressed == reference.suppressed(frequencies, found.recoding)
    assert found.value == pytest.approx(measure.value(found.recoding, frequencies), rel=1e-12, abs=1e-12)
    check_release(frequencies, found.recoding, models)


limits = st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 3), Fraction(1)])


@given(reference.tables(), k_anonymity, limits)
@QUICK
def test_the_search_for_k_anonymity_finds_what_brute_force_finds(
    frequencies: Frequencies, model: KAnonymity, limit: Fraction
) -> None:
    check_optimum(frequencies, [model], InformationLoss(), limit)


@pytest.mark.slow
@given(reference.tables(sensitive=1), sensitive_models(), limits, st.integers(0, 200))
@QUICK
def test_the_search_under_sensitive_models_finds_what_brute_force_finds(
    frequencies: Frequencies, models: list[Model], limit: Fraction, patience: int
) -> None:
    before = any_time._PATIENCE, any_time._WORTH_IT
    any_time._PATIENCE, any_time._WORTH_IT = patience, patience  # so that small lattices are swept as well
    try:
        check_optimum(frequencies, models, InformationLoss(), limit)
    finally:
        any_time._PATIENCE, any_time._WORTH_IT = before


def uneven(seed: int) -> Frequencies:
    """Return a table whose classes have sensitive values of very different proportions."""
    rng = np.random.default_rng(seed)
    rows = 24
    leaning = rng.dirichlet([0.6] * 3, size=4)
    codes = np.stack([rng.integers(0, 4, rows), rng.integers(0, 3, rows)], axis=1).astype(np.int32)
    values = np.array([[rng.choice(3, p=leaning[row[0]])] for row in codes], dtype=np.int32)
    return Frequencies(
        hierarchies=(
            reference.hierarchy("a0", [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]]),
            reference.hierarchy("a1", [[0, 1, 2], [0, 0, 0]]),
        ),
        codes=np.asfortranarray(codes),
        counts=rng.integers(1, 9, rows).astype(np.int64),
        sensitive=(SensitiveAttribute(name="s0", size=3, ordered=False, hierarchy=PAIR),),
        sensitive_codes=np.asfortranarray(values),
    )


PAIR = reference.hierarchy("s0", [[0, 1, 2], [0, 0, 1], [0, 0, 0]])


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        TCloseness("s0", 0.2, distance="equal"),
        TCloseness("s0", 0.2, distance="ordered"),
        TCloseness("s0", 0.15, distance="hierarchical"),
        BetaLikeness("s0", 0.6),
        BetaLikeness("s0", 0.8, enhanced=True),
        DeltaDisclosure("s0", 0.8),
        MultiplicativeCloseness("s0", 2),
    ],
    ids=lambda model: f"{model.name} {getattr(model, 'distance', '')}",
)
def test_both_orders_of_removal_are_tried_at_every_node(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(any_time, "_PATIENCE", 0)  # so that bounds of the kernel decide
    monkeypatch.setattr(any_time, "_WORTH_IT", 0)
    better = 0
    for seed in range(25):
        frequencies = uneven(seed)
        check_optimum(frequencies, [model], InformationLoss(), Fraction(1))
        both = reference.best(frequencies, [model], InformationLoss(), Fraction(1))
        at_once = reference.best(frequencies, [model], InformationLoss(), Fraction(1), rules=reference.RULES[:1])
        better += both is not None and (at_once is None or both[1] < at_once[1] - 1e-9)
    assert better, "the worst first never lost less: this would test nothing"


@pytest.mark.slow
@given(reference.tables(sensitive=2), sensitive_models(), st.integers(1, 3), limits)
@QUICK
def test_several_sensitive_attributes_are_searched_under_at_once(
    frequencies: Frequencies, models: list[Model], number: int, limit: Fraction
) -> None:
    check_optimum(frequencies, [*models, DistinctLDiversity("s1", number)], InformationLoss(), limit)


@given(reference.tables(population=True), st.integers(1, 6), st.booleans(), limits)
@QUICK
def test_the_search_reads_the_population(frequencies: Frequencies, k: int, risk: bool, limit: Fraction) -> None:
    check_optimum(frequencies, [KMap(k), *([AverageRisk(0.3)] if risk else [])], InformationLoss(), limit)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(MEASURES) - {"classification"}))
@given(frequencies=reference.tables(rows=12), model=k_anonymity, limit=limits, balance=st.sampled_from([0.1, 0.5, 0.8]))
@FEW
def test_every_measure_is_minimised(
    name: str, frequencies: Frequencies, model: KAnonymity, limit: Fraction, balance: float
) -> None:
    fixed = name in ("average-class-size", "kl-divergence", "publisher-payoff")
    check_optimum(frequencies, [model], MEASURES[name](balance=0.5 if fixed else balance), limit)


@pytest.mark.slow
@given(reference.tables(), k_anonymity, st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=3, max_size=3))
@QUICK
def test_weights_of_attributes_are_heeded(frequencies: Frequencies, model: KAnonymity, weights: list[float]) -> None:
    given_weights = dict(zip(frequencies.attributes, weights, strict=False))
    assume(any(given_weights.values()))
    check_optimum(frequencies, [model], InformationLoss(weights=given_weights), Fraction(1, 3))


@given(reference.tables(), k_anonymity, st.integers(1, 6))
@QUICK
def test_a_search_that_stops_early_says_how_far_it_is_from_the_best(
    frequencies: Frequencies, model: KAnonymity, steps: int
) -> None:
    expected = reference.best(frequencies, [model], InformationLoss(), Fraction(1))
    assume(expected is not None)
    found = Generalize(suppression_limit=1, steps=steps).recode(frequencies, [model])
    assert found.bound <= expected[1] + 1e-12
    assert found.value >= expected[1] - 1e-12
    check_release(frequencies, found.recoding, [model])


@pytest.mark.slow
@pytest.mark.parametrize("method", LOCAL, ids=repr)
@given(frequencies=reference.tables(attributes=4), model=k_anonymity)
@FEW
def test_local_recoding_keeps_k_and_never_loses_more_than_the_best_node(
    method: Recode, frequencies: Frequencies, model: KAnonymity
) -> None:
    whole = reference.best(frequencies, [model], InformationLoss(), Fraction(1))
    if whole is None:
        with pytest.raises(RequirementError):
            method.recode(frequencies, [model])
        return
    found = method.recode(frequencies, [model])
    check_release(frequencies, found.recoding, [model])
    assert found.value <= whole[1] + 1e-12
    assert found.value == pytest.approx(InformationLoss().value(found.recoding, frequencies))
    assert found.suppressed == reference.suppressed(frequencies, found.recoding)


@pytest.mark.slow
@pytest.mark.parametrize("method", LOCAL, ids=repr)
@given(frequencies=reference.tables(sensitive=1), models=sensitive_models())
@FEW
def test_local_recoding_keeps_every_model(method: Recode, frequencies: Frequencies, models: list[Model]) -> None:
    whole = reference.best(frequencies, models, InformationLoss(), Fraction(1))
    try:
        found = method.recode(frequencies, models)
    except RequirementError:
        assert whole is None
        return
    check_release(frequencies, found.recoding, models)
    assert whole is None or found.value <= whole[1] + 1e-12


@pytest.mark.parametrize("limit", [{"effort": 1e-9}, {"effort": 1e-6}, {"time_limit": 1e-9}], ids=repr)
@pytest.mark.parametrize("method", LOCAL[:-1], ids=repr)
@given(frequencies=reference.tables(attributes=4), model=k_anonymity)
@FEW
def test_local_recoding_that_reaches_its_limit_still_keeps_its_promise(
    method: Recode, limit: dict[str, float], frequencies: Frequencies, model: KAnonymity
) -> None:
    assume(model.k <= frequencies.records)
    found = replace(method, **limit).recode(frequencies, [model])
    check_release(frequencies, found.recoding, [model])


@given(reference.tables(), st.permutations(range(25)), k_anonymity)
@FEW
def test_the_order_of_rows_does_not_matter(frequencies: Frequencies, order: list[int], model: KAnonymity) -> None:
    rows = [row for row in order if row < len(frequencies.counts)]
    shuffled = Frequencies(
        hierarchies=frequencies.hierarchies,
        codes=np.asfortranarray(frequencies.codes[rows]),
        counts=frequencies.counts[rows],
        sensitive_codes=frequencies.sensitive_codes[rows],
    )
    for method in (Generalize(suppression_limit=1), Specialize(suppression_limit=1), Mondrian(suppression_limit=1)):
        try:
            first, second = (method.recode(table, [model]) for table in (frequencies, shuffled))
        except RequirementError:
            continue
        texts = [
            {
                codes: reference.released_texts(result.recoding, number) if number >= 0 else None
                for codes, number in zip(map(tuple, table.codes.tolist()), result.recoding.classes, strict=True)
            }
            for table, result in ((frequencies, first), (shuffled, second))
        ]
        assert texts[0] == texts[1]


@given(reference.tables())
@QUICK
def test_every_node_is_scored_as_its_classes_say(frequencies: Frequencies) -> None:
    gains = np.sqrt(np.arange(200.0))
    costs = tuple(tuple(shares / len(frequencies.hierarchies) for shares in h.shares) for h in frequencies.hierarchies)
    found = reference.score_lattice(frequencies, gains[:4], costs, slope=0.5)
    longer = np.concatenate([gains[:4], gains[3] + 0.5 * np.arange(1, 197)])
    assert found.shape == tuple(height + 1 for height in frequencies.heights)
    for levels in reference.nodes(frequencies):
        assert found[levels] == pytest.approx(reference.score(frequencies, levels, longer, costs))
