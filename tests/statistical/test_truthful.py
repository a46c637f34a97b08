"""The operator has its exact distribution, and the audit passes the method and catches its broken twins."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from reference import truthful as reference
from reference.truthful import Column, Record
from shoal import hierarchies
from shoal.mechanisms import SeededSource, discrete_laplaces
from shoal.methods.truthful import DifferentialPrivacy, Truthful, Tuples
from shoal.methods.truthful._operators import Operator, Sampling, Trimming
from shoal.methods.truthful._scheme import draw_node, published_walk, split_walk
from shoal.methods.truthful._scores import Granularity
from shoal.schema import Attribute, Kind, Quantiles
from shoal.tables import Frequencies
from shoal.testing.audit import audit

FLAT = Column(((0, 1), (0, 0)))
WANTED = DifferentialPrivacy(epsilon=1, delta=0.01, search_share=0.5)


def one_class(size: int, copies: int) -> Tuples:
    """Return many classes of the same size, to draw many times at once."""
    return Tuples(
        hierarchies=(FLAT.hierarchy("c0"),),
        levels=np.zeros((copies, 1), dtype=np.int32),
        codes=np.zeros((copies, 1), dtype=np.int32),
        counts=np.full(copies, size),
    )


def shown(tuples: Tuples, operator: Operator, source: SeededSource) -> np.ndarray:
    """Return the copies of the classes of which any are released."""
    return tuples.showing(operator.shown(tuples.counts, source)).counts


@pytest.mark.parametrize("share", [0.9, 1.0, 1.5])
def test_released_copies_are_binomial_and_cut_off_at_k(share: float) -> None:
    # chi-square, n = 20,000, alpha = 1e-6; the distributions of rates 10 % lower and higher are rejected
    found, number = Sampling.of(Fraction(1), Fraction(1, 100), definition="probabilistic", least=1), 20_000
    size = int(found.k / float(found.beta) * share)
    drawn = shown(one_class(size, number), found, SeededSource(7))
    copies = np.concatenate([drawn, np.zeros(number - len(drawn), dtype=np.int64)])
    assert fit(copies, size, found, 1.0) > 1e-6
    assert fit(copies, size, found, 0.9) < 1e-6
    assert fit(copies, size, found, 1.1) < 1e-6


def fit(copies: np.ndarray, size: int, found: Sampling, scale: float) -> float:
    chances = stats.binom.pmf(np.arange(size + 1), size, min(float(found.beta) * scale, 1.0))
    chances[0] = chances[: found.k].sum()
    chances[1 : found.k] = 0
    return goodness(copies, chances)


def goodness(copies: np.ndarray, chances: np.ndarray) -> float:
    observed = np.bincount(copies, minlength=len(chances))
    common = chances * len(copies) >= 5
    rest = max(1 - chances[common].sum(), 1e-12)
    return float(
        stats.chisquare(
            np.append(observed[common], observed[~common].sum()), np.append(chances[common], rest) * len(copies)
        ).pvalue
    )


@pytest.mark.parametrize("least", [1, 3])
@pytest.mark.parametrize("size", [4, 9, 30])
def test_released_copies_are_what_trimming_leaves(size: int, least: int) -> None:
    # chi-square, n = 20,000, alpha = 1e-6; the distributions of an epsilon 10 % lower or higher are rejected
    found, number = Trimming.of(Fraction(1, 2), Fraction(1, 100), definition="probabilistic", least=least), 20_000
    drawn = shown(one_class(size, number), found, SeededSource(9))
    copies = np.concatenate([drawn, np.zeros(number - len(drawn), dtype=np.int64)])
    assert trimmed_fit(copies, size, found) > 1e-6
    if size == 30:  # smaller classes show too little to tell
        assert trimmed_fit(copies, size, replace(found, epsilon=found.epsilon * Fraction(9, 10))) < 1e-6
        assert trimmed_fit(copies, size, replace(found, epsilon=found.epsilon * Fraction(11, 10))) < 1e-6
        assert trimmed_fit(copies, size, replace(found, m=found.m - 1)) < 1e-6


def trimmed_fit(copies: np.ndarray, size: int, found: Trimming) -> float:
    expected = reference.shown(found, size)
    chances = np.array([expected.get(count, 0.0) for count in range(size + 1)])
    return goodness(copies, chances)


# -- audits: neighbours differ by one record; outcomes are what is released


def released(method: Truthful, columns: list[Column], seed: int) -> Callable[[list[Record]], Hashable]:
    source = SeededSource(seed)

    def run(records: list[Record]) -> Hashable:
        drawn = method.draw(reference.frequencies(columns, records), WANTED, source=source)
        rows = zip(drawn.tuples.positions.tolist(), drawn.tuples.counts.tolist(), strict=True)
        return drawn.levels, frozenset((tuple(places), count) for places, count in rows)

    return run


SAMPLING = WANTED.operator("sampling", searching=True)
assert isinstance(SAMPLING, Sampling)
K, BETA = SAMPLING.k, float(SAMPLING.beta)
TRIMMING = WANTED.operator(searching=True)
assert isinstance(TRIMMING, Trimming)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["full-domain", pytest.param("multi-dimensional", marks=pytest.mark.deep)])
def test_the_method_passes_where_one_record_matters_most(scheme: str) -> None:
    # the extra record is alone in its value, and the other class is at the threshold
    near = int(K / BETA)
    with_record: list[Record] = [(0,)] * near + [(1,)] * near
    result = audit(
        released(Truthful(scheme=scheme, operator="sampling"), [FLAT], 31),  # type: ignore[arg-type]
        with_record,
        with_record[:-1],
        delta=0.01,
        trials=300,
    )
    assert not result.refutes(1)
    # trimming: the extra record is the last of a class that is rather shown than not
    near = TRIMMING.likely
    with_record = [(0,)] * near + [(1,)] * near
    result = audit(
        released(Truthful(scheme=scheme), [FLAT], 32),  # type: ignore[arg-type]
        with_record,
        with_record[:-1],
        delta=0.01,
        trials=300,
    )
    assert not result.refutes(1)


@pytest.mark.parametrize("twin", ["none", "m one too small", "no condition on the noise", "least after the fact"])
@pytest.mark.parametrize("size", [1, 3, 6, 20])
def test_trimming_passes_and_its_broken_twins_are_caught(twin: str, size: int) -> None:
    trials, source = 20_000, SeededSource(11)
    operator = TRIMMING
    streams: dict[int, Iterator[int]] = {}

    def draw_of(records: int) -> np.ndarray:
        counts = np.full(2 * trials, records)
        if twin == "m one too small":
            return replace(operator, m=operator.m - 1).shown(counts, source)
        noise = discrete_laplaces(1 / operator.epsilon, len(counts), source=source)
        if twin == "no condition on the noise":  # a count that would be too large is cut off at the true one
            return np.clip(counts - operator.m - noise, 0, counts)
        if twin == "least after the fact" and records <= size:
            return np.zeros_like(counts)  # the class is hidden by its true size, not by what was drawn
        return operator.shown(counts, source)

    def run(records: int) -> Hashable:
        if records not in streams:
            streams[records] = iter(draw_of(records).tolist())
        return next(streams[records])

    result = audit(run, size + 1, size, delta=operator.exact_delta, trials=trials)
    assert result.refutes(float(operator.epsilon)) == (twin != "none")


def test_noise_below_minus_m_shows_more_records_than_there_are() -> None:
    """What the condition on the noise is for: without it, a class of 3 shows 4 records or more."""
    noise = discrete_laplaces(1 / TRIMMING.epsilon, 200_000, source=SeededSource(12))
    assert (3 - TRIMMING.m - noise > 3).any()
    assert (TRIMMING.shown(np.full(200_000, 3), SeededSource(12)) <= 3).all()


def levels_of(search: Callable[..., Hashable], epsilon: Fraction, seed: int, **options: int) -> Callable[..., Hashable]:
    source = SeededSource(seed)

    def run(records: list[Record]) -> Hashable:
        return search(scored(tuple(records)), epsilon, source, **options)

    return run


@cache
def scored(records: tuple[Record, ...]) -> Granularity:
    return Granularity(reference.setting([FLAT], records, reference.sampling(Fraction(1, 2), 3)))


def crafted_pair() -> tuple[list[Record], list[Record]]:
    """Return neighbours on which the bottom and the top node change places."""
    for size in range(1, 60):
        smaller: list[Record] = [(0,)] * size + [(1,)]
        larger: list[Record] = [*smaller, (0,)]
        better = []
        for records in (smaller, larger):
            score = scored(tuple(records))
            better.append(score.one((0,)) > score.one((1,)))
        if better == [False, True]:
            return larger, smaller
    raise AssertionError("no such pair")


def test_the_exact_comparison_of_the_published_walk_is_caught() -> None:
    # one step visits both nodes for sure; then one record decides which of them is returned
    larger, smaller = crafted_pair()
    epsilon = Fraction(1, 10)
    assert audit(levels_of(published_walk, epsilon, 3, steps=1), larger, smaller, trials=1000).refutes(4)
    assert not audit(levels_of(split_walk, epsilon, 3, steps=1), larger, smaller, trials=1000).refutes(0.1)


def test_a_score_called_less_sensitive_than_it_is_is_caught() -> None:
    source = SeededSource(4)

    def sharper(records: list[Record]) -> Hashable:
        # 500 times the budget is what a sensitivity 500 times too small amounts to
        return draw_node(scored(tuple(records)), Fraction(500, 10), source)

    assert audit(sharper, *crafted_pair(), trials=300).refutes(0.1)


def test_a_threshold_that_is_too_small_is_caught() -> None:
    found, trials = SAMPLING, 3000
    broken = replace(found, k=2)

    def run(operator: Sampling) -> Callable[[int], Hashable]:
        streams: dict[int, Iterator[int]] = {}

        def next_count(size: int) -> Hashable:
            if size not in streams:  # all trials at once
                drawn = shown(one_class(size, 2 * trials), operator, SeededSource(size)).tolist()
                streams[size] = iter(shuffled([*drawn, *[0] * (2 * trials - len(drawn))]))
            return next(streams[size])

        return next_count

    assert audit(run(broken), 3, 2, delta=0.01, trials=trials).refutes(float(found.epsilon))
    assert not audit(run(found), K + 1, K, delta=0.01, trials=trials).refutes(float(found.epsilon))


def shuffled(values: list[int]) -> list[int]:
    return np.random.default_rng(1).permutation(values).tolist()


def test_release_without_sampling_is_caught() -> None:
    found = SAMPLING

    def unsampled(size: int) -> Hashable:
        return size if size >= found.k else 0

    assert audit(unsampled, 3 * K, 3 * K - 1, delta=0.01, trials=1000).refutes(4)


def test_levels_read_off_the_data_are_caught() -> None:
    # quantiles move with one record; the plan refuses them, and so must anybody who draws with them
    ages, extra = [*range(20, 60)] * 4, 59
    attribute = Attribute(name="age", kind=Kind.NUMERIC, hierarchy=Quantiles(counts=(2,)))
    source = SeededSource(6)

    def run(values: list[int]) -> Hashable:
        distinct, counts = np.unique(values, return_counts=True)
        made = hierarchies.build(attribute, pa.array(distinct), counts=counts)
        table = Frequencies(
            hierarchies=(made,),
            codes=np.asfortranarray(hierarchies.leaf_codes(made, pa.array(distinct)).reshape(-1, 1)),
            counts=counts,
            sensitive_codes=np.zeros((len(counts), 0), dtype=np.int32),
        )
        drawn = Truthful(levels={"age": 1}).draw(table, WANTED, source=source)
        return tuple(drawn.tuples.labels(0)[place] for place in drawn.tuples.positions[:, 0])

    while run(ages) == run([*ages, extra]):  # until one record more moves the cut
        ages.append(extra)
    assert audit(run, [*ages, extra], ages, delta=0.01, trials=100).refutes(1)
