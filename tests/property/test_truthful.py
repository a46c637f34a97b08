"""Scores are what brute force says, and one record changes them by no more than is claimed."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import truthful as reference
from reference.examples import examples
from reference.truthful import Column, Record
from shoal.mechanisms import SeededSource
from shoal.methods.truthful import DifferentialPrivacy, Truthful
from shoal.methods.truthful._operators import Operator, sensitivity_range
from shoal.methods.truthful._scheme import SCORES
from shoal.methods.truthful._scores import (
    DiscernibilityScore,
    ExpectedScore,
    Granularity,
    GroupSize,
    Intensity,
    NonUniformEntropyScore,
    Score,
    Setting,
)
from shoal.methods.truthful._survival import SCALE

QUICK = examples(60)
HALF = Fraction(1, 2)


@st.composite
def operators(draw: st.DrawFn) -> Operator:
    least = draw(st.integers(1, 4))
    if draw(st.booleans()):
        return reference.sampling(HALF, least)
    epsilon = draw(st.sampled_from([Fraction(1, 10), HALF, Fraction(2)]))
    return reference.trimming(draw(st.integers(0, 6)), epsilon=epsilon, least=least)


@st.composite
def columns(draw: st.DrawFn) -> Column:
    size = draw(st.integers(1, 5))
    levels = [tuple(range(size))]
    for _ in range(draw(st.integers(0, 2))):
        # neighbours merge, so that the leaves stay in tree order
        joins = [0, *(draw(st.integers(0, 1)) for _ in range(max(levels[-1])))]
        numbers = np.cumsum(joins).tolist()
        levels.append(tuple(numbers[value] for value in levels[-1]))
    return Column((*levels, (0,) * size))


@st.composite
def tables(draw: st.DrawFn, *, most: int = 40) -> tuple[list[Column], list[Record]]:
    described = draw(st.lists(columns(), min_size=1, max_size=3))
    record = st.tuples(*(st.integers(0, column.leaves - 1) for column in described))
    return described, draw(st.lists(record, min_size=1, max_size=most))


def expected_scores(
    score: ExpectedScore, described: list[Column], records: list[Record], levels: tuple[int, ...]
) -> float:
    """Compute a score one class at a time."""
    if isinstance(score, Granularity):
        return reference.granularity(described, records, levels, score.worth)
    sizes = reference.classes(described, records, levels)
    if isinstance(score, Intensity):
        weight = 1.0 / len(described)
        each = sum(
            min(int(weight * (1 - level / column.height) * SCALE), int(weight * SCALE))
            for column, level in zip(described, levels, strict=True)
        )
        return sum(reference.worth(score.worth, size) * each for size in sizes.values())
    assert isinstance(score, GroupSize)
    return sum(reference.worth(score.worth, size) * SCALE for size in sizes.values())


@pytest.mark.slow
@QUICK
@given(tables(), st.sampled_from(["granularity", "intensity", "group-size"]), operators())
def test_scores_of_all_nodes_are_those_of_brute_force(
    table: tuple[list[Column], list[Record]], name: str, operator: Operator
) -> None:
    described, records = table
    score = SCORES[name](reference.setting(described, records, operator))
    assert isinstance(score, ExpectedScore)
    found = score.all()
    for number, value in enumerate(found):
        levels = score.box.levels(number)
        assert value == expected_scores(score, described, records, levels)
        assert score.one(levels) == value
    assert len(found) == len(list(reference.nodes(described)))


def phi(sizes: list[int], suppressed: int, records: int) -> float:
    return sum(size**2 for size in sizes) / records + suppressed


@pytest.mark.slow
@QUICK
@given(tables(), operators())
def test_published_scores_are_those_of_their_definitions(
    table: tuple[list[Column], list[Record]], operator: Operator
) -> None:
    described, records = table
    setting = reference.setting(described, records, operator)
    discernibility, entropy = DiscernibilityScore(setting), NonUniformEntropyScore(setting)
    threshold = max(2, operator.likely)
    for number, (first, second) in enumerate(zip(discernibility.all(), entropy.all(), strict=True)):
        levels = discernibility.box.levels(number)
        sizes = reference.classes(described, records, levels)
        kept = {values: size for values, size in sizes.items() if size >= threshold}
        suppressed = len(records) - sum(kept.values())
        assert first == pytest.approx(-phi(list(kept.values()), suppressed, len(records)), abs=1e-9)
        total = 0.0
        for j, (column, level) in enumerate(zip(described, levels, strict=True)):
            alone: dict[int, int] = {}
            for values, size in kept.items():
                alone[values[j]] = alone.get(values[j], 0) + size
            everything_is_star = level == column.height
            total += len(records) if everything_is_star else phi(list(alone.values()), suppressed, len(records))
        assert second == pytest.approx(-total, abs=1e-9)
        assert discernibility.one(levels) == first
        assert entropy.one(entropy.box.levels(number)) == pytest.approx(second, abs=1e-9)


@QUICK
@given(tables(), st.sampled_from(sorted(SCORES.keys() - {"classification"})), operators(), st.data())
def test_a_record_more_changes_no_score_by_more_than_the_sensitivity(
    table: tuple[list[Column], list[Record]], name: str, operator: Operator, data: st.DataObject
) -> None:
    described, records = table
    extra = data.draw(st.tuples(*(st.integers(0, column.leaves - 1) for column in described)))
    without = SCORES[name](reference.setting(described, records, operator))
    having = SCORES[name](reference.setting(described, [*records, extra], operator))
    assert having.sensitivity == without.sensitivity
    _compare(having, without)


@QUICK
@given(tables(), st.sampled_from(sorted(SCORES.keys() - {"classification"})), operators())
def test_the_sensitivity_is_what_a_checker_expects_of_the_score(
    table: tuple[list[Column], list[Record]], name: str, operator: Operator
) -> None:
    described, records = table
    sensitivity = SCORES[name](reference.setting(described, records, operator)).sensitivity
    low, high = sensitivity_range(name, operator, columns=len(described))
    assert 0 < low <= sensitivity <= high
    assert high <= 2 * low or name == "group-size" or operator.name == "trim"


@pytest.mark.slow
@QUICK
@given(tables(), operators(), st.data())
def test_a_record_more_changes_no_classification_score_by_more_than_the_sensitivity(
    table: tuple[list[Column], list[Record]], operator: Operator, data: st.DataObject
) -> None:
    described, records = table
    described, records = (
        [*described, Column(((0, 1, 2), (0, 0, 0)))],
        [(*record, sum(record) % 3) for record in records],
    )
    extra = data.draw(st.tuples(*(st.integers(0, column.leaves - 1) for column in described)))
    target = len(described) - 1
    without, having = (
        SCORES["classification"](_with_target(described, each, target, operator))
        for each in (records, [*records, extra])
    )
    _compare(having, without)
    for number, value in enumerate(without.all()):
        levels = without.box.levels(number)
        best: dict[Record, int] = {}
        for values, size in reference.classes(described, records, (*levels, 0)).items():
            assert isinstance(without, ExpectedScore)
            best[values[:-1]] = max(best.get(values[:-1], 0), reference.worth(without.worth, size))
        assert value == sum(best.values()) * SCALE == without.one(levels)


def _with_target(described: list[Column], records: list[Record], target: int, operator: Operator) -> Setting:
    from shoal.mechanisms import SYSTEM
    from shoal.methods.base import Watch
    from shoal.methods.truthful._scheme import Chooser

    chooser = Chooser(
        frequencies=reference.frequencies(described, records),
        low=(0,) * len(described),
        high=(*(column.height for column in described[:-1]), 0),
        operator=operator,
        weights={},
        score="classification",
        target=f"c{target}",
        steps=1,
        watch=Watch(None, None),
        source=SYSTEM,
    )
    return chooser._setting


def _compare(having: Score, without: Score) -> None:
    scores = {without.box.levels(number): value for number, value in enumerate(without.all())}
    for number, value in enumerate(having.all()):
        change = Fraction(value) - Fraction(scores[having.box.levels(number)])
        assert abs(change) <= having.sensitivity
        assert change >= 0 or not having.monotone


@examples(25)
@given(
    tables(most=12),
    st.sampled_from(["full-domain", "multi-dimensional"]),
    st.sampled_from(["granularity", "intensity", "group-size"]),
    st.sampled_from(["trim", "sampling"]),
    st.integers(1, 5),
    st.integers(0, 2**32),
)
def test_released_records_are_generalised_input_records_in_classes_of_the_least_size(
    table: tuple[list[Column], list[Record]], scheme: str, score: str, operator: str, least: int, seed: int
) -> None:
    described, records = table
    records = records * 12
    method = Truthful(scheme=scheme, score=score, operator=operator)  # type: ignore[arg-type]
    wanted = DifferentialPrivacy(epsilon=1, delta=0.2, search_share=0.5)
    drawn = method.draw(reference.frequencies(described, records), wanted, k=least, source=SeededSource(seed))
    tuples = drawn.tuples
    assert (tuples.counts >= max(least, drawn.operator.least)).all()
    cells = [tuple(zip(*pair, strict=True)) for pair in zip(tuples.levels.tolist(), tuples.codes.tolist(), strict=True)]
    for cell, count in zip(cells, tuples.counts.tolist(), strict=True):
        assert count <= reference.inside(described, records, cell), "no record is invented"
    for record in set(records):
        assert sum(reference.inside(described, [record], cell) for cell in cells) <= 1, "cells do not overlap"


@given(st.lists(st.integers(1, 6), min_size=2, max_size=6))
def test_a_larger_k_is_never_worth_more(sizes: list[int]) -> None:
    from shoal.methods.truthful._survival import surviving_records

    tables_by_k = [surviving_records(HALF, k) for k in sorted(set(sizes))]
    for smaller, larger in pairwise(tables_by_k):
        counts = np.arange(60)
        assert (smaller.of(counts) >= larger.of(counts)).all()
