"""What a secret key decides: pseudonyms, samples, and at most r records of every person."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections import Counter
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chisquare

from reference.tables import sampled
from shoal.errors import ParameterError
from shoal.tables import Table, at_most, bernoulli, read, sampling_threshold
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._keyed import hmac_pads, keyed_digest
from shoal.tables._relations import compile_query

KEY = bytes(range(32))


@pytest.mark.parametrize("key", [b"k" * 16, b"k" * 64, b"k" * 65, bytes(range(200))])
def test_the_digest_is_that_of_the_standard_library(key: bytes) -> None:
    values = ["", "a", "Ålesund", "東京" * 40, "\n'\"\\"]
    engine = DuckDBEngine()
    records = engine.stage(pa.table({"value": values})).cross_join(engine.stage(hmac_pads(key)))
    found = engine.fetch(records.select("value", digest=keyed_digest(engine, records.value, records)))
    assert dict(zip(found["value"].to_pylist(), found["digest"].to_pylist(), strict=True)) == {
        value: hmac.new(key, value.encode(), hashlib.sha256).hexdigest() for value in values
    }


@pytest.mark.parametrize(
    ("probability", "threshold"),
    [
        (0, 0),
        (1, 1 << 64),
        (0.5, 1 << 63),
        (Fraction(1, 3), (1 << 64) // 3),
        (Fraction(1, 2**64), 1),
        (2.0**-65, 0),
        (0.1, (1 << 64) // 10),
    ],
)
def test_the_threshold_is_rounded_down_exactly(probability: float | Fraction, threshold: int) -> None:
    assert sampling_threshold(probability) == threshold


def test_records_are_kept_by_their_number(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": range(1000)}), tmp_path / "a.parquet", row_group_size=100)
    sample = bernoulli(read(tmp_path / "a.parquet"), 0.3, KEY)
    assert sorted(sample.to_arrow()["n"].to_pylist()) == [n for n in range(1000) if sampled(n, 0.3, KEY)]


def test_records_of_several_files_are_drawn_apart(tmp_path: Path) -> None:
    for number in range(2):
        pq.write_table(pa.table({"n": range(500), "f": [number] * 500}), tmp_path / f"{number}.parquet")
    kept = bernoulli(read(tmp_path), 0.5, KEY).to_arrow().to_pylist()
    chosen = [{row["n"] for row in kept if row["f"] == number} for number in range(2)]
    assert chosen[0] != chosen[1]


def test_the_number_of_kept_records_is_about_right() -> None:
    # binomial, n = 100,000, p = 0.2: beyond six standard deviations (759) once in 5e8 runs
    kept = bernoulli(read(pa.table({"n": range(100_000)})), 0.2, os.urandom(32)).count()
    assert abs(kept - 20_000) < 759


def test_the_key_is_not_in_the_query() -> None:
    sample = bernoulli(read(pa.table({"n": [1]})), 0.3, KEY)
    assert KEY.hex() not in compile_query(sample.expression, "duckdb")


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_a_probability_must_be_one(probability: float) -> None:
    with pytest.raises(ParameterError, match="`probability` of `bernoulli` must be in"):
        bernoulli(read(pa.table({"n": [1]})), probability, KEY)


def test_a_key_must_have_32_bytes() -> None:
    with pytest.raises(ParameterError, match="must have 32 bytes; got 3"):
        bernoulli(read(pa.table({"n": [1]})), 0.5, b"key")


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
    assert KEY.hex() not in compile_query(sample.expression, "duckdb")


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ParameterError, match="`key` of `at_most` must have 32 bytes"):
        at_most(visits("a"), "person", 1, b"short")


def test_no_column_of_the_table_stands_in_the_place_of_the_key_of_a_sample() -> None:
    rows = read(pa.table({"sampling_key": ["ab"] * 200, "row": range(200)}))
    samples = {tuple(bernoulli(rows, 0.5, bytes([first]) * 32).to_arrow()["row"].to_pylist()) for first in range(3)}
    assert len(samples) == 3
