"""Models learned from a release, and models that tell it from the original."""

from __future__ import annotations

import builtins
import sys

import numpy as np
import pyarrow as pa
import pytest

import shoal
from reference.risk import pair_of
from shoal.errors import DataError, MissingExtraError, ParameterError
from shoal.utility import hold_out, prediction, propensity

pytest.importorskip("sklearn")

SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(
            name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.schema.Intervals(widths=(10, 50))
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


def test_arguments_of_prediction_are_checked(tables: tuple[shoal.Table, shoal.Table]) -> None:
    train, test = tables
    with pytest.raises(ParameterError, match="released column"):
        prediction(train, train, test, "height")
    with pytest.raises(ParameterError, match="among tree"):
        prediction(train, train, test, "pay", models=["forest"])
    with pytest.raises(ParameterError, match="share"):
        hold_out(train, share=1.0)
    with pytest.raises(DataError, match="too few"):
        hold_out(shoal.read(train.to_arrow().slice(0, 1)).with_schema(SCHEMA))


pytest.importorskip("sklearn")

PEOPLE = [tuple(row) for row in np.random.default_rng(8).integers(0, [4, 3, 5], size=(1500, 3)).tolist()]
SAME = [tuple((v, v) for v in point) for point in PEOPLE]


@pytest.mark.parametrize("model", ["tree", "logistic"])
def test_records_as_they_are_cannot_be_told_apart(model: str) -> None:
    found = propensity(pair_of(PEOPLE, SAME), model=model)  # type: ignore[arg-type]
    assert found.distinguishable < 0.02
    assert found.pmse <= found.null + 0.005
    assert found.records == 3000


@pytest.mark.parametrize("model", ["tree", "logistic"])
def test_records_that_are_all_alike_can(model: str) -> None:
    alike = [((3, 3), (2, 2), (4, 4))] * 1500
    found = propensity(pair_of(PEOPLE, alike), model=model)  # type: ignore[arg-type]
    assert found.distinguishable > 0.8
    assert found.ratio is not None
    assert found.ratio > 5
    assert found.pmse <= 0.25


def test_even_records_lose_their_dependence_and_a_tree_sees_it() -> None:
    tied = [(a, a % 3, a) for a in np.random.default_rng(9).integers(0, 4, size=1500).tolist()]
    spread = [((0, 3), (b, b), (c, c)) for _, b, c in tied]
    assert propensity(pair_of(tied, spread), model="tree").distinguishable > 0.3


def test_the_same_seed_gives_the_same_figure() -> None:
    pair = pair_of(PEOPLE[:300], SAME[:300])
    assert propensity(pair, seed=4) == propensity(pair, seed=4)


def test_an_empty_release_is_told_apart() -> None:
    assert propensity(pair_of(PEOPLE, [])).distinguishable == 1.0


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object, **others: object) -> object:
        if name.split(".")[0] == "sklearn":
            raise ImportError(name)
        return real(name, *rest, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "sklearn", raising=False)
    with pytest.raises(MissingExtraError, match="scikit-learn") as raised:
        propensity(pair_of(PEOPLE, SAME))
    assert "shoal[learn]" in str(raised.value.hint)


def test_arguments_of_propensity_are_checked() -> None:
    with pytest.raises(ParameterError, match="tree"):
        propensity(pair_of(PEOPLE, SAME), model="forest")  # type: ignore[arg-type]
