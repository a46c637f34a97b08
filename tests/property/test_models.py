"""Every model against its definition, in fractions and by brute force, on small and on huge counts."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import models as reference
from reference.examples import examples
from reference.models import Domain, Group, Release
from shoal import models
from shoal.models import (
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    EstimatedKMap,
    KAnonymity,
    KMAnonymity,
    KMap,
    Model,
    MultiplicativeCloseness,
    ProbabilisticKAnonymity,
    PSensitive,
    RecursiveLDiversity,
    SampleUniqueness,
    Scope,
    TCloseness,
)

TINY = Fraction(1, 10**30)
QUICK = examples(100)


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    size = draw(st.integers(1, 6))
    if draw(st.booleans()):
        return Domain(size, ordered=draw(st.booleans()))
    levels = [tuple(range(size))]
    while max(levels[-1]):
        nodes = max(levels[-1]) + 1
        # merge neighbours, so that the leaves stay in tree order; the last level has one value
        joins = [0, *(draw(st.integers(0, 1)) for _ in range(nodes - 1))]
        numbers = np.cumsum(joins).tolist() if len(levels) < 3 else [0] * nodes
        levels.append(tuple(numbers[code] for code in levels[-1]))
    return Domain(size, parents=tuple(levels) if size > 1 else ((0,), (0,)))


@st.composite
def releases(draw: st.DrawFn, *, most: int = 7, complete: bool = False, whole: bool = False) -> Release:
    domain = draw(domains())
    counts = st.integers(1, 5) if complete or draw(st.booleans()) else st.sampled_from([0, 0, 1, 2, 3, 8])
    groups = []
    for _ in range(draw(st.integers(1, most))):
        values = {value: count for value in range(domain.size) if (count := draw(counts))}
        codes = tuple(draw(st.integers(0, 1)) for _ in range(3))
        groups.append(Group(values, codes, population=sum(values.values()) + draw(st.integers(0, 5))))
    kept = [whole or draw(st.booleans()) for _ in groups]
    return Release(groups, domain, kept)


@st.composite
def class_models(draw: st.DrawFn, release: Release) -> Model:
    """Draw a model with a verdict on classes; its threshold is often exactly what one of the classes attains."""
    released = release.released or [Group({0: 1})]
    group = draw(st.sampled_from(released))
    shift = draw(st.sampled_from([Fraction(0), TINY, -TINY]))
    size, distinct = group.size, len(group.values)
    kinds = ["equal", "ordered", None, *(["hierarchical"] if release.domain.parents else [])]
    match draw(st.sampled_from([name for name in models.names() if name not in RELEASE_MODELS])):
        case "k-anonymity":
            return KAnonymity(draw(st.sampled_from([1, size, size + 1])))
        case "probabilistic-k-anonymity":
            return ProbabilisticKAnonymity(draw(st.sampled_from([1, size, size + 1])))
        case "estimated-k-map":
            wrong = draw(st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 4), Fraction(1, 2)]))
            chance = draw(st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(1)]))
            return EstimatedKMap(draw(st.integers(1, 3 * size + 1)), chance, wrong)
        case "k-map":
            return KMap(max(1, group.population + draw(st.integers(0, 1))))
        case "p-sensitive-k-anonymity":
            p = distinct + draw(st.integers(0, 1))
            return PSensitive("s", p=p, k=max(p, size + draw(st.integers(-1, 1))))
        case "distinct-l-diversity":
            return DistinctLDiversity("s", distinct + draw(st.integers(0, 1)))
        case "entropy-l-diversity":
            exact = Fraction(draw(st.integers(1, 5)))
            return EntropyLDiversity("s", draw(st.sampled_from([exact, max(exact + shift, Fraction(1)), 1.5, 2.25])))
        case "recursive-l-diversity":
            l = draw(st.integers(1, 4))  # noqa: E741
            counts = sorted(group.values.values(), reverse=True)
            tail = sum(counts[l - 1 :])
            c = Fraction(counts[0], tail) + shift if tail else Fraction(2)
            return RecursiveLDiversity("s", c=c, l=l)
        case "t-closeness":
            kind = draw(st.sampled_from(kinds))
            t = reference.distance(release, group, kind) if release.released else Fraction(0)
            return TCloseness("s", min(max(t + shift, Fraction(0)), Fraction(1)), kind)
        case "multiplicative-closeness":
            found = reference.factor(release, group) if release.released else None
            return MultiplicativeCloseness("s", max((found or Fraction(7)) + shift, Fraction(1)))
        case "delta-disclosure":
            found = reference.factor(release, group) if release.released else None
            near = round(Fraction(reference.logarithm(found or Fraction(2))), 60)  # the reference knows 100 digits
            return DeltaDisclosure("s", max(Fraction(0), near + shift))
        case "beta-likeness":
            found = reference.factor(release, group) if release.released else None
            beta = max(Fraction(0), (found or Fraction(2)) - 1 + shift)
            return BetaLikeness("s", beta, enhanced=draw(st.booleans()))
        case "delta-presence":
            share = Fraction(size, max(group.population, 1))
            bounds = sorted([min(max(share + shift, Fraction(0)), Fraction(1)), draw(st.fractions(0, 1))])
            return DeltaPresence(*bounds)
        case name:
            raise NotImplementedError(f"draw a value of the model `{name}` here")


RELEASE_MODELS = ("k-m-anonymity", "average-risk", "sample-uniqueness", "estimated-uniqueness")


@st.composite
def release_models(draw: st.DrawFn) -> Model:
    share = st.one_of(st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(1)]), st.fractions(TINY, 1))
    return draw(
        st.one_of(
            st.builds(KMAnonymity, st.integers(1, 6), st.integers(1, 4)),
            st.builds(AverageRisk, share),
            st.builds(SampleUniqueness, st.one_of(share, st.just(0))),
        )
    )


def drop(release: Release, kept: list[bool]) -> Release:
    return Release(release.groups, release.domain, kept)


@QUICK
@given(st.data(), releases())
def test_a_class_is_kept_exactly_where_the_definition_holds(data: st.DataObject, release: Release) -> None:
    model = data.draw(class_models(release))
    expected = [
        bool(kept and group.size and reference.satisfied(model, release, group))
        for group, kept in zip(release.groups, release.kept, strict=True)
    ]
    assert model.keep(release.classes(), release.mask).tolist() == expected


@QUICK
@given(st.data(), releases())
def test_verdicts_on_shares_stay_the_same_when_all_counts_grow_to_the_limit_of_64_bits(
    data: st.DataObject, release: Release
) -> None:
    model = data.draw(class_models(release).filter(lambda model: model.name in SHARES))
    total = sum(group.size + group.population for group in release.groups)
    scale = (2**63 - 1) // max(total, 1)
    huge = [
        Group({v: c * scale for v, c in group.values.items()}, group.codes, group.population * scale)
        for group in release.groups
    ]
    expected = model.keep(release.classes(), release.mask)
    assert model.keep(Release(huge, release.domain, release.kept).classes(), release.mask).tolist() == expected.tolist()


SHARES = (
    "entropy-l-diversity",
    "recursive-l-diversity",
    "t-closeness",
    "multiplicative-closeness",
    "delta-disclosure",
    "beta-likeness",
    "delta-presence",
)


@QUICK
@given(
    st.lists(st.dictionaries(st.integers(0, 2), st.integers(1, 2**60), min_size=1, max_size=3), min_size=1, max_size=4),
    st.sampled_from(["equal", "ordered", "hierarchical"]),
    st.sampled_from([Fraction(0), TINY, -TINY, Fraction(-1, 2**200)]),
    st.data(),
)
def test_distances_of_counts_near_two_to_the_sixty_two_are_decided_exactly(
    rows: list[dict[int, int]], kind: str, shift: Fraction, data: st.DataObject
) -> None:
    domain = Domain(3, parents=((0, 1, 2), (0, 0, 1), (0, 0, 0)))
    release = Release([Group(row) for row in rows], domain, [True] * len(rows))
    chosen = data.draw(st.sampled_from(release.groups))
    t = min(max(reference.distance(release, chosen, kind) + shift, Fraction(0)), Fraction(1))
    model = TCloseness("s", t, kind)  # type: ignore[arg-type]
    expected = [reference.satisfied(model, release, group) for group in release.groups]
    assert model.keep(release.classes(), release.mask).tolist() == expected


@pytest.mark.slow
@examples(40)
@given(st.data(), st.integers(40, 400), st.sampled_from([1, 10**7, 10**13]))
def test_ordered_closeness_of_classes_with_few_of_many_values(data: st.DataObject, size: int, scale: int) -> None:
    rows = data.draw(
        st.lists(
            st.dictionaries(st.integers(0, size - 1), st.integers(1, 5 * scale), min_size=1, max_size=6),
            min_size=1,
            max_size=8,
        )
    )
    background = data.draw(st.booleans())
    if background:  # a class that holds nearly all values, so that the others hold few of them
        rows.append({value: scale + value for value in range(0, size, 2)})
    release = Release([Group(row) for row in rows], Domain(size, ordered=True), [True] * len(rows))
    group = data.draw(st.sampled_from(release.groups))
    exact = reference.distance(release, group, "ordered")
    for t in (exact, max(exact - TINY, Fraction(0)), Fraction("0.3333333333333333")):
        model = TCloseness("s", t)
        expected = [reference.satisfied(model, release, group) for group in release.groups]
        assert model.keep(release.classes(), release.mask).tolist() == expected
    largest = max(reference.distance(release, group, "ordered") for group in release.groups)
    assert TCloseness("s", 1).find_achieved(release.classes()) == {"t": largest}


@examples(80)
@given(release_models(), releases(most=6))
def test_models_of_the_release_keep_a_part_that_satisfies_them_and_suppress_no_more_than_needed(
    model: Model, release: Release
) -> None:
    kept = model.keep(release.classes(), release.mask)
    part = drop(release, kept.tolist())
    assert not np.any(kept & ~release.mask)
    assert reference.release_satisfies(model, part)
    assert sum(group.size for group in part.released) == reference.best_subset(model, release)


@pytest.mark.slow
@QUICK
@given(st.data(), releases(complete=True))
def test_the_achieved_parameters_hold_and_nothing_stronger_does(data: st.DataObject, release: Release) -> None:
    model = data.draw(st.one_of(class_models(release), release_models()))
    achieved = model.find_achieved(release.classes(), release.mask)
    if not release.released:
        assert achieved == {}
        return
    if any(value == math.inf or value < 0 for value in achieved.values()) or achieved.get("l") == 0:
        return
    strongest = dataclasses.replace(model, **achieved)
    assert strongest.holds(release.classes(), release.mask)
    assert reference.release_satisfies(strongest, release)
    for stronger in stronger_models(strongest):
        assert not stronger.holds(release.classes(), release.mask)
        assert not reference.release_satisfies(stronger, release)


def stronger_models(model: Model) -> list[Model]:
    """Return models that ask for a little more; irrational figures are rounded to the safe side by one unit at most."""
    found = []
    for name, sign in (("k", 1), ("p", 1), ("l", 1)):
        if isinstance(getattr(model, name, None), int) and not (
            model.name == "p-sensitive-k-anonymity" and name == "p"
        ):
            found.append(dataclasses.replace(model, **{name: getattr(model, name) + sign}))
    for name in ("t", "beta", "risk", "share", "maximum"):
        value = getattr(model, name, None)
        lowest = {"multiplicative-closeness": 1}.get(model.name, 0)
        if value is not None and value - TINY > lowest and value - TINY >= getattr(model, "minimum", 0):
            found.append(dataclasses.replace(model, **{name: value - TINY}))
    if model.name == "entropy-l-diversity":
        found.append(dataclasses.replace(model, l=model.l * (1 + Fraction(1, 2**50))))
    if model.name == "delta-disclosure" and model.delta > 0:
        found.append(dataclasses.replace(model, delta=model.delta * (1 - Fraction(1, 2**50))))
    return found


@QUICK
@given(st.data(), releases(whole=True))
def test_merging_satisfied_classes_gives_a_satisfied_class_where_that_is_declared(
    data: st.DataObject, release: Release
) -> None:
    model = data.draw(class_models(release))
    assert model.capabilities.monotone_generalization
    kept = model.keep(release.classes(), release.mask)
    positions = np.flatnonzero(kept).tolist()
    if not positions:
        return
    chosen = set(data.draw(st.lists(st.sampled_from(positions), min_size=1, unique=True)))
    merged = Group(
        {
            value: sum(release.groups[i].values.get(value, 0) for i in chosen)
            for value in {v for i in chosen for v in release.groups[i].values}
        },
        population=sum(release.groups[i].population for i in chosen),
    )
    others = [dataclasses.replace(group, codes=()) for i, group in enumerate(release.groups) if i not in chosen]
    coarser = Release([merged, *others], release.domain, [True] * (1 + len(others)))
    assert model.keep(coarser.classes(), coarser.mask)[0]


@QUICK
@given(release_models(), releases(whole=True), st.integers(0, 2))
def test_full_domain_generalisation_keeps_a_release_satisfied(model: Model, release: Release, column: int) -> None:
    by_codes: dict[tuple[int, ...], Group] = {}
    for group in release.groups:
        by_codes[group.codes] = _merge(group, by_codes.get(group.codes))
    fine = Release([*by_codes.values()], release.domain, [True] * len(by_codes))
    coarse: dict[tuple[int, ...], Group] = {}
    for group in by_codes.values():
        codes = tuple(0 if place == column else code for place, code in enumerate(group.codes))
        coarse[codes] = _merge(dataclasses.replace(group, codes=codes), coarse.get(codes))
    general = Release([*coarse.values()], release.domain, [True] * len(coarse))
    assert model.capabilities.monotone_generalization
    if model.holds(fine.classes()):
        assert model.holds(general.classes())


def _merge(group: Group, other: Group | None) -> Group:
    if other is None:
        return group
    values = {v: group.values.get(v, 0) + other.values.get(v, 0) for v in {*group.values, *other.values}}
    return Group(values, group.codes, group.population + other.population)


@QUICK
@given(st.data(), releases())
def test_removing_other_classes_does_not_matter_where_that_is_declared(data: st.DataObject, release: Release) -> None:
    model = data.draw(class_models(release))
    if not model.capabilities.monotone_suppression:
        assert model.capabilities.scope is not Scope.CLASS
        return
    fewer = np.array([kept and data.draw(st.booleans()) for kept in release.kept], dtype=np.bool_)
    classes = release.classes()
    assert model.keep(classes, fewer).tolist() == (model.keep(classes, release.mask) & fewer).tolist()


@pytest.mark.slow
@QUICK
@given(st.data(), releases())
def test_no_class_below_the_declared_minimal_size_is_kept(data: st.DataObject, release: Release) -> None:
    model = data.draw(st.one_of(class_models(release), release_models()))
    classes = release.classes()
    assert np.all(classes.sizes[model.keep(classes, release.mask)] >= model.capabilities.minimal_class_size)


@pytest.mark.slow
@QUICK
@given(st.data(), releases(whole=True))
def test_several_models_together_leave_a_release_that_satisfies_all_of_them(
    data: st.DataObject, release: Release
) -> None:
    chosen = data.draw(st.lists(st.one_of(class_models(release), release_models()), min_size=1, max_size=3))
    kept = models.keep(chosen, release.classes())
    part = drop(release, kept.tolist())
    for model in chosen:
        assert reference.release_satisfies(model, part)
        assert model.holds(release.classes(), kept)
    if all(model.capabilities.monotone_suppression for model in chosen):
        best = [g.size > 0 and all(reference.satisfied(model, release, g) for model in chosen) for g in release.groups]
        assert kept.tolist() == best


@pytest.mark.slow
@QUICK
@given(st.data(), releases())
def test_parameters_are_plain_values_that_give_the_same_model_back(data: st.DataObject, release: Release) -> None:
    model = data.draw(st.one_of(class_models(release), release_models()))
    parameters = model.parameters()
    assert all(isinstance(value, (int, float, str, bool, list)) for value in parameters.values())
    assert models.from_parameters(model.name, parameters) == model


@pytest.mark.parametrize("kind", ["equal", "ordered", "hierarchical"])
@examples(20)
@given(data=st.data())
def test_distances_are_the_least_work_of_a_transport_plan(kind: str, data: st.DataObject) -> None:
    """The closed forms against a linear programme over all transport plans."""
    from scipy.optimize import linprog

    parents = ((0, 1, 2, 3, 4), (0, 0, 1, 1, 2), (0, 0, 0, 0, 1), (0, 0, 0, 0, 0))
    ground = {
        "equal": lambda a, b: float(a != b),
        "ordered": lambda a, b: abs(a - b) / 4,
        "hierarchical": lambda a, b: next(level for level in range(4) if parents[level][a] == parents[level][b]) / 3,
    }[kind]
    counts = st.lists(st.integers(0, 4), min_size=5, max_size=5).filter(any)
    group, other = data.draw(counts), data.draw(counts)
    other = [max(1 - a, b) for a, b in zip(group, other, strict=True)]  # all five values are in the release
    release = Release(
        [Group({v: c for v, c in enumerate(row) if c}) for row in (group, other)],
        Domain(5, parents=parents),
        [True, True],
    )
    p = np.array(group) / sum(group)
    q = (np.array(group) + np.array(other)) / (sum(group) + sum(other))
    costs = [ground(a, b) for a in range(5) for b in range(5)]
    leaving = [[float(i // 5 == a) for i in range(25)] for a in range(5)]
    arriving = [[float(i % 5 == b) for i in range(25)] for b in range(5)]
    plan = linprog(costs, A_eq=leaving + arriving, b_eq=np.concatenate([p, q]))
    assert float(reference.distance(release, release.groups[0], kind)) == pytest.approx(plan.fun, abs=1e-9)
    mask = np.array([True, True])
    near = Fraction(plan.fun).limit_denominator(10**9)
    below = TCloseness("s", max(near - Fraction(1, 10**6), Fraction(0)), kind)  # type: ignore[arg-type]
    above = TCloseness("s", min(near + Fraction(1, 10**6), Fraction(1)), kind)  # type: ignore[arg-type]
    assert above.keep(release.classes(), mask)[0]
    assert near < Fraction(1, 10**6) or not below.keep(release.classes(), mask)[0]
