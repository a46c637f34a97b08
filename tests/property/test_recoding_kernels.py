"""The compiled kernels of recoding, their NumPy twins and the obvious computation give the same."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import recoding as reference
from reference.examples import examples
from shoal.kernels import library, recoding
from shoal.kernels.moves import Moves
from shoal.kernels.partition import AttributeCover, Splitting, partition, partition_numpy
from shoal.kernels.screening import Ground, Proportions, Screening, screen_histograms, screen_native, screen_numpy
from shoal.kernels.walk import BoxAttribute, Start, score, score_numpy
from shoal.tables import Frequencies

ORDERED, HALVES = Ground((), (), 1, ordered=True), Ground((), (), 2)  # the values are not known yet
QUICK = examples(60)
compiled = pytest.mark.skipif(library() is None, reason="the compiled kernels are not built")
GROUPS = [recoding.group_numpy, pytest.param(recoding.group, marks=compiled)]
ROLLS = [recoding.roll_up_numpy, pytest.param(recoding.roll_up, marks=compiled)]
CHOICES = [recoding.choose_numpy, pytest.param(recoding.choose, marks=compiled)]


@st.composite
def columns(draw: st.DrawFn, *, wide: bool = False) -> tuple[np.ndarray, list[int]]:
    """Draw codes, shape (attributes, rows), and the number of values of every attribute."""
    number, rows = draw(st.integers(1, 4)), draw(st.integers(0, 20))
    # wide attributes need more than 64 bits together, and codes that differ in every digit
    sizes = [draw(st.sampled_from([2**31 - 1, 2**30, 3] if wide else [1, 2, 5, 40])) for _ in range(number)]
    found = [[draw(st.integers(0, size - 1)) for _ in range(rows)] for size in sizes]
    return np.array(found, dtype=np.int32).reshape(number, rows), sizes


@pytest.mark.parametrize("group", GROUPS)
@given(drawn=st.one_of(columns(), columns(wide=True)))
@QUICK
def test_distinct_tuples_are_numbered_in_order(group: object, drawn: tuple[np.ndarray, list[int]]) -> None:
    codes, sizes = drawn
    tuples = list(map(tuple, codes.T.tolist()))
    expected = sorted(set(tuples))
    found = group(codes, sizes)
    assert found.labels.tolist() == [expected.index(entry) for entry in tuples]
    assert found.first.tolist() == [tuples.index(entry) for entry in expected]


@st.composite
def rolls(draw: st.DrawFn) -> tuple[np.ndarray, list[np.ndarray], list[int], np.ndarray, int, list[np.ndarray]]:
    """Draw what `roll_up` takes: often sorted rows and monotone maps, which it is fastest at, but not always."""
    codes, sizes = draw(columns())
    if draw(st.booleans()):
        codes = np.array(sorted(map(tuple, codes.T.tolist())), dtype=np.int32).reshape(-1, len(sizes)).T
    maps, targets = [], []
    for size in sizes:
        mapped = [draw(st.integers(0, size - 1)) for _ in range(size)]
        mapped = sorted(mapped) if draw(st.booleans()) else mapped
        mapped = list(range(size)) if draw(st.booleans()) else mapped
        maps.append(np.array(mapped, dtype=np.int32))
        targets.append(size)
    kinds = draw(st.integers(1, 2))
    counts = [[draw(st.integers(0, 9)) for _ in range(codes.shape[1])] for _ in range(kinds)]
    leading = draw(st.integers(1, len(sizes)))
    costs = [np.array([draw(st.integers(0, 64)) / 64 for _ in range(size)]) for size in targets[:leading]]
    return codes, maps, targets, np.array(counts).reshape(kinds, -1), leading, costs if draw(st.booleans()) else []


@pytest.mark.parametrize("roll_up", ROLLS)
@given(drawn=rolls())
@QUICK
def test_rows_that_agree_after_mapping_are_gathered(roll_up: object, drawn: tuple) -> None:
    codes, maps, _, counts, leading, costs = drawn
    expected = defaultdict(lambda: [0] * len(counts))
    for row in range(codes.shape[1]):
        key = tuple(int(mapping[code]) for mapping, code in zip(maps, codes[:, row], strict=True))
        expected[key] = [total + int(count) for total, count in zip(expected[key], counts[:, row], strict=True)]
    tuples = sorted(expected)
    classes = sorted({entry[:leading] for entry in tuples})
    found = roll_up(recoding.MappedTuples(*drawn))
    assert list(map(tuple, found.columns.T.tolist())) == tuples
    assert found.counts.T.tolist() == [expected[entry] for entry in tuples]
    assert [tuples[start][:leading] for start in found.starts] == classes
    for number, entry in enumerate(classes):
        members = [expected[key] for key in tuples if key[:leading] == entry]
        assert found.sizes[:, number].tolist() == [sum(column) for column in zip(*members, strict=True)]
        if costs:
            assert found.costs[number] == sum(table[code] for table, code in zip(costs, entry, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("choose", CHOICES)
@given(lengths=st.lists(st.integers(1, 4), max_size=8), data=st.data())
@QUICK
def test_the_tuples_of_chosen_classes_are_copied(choose: object, lengths: list[int], data: st.DataObject) -> None:
    chosen = np.array([data.draw(st.booleans()) for _ in lengths], dtype=np.bool_)
    counts = np.array([data.draw(st.integers(0, 3)) for _ in range(sum(lengths))], dtype=np.int64)
    codes = np.arange(sum(lengths), dtype=np.int32)
    starts = np.cumsum([0, *lengths])[:-1].astype(np.int64)
    found = choose(starts, chosen, codes, counts)
    expected = [
        [(i, int(counts[i])) for i in range(start, start + length) if counts[i]]
        for start, length, kept in zip(starts.tolist(), lengths, chosen, strict=True)
        if kept
    ]
    assert np.diff(found.offsets).tolist() == list(map(len, expected))
    copied = list(zip(found.codes.tolist(), found.counts.tolist(), strict=True))
    assert copied == [entry for part in expected for entry in part]


def ground_of(asked: Proportions, size: int) -> Ground | None:
    """Return the ranges of a ground of so many values: from the first one on, or each value and each half."""
    if asked.ground is None:
        return None
    ends = range(1, size + 1)
    if asked.ground.ordered:
        return Ground((0,) * size, tuple(ends), max(size - 1, 1), ordered=True)
    return Ground((*range(size), 0, size // 2), (*ends, size // 2, size), 2)


def start_of(frequencies: Frequencies) -> Start:
    """Pack a table into bit fields, a sensitive attribute last."""
    sizes = [hierarchy.size for hierarchy in frequencies.hierarchies]
    target = (frequencies.sensitive[0].size - 1).bit_length() if frequencies.sensitive else 0
    bits = [(size - 1).bit_length() for size in sizes]
    shifts = [target + sum(bits[j + 1 :]) for j in range(len(bits))]
    keys = np.zeros(len(frequencies.counts), dtype=np.uint64)
    for column, shift in zip(frequencies.codes.T, shifts, strict=True):
        keys |= column.astype(np.uint64) << np.uint64(shift)
    if frequencies.sensitive:
        keys |= frequencies.sensitive_codes[:, 0].astype(np.uint64)
    order = np.argsort(keys)
    axes = []
    for hierarchy, shift, width in zip(frequencies.hierarchies, shifts, bits, strict=True):
        maps = []
        for level in range(hierarchy.height):
            step = np.zeros(len(hierarchy.labels[level]), dtype=np.int32)
            step[hierarchy.codes[level]] = hierarchy.codes[level + 1]
            maps.append(step)
        axes.append(BoxAttribute(shift=shift, bits=width, maps=tuple(maps), costs=hierarchy.shares))
    return Start(keys[order], frequencies.counts[order], tuple(axes), target)


@compiled
@given(reference.tables(sensitive=1), st.booleans())
@QUICK
def test_compiled_scores_are_those_of_numpy(frequencies: Frequencies, best_value: bool) -> None:
    start = start_of(frequencies)
    gains = np.array([0.0, 0.0, 1.5, 4.0])
    found, expected = (
        function(start, gains, slope=0.75, base=3.0, best_value=best_value) for function in (score, score_numpy)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@compiled
@given(
    reference.tables(sensitive=1),
    st.integers(1, 6),
    st.integers(0, 60),
    # no loss of a node is one of these: a node just at the bound is in or out by rounding alone
    st.sampled_from([0.1, 0.5, 1.0, 3.0]).map(lambda bound: bound + math.pi / 1000),
    st.sampled_from(
        [
            [[]],
            [[Proportions(distance=0.25)]],
            [[Proportions(upper_factor=1.5, upper_offset=0.0)]],
            [[Proportions(lower=0.5, upper_factor=2.0, upper_offset=0.0)]],
            [[Proportions(distance=0.25, exact=True)]],
            [[Proportions(distance=0.1, exact=True)], [Proportions(distance=t, exact=True) for t in (0.3, 0.2, 0.1)]],
            [[Proportions(lower=0.5, upper_factor=2.0, upper_offset=0.0, exact=True)]],
            [[Proportions(distance=Fraction(1, 4), exact=True)]],
            [[Proportions(distance=Fraction(t, 8), exact=True, ground=ORDERED)] for t in (1, 2)],
            [[Proportions(distance=Fraction(t, 8), exact=True, ground=HALVES) for t in (3, 2, 1)]],
        ]
    ),
)
@QUICK
def test_compiled_screening_is_that_of_numpy(
    frequencies: Frequencies, smallest: int, allowed: int, best: float, orders: list[list[Proportions]]
) -> None:
    start = start_of(frequencies)
    floors = [
        np.array([float((shares[codes[column]] * frequencies.counts).sum()) for shares, codes in levels])
        for column, levels in (
            (frequencies.codes[:, j], list(zip(h.shares, h.codes, strict=True)))
            for j, h in enumerate(frequencies.hierarchies)
        )
    ]
    asked = Screening(
        orders=[[each._replace(ground=ground_of(each, 1 << start.target)) for each in order] for order in orders],
        smallest=smallest,
        allowed=allowed,
        loss=float(len(floors)),
        scale=float(frequencies.records),
        best=best,
    )
    expected = screen_numpy(start, floors, asked)
    grounded = any(each.ground is not None for order in orders for each in order)
    for function in (screen_histograms,) if grounded else (screen_histograms, screen_native):
        found = function(start, floors, asked)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-12, atol=1e-12)


@compiled
@given(
    reference.tables(attributes=4, rows=40),
    st.sampled_from([1, 2, 3, 5, 60]),
    st.sampled_from([0, 10, 1000]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([float("inf"), 30.0, 200.0, 1000.0]),
)
@QUICK
def test_compiled_regions_are_those_of_numpy(
    frequencies: Frequencies, smallest: int, window: int, stay: bool, borrow: bool, intervals: bool, work: float
) -> None:
    covers = [
        AttributeCover(codes=np.array(h.codes), costs=h.positions[None], ordered=True)
        if intervals and h.positions is not None
        else AttributeCover(
            codes=np.array(h.codes), costs=np.array([s[c] for s, c in zip(h.shares, h.codes, strict=True)])
        )
        for h in frequencies.hierarchies
    ]
    many = frequencies.counts * (20 if smallest > 10 else 1)
    found, expected = (
        function(
            np.ascontiguousarray(frequencies.codes.T),
            many,
            covers,
            Splitting(smallest=smallest, window=window, stay=stay, borrow=borrow, foresight=work / 2, work=work),
        )
        for function in (partition, partition_numpy)
    )
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.parents, expected.parents)
    assert found.work == expected.work
    if many.sum() >= smallest:
        assert np.bincount(found.labels, weights=many)[np.unique(found.labels)].min() >= smallest


@given(
    frequencies=reference.tables(attributes=4),
    smallest=st.integers(1, 6),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    most=st.sampled_from([5.0, 30.0, np.inf]),
    data=st.data(),
)
@QUICK
def test_every_move_is_worth_what_its_classes_cost(
    frequencies: Frequencies, smallest: int, share: float, most: float, data: st.DataObject
) -> None:
    costs = [list(hierarchy.shares) for hierarchy in frequencies.hierarchies]
    moves = Moves(
        frequencies.codes.T,
        frequencies.counts,
        [hierarchy.codes for hierarchy in frequencies.hierarchies],
        costs,
        smallest=smallest,
        allowed=int(share * frequencies.records),
        loss=float(len(costs)),
    )
    nodes = list(reference.nodes(frequencies))
    for levels in data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=4)):
        wanted = np.array(data.draw(st.lists(st.booleans(), min_size=len(moves.moves), max_size=len(moves.moves))))
        expected = []
        for (j, level), chosen in zip(moves.moves, wanted, strict=True):
            moved = (*levels[:j], level, *levels[j + 1 :])
            total, suppressed = reference.total(frequencies, moved, smallest, costs, float(len(costs)))
            interesting = chosen and total <= most + 1e-9 and suppressed <= moves.allowed
            expected.append(total if interesting else np.inf)
        np.testing.assert_allclose(moves.values_numpy(levels, wanted, most), expected, atol=1e-9)
        if library() is not None:
            np.testing.assert_allclose(moves.values(levels, wanted, most=most + 1e-12), expected, atol=1e-9)
