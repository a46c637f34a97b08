"""A tree drawn at once: its distribution, its arithmetic, its limits."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import shoal
from reference import truthful as reference
from reference.truthful import Cell, Column, Record
from shoal.errors import ParameterError, PlanError
from shoal.hierarchies import build
from shoal.mechanisms import SeededSource
from shoal.methods.truthful._operators import Operator
from shoal.methods.truthful._scores import Granularity
from shoal.methods.truthful._survival import SCALE
from shoal.methods.truthful._trees import _Drawing, _weight, _width, draw_tree

HALF = Fraction(1, 2)
FLAT = Column(((0, 1), (0, 0)))
TALL = Column(((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0)))
K = 3
RECORDS: list[Record] = [(0, 0)] * 9 + [(1, 0)] * 7 + [(2, 1)] * 3 + [(3, 1)] + [(3, 0)] * 12


SAMPLING = reference.sampling(HALF, K)
OPERATORS = [SAMPLING, reference.trimming(3), reference.trimming(2, least=2)]


def score(records: list[Record], columns: list[Column] | None = None, operator: Operator = SAMPLING) -> Granularity:
    return Granularity(reference.setting(columns or [TALL, FLAT], records, operator))


def exact_probabilities(
    records: list[Record], epsilon: Fraction, operator: Operator = SAMPLING
) -> dict[frozenset[Cell], float]:
    """Return the probability of every scheme, by its cells that may be shown, from a list of all trees."""
    columns, made = [TALL, FLAT], score(records, operator=operator)
    worth = made.worth.from_size(operator.cut)
    rate = _weight(made, epsilon, 32) * 2.0**-32
    found: dict[frozenset[Cell], float] = {}
    for prior, cells in reference.trees(columns, ((2, 0), (1, 0))):
        sizes = {cell: reference.inside(columns, records, cell) for cell in cells}
        total = sum(
            reference.worth(worth, size)
            * reference.quality(columns, [level for level, _ in cell], [value for _, value in cell])
            // SCALE
            for cell, size in sizes.items()
        )
        kept = frozenset(cell for cell, size in sizes.items() if size >= operator.least)
        found[kept] = found.get(kept, 0.0) + float(prior) * math.exp(rate * total)
    everything = sum(found.values())
    return {kept: weight / everything for kept, weight in found.items()}


def drawn_schemes(
    records: list[Record], epsilon: Fraction, number: int, operator: Operator
) -> Counter[frozenset[Cell]]:
    columns = [TALL, FLAT]
    drawing = _Drawing(score(records, operator=operator), epsilon, SeededSource(5), None)
    found: Counter[frozenset[Cell]] = Counter()
    for _ in range(number):
        cells = drawing.cells()
        pairs = zip(cells.levels.tolist(), cells.codes.tolist(), strict=True)
        shown = (tuple(zip(*pair, strict=True)) for pair in pairs)
        found[frozenset(cell for cell in shown if reference.inside(columns, records, cell) >= operator.least)] += 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda each: f"{each.name} {each.least}")
def test_schemes_are_drawn_with_their_exact_probabilities(operator: Operator) -> None:
    # chi-square at alpha = 1e-6; the same draws reject the probabilities of another rate
    number, epsilon = 1500, Fraction(3)
    found = drawn_schemes(RECORDS, epsilon, number, operator)
    right, wrong = (exact_probabilities(RECORDS, each, operator) for each in (epsilon, 2 * epsilon))
    assert set(found) <= set(right)
    assert goodness(found, right, number) > 1e-6
    assert goodness(found, wrong, number) < 1e-6


def goodness(found: Counter[frozenset[Cell]], expected: dict[frozenset[Cell], float], number: int) -> float:
    common = [scheme for scheme, chance in expected.items() if chance * number >= 5]
    observed = np.array([*(found[scheme] for scheme in common), number - sum(found[scheme] for scheme in common)])
    chances = np.array([*(expected[scheme] for scheme in common), 1 - sum(expected[scheme] for scheme in common)])
    if chances[-1] * number < 5:
        observed, chances = observed[:-1], chances[:-1] / chances[:-1].sum()
    return float(stats.chisquare(observed, chances * observed.sum()).pvalue)


def test_probabilities_change_by_at_most_the_factor_that_is_paid_for() -> None:
    epsilon = Fraction(1)
    for extra in [(0, 0), (2, 1), (3, 1), (3, 0)]:
        without, having = exact_probabilities(RECORDS, epsilon), exact_probabilities([*RECORDS, extra], epsilon)
        # a cell that reaches k records by the extra one makes another scheme of it: compare what both can be told by
        common = without.keys() & having.keys()
        assert common
        for scheme in common:
            assert abs(math.log(having[scheme] / without[scheme])) <= float(epsilon) + 1e-9


@pytest.mark.parametrize("m", [0, 3, 100])
def test_with_trimming_every_tuple_lies_in_one_cell(m: int) -> None:
    made = score(RECORDS, operator=reference.trimming(m))
    cells = draw_tree(made, Fraction(2), SeededSource(1))
    assert set(cells.owners.tolist()) == set(range(len(cells.levels)))
    found = [tuple(zip(*pair, strict=True)) for pair in zip(cells.levels.tolist(), cells.codes.tolist(), strict=True)]
    for record in RECORDS:
        assert sum(reference.inside([TALL, FLAT], [record], cell) for cell in found) == 1


def test_every_tuple_lies_in_one_cell_or_can_release_nothing() -> None:
    made = score(RECORDS)
    cells = draw_tree(made, Fraction(2), SeededSource(1))
    assert len(cells.owners) == len(made.box.start.keys)
    assert set(cells.owners.tolist()) <= {-1, *range(len(cells.levels))}
    counts = np.bincount(cells.owners[cells.owners >= 0], weights=made.box.start.counts[cells.owners >= 0])
    assert (counts >= K).all()


def test_a_large_budget_finds_the_best_tree() -> None:
    records = [(0, 0)] * 40 + [(1, 0)] * 40 + [(2, 1)] * 3
    cells = draw_tree(score(records), Fraction(30), SeededSource(2))
    found = {tuple(zip(levels, codes, strict=True)) for levels, codes in zip(cells.levels, cells.codes, strict=True)}
    assert ((0, 0), (0, 0)) in found
    assert ((0, 1), (0, 0)) in found


def test_columns_with_a_fixed_level_are_not_specialised_and_their_parts_are_drawn_apart() -> None:
    setting = reference.setting([TALL, FLAT], RECORDS, reference.sampling(HALF, K))
    from dataclasses import replace

    made = Granularity(replace(setting, low=(0, 0), high=(2, 0)))
    cells = draw_tree(made, Fraction(1), SeededSource(3))
    assert (cells.levels[:, 1] == 0).all()
    assert set(cells.codes[:, 1].tolist()) == {0, 1}


def test_the_weight_spends_no_more_than_the_budget() -> None:
    made = score(RECORDS)
    for epsilon in (Fraction(1, 1000), Fraction(1, 10), Fraction(7)):
        weight, sensitivity = _weight(made, epsilon, 32), -(-made.sensitivity // SCALE)
        depth = 1 + 2 + 1  # the top, two levels of one column, one of the other
        assert (weight * sensitivity + 4 * depth) <= epsilon * 2**32 < ((weight + 1) * sensitivity + 4 * depth)
    with pytest.raises(ParameterError, match="too small"):
        _weight(made, Fraction(1, 2**31), 32)


def test_the_schema_alone_decides_whether_a_tree_has_too_many_values() -> None:
    """Three columns of numbers may have as many values as records; whether they do, one record could tell."""
    bounds = shoal.Domain(minimum=0, maximum=1000)
    ages = shoal.Attribute(
        name="a",
        role="quasi-identifier",
        kind="numeric",
        domain=bounds,
        hierarchy=shoal.schema.Intervals(widths=(10, 100)),
    )
    schema = shoal.Schema(attributes=tuple(replace(ages, name=name) for name in "abc"))
    wanted = shoal.DifferentialPrivacy(epsilon=1, delta="1e-3")

    def plan(**options: object) -> shoal.Plan:
        method = shoal.methods.Truthful(scheme="multi-dimensional", **options)  # type: ignore[arg-type]
        return shoal.Plan(schema=schema, models=(wanted,), method=method)

    with pytest.raises(PlanError, match="84 bits"):
        plan()
    with pytest.raises(PlanError, match="84 bits"):
        shoal.Plan(schema=schema, models=(wanted,), method=shoal.methods.TruthfulTables(tables="pairs+joint"))
    plan(levels={"a": 1})
    shoal.Plan(schema=schema, models=(wanted,), method=shoal.methods.Truthful())


def test_no_table_needs_more_bits_than_its_schema_says() -> None:
    bounds = shoal.Domain(minimum=-3.5, maximum=1000)
    for widths, origin, top in [((10, 100), 0, None), ((0.3, 600), 2, 900), ((7, 14), -3, 5)]:
        rule = shoal.schema.Intervals(widths=widths, origin=origin, top=top)
        column = shoal.Attribute(name="a", role="quasi-identifier", kind="numeric", domain=bounds, hierarchy=rule)
        made = build(column, pa.array(np.linspace(-3.5, 1000, 50_000)), missing=True)
        for level in (1, 2, 3):
            bits = _width(column, shoal.Schema(attributes=(column,)), level)
            assert len(made.labels[level]) <= 2**bits
    days = shoal.Domain(minimum=dt.date(2020, 1, 1), maximum=dt.date(2020, 12, 31))
    column = shoal.Attribute(name="a", role="quasi-identifier", kind="date", domain=days)
    assert _width(column, shoal.Schema(attributes=(column,)), 0) == 9
