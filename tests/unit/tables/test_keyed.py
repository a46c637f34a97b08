from __future__ import annotations

import hashlib
import hmac

import pyarrow as pa
import pytest

from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._keyed import hmac_pads, keyed_digest


@pytest.mark.parametrize("key", [b"k" * 16, b"k" * 64, b"k" * 65, bytes(range(200))])
def test_the_digest_is_that_of_the_standard_library(key: bytes) -> None:
    values = ["", "a", "Ålesund", "東京" * 40, "\n'\"\\"]
    engine = DuckDBEngine()
    records = engine.stage(pa.table({"value": values})).cross_join(engine.stage(hmac_pads(key)))
    found = engine.fetch(records.select("value", digest=keyed_digest(engine, records.value, records)))
    assert dict(zip(found["value"].to_pylist(), found["digest"].to_pylist(), strict=True)) == {
        value: hmac.new(key, value.encode(), hashlib.sha256).hexdigest() for value in values
    }
