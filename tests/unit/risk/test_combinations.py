"""Risks by what an intruder knows are those of a plain count."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.risk import Pair, _combinations, combinations

NAMES = ("a", "b", "c", "d")


def pair(records: int = 60) -> tuple[Pair, dict[str, list[str]]]:
    draws = np.random.default_rng(1)
    columns = {name: [str(value) for value in draws.integers(0, 4 + n, records)] for n, name in enumerate(NAMES)}
    attributes = tuple(shoal.Attribute(name=name, role="quasi-identifier") for name in NAMES)
    table = shoal.read(pa.table(columns)).with_schema(shoal.Schema(attributes=attributes))
    made = shoal.read(pa.table(columns | {"a": ["*"] * records}))
    return Pair.of(table, made), columns


def test_every_set_of_three_is_counted_before_and_after() -> None:
    both, columns = pair()
    found = {each.columns: each for each in combinations(both)}
    assert set(found) == {each for size in (1, 2, 3) for each in itertools.combinations(NAMES, size)}
    for names, each in found.items():
        before = Counter(zip(*(columns[name] for name in names), strict=True))
        after = Counter(zip(*(["*"] * 60 if name == "a" else columns[name] for name in names), strict=True))
        for crowds, sizes in ((each.original, before), (each.released, after)):
            assert crowds.unique == sum(size == 1 for size in sizes.values())
            assert crowds.smallest == min(sizes.values())
            assert crowds.average == pytest.approx(len(sizes) / 60)


def test_larger_sets_are_left_out_where_counting_would_take_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_combinations, "_WORK", 100)
    assert {len(each.columns) for each in combinations(pair()[0])} == {1}
