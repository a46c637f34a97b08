"""The partition by the confidential attribute."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import DataError, ParameterError
from shoal.methods.classes import partition_by_confidential


def _algorithm_7_1(values: list[float], k: int) -> list[list[int]]:
    """Follow [SC13 Alg. 7.1] word by word."""
    rest = sorted(range(len(values)), key=lambda row: (values[row], row))
    classes = []
    while len(rest) >= 3 * k:
        classes.append(rest[:k])
        rest = rest[k:]
        classes.append(rest[-k:])
        rest = rest[:-k]
    if len(rest) >= 2 * k:
        classes.append(rest[:k])
        rest = rest[k:]
    classes.append(rest)
    return classes


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_it_is_algorithm_7_1(k: int) -> None:
    draw = np.random.default_rng(k)
    for records in range(k, 40):
        values = draw.integers(0, 12, records).astype(float).tolist()
        found = partition_by_confidential(values, k)
        wanted = _algorithm_7_1(values, k)
        assert [sorted(cluster.tolist()) for cluster in found.clusters()] == [sorted(rows) for rows in wanted]


@pytest.mark.parametrize("k", [0, 4, -1])
def test_k_must_fit(k: int) -> None:
    with pytest.raises(ParameterError, match="`k`"):
        partition_by_confidential([1.0, 2.0, 3.0], k)


def test_values_must_be_finite_numbers() -> None:
    with pytest.raises(DataError, match="1 values"):
        partition_by_confidential([1.0, float("nan")], 1)
