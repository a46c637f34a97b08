"""`anonymize`, `draft`, `assess` and `compare` take what people have: frames, relations and file names."""

from __future__ import annotations

import random
import warnings

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, ParameterError, SchemaError


def people(records=300):
    draw = random.Random(1)
    return pa.table(
        {
            "name": [f"{draw.choice(['Ada', 'Eva', 'Tom'])} {n}" for n in range(records)],
            "age": [draw.randrange(20, 90) for _ in range(records)],
            "sex": [draw.choice("mf") for _ in range(records)],
            "diagnosis": [draw.choice(["flu", "cold", "cough", "gout"]) for _ in range(records)],
            "x9": [draw.randrange(5) for _ in range(records)],
        }
    )


FRAMES = {
    "pandas": (lambda rows: rows.to_pandas(), pandas.DataFrame),
    "polars": (polars.from_arrow, polars.DataFrame),
    "arrow": (lambda rows: rows, pa.Table),
    "relation": (duckdb.from_arrow, duckdb.DuckDBPyRelation),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_release_goes_back_as_the_type_that_came_in(kind):
    make, type_ = FRAMES[kind]
    with pytest.warns(UserWarning, match="`age`, `sex`: known to others and made coarser; `diagnosis`: sensitive"):
        release = shoal.anonymize(make(people()), k=5, l={"diagnosis": 2})
    assert isinstance(release.frame, type_)
    assert set(release.frame.columns if kind != "arrow" else release.frame.column_names) == {"age", "sex", "diagnosis"}
    assert [promise.model for promise in release.guarantee.promises] == ["k-anonymity", "distinct-l-diversity"]


def test_a_purpose_decides_what_stays():
    with pytest.warns(UserWarning, match="left out"):
        release = shoal.anonymize(people(), k=5, keep=["age", "x9"])
    assert release.frame.column_names == ["age", "x9"]
    with pytest.warns(UserWarning, match="left out"):
        release = shoal.anonymize(people(), k=5, drop=["sex"])
    assert release.frame.column_names == ["age", "diagnosis"]


def test_what_only_a_person_can_decide_is_one_error_with_what_to_write():
    rows = people()
    with pytest.raises(SchemaError, match=r'column `name` needs a decision: write drop=\["name"\]'):
        shoal.anonymize(rows, k=5, keep=["age", "name"])
    with pytest.raises(SchemaError, match=r'no column is known to others: .* keep=\["x1"'):
        shoal.anonymize(pa.table({"x1": [1, 2, 3] * 9, "x2": [4, 4, 5] * 9}), k=2)
    visits = pa.concat_tables([rows, rows, rows]).drop_columns(["name", "age"])
    visits = visits.append_column("serial", pa.array(list(range(300)) * 3))
    visits = visits.append_column("yob", pa.array([1920 + n % 71 for n in range(300)] * 3))
    visits = visits.append_column("visit", pa.array([place // 300 for place in range(900)]))
    with pytest.raises(SchemaError, match='write person="serial", or person="records"'):
        shoal.anonymize(visits, k=5)
    with pytest.warns(UserWarning, match="`serial`: keys of persons and removed"):
        release = shoal.anonymize(visits, k=5, person="serial")
    assert release.plan.schema.person == "serial"


def test_a_file_is_read_with_the_schema_beside_it(tmp_path):
    path = tmp_path / "people.csv"
    people().to_pandas().to_csv(path, index=False)
    with pytest.warns(UserWarning, match="guessed"):
        assert isinstance(shoal.anonymize(str(path), k=5).frame, pa.Table)
    shoal.draft(path).with_role("diagnosis", "drop").confirmed().save(tmp_path / "people.schema.toml")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "the roles")
        assert shoal.anonymize(path, k=5).frame.column_names == ["age", "sex"]
    with pytest.raises(ParameterError, match="this table has a schema"):
        shoal.anonymize(shoal.read(path, schema=tmp_path / "people.schema.toml"), k=5, keep=["age"])


def test_frames_are_drafted_assessed_and_compared():
    frame = people().to_pandas()
    assert shoal.draft(frame, keep=["age"]).schema.quasi_identifiers == ("age",)
    with pytest.warns(UserWarning, match="guessed"):
        assert shoal.assess(frame).reidentification.records == 300
    with pytest.warns(UserWarning, match="guessed"):
        compared = shoal.compare(frame, k=[2, 5], methods=["mondrian"], learn=False, processes=1)
    assert len(compared.points) == 2


@pytest.mark.parametrize(
    "function", [shoal.draft, shoal.assess, shoal.compare, lambda rows: shoal.anonymize(rows, k=2)]
)
def test_a_wrong_type_is_a_clear_error(function):
    with pytest.raises(DataError, match="Shoal cannot read a value of type `list`"):
        function([1, 2])


def test_differential_privacy_is_not_promised_on_a_draft():
    with pytest.raises(shoal.errors.ShoalError, match="domain"), pytest.warns(UserWarning, match="guessed"):
        shoal.anonymize(people(), epsilon=1, delta="1e-5")
    with pytest.raises(ParameterError, match="`delta` goes with `epsilon`"):
        shoal.anonymize(people(), k=2, delta="1e-5")
    with pytest.raises(ParameterError, match="promises are values such as"):
        shoal.anonymize(people(), 5)
    with pytest.raises(ParameterError, match="`l` takes columns with numbers"):
        shoal.anonymize(people(), l=3)
