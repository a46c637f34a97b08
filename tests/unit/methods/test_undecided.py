"""Columns that are dropped or not yet decided never leave."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet
import pytest

import shoal
from shoal import methods
from shoal.errors import PlanError
from shoal.methods import promises
from shoal.methods.shorthand import in_short


def table(role):
    rows = pa.table({"age": [30, 30, 40, 40], "note": ["a", "b", "c", "d"], "pay": ["low", "high", "low", "high"]})
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),
            shoal.Attribute(name="note", role=role),
            shoal.Attribute(name="pay", role="sensitive"),
        )
    )
    return shoal.read(rows, schema=schema)


def test_a_column_that_nobody_has_decided_on_stops_the_release():
    with pytest.raises(PlanError, match="these columns have no role yet: `note`"):
        shoal.anonymize(table("decide"), shoal.KAnonymity(2))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["generalize", "mondrian", "mdav", "swap", "bucketize"])
def test_a_dropped_column_is_left_out(name, tmp_path):
    promise = (
        shoal.models.MultiplicativeCloseness("pay", 2)
        if name == "bucketize"
        else promises.from_parameters(in_short("k", name).name, {"k": 2})
    )
    release = shoal.anonymize(table("drop"), promise, method=methods.from_parameters(name, {}))
    release.write(tmp_path / "release")
    assert shoal.verify(tmp_path / "release").passed
    for data in (tmp_path / "release").glob("*.parquet"):
        assert "note" not in pa.parquet.read_schema(data).names


def test_what_is_left_out_is_not_called_identifying(tmp_path):
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(name="name", role="identifier"),
            shoal.Attribute(name="note", role="drop"),
            shoal.Attribute(name="sex", role="quasi-identifier"),
        )
    )
    table = shoal.read(pa.table({"name": list("abcd"), "note": list("wxyz"), "sex": list("ffmm")}), schema=schema)
    shoal.anonymize(table, shoal.KAnonymity(2)).write(tmp_path / "release")
    said = (tmp_path / "release" / "summary.txt").read_text()
    assert "Removed the identifying column `name`. Left out the column `note`, as the schema asks." in " ".join(
        said.split()
    )
