"""Trimming with Gaussian noise: everything the theorems say, from the definitions, with exact sums of small numbers."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from shoal.hierarchies import Hierarchy, build
from shoal.mechanisms import ExponentialMechanism
from shoal.methods.truthful import gaussian
from shoal.methods.truthful._sets_choice import candidates, score
from shoal.methods.truthful._sets_expected import ExpectedAlone
from shoal.methods.truthful._sets_listed import ListedClasses, countable
from shoal.methods.truthful._sets_split import Noise, Split
from shoal.schema import Attribute, Domain, Groups, Intervals, Schema
from shoal.tables import Frequencies, encode, read

#: Classes that the schema lists have a number, however far below zero.
COUNTED = -(10**9)
SETTINGS = [(0, 0.5), (1, 0.5), (3, 2.0), (5, 4.0), (12, 9.0), (30, 60.0)]

#: How many records there are, and how many have each value of either column.
Expected = tuple[float, list[np.ndarray]]


def shown(c: int, m: int, v: float, least: int = 1) -> dict[int, float]:
    """Return the distribution of what a class of c records shows, from the definition."""
    reach = int(14 * math.sqrt(v)) + c + 40
    weights = {g: math.exp(-g * g / (2 * v)) for g in range(-m, reach)}
    total = math.fsum(weights.values())
    found: dict[int, float] = {}
    for g, weight in weights.items():
        x = c - (m + g)
        x = x if x >= least else 0  # nothing is shown
        found[x] = found.get(x, 0.0) + weight / total
    return found


def hockey_stick(p: dict[object, float], q: dict[object, float], epsilon: float) -> float:
    return math.fsum(max(0.0, p[x] - math.exp(epsilon) * q.get(x, 0.0)) for x in p)


@pytest.mark.parametrize(("m", "v"), SETTINGS)
def test_what_may_be_lost_is_bounded_from_above_and_closely(m: int, v: float) -> None:
    exact = shown(100, m, v)[100]
    bound = gaussian.lost(m, Fraction(v))
    assert exact <= bound <= 2.1 * exact
    least = gaussian.minimal_m(Fraction(v), Fraction(1, 1000))
    assert shown(1000, least, v)[1000] <= 1 / 1000


@pytest.mark.parametrize(("m", "v"), SETTINGS)
@pytest.mark.parametrize("least", [1, 4, COUNTED])
def test_renyi_divergences_of_whole_orders_are_at_most_a_over_2v_unless_all_is_shown(
    m: int, v: float, least: int
) -> None:
    for c in (0, 1, 3, 10, 40):
        smaller, larger = shown(c, m, v, least), shown(c + 1, m, v, least)
        bad = larger.pop(c + 1, 0.0) if c + 1 >= least else shown(c + 1, m, v)[c + 1]
        if c + 1 < least:
            continue
        larger = {x: probability / (1 - bad) for x, probability in larger.items()}
        for order in range(2, 24):
            for p, q in ((smaller, larger), (larger, smaller)):
                common = [x for x in p if p[x] > 1e-250 and q.get(x, 0.0) > 1e-250]
                logs = [order * math.log(p[x]) - (order - 1) * math.log(q[x]) for x in common]
                moment = max(logs) + math.log(math.fsum(math.exp(each - max(logs)) for each in logs))
                assert moment / (order - 1) <= order / (2 * v) + 1e-7


def test_a_wrong_variance_or_noise_that_is_not_cut_off_is_noticed() -> None:
    """The same check refuses broken twins: it can fail."""
    smaller, larger = shown(40, 5, 4.0), shown(41, 5, 4.0)
    bad = larger.pop(41)
    larger = {x: probability / (1 - bad) for x, probability in larger.items()}
    moment = math.fsum(p * p / larger[x] for x, p in smaller.items() if larger.get(x, 0.0) > 1e-250)
    assert math.log(moment) > 2 / (2 * 4.4)
    assert 41 not in larger
    assert hockey_stick(shown(41, 5, 4.0), shown(40, 5, 4.0), 50.0) == pytest.approx(bad)


@pytest.mark.parametrize("epsilon", ["0.3", "1", "2.5"])
@pytest.mark.parametrize("delta", ["0.05", "0.001"])
@pytest.mark.parametrize("least", [1, COUNTED])
@pytest.mark.parametrize("classes", [[5], [2, 100]])
def test_all_tables_together_stay_within_epsilon_and_delta(
    epsilon: str, delta: str, classes: list[int], least: int
) -> None:
    """The joint distribution of what every table tells of the record's class, on neighbours, in both directions."""
    split = Split.of(Fraction(epsilon), Fraction(delta), declared=classes, pairs=0)
    assert split.holds()
    noise = [(each.m, float(each.variance)) for each in split.declared]
    for sizes in itertools.product(*((0, 1, m // 2, m, 2 * m + 1) for m, _ in noise)):
        small = _product([shown(c, *own, least) for c, own in zip(sizes, noise, strict=True)])
        large = _product([shown(c + 1, *own, least) for c, own in zip(sizes, noise, strict=True)])
        for p, q in ((small, large), (large, small)):
            assert hockey_stick(p, q, float(Fraction(epsilon))) <= float(Fraction(delta))


def test_less_noise_than_the_split_gives_breaks_the_promise() -> None:
    noise = Split.of(Fraction(1), Fraction("0.001"), declared=[None] * 2, pairs=0).declared[0]
    v, m = float(noise.variance) / 4, noise.m // 3
    small = _product([shown(60, m, v)] * 2)
    large = _product([shown(61, m, v)] * 2)
    assert max(hockey_stick(small, large, 1.0), hockey_stick(large, small, 1.0)) > 0.001
    assert not gaussian.satisfies(
        rho=1 / Fraction(v), tables=[(m, Fraction(v))] * 2, epsilon=Fraction(1), delta=Fraction("0.001")
    )


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.00001"), ("2", "0.001")])
@pytest.mark.parametrize("tables", [2, 4, 10])
def test_a_table_that_is_not_counted_or_half_of_the_noise_breaks_the_promise(
    epsilon: str, delta: str, tables: int
) -> None:
    """Exact: what large classes show in all tables together. The sound twin has margin; the broken ones have none."""

    def reached(m: int, variance: float) -> float:
        noise = np.arange(-m, int(14 * math.sqrt(variance)) + 60)
        weights = np.exp(-noise * noise / (2 * variance))
        total = functools.reduce(np.convolve, [weights / weights.sum()] * tables)
        smaller, larger = np.pad(total, (tables, 0)), np.pad(total, (0, tables))
        factor = math.exp(float(epsilon))
        return max(np.maximum(0.0, p - factor * q).sum() for p, q in ((smaller, larger), (larger, smaller)))

    sound, alone = (
        Split.of(Fraction(epsilon), Fraction(delta), declared=[None] * each, pairs=0).declared[0]
        for each in (tables, 1)
    )
    assert reached(sound.m, float(sound.variance)) < float(delta) / 2
    assert reached(alone.m, float(alone.variance)) > 3 * float(delta)
    assert reached(sound.m, float(sound.variance) / 4) > 3 * float(delta)


def _product(parts: list[dict[int, float]]) -> dict[object, float]:
    found: dict[object, float] = {(): 1.0}
    for part in parts:
        found = {(*x, y): p * q for x, p in found.items() for y, q in part.items() if p * q > 1e-16}  # type: ignore[misc]
    return found


@functools.cache
def _hierarchy(name: str) -> Hierarchy:
    rule = Groups(levels=((("low", ("a", "b")), ("high", ("c", "d"))),))
    return build(Attribute(name=name, hierarchy=rule), pa.array(["a"]))


def _table(counts: np.ndarray) -> Frequencies:
    codes = np.array(list(itertools.product(range(4), repeat=2)), dtype=np.int32)
    kept = counts > 0
    return Frequencies(
        hierarchies=(_hierarchy("one"), _hierarchy("two")),
        codes=np.asfortranarray(codes[kept]),
        counts=counts[kept],
        sensitive=(),
        sensitive_codes=np.zeros((int(kept.sum()), 0), dtype=np.int32),
    )


def _listed(counts: np.ndarray, *, counted: bool) -> ListedClasses:
    """Return the table, of which the schema lists all values or none."""
    return ListedClasses(_table(counts), {name: _hierarchy(name) for name in ("one", "two")} if counted else {})


def _scores(counts: np.ndarray, expected: Expected, noise: Noise, *, counted: bool) -> list[int]:
    return _scores_of(_listed(counts, counted=counted), expected, noise)


def _scores_of(listed: ListedClasses, expected: Expected, noise: Noise) -> list[int]:
    alone = ExpectedAlone(listed, (0, 0), *expected)
    return [score(listed, each, alone, noise) for each in candidates(listed.frequencies.hierarchies, (0, 0))]


@pytest.mark.parametrize("counted", [True, False])
def test_a_record_changes_every_score_by_at_most_one(counted: bool) -> None:
    generator = np.random.default_rng(1)
    moved = set()
    for _ in range(200):
        counts = generator.integers(0, 9, 16)
        expected = (float(counts.sum()), [generator.integers(0, 20, 4).astype(float) for _ in range(2)])
        noise = Noise(int(generator.integers(0, 5)), Fraction(int(generator.integers(1, 9)), 4))
        more = counts.copy()
        more[generator.integers(16)] += 1
        before, after = (_scores(each, expected, noise, counted=counted) for each in (counts, more))
        changes = {new - old for old, new in zip(before, after, strict=True)}
        assert changes <= {-1, 0, 1}
        moved |= changes
    assert moved >= {-1, 1}


def test_a_value_that_nobody_had_before_changes_every_score_by_at_most_one() -> None:
    """Of numbers, only those that occur are values of the data; what is expected of a group of them is public."""
    names, domains = ("age", "income"), (Domain(minimum=0, maximum=7), Domain(minimum=0, maximum=10**6))
    schema = Schema(
        attributes=tuple(
            Attribute(
                name=name, role="quasi-identifier", kind="numeric", domain=domain, hierarchy=Intervals(widths=(2, 4))
            )
            for name, domain in zip(names, domains, strict=True)
        )
    )
    rows = [(0, 10), (0, 10), (0, 20), (5, 10), (5, 20), (5, 20)]
    # the noisy counts of the ages 0 to 7 and of no age: nobody is 1 year old, and noise says 30
    expected = (60.0, [np.array([3.0, 30, 0, 0, 0, 3, 12, 12, 0]), np.array([30.0, 30])])
    scores = []
    for records in (rows, [*rows, (1, 10)], [*rows, (6, 20)]):
        table = read(pa.table(dict(zip(names, map(list, zip(*records, strict=True)), strict=True))), schema=schema)
        listed = ListedClasses(encode(table, sensitive=()).frequencies, countable(schema))
        assert set(listed.hierarchies) == {"age"}
        scores.append(_scores_of(listed, expected, Noise(0, Fraction(1, 100))))
    for after in scores[1:]:
        assert {new - old for old, new in zip(scores[0], after, strict=True)} <= {-1, 0, 1}


def test_the_score_of_listed_cells_counts_those_without_records() -> None:
    counts = np.zeros(16, dtype=np.int64)
    counts[0] = 40
    expected = (40.0, [np.array([40.0, 0, 0, 0]), np.array([20.0, 20.0, 0, 0])])
    # 40 in a cell where 20 are expected, none where 20 are: 40 less a quarter of the noise for each of 16 cells
    assert _scores(counts, expected, Noise(5, Fraction(4)), counted=True)[0] == 40 - 7
    # trimming would hide none of the 40: 40 - 20 less the noise
    assert _scores(counts, expected, Noise(5, Fraction(4)), counted=False)[0] == 20 - 2


@pytest.mark.slow
@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize(("bound", "tables"), [pytest.param("0.02", 3, marks=pytest.mark.deep), ("0.3", 10)])
def test_scheme_and_counts_together_stay_within_epsilon_and_delta_end_to_end(
    bound: str, tables: int, counted: bool
) -> None:
    """Two tables of a column, the choice of levels that depends on them, and the table of the pair: one distribution.

    What other classes of the tables show has the same distribution on neighbours and is held fixed.
    """
    epsilon, delta, least = Fraction(3), Fraction(bound), COUNTED if counted else 1
    split = Split.of(epsilon, delta, declared=[4 if counted else None] * 2, pairs=1)
    assert split.holds()
    usual, m, v = split.usual, split.declared[0].m, float(split.declared[0].variance)
    strength = float(ExponentialMechanism(epsilon=split.choice, sensitivity=1).rate)
    generator = np.random.default_rng(2)
    for _ in range(tables):
        counts = generator.integers(0, m + 6, 16)
        more = counts.copy()
        more[0] += 1
        others = [generator.integers(0, 40, 4).astype(float) for _ in range(2)]
        made = []
        for table in (counts, more):
            square, listed = table.reshape(4, 4), _listed(table, counted=counted)
            classes = [square[0, 0], square[:2, 0].sum(), square[0, :2].sum(), square[:2, :2].sum()]
            sizes = dict(zip([(0, 0), (1, 0), (0, 1), (1, 1)], classes, strict=True))
            sums = [int(square[0].sum()), int(square[:, 0].sum())]
            later = {}
            for each in candidates(_table(table).hierarchies, (0, 0)):
                (noise,) = split.with_pairs([listed.number(each)]).chosen
                later[each.levels] = shown(int(sizes[each.levels]), noise.m, float(noise.variance), least)
            joint: dict[object, float] = {}
            for seen, p in _product([shown(size, m, v, least) for size in sums]).items():
                if p < 1e-9:
                    continue
                columns = [
                    np.append(max(x + m, 0) if x or counted else 0, own[1:])
                    for x, own in zip(seen, others, strict=True)  # type: ignore[call-overload]
                ]
                expected = (max(float(own.sum()) for own in columns), columns)
                scores = np.array(_scores_of(listed, expected, usual), dtype=float)
                chances = np.exp(strength * (scores - scores.max()))
                for (levels, outcomes), chance in zip(later.items(), chances / chances.sum(), strict=True):
                    for x, q in outcomes.items():
                        joint[seen, levels, x] = joint.get((seen, levels, x), 0.0) + p * chance * q
            made.append(joint)
        slack = 1e-6  # first outcomes below 1e-9 are left out
        assert hockey_stick(made[0], made[1], 3.0) <= float(delta) + slack
        assert hockey_stick(made[1], made[0], 3.0) <= float(delta) + slack
