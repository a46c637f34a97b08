"""Reports as plain text."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import shoal
from shoal.report import Risk, public_report, render_text
from shoal.schema import Attribute, Role, Schema


def test_figures_of_a_billion_records_stand_below_their_headings(tmp_path: Path) -> None:
    schema = Schema(attributes=(Attribute(name="town", role=Role.QUASI_IDENTIFIER),))
    table = shoal.read(pa.table({"town": ["Ulm"] * 3})).with_schema(schema)
    document = public_report(shoal.anonymize(table, shoal.KAnonymity(k=2)).write(tmp_path / "release"))
    known = document.tables[0].risk
    assert known is not None
    figures = document.tables[0].model_copy(update={"risk": known.model_copy(update={"records": 10**9})})
    for before, records in ((known, "3"), (known.model_copy(update={"records": 10**12}), "1,000,000,000,000")):
        assert isinstance(before, Risk)
        shown = render_text(document.model_copy(update={"tables": (figures,), "before": before})).splitlines()
        start = next(place for place, line in enumerate(shown) if line.startswith("Risk, data.parquet"))
        lines = shown[start : start + 7]
        assert len({*map(len, lines)}) == 1, lines
        assert lines[0].split()[-2:] == ["before", "after"]
        assert lines[1].split() == ["records", records, "1,000,000,000"]
