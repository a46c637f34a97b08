from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reference.tables import sampled
from shoal.errors import ParameterError
from shoal.tables import bernoulli, read, sampling_threshold

KEY = bytes(range(32))


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
    assert KEY.hex() not in sample.engine._backend.compile(sample.expression)


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_a_probability_must_be_one(probability: float) -> None:
    with pytest.raises(ParameterError, match="`probability` of `bernoulli` must be in"):
        bernoulli(read(pa.table({"n": [1]})), probability, KEY)


def test_a_key_must_have_32_bytes() -> None:
    with pytest.raises(ParameterError, match="must have 32 bytes; got 3"):
        bernoulli(read(pa.table({"n": [1]})), 0.5, b"key")
