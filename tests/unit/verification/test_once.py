"""One anonymisation encodes its table once; one verification reads its plan once and encodes the release once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal import tables
from shoal.plan import Plan

METHODS = {"specialize": shoal.methods.Specialize(), "generalize": shoal.Generalize(), "mdav": shoal.methods.Mdav()}


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counts: Counter[str] = Counter()

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            counts[name] += 1
            return function(*arguments, **options)

        return call

    for name in ("encode", "encode_records"):
        monkeypatch.setattr(tables, name, counting("encoded", getattr(tables, name)))
    monkeypatch.setattr(Plan, "loads", counting("parsed", Plan.loads))
    return counts


@pytest.mark.parametrize("name", METHODS)
def test_a_plan_is_parsed_once_and_a_table_encoded_once(name: str, tmp_path: Path, counts: Counter[str]) -> None:
    rows = pa.table(
        {"age": list(range(20, 60)), "sex": ["f", "m"] * 20, "illness": ["flu", "cold", "burn", "flu"] * 10}
    )
    age = shoal.Attribute(
        name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.schema.Intervals(widths=(5, 10, 20))
    )
    sex = shoal.Attribute(name="sex", role="quasi-identifier")
    schema = shoal.Schema(attributes=(age, sex, shoal.Attribute(name="illness", role="sensitive")))
    promises = (shoal.KAnonymity(4), shoal.DistinctLDiversity("illness", 2), shoal.TCloseness("illness", 0.5))
    text = Plan(schema=schema, models=promises, method=METHODS[name]).dumps()
    counts.clear()
    release = Plan.loads(text).run(shoal.read(rows))
    assert counts == {"parsed": 1, "encoded": 1}
    release.rehearse()  # the attack asks for the class of every record, and encodes them again
    assert counts["encoded"] <= 2
    counts.clear()
    folder = release.write(tmp_path / "release")
    # the release verifies itself before its folder appears
    assert counts == {"parsed": 1, "encoded": 1}
    counts.clear()
    assert shoal.verify(folder).passed
    assert counts == {"parsed": 1, "encoded": 1}
