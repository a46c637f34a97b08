"""Ranges, quantiles and histograms of numbers that stay on the engine, against plain Python."""

from __future__ import annotations

import math
import random
from collections import Counter

import pyarrow as pa
import pytest

from shoal.tables import _spread, count_values, numbers_of, read

SPREADS = {
    "even": lambda draw: draw.uniform(-3, 5),
    "skewed": lambda draw: math.exp(draw.gauss(0, 12)),
    "huge": lambda draw: draw.choice([-1, 1]) * 10.0 ** draw.uniform(290, 308),
    "tiny": lambda draw: draw.uniform(0, 1e-308),
    "close": lambda draw: 1e15 + draw.randrange(400) / 8,
    "whole": lambda draw: draw.randrange(-500, 10**6),
    "repeated": lambda draw: float(draw.choice([0.0, -0.0, 1.5, *range(40)])),
}


@pytest.mark.parametrize("engine_counts", [True, False])
@pytest.mark.parametrize("spread", SPREADS)
def test_numbers_are_counted_as_in_plain_python(
    spread: str, engine_counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine_counts:
        monkeypatch.setattr(_spread, "FETCHED", 7)
    draw = random.Random(5)
    values = sorted(SPREADS[spread](draw) for _ in range(700))
    others = [] if spread == "whole" else [math.nan, math.inf, -math.inf]
    found = numbers_of(count_values(read(pa.table({"value": [*values, *others, None]})), "value"))
    extent = found.extent()
    assert (extent.least, extent.greatest) == (values[0], values[-1])
    assert (extent.records, extent.aside) == (len(values), len(others))
    assert extent.whole == all(float(value).is_integer() for value in values)
    most = found.reaching(0.99, extent)
    assert most == next(v for i, v in enumerate(values, start=1) if i >= 0.99 * len(values))
    step = (most / 12 - values[0] / 12) or 1.0
    assert found.binned(step, most) == Counter(math.floor(min(value, most) / step) for value in values)
