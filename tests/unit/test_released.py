"""Records of a release for analysts: labels in their order, ends of intervals, and the formats of other programs."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.errors import OutputError, ParameterError
from shoal.schema import day_extent, number_extent

AGES = [3, 4, 8, 9, 14, 14, 101, 104, None, None]
DAYS = [dt.date(2024, 1, 5), dt.date(2024, 2, 6)] * 2 + [dt.date(2019, 12, 31)] * 6
PAINS = ["mild", "none", "mild", "none"] + ["severe"] * 6


@pytest.fixture(scope="module")
def release():
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(
                name="age",
                role="quasi-identifier",
                kind="numeric",
                missing="category",
                hierarchy=shoal.schema.Intervals(widths=(5, 10)),
            ),
            shoal.Attribute(
                name="seen",
                role="quasi-identifier",
                kind="date",
                hierarchy=shoal.schema.Dates(levels=("quarter", "year")),
            ),
            shoal.Attribute(
                name="pain",
                role="sensitive",
                kind="ordinal",
                domain=shoal.Domain(values=("none", "mild", "severe")),
            ),
        )
    )
    table = shoal.read(pa.table({"age": AGES, "seen": DAYS, "pain": PAINS}), schema=schema)
    method = shoal.Generalize(levels={"age": 1, "seen": 1})
    return shoal.anonymize(table, shoal.KAnonymity(2), method=method)


def test_labels_are_ordered_by_what_they_stand_for(release):
    frame = release.released.to_pandas()
    assert list(frame["age"].cat.categories) == ["[0, 5)", "[5, 10)", "[10, 15)", "[100, 105)"]
    assert list(frame["seen"].cat.categories) == ["2019-Q4", "2024-Q1"]
    assert list(frame["pain"].cat.categories) == ["none", "mild", "severe"]
    assert all(frame[name].cat.ordered for name in frame)
    assert frame["age"].isna().sum() == 2
    ordered = release.released.to_polars().sort("age", nulls_last=True)["age"].to_list()
    assert ordered[:4] == ["[0, 5)", "[0, 5)", "[5, 10)", "[5, 10)"]
    assert ordered[6:] == ["[100, 105)", "[100, 105)", None, None]


def test_the_ends_of_intervals_are_numbers_and_days_that_hold_the_original(release):
    rows = release.released.to_arrow(bounds=True)
    assert rows.column_names == ["age", "age_lower", "age_upper", "seen", "seen_lower", "seen_upper", "pain"]
    assert (rows["age_lower"].type, rows["seen_upper"].type) == (pa.int64(), pa.date32())
    found = sorted(
        (row["age_lower"], row["age_upper"], row["seen_lower"], row["seen_upper"])
        for row in rows.to_pylist()
        if row["age"] is not None
    )
    originals = sorted((age, day) for age, day in zip(AGES, DAYS, strict=True) if age is not None)
    assert len(found) == len(originals)
    for (low, high, first, last), (age, day) in zip(found, originals, strict=True):
        assert low <= age < high
        assert first <= day <= last


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".xlsx", ".dta", ".sav", ".xpt", ".jsonl", ".feather", ".parquet"])
def test_a_release_is_written_in_every_format(release, ending, tmp_path):
    release.write(tmp_path / "release")
    opened = shoal.released(tmp_path / "release")
    opened.write(tmp_path / f"a{ending}", bounds=True)
    read = shoal.read(tmp_path / f"a{ending}")
    assert read.columns == tuple(opened.to_arrow(bounds=True).column_names)
    ages = [None if each in (None, "") else int(float(each)) for each in read.to_arrow()["age_lower"].to_pylist()]
    assert ages == opened.to_arrow(bounds=True)["age_lower"].to_pylist()
    assert shoal.verify(tmp_path / "release").passed
    with pytest.raises(OutputError, match="already exists"):
        opened.write(tmp_path / f"a{ending}")


def test_a_part_that_is_not_there_is_refused(release):
    with pytest.raises(ParameterError, match=r"no part `other`"):
        release.released.to_arrow(part="other")


def test_words_of_a_hierarchy_have_no_ends_and_keep_the_column_as_it_is():
    from shoal.tables import for_analysis

    schema = shoal.Schema(attributes=(shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),))
    rows = pa.table({"age": ["young", "34"]})
    assert for_analysis(rows, schema, bounds=True).equals(rows)
    starred = for_analysis(pa.table({"age": ["*", "34", None], "age_lower": [1, 2, 3]}), schema, bounds=True)
    assert starred.column_names == ["age", "age_lower_", "age_upper", "age_lower"]
    assert starred["age_lower_"].to_pylist() == [None, 34, None]


def test_every_way_of_writing_a_label_is_read():
    assert number_extent("[-1.5, 2e3]") == (-1.5, 2000.0)
    assert number_extent("< 18") == (float("-inf"), 18.0)
    assert number_extent("nan") is None
    assert number_extent("[a, 3)") is None
    for label, first, last in (
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2024", "2024-01-01", "2024-12-31"),
        ("2020s", "2020-01-01", "2029-12-31"),
        ("2024-05-06", "2024-05-06", "2024-05-06"),
        ("[2024-05-06, 2024-07-01]", "2024-05-06", "2024-07-01"),
    ):
        ends = [str(dt.date(1970, 1, 1) + dt.timedelta(end)) for end in day_extent(label)]
        assert ends == [first, last]
    assert day_extent("2024-13") is None
    assert day_extent("9999") is None


def test_a_hierarchy_file_without_a_final_newline_can_be_released(tmp_path: Path) -> None:
    (tmp_path / "town.csv").write_text("Ulm;south;*\nBonn;west;*")
    town = shoal.Attribute(name="town", role="quasi-identifier", hierarchy=shoal.schema.FromFile(path="town.csv"))  # type: ignore[arg-type]
    table = shoal.read(
        pa.table({"town": ["Ulm", "Bonn"] * 4}), schema=shoal.Schema(attributes=(town,), folder=tmp_path)
    )
    shoal.anonymize(table, k=2).write(tmp_path / "release")
    assert shoal.verify(tmp_path / "release").passed
