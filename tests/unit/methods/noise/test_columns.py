from __future__ import annotations

import datetime as dt
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import DataError, ParameterError
from shoal.hierarchies import Concepts
from shoal.methods.noise import AttributeSet, Records, _columns
from shoal.methods.noise._columns import Columns, ConceptColumn, NumberColumn, require_disjoint
from shoal.schema import Attribute, Domain, Groups, Kind, Missing, Role, Schema

AGE = Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=99))
DAY = Attribute(name="day", kind=Kind.DATE, domain=Domain(minimum=dt.date(2024, 1, 1), maximum=dt.date(2024, 12, 31)))
PAIN = Attribute(name="pain", kind=Kind.ORDINAL, domain=Domain(values=("none", "some", "much")))
TOWN = Attribute(
    name="town", hierarchy=Groups(levels=((("north", ("Ayr", "Bath")), ("south", ("Cork",))),)), missing=Missing.REFUSE
)


def concepts(attribute: Attribute) -> ConceptColumn:
    return ConceptColumn.of(attribute, Schema(attributes=(attribute,)))


# -- numbers


def test_days_and_ranks_are_numbers_too() -> None:
    assert NumberColumn.of(DAY).width == 365
    assert NumberColumn.of(PAIN).width == 2


@pytest.mark.parametrize(
    ("scale", "step"), [(1e6, 1), (60.0, 1), (50.0, 1), (49.9, Fraction(1, 10)), (0.05, Fraction(1, 1000))]
)
def test_numbers_are_rounded_to_a_power_of_ten_that_the_noise_drowns(scale: float, step: Fraction) -> None:
    assert NumberColumn.of(AGE).step(scale) == step


def test_decimals_can_be_told_and_days_and_ranks_are_whole() -> None:
    assert NumberColumn.of(AGE).step(1e6, 3) == Fraction(1, 1000)
    assert NumberColumn.of(AGE).step(1e-6, -1) == 10
    assert NumberColumn.of(DAY).step(1e-6) == NumberColumn.of(PAIN).step(1e-6) == 1


def test_released_numbers_are_whole_where_the_step_is() -> None:
    released = NumberColumn.of(AGE).released(np.array([-0.0, 41.4, 99.0]), Fraction(1))
    assert released.type == pa.int64()
    assert released.to_pylist() == [0, 41, 99]


def test_decimals_read_as_one_would_write_them() -> None:
    assert NumberColumn.of(AGE).released(np.array([0.1 + 0.2, 2 / 3]), Fraction(1, 100)).to_pylist() == [0.3, 0.67]


def test_rounding_stops_at_the_bounds() -> None:
    released = NumberColumn.of(AGE).released(np.array([4.0, 97.0]), Fraction(10))
    assert released.to_pylist() == [0, 99]


def test_days_and_ranks_are_released_as_such() -> None:
    assert NumberColumn.of(DAY).released(np.array([19723.4]), Fraction(1)).to_pylist() == [dt.date(2024, 1, 1)]
    assert NumberColumn.of(PAIN).released(np.array([1.6]), Fraction(1)).to_pylist() == ["much"]


@pytest.mark.parametrize("cell", [-1.0, 99.5, None, float("nan"), float("inf"), 41.25])
def test_cells_off_the_domain_or_the_grid_are_strange(cell: float | None) -> None:
    column = NumberColumn.of(AGE)
    assert column.strange(pa.chunked_array([pa.array([cell, 41.2], pa.float64())]), Fraction(1, 10)) == 1


def test_bounds_off_the_grid_are_not_strange() -> None:
    assert NumberColumn.of(AGE).strange(pa.chunked_array([pa.array([0, 99])]), Fraction(10)) == 0
    assert NumberColumn.of(PAIN).strange(pa.chunked_array([pa.array(["some", "more"])]), Fraction(1)) == 1
    days = pa.chunked_array([pa.array([dt.date(2024, 5, 1), dt.date(2025, 1, 1)])])
    assert NumberColumn.of(DAY).strange(days, Fraction(1)) == 1


@pytest.mark.parametrize(
    ("attribute", "value", "place"),
    [
        (AGE, 40, 40.0),
        (AGE, 100, None),
        (AGE, "40", None),
        (AGE, True, None),
        (DAY, dt.date(2024, 1, 2), 19724.0),
        (DAY, 19724, None),
        (PAIN, "some", 1.0),
        (PAIN, "more", None),
    ],
)
def test_what_stands_for_a_missing_value_is_in_the_domain(
    attribute: Attribute, value: object, place: float | None
) -> None:
    assert NumberColumn.of(attribute).place(value) == place


# -- concepts


def test_concepts_are_all_labels_in_alphabetical_order() -> None:
    assert concepts(TOWN).labels == ("*", "Ayr", "Bath", "Cork", "north", "south")


def test_a_missing_value_is_one_concept_whatever_the_levels() -> None:
    labels = concepts(Attribute(name="town", hierarchy=TOWN.hierarchy)).labels
    assert labels.count(None) == 1
    assert labels[-1] is None


def test_a_concept_alone_under_its_own_label_is_one() -> None:
    groups = Groups(levels=((("north", ("Ayr", "Bath")), ("Cork", ("Cork",))),))
    assert concepts(Attribute(name="town", hierarchy=groups, missing=Missing.REFUSE)).labels == (
        "*",
        "Ayr",
        "Bath",
        "Cork",
        "north",
    )


