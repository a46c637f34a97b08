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
from shoal.mechanisms import SeededSource
from shoal.methods.truthful import DifferentialPrivacy, Truthful, Tuples
from shoal.methods.truthful._scores import Granularity
from shoal.methods.truthful._search import draw, published_walk, split_walk
from shoal.methods.truthful._tuples import sample
from shoal.methods.truthful.parameters import Parameters, parameters
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


@pytest.mark.parametrize("share", [0.9, 1.0, 1.5])
def test_released_copies_are_binomial_and_cut_off_at_k(share: float) -> None:
    # chi-square, n = 20,000, alpha = 1e-6; the distributions of rates 10 % lower and higher are rejected
    found, number = parameters(1, "1e-2"), 20_000
    size = int(found.k / float(found.beta) * share)
    drawn = sample(one_class(size, number), found, SeededSource(7)).counts
    copies = np.concatenate([drawn, np.zeros(number - len(drawn), dtype=np.int64)])
    assert fit(copies, size, found, 1.0) > 1e-6
    assert fit(copies, size, found, 0.9) < 1e-6
    assert fit(copies, size, found, 1.1) < 1e-6


def fit(copies: np.ndarray, size: int, found: Parameters, scale: float) -> float:
    chances = stats.binom.pmf(np.arange(size + 1), size, min(float(found.beta) * scale, 1.0))
    chances[0] = chances[: found.k].sum()
    chances[1 : found.k] = 0
    observed = np.bincount(copies, minlength=size + 1)
    common = chances * len(copies) >= 5
    rest = max(1 - chances[common].sum(), 1e-12)
    return float(
        stats.chisquare(
            np.append(observed[common], observed[~common].sum()), np.append(chances[common], rest) * len(copies)
        ).pvalue
    )


# -- audits: neighbours differ by one record; outcomes are what is released


def released(method: Truthful, columns: list[Column], seed: int) -> Callable[[list[Record]], Hashable]:
    source = SeededSource(seed)

    def run(records: list[Record]) -> Hashable:
        drawn = method.draw(reference.frequencies(columns, records), WANTED, source=source)
        rows = zip(drawn.tuples.positions.tolist(), drawn.tuples.counts.tolist(), strict=True)
        return drawn.searched.levels, frozenset((tuple(places), count) for places, count in rows)

    return run


K = WANTED.operator(searching=True).k
BETA = float(WANTED.operator(searching=True).beta)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["full-domain", "multi-dimensional"])
def test_the_method_passes_where_one_record_matters_most(scheme: str) -> None:
    # the extra record is alone in its value, and the other class is at the threshold
    near = int(K / BETA)
    with_record: list[Record] = [(0,)] * near + [(1,)] * near
    result = audit(
        released(Truthful(scheme=scheme), [FLAT], 31),  # type: ignore[arg-type]
        with_record,
        with_record[:-1],
        delta=0.01,
        trials=600,
    )
    assert not result.refutes(1)


def levels_of(search: Callable[..., object], epsilon: Fraction, seed: int, **options: int) -> Callable[..., Hashable]:
    source = SeededSource(seed)

    def run(records: list[Record]) -> Hashable:
        return search(scored(tuple(records)), epsilon, source, **options).levels  # type: ignore[attr-defined]

    return run


@cache
def scored(records: tuple[Record, ...]) -> Granularity:
    return Granularity(reference.setting([FLAT], records, beta=Fraction(1, 2), k=3))


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
        return draw(scored(tuple(records)), Fraction(500, 10), source).levels

    assert audit(sharper, *crafted_pair(), trials=300).refutes(0.1)


def test_a_threshold_that_is_too_small_is_caught() -> None:
    found, trials = WANTED.operator(searching=True), 3000
    broken = replace(found, k=2)

    def run(operator: Parameters) -> Callable[[int], Hashable]:
        streams: dict[int, Iterator[int]] = {}

        def next_count(size: int) -> Hashable:
            if size not in streams:  # all trials at once
                drawn = sample(one_class(size, 2 * trials), operator, SeededSource(size)).counts.tolist()
                streams[size] = iter(shuffled([*drawn, *[0] * (2 * trials - len(drawn))]))
            return next(streams[size])

        return next_count

    assert audit(run(broken), 3, 2, delta=0.01, trials=trials).refutes(float(found.epsilon))
    assert not audit(run(found), K + 1, K, delta=0.01, trials=trials).refutes(float(found.epsilon))


def shuffled(values: list[int]) -> list[int]:
    return np.random.default_rng(1).permutation(values).tolist()


def test_release_without_sampling_is_caught() -> None:
    found = WANTED.operator(searching=True)

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
