"""At most r records of every person: exact numbers, all choices equally likely, nobody depends on others."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from itertools import combinations

import pyarrow as pa
import pytest
from scipy.stats import chisquare

from shoal.errors import ParameterError
from shoal.tables import Table, at_most, read

KEY = bytes(range(32))


def visits(*persons: str | None) -> Table:
    return read(pa.table({"person": list(persons), "visit": range(len(persons))}))


def kept(table: Table, records: int, key: bytes = KEY) -> list[tuple[str, int]]:
    rows = at_most(table, "person", records, key).to_arrow().to_pylist()
    return sorted((row["person"], row["visit"]) for row in rows)


@pytest.mark.parametrize("records", [1, 2, 3, 100])
def test_nobody_keeps_more_and_nobody_loses_more_than_needed(records: int) -> None:
    persons = ["a"] * 50 + ["b"] * 2 + ["c"] + ["d"] * 47  # one person has half of all records
    found = Counter(person for person, _ in kept(visits(*persons), records))
    assert found == {person: min(times, records) for person, times in Counter(persons).items()}


def test_the_records_of_a_person_are_those_with_the_first_digests() -> None:
    persons = [f"p{i % 7}" for i in range(60)]

    def digest(visit: int) -> str:
        return hashlib.sha256(KEY + str(visit).encode()).hexdigest()

    wanted = []
    for person in set(persons):
        own = sorted((i for i, each in enumerate(persons) if each == person), key=digest)
        wanted += [(person, visit) for visit in own[:2]]
    assert kept(visits(*persons), 2) == sorted(wanted)


def test_a_second_look_sees_the_same_records() -> None:
    sample = at_most(visits(*"aaabbbccc"), "person", 1, os.urandom(32))
    first, second = (sample.to_arrow().sort_by("visit") for _ in range(2))
    assert first.equals(second)
    assert len(first) == sample.count() == 3


def test_what_is_kept_of_a_person_does_not_depend_on_others() -> None:
    alone = kept(visits(*"aaaaaa"), 2)
    assert [each for each in kept(visits(*"aaaaaa", *"b" * 500), 2) if each[0] == "a"] == alone


def test_all_choices_are_equally_likely() -> None:
    # one table of 3,000 persons with four records each: their choices of two are independent
    people = [f"p{i // 4}" for i in range(12_000)]
    chosen: dict[str, list[int]] = {}
    for person, visit in kept(visits(*people), 2, os.urandom(32)):
        chosen.setdefault(person, []).append(visit % 4)
    seen = Counter(tuple(sorted(each)) for each in chosen.values())
    # fails once in a million runs
    assert chisquare([seen[pair] for pair in combinations(range(4), 2)]).pvalue > 1e-6


def test_records_without_a_person_are_those_of_one() -> None:
    assert at_most(visits("a", None, "b", None, None), "person", 1, KEY).count() == 3


@pytest.mark.parametrize("records", [0, -1, True, 1.0])
def test_the_number_of_records_is_at_least_one(records: int) -> None:
    with pytest.raises(ParameterError, match="`records` of `at_most` must be an integer of at least 1"):
        at_most(visits("a"), "person", records, KEY)


def test_the_secret_is_not_in_the_query() -> None:
    sample = at_most(visits("a", "a"), "person", 1, KEY)
    assert KEY.hex() not in sample.engine._backend.compile(sample.expression)


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ParameterError, match="`key` of `at_most` must have 32 bytes"):
        at_most(visits("a"), "person", 1, b"short")