def test_ancestors_are_those_of_the_hierarchy() -> None:
    column = concepts(TOWN)
    ayr, north, cork = (column.labels.index(name) for name in ("Ayr", "north", "Cork"))
    assert column.taxonomy.ancestors[ayr, north]
    assert not column.taxonomy.ancestors[cork, north]
    assert [column.labels[code] for code in column.taxonomy.domain] == ["Ayr", "Bath", "Cork"]


def test_values_become_concepts_and_back() -> None:
    column = concepts(TOWN)
    codes = column.codes(pa.array(["Cork", "Ayr", "Rome"]))
    assert codes[2] == -1
    assert column.released(codes[:2]).to_pylist() == ["Cork", "Ayr"]


def test_cells_that_are_no_concept_are_strange() -> None:
    cells = pa.chunked_array([pa.array(["north", "*", "Ayr", "Rome", None])])
    assert concepts(TOWN).strange(cells) == 2


def test_too_many_concepts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_columns, "LARGEST_TAXONOMY", 5)
    with pytest.raises(ParameterError, match="too many to choose from"):
        concepts(TOWN)


def test_identifiers_are_no_columns() -> None:
    schema = Schema(attributes=(Attribute(name="id", role=Role.IDENTIFIER), AGE, TOWN, PAIN))
    assert Columns.of(schema).names == ["age", "pain", "town"]


# -- records


def mixed() -> Records:
    return Records(
        numeric=[[1, 2], [3, 4], [5, 6]],
        codes=[[0], [1], [0]],
        taxonomies=[Concepts.flat(2)],
        lower=[0, 0],
        upper=[10, 10],
    )


def test_numbers_alone_and_codes_alone_are_records() -> None:
    assert repr(Records(numeric=[[1.0], [2.0]])) == "Records(2 records, 1 numeric and 0 categorical attributes)"
    codes = Records(codes=[[0], [1]], taxonomies=[Concepts.flat(2)])
    assert repr(codes) == "Records(2 records, 0 numeric and 1 categorical attributes)"


def test_some_records_and_some_attributes_can_be_taken() -> None:
    records = mixed()
    assert records.take([2, 0]).numeric.tolist() == [[5, 6], [1, 2]]
    part = AttributeSet(numeric=(1,)).of(records)
    assert part.numeric.tolist() == [[2], [4], [6]]
    assert (part.codes.shape, part.taxonomies) == ((3, 0), ())
    assert part.bounds[1].tolist() == [10]
    codes = AttributeSet(categorical=(0,)).of(records)
    assert (len(codes), codes.numeric.shape[1], codes.codes.tolist()) == (3, 0, [[0], [1], [0]])


def test_values_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        mixed().numeric[0, 0] = 9.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"numeric": [[1, np.nan], [3, 4], [np.inf, 6]]}, "not finite numbers, in 2 rows"),
        ({"codes": [[0], [3], [0]]}, r"codes outside \[0, 3\)"),
        ({"codes": [[0], [1]]}, "3 rows of numbers and 2 of codes"),
        ({"taxonomies": []}, "1 columns of codes and 0 taxonomies"),
        ({"upper": None}, "given together"),
        ({"upper": [10]}, "one bound for each of 2 attributes"),
        ({"upper": [10, 0]}, "must be below `upper`"),
        ({"upper": [10, 5]}, "column 1 of `numeric` of `Records` holds values outside its bounds"),
    ],
)
def test_records_that_do_not_fit_are_refused(changes: dict[str, object], message: str) -> None:
    whole = {
        "numeric": [[1, 2], [3, 4], [5, 6]],
        "codes": [[0], [1], [0]],
        "taxonomies": [Concepts.flat(2)],
        "lower": [0, 0],
        "upper": [10, 10],
    }
    with pytest.raises(DataError, match=message):
        Records(**{**whole, **changes})


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(DataError, match="2 problems"):
        Records(numeric=[[np.nan]], lower=[0])


def test_bounds_must_be_declared_where_they_are_needed() -> None:
    with pytest.raises(ParameterError, match="must declare the bounds"):
        _ = Records(numeric=[[1.0]]).bounds


def test_a_matrix_is_asked_for() -> None:
    with pytest.raises(ParameterError, match="must be matrices"):
        Records(numeric=[1.0, 2.0])


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_sets_must_be_disjoint(kind: str) -> None:
    sets = [AttributeSet(**{kind: (0,)}), AttributeSet(**{kind: (1, 0)})]
    with pytest.raises(ParameterError, match=f"a {kind} attribute is in two"):
        require_disjoint(sets)


def test_a_set_holds_something() -> None:
    with pytest.raises(ParameterError, match="at least one attribute"):
        AttributeSet()


def test_the_domain_scale_divides_by_the_distance_of_the_boundaries() -> None:
    flat = [Concepts.flat(3)]
    records = Records(numeric=[[0, 5], [10, 6]], codes=[[0], [1]], taxonomies=flat, lower=[0, 0], upper=[20, 10])
    space = records.space()
    # (10/20)^2 + (1/10)^2 + 1: two different values of a flat list are as far as its boundaries
    distances = space.distances(space.numeric[0], space.codes[0])
    assert np.allclose(distances, [0.0, 0.25 + 0.01 + 1.0])


def test_the_domain_scale_needs_bounds() -> None:
    with pytest.raises(ParameterError, match="must declare the bounds"):
        Records(numeric=[[1.0]]).space()
