"""A table of a column and one of all columns together on tiny tables: every outcome with its probability, listed."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from reference import truthful as reference
from reference.truthful import Column, Distribution, Record
from shoal.methods.truthful._sets_choice import GaussianTrimming
from shoal.methods.truthful._sets_split import Split

FLAT = Column(((0, 1), (0, 0)))
TALL = Column(((0, 1, 2), (0, 0, 1), (0, 0, 0)))
COLUMNS = [TALL, FLAT]
# a;x;* and b;*;*: the value b looks like the top, one level below it
LABELS = [[["a", "b", "c"], ["x", "*"], ["*"]], [["0", "1"], ["*"]]]


def outcomes(records: list[Record], split: Split, *, labels: list[list[list[str]]] | None) -> Distribution:
    """Return what is shown of the first value of the first column, and all of the table of all columns."""
    alone_noise, noise = split.declared[0], split.all_columns
    assert noise is not None
    few = GaussianTrimming(m=alone_noise.m, variance=alone_noise.variance)
    alone = reference.shown(few, sum(record[0] == 0 for record in records))
    operator = GaussianTrimming(m=noise.m, variance=noise.variance)
    together = reference.multi_dimensional(COLUMNS, records, operator, split.scheme, labels=labels)
    return {(x, *rest): p * q for x, p in alone.items() for rest, q in together.items() if p * q > 1e-14}


def neighbours(seed: int) -> tuple[list[Record], list[Record]]:
    """Return records in uneven classes, and these with one record more, in the class that the column table counts."""
    draw = random.Random(seed)
    kinds = [(draw.randrange(TALL.leaves), draw.randrange(FLAT.leaves)) for _ in range(draw.randint(1, 2))]
    records: list[Record] = [draw.choice([*kinds, (0, 0)]) for _ in range(draw.randint(0, 8))]
    return records, [*records, (0, draw.randrange(2))]


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [("3", "0.1"), ("1", "0.4")])
@pytest.mark.parametrize("labels", [None, LABELS])
def test_all_tables_together_stay_within_epsilon_and_delta(
    epsilon: str, delta: str, labels: list[list[list[str]]] | None
) -> None:
    split = Split.of(Fraction(epsilon), Fraction(delta), declared=[None], pairs=0, joint=True)
    assert split.holds()
    worst = 0.0
    for seed in range(12):
        without, having = (outcomes(each, split, labels=labels) for each in neighbours(seed))
        for first, second in ((without, having), (having, without)):
            found = reference.hockey_stick(first, second, float(epsilon))
            assert found <= float(delta), seed
            worst = max(worst, found)
    assert worst > 0, "the tables reach what only the larger one can show"


def test_less_noise_than_the_split_gives_breaks_the_promise() -> None:
    """The check can fail: a table that is hardly trimmed shows the record that only the larger table has."""
    split = Split.of(Fraction(3), Fraction(1, 10), declared=[None], pairs=0, joint=True)
    assert split.all_columns is not None
    hardly = replace(split.all_columns, m=1)
    broken = replace(split, declared=(replace(split.declared[0], m=1),), all_columns=hardly)
    without, having = (outcomes(each, broken, labels=None) for each in ([], [(0, 0)]))
    assert reference.hockey_stick(having, without, 3.0) > 0.1
    assert not broken.holds()


@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(2)])
def test_drawing_a_scheme_loses_what_the_composition_says(epsilon: Fraction) -> None:
    """The Renyi divergences of the scheme alone, from the probabilities of all trees: at most a epsilon^2 / 8."""
    operator = GaussianTrimming(m=2, variance=Fraction(1))
    reached = 0.0
    for seed in range(12):
        pair = [_trees(records, operator, epsilon) for records in neighbours(seed)]
        for p, q in (pair, pair[::-1]):
            for order in (2, 3, 5, 20):
                moment = math.fsum(x**order / y ** (order - 1) for x, y in zip(p, q, strict=True))
                divergence = math.log(moment) / (order - 1)
                assert divergence <= order * float(epsilon) ** 2 / 8 + 1e-9
                reached = max(reached, divergence / (order * float(epsilon) ** 2 / 8))
    assert reached > 0.01


def _trees(records: list[Record], operator: GaussianTrimming, epsilon: Fraction) -> list[float]:
    return [chance for _, chance in reference.tree_chances(COLUMNS, records, operator, epsilon)]
