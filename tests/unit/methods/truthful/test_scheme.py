"""Choosing a node: one draw, the split walk, and the published walk."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from reference import truthful as reference
from reference.truthful import Column, Record
from shoal.mechanisms import SeededSource
from shoal.methods.truthful._scheme import draw_node, published_walk, split_walk
from shoal.methods.truthful._scores import DiscernibilityScore, Granularity

HALF = Fraction(1, 2)
FLAT = Column(((0, 1), (0, 0)))
TALL = Column(((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0)))
RECORDS: list[Record] = [(0, 0)] * 9 + [(1, 0)] * 7 + [(2, 1)] * 3 + [(3, 0)] * 12


def granularity(records: list[Record] = RECORDS) -> Granularity:
    return Granularity(reference.setting([TALL, FLAT], records, reference.sampling(HALF, 3)))


@pytest.mark.slow
def test_a_draw_has_the_probabilities_of_the_exponential_mechanism() -> None:
    score, epsilon, number, source = granularity(), Fraction(2, 5), 1000, SeededSource(3)
    found = Counter(draw_node(score, epsilon, source) for _ in range(number))
    weights = np.exp(float(epsilon / score.sensitivity) * (score.all() - score.all().max()))
    expected = {score.box.levels(i): weight for i, weight in enumerate(weights / weights.sum())}
    common = [levels for levels, chance in expected.items() if chance * number >= 5]
    observed = [found[levels] for levels in common] + [number - sum(found[levels] for levels in common)]
    chances = [expected[levels] for levels in common] + [1 - sum(expected[levels] for levels in common)]
    if chances[-1] * number < 5:
        observed, chances = observed[:-1], [chance / sum(chances[:-1]) for chance in chances[:-1]]
    assert stats.chisquare(observed, np.array(chances) * sum(observed)).pvalue > 1e-6
    uniform = np.full(len(observed), sum(observed) / len(observed))
    assert stats.chisquare(observed, uniform).pvalue < 1e-6


def test_a_large_budget_finds_the_best_node() -> None:
    score = granularity([(0, 0)] * 50 + [(1, 0)] * 50)
    best = score.box.levels(int(np.argmax(score.all())))
    assert draw_node(score, Fraction(1000), SeededSource(1)) == best
    assert split_walk(score, Fraction(5000), SeededSource(1), steps=5) == best
    assert published_walk(score, Fraction(5000), SeededSource(1), steps=5) == best


def test_scores_that_are_not_monotone_are_drawn_with_permute_and_flip() -> None:
    score = DiscernibilityScore(reference.setting([TALL, FLAT], RECORDS, reference.sampling(HALF, 3)))
    found = Counter(draw_node(score, Fraction(1, 100), SeededSource(seed)) for seed in range(200))
    assert len(found) == 6, "with next to no budget every node comes up"


@pytest.mark.parametrize("steps", [1, 3, 50])
def test_a_walk_tells_its_steps_and_stays_in_the_lattice(steps: int) -> None:
    score, told = granularity(), []
    found = split_walk(score, Fraction(1), SeededSource(2), steps=steps, step=told.append)
    assert all(0 <= level <= top for level, top in zip(found, (2, 1), strict=True))
    assert told == list(range(1, min(steps, 5) + 1)), "five nodes lie below the top"


def test_a_walk_from_the_top_visits_one_node_more_with_each_step() -> None:
    score = granularity()
    reached = {published_walk(score, Fraction(1, 10**6), SeededSource(seed), steps=1) for seed in range(40)}
    # the top, or one of its two predecessors
    assert reached <= {(2, 1), (1, 1), (2, 0)}
    assert len(reached) >= 2


def test_the_published_walk_returns_the_best_of_what_it_saw() -> None:
    score = granularity()
    for seed in range(10):
        assert score.one(published_walk(score, Fraction(1), SeededSource(seed), steps=2)) >= score.one((2, 1))


def test_more_attributes_than_fit_64_bits_are_scored_one_node_at_a_time() -> None:
    five = Column((tuple(range(5)), (0,) * 5))
    columns = [five] * 22
    setting = reference.setting(columns, [(1,) * 22, (2,) * 22] * 4, reference.sampling(HALF, 2))
    from dataclasses import replace

    score = Granularity(replace(setting, high=(1,) * 3 + (0,) * 19))
    assert not score.box.fits
    scores = score.all()
    assert len(scores) == 8
    assert all(scores[i] == score.one(score.box.levels(i)) for i in range(8))
    assert math.isfinite(scores.sum())
    assert draw_node(score, Fraction(100), SeededSource(1))[:3] == score.box.levels(int(scores.argmax()))[:3]
