"""Audits of whole answers on neighbouring tables: sound queries pass, broken twins are caught."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

import pyarrow as pa
import pytest

import shoal
from reference.noise import QuickSource
from shoal.queries import Count, Histogram, LookUp, Mean, Quantile, Query, Sum, Unit
from shoal.queries._query import Prepared
from shoal.queries._records import MemoryRecords
from shoal.schema import Attribute, Domain, Kind, Role, Schema
from shoal.testing.audit import audit

SCHEMA = Schema(
    attributes=(
        Attribute(name="id", role=Role.IDENTIFIER),
        Attribute(name="sex", domain=Domain(values=("F", "M"))),
        Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=100)),
    )
)
TRIALS = 1000
Outcome = Callable[[MemoryRecords], Hashable]


def records(*people: tuple[str, str, int]) -> MemoryRecords:
    columns = list(zip(*people, strict=True))
    names = ("id", "sex", "age")
    return MemoryRecords(shoal.read(pa.table(dict(zip(names, columns, strict=True))), schema=SCHEMA))


OTHERS = [("a", "F", 10), ("b", "M", 20), ("c", "F", 30)]
# the record that makes the largest difference to sums and ranks
WITHOUT, WITH = records(*OTHERS), records(*OTHERS, ("d", "M", 100))


def answers(
    prepared: Prepared, seed: int, feature: Callable[[object], Hashable]
) -> Callable[[MemoryRecords], Hashable]:
    source = QuickSource(seed)
    return lambda table: feature(prepared.answer(table, source)[0])


def refuted(query: Query, feature: Callable[[object], Hashable], seed: int) -> bool:
    run = answers(query.prepare(SCHEMA), seed, feature)
    return audit(run, WITH, WITHOUT, trials=TRIALS).refutes(1)


@pytest.mark.slow
def test_sound_queries_pass() -> None:
    assert not refuted(Count(epsilon=1), lambda value: value, 61)  # type: ignore[arg-type,return-value]
    assert not refuted(Sum(column="age", epsilon=1), lambda value: value > 110, 62)  # type: ignore[operator]
    assert not refuted(Sum(column="age", epsilon=1, noise="optimal"), lambda value: value > 110, 63)  # type: ignore[operator]
    assert not refuted(Mean(column="age", epsilon=1), lambda value: round(value / 10), 64)  # type: ignore[operator]
    assert not refuted(Histogram(column="sex", epsilon=1), lambda value: value["M"], 65)  # type: ignore[index]
    assert not refuted(Quantile(column="age", epsilon=1), lambda value: value > 20, 66)  # type: ignore[operator]
    look_up = LookUp(identifier="id", person="d", columns=("sex",), epsilon=1)
    assert not refuted(look_up, lambda value: value, 67)  # type: ignore[arg-type,return-value]


# a person with four records, of whom two are used: what is left of the table after the draw
OF_TWO = records(*OTHERS, ("d", "M", 100), ("d", "M", 100))
OF_FOUR = records(*OTHERS, *[("d", "M", 100)] * 4)


def test_counts_about_persons_pass_and_one_that_does_not_bound_their_records_is_caught() -> None:
    prepared = Count(epsilon=1).prepare(SCHEMA, Unit("id", 2))
    run = answers(prepared, 71, lambda value: value)  # type: ignore[arg-type,return-value]
    assert not audit(run, OF_TWO, WITHOUT, trials=TRIALS).refutes(1)
    assert audit(run, OF_FOUR, WITHOUT, trials=TRIALS).refutes(1)


def test_a_count_with_the_noise_of_another_epsilon_is_caught() -> None:
    assert refuted(Count(epsilon=2), lambda value: value, 68)  # type: ignore[arg-type,return-value]


def test_a_sum_whose_bounds_were_read_off_the_data_is_caught() -> None:
    # without the record of 100 the largest age is 30: noise for 30 hides nobody of 100
    narrow = replace(SCHEMA["age"], domain=Domain(minimum=0, maximum=30))
    schema = Schema(attributes=(*SCHEMA.attributes[:2], narrow))
    noise_for_30 = Sum(column="age", epsilon=1).prepare(schema)
    true_for_100 = Sum(column="age", epsilon="100000").prepare(SCHEMA)
    source, empty = QuickSource(69), records(("x", "F", 0))

    def twin(table: MemoryRecords) -> bool:
        noise = noise_for_30.answer(empty, source)[0]
        return noise + true_for_100.answer(table, source)[0] > 110  # type: ignore[operator]

    assert audit(twin, WITH, WITHOUT, trials=400).refutes(1)


@pytest.mark.slow
def test_two_look_ups_for_the_price_of_one_are_caught() -> None:
    prepared = LookUp(identifier="id", person="d", columns=("sex",), epsilon=1).prepare(SCHEMA)
    source = QuickSource(70)

    def twin(table: MemoryRecords) -> tuple[object, object]:
        return prepared.answer(table, source)[0], prepared.answer(table, source)[0]

    assert audit(twin, WITH, WITHOUT, trials=2 * TRIALS).refutes(1)
