"""A step of scikit-learn pipelines: rows stay in their order, the fitted frame is k-anonymous."""

from __future__ import annotations

import pandas
import polars
import pytest

import shoal
from shoal.errors import ParameterError

pytest.importorskip("sklearn", reason="needs scikit-learn")

PEOPLE = pandas.DataFrame(
    {
        "name": [f"n{i}" for i in range(60)],
        "age": [20 + (i * 7) % 50 for i in range(60)],
        "town": [("north", "south", "west")[i % 3] for i in range(60)],
        "pay": [1000.0 + 10 * i for i in range(60)],
    },
    index=range(100, 160),
)
SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(name="name", role="identifier"),
        shoal.Attribute(
            name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.schema.Intervals(widths=(5, 10, 50))
        ),
        shoal.Attribute(name="town", role="quasi-identifier"),
        shoal.Attribute(name="pay", role="sensitive", kind="numeric"),
    )
)


def test_the_fitted_frame_is_k_anonymous_and_its_rows_stay_in_order():
    found = shoal.Generalizer(SCHEMA, k=4).fit_transform(PEOPLE)
    assert list(found.columns) == ["age", "town", "pay"]
    assert found.index.equals(PEOPLE.index)
    assert found["pay"].tolist() == PEOPLE["pay"].tolist()
    assert found.groupby(["age", "town"], observed=True).size().min() >= 4
    for label, age in zip(found["age"].astype(str), PEOPLE["age"], strict=True):
        low, high = (float(end) for end in label.strip("[)").split(", "))
        assert low <= age < high


def test_other_frames_come_to_the_same_levels_and_what_is_new_is_starred():
    step = shoal.Generalizer(SCHEMA, k=4).fit(PEOPLE)
    other = polars.DataFrame({"name": ["a", "b"], "age": [21, 22], "town": ["north", "east"], "pay": [1.0, 2.0]})
    found = step.transform(other)
    assert isinstance(found, polars.DataFrame)
    known = step.transform(PEOPLE)["age"].astype(str)
    assert found["age"].cast(polars.String).to_list() == [known[PEOPLE["age"] == 20].iloc[0]] * 2
    assert found["town"].to_list()[1] == "*"


@pytest.mark.slow
def test_a_pipeline_learns_from_the_ends_of_intervals():
    from sklearn.base import clone
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline

    step = clone(shoal.Generalizer(SCHEMA, k=4, bounds=True))
    numbers = make_column_transformer(("passthrough", make_column_selector(dtype_include="number")))
    model = make_pipeline(step, numbers, LinearRegression()).fit(PEOPLE, PEOPLE["pay"])
    assert model.predict(PEOPLE) == pytest.approx(PEOPLE["pay"].tolist())
    assert step.fit(PEOPLE).get_feature_names_out().tolist() == list(step.transform(PEOPLE).columns)


def test_levels_that_depend_on_the_data_are_refused():
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(
                name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.schema.Quantiles(counts=(4, 2))
            ),
        )
    )
    with pytest.raises(ParameterError, match="column `age`: levels that depend on the data"):
        shoal.Generalizer(schema, k=2).fit(PEOPLE[["age"]])
