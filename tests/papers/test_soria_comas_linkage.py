"""Record linkage of [SC13, Table 6.1] on tables: Census, four columns, domains from 0 to 1.5 times the maximum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from reference.microaggregation import aggregate
from shoal.methods.classes import mdav
from shoal.methods.noise import Records
from shoal.risk import record_linkage

COLUMNS = ("FICA", "FEDTAX", "INTVAL", "POTHVAL")


@pytest.fixture(scope="module")
def census(shared_data: Path) -> np.ndarray:
    table = shoal.read(shared_data / "census" / "census.csv").to_arrow()
    return np.stack([table[name].to_numpy().astype(float) for name in COLUMNS], axis=1)


@pytest.mark.parametrize(("k", "linked"), [(2, 45.3), (5, 18.4), (15, 6.48), (30, 3.33)])
def test_the_published_share_of_linked_records(census: np.ndarray, k: int, linked: float) -> None:
    tops = 1.5 * census.max(axis=0)
    records = Records(numeric=census, lower=np.zeros(4), upper=tops)
    masked = aggregate(census, mdav(records.space(), k).labels)
    schema = shoal.Schema(
        attributes=tuple(
            shoal.Attribute(
                name=name, role="quasi-identifier", kind="numeric", domain=shoal.Domain(minimum=0, maximum=float(top))
            )
            for name, top in zip(COLUMNS, tops, strict=True)
        )
    )
    before, after = (
        shoal.read(pa.table({name: values[:, i] for i, name in enumerate(COLUMNS)})) for values in (census, masked)
    )
    found = record_linkage(before.with_schema(schema), after)
    assert 100 * found.linked == pytest.approx(linked, abs=0.05 if linked > 10 else 0.005)
