from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from shoal.kernels import library
from shoal.kernels import uniques as kernel


def reference(codes: np.ndarray, largest: int) -> set[tuple[int, int]]:
    """From the definition: unique on a set, and on no proper subset of it; missing values are in no set."""
    records, columns = codes.shape
    alone: dict[int, set[int]] = {}
    for size in range(1, largest + 1):
        for held in combinations(range(columns), size):
            rows = [tuple(codes[r, list(held)].tolist()) for r in range(records)]
            mask = sum(1 << column for column in held)
            alone[mask] = {r for r, row in enumerate(rows) if min(row) >= 0 and rows.count(row) == 1}
    return {
        (row, mask)
        for mask, rows in alone.items()
        for row in rows
        if not any(row in alone[part] for part in alone if part != mask and not part & ~mask)
    }


@pytest.mark.parametrize("search", [kernel.unique_sets_numpy, kernel.unique_sets_native])
@pytest.mark.parametrize(("records", "columns", "values", "largest"), [(0, 2, 2, 2), (1, 3, 2, 3), (40, 4, 3, 4),
    (60, 5, 2, 3), (30, 6, 4, 6)])  # fmt: skip
def test_minimal_uniques_are_those_of_the_definition(search, records, columns, values, largest) -> None:
    if search is kernel.unique_sets_native and library() is None:
        pytest.skip("the C++ kernel was not built")
    rng = np.random.default_rng(records)
    codes = np.asfortranarray(rng.integers(-1, values, (records, columns)), dtype=np.int32)
    found = search(codes, largest)
    assert set(zip(found.rows.tolist(), found.sets.tolist(), strict=True)) == reference(codes, largest)
    assert len(found.rows) == len(reference(codes, largest))


def test_columns_keep_their_bits_whatever_the_order_of_the_search() -> None:
    codes = np.array([[0, 0, 5], [1, 0, 5], [1, 0, 7]], dtype=np.int32)
    found = kernel.unique_sets(codes)
    assert list(zip(found.rows.tolist(), found.sets.tolist(), strict=True)) == [(0, 0b001), (2, 0b100), (1, 0b101)]
