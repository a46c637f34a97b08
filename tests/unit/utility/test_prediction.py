"""Learning from releases: as good as the originals, no better than nothing, and what lies between."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, ParameterError
from shoal.utility import hold_out, prediction

pytest.importorskip("sklearn")

SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(
            name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.Intervals(widths=(10, 50))
        ),
        shoal.Attribute(name="town", role="quasi-identifier"),
        shoal.Attribute(name="illness", role="sensitive"),
        shoal.Attribute(name="pay", role="sensitive", kind="numeric"),
    )
)


@pytest.fixture(scope="module")
def tables() -> tuple[shoal.Table, shoal.Table]:
    generator = np.random.default_rng(11)
    age = generator.integers(0, 100, size=1200)
    table = pa.table(
        {
            "age": age,
            "town": generator.choice(["a", "b", "c"], 1200),
            "illness": np.where(age > 60, "heart", np.where(age > 30, "back", "cold")),
            "pay": 10.0 * age + generator.normal(0, 30, 1200),
        }
    )
    return hold_out(shoal.read(table).with_schema(SCHEMA))


def test_parts_are_disjoint_and_the_same_for_the_same_seed(tables: tuple[shoal.Table, shoal.Table]) -> None:
    train, test = tables
    assert train.count() + test.count() == 1200
    assert 0.2 < test.count() / 1200 < 0.4
    whole = shoal.read(pa.concat_tables([train.to_arrow(), test.to_arrow()])).with_schema(SCHEMA)
    first, second = (hold_out(whole, seed=3)[1].to_arrow() for _ in range(2))
    assert first.equals(second)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["illness", "pay"])
def test_the_originals_are_as_good_as_the_originals(tables: tuple[shoal.Table, shoal.Table], target: str) -> None:
    train, test = tables
    for found in prediction(train, train, test, target):
        assert found.original > found.zero + 0.2
        assert found.relative == pytest.approx(1.0, abs=0.1)
        assert found.task == ("regression" if target == "pay" else "classification")
        assert found.score == ("r2" if target == "pay" else "accuracy")


@pytest.mark.parametrize("target", ["illness", "pay"])
def test_a_release_of_stars_teaches_nothing(tables: tuple[shoal.Table, shoal.Table], target: str) -> None:
    train, test = tables
    stars = train.to_arrow()
    for name in ("age", "town"):
        stars = stars.set_column(stars.column_names.index(name), name, pa.array(["*"] * len(stars)))
    # the other sensitive column gives the target away, so it is starred too
    other = "pay" if target == "illness" else "illness"
    stars = stars.set_column(stars.column_names.index(other), other, pa.array(["*"] * len(stars)))
    for found in prediction(train, shoal.read(stars), test, target, models=["linear"]):
        assert found.relative is not None
        assert found.relative < 0.2


def test_a_release_in_decades_teaches_most(tables: tuple[shoal.Table, shoal.Table]) -> None:
    train, test = tables
    release = shoal.anonymize(train, shoal.KAnonymity(10))
    (found,) = prediction(train, release.table, test, "illness", models=["tree"])
    assert found.relative is not None
    assert 0.3 < found.relative <= 1.1


def test_one_class_can_be_predicted_but_not_learned(tables: tuple[shoal.Table, shoal.Table]) -> None:
    train, test = tables
    alike = train.to_arrow()
    alike = alike.set_column(alike.column_names.index("illness"), "illness", pa.array(["cold"] * len(alike)))
    (found,) = prediction(train, shoal.read(alike), test, "illness", models=["tree"])
    assert found.released < found.original


def test_boosting_is_left_out_where_there_are_many_classes() -> None:
    schema = shoal.Schema(
        attributes=(shoal.Attribute(name="a", role="quasi-identifier"), shoal.Attribute(name="b", role="sensitive"))
    )
    values = [str(i % 30) for i in range(300)]
    table = shoal.read(pa.table({"a": values, "b": values})).with_schema(schema)
    assert [each.model for each in prediction(table, table, table, "b")] == ["tree", "linear"]


def test_arguments_are_checked(tables: tuple[shoal.Table, shoal.Table]) -> None:
    train, test = tables
    with pytest.raises(ParameterError, match="released column"):
        prediction(train, train, test, "height")
    with pytest.raises(ParameterError, match="among tree"):
        prediction(train, train, test, "pay", models=["forest"])
    with pytest.raises(ParameterError, match="share"):
        hold_out(train, share=1.0)
    with pytest.raises(DataError, match="too few"):
        hold_out(shoal.read(train.to_arrow().slice(0, 1)).with_schema(SCHEMA))
