from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import DataError, ParameterError
from shoal.hierarchies import Concepts
from shoal.methods.noise import AttributeSet, Records
from shoal.methods.noise._records import require_disjoint


def mixed() -> Records:
    return Records(
        numeric=[[1, 2], [3, 4], [5, 6]],
        codes=[[0], [1], [0]],
        taxonomies=[Concepts.flat(2)],
        lower=[0, 0],
        upper=[10, 10],
    )


def test_numbers_alone_and_codes_alone_are_records() -> None:
    assert repr(Records.of([1.0, 2.0])) == "Records(2 records, 1 numeric and 0 categorical attributes)"
    codes = Records(codes=[[0], [1]], taxonomies=[Concepts.flat(2)])
    assert repr(codes) == "Records(2 records, 0 numeric and 1 categorical attributes)"
    assert Records.of(codes) is codes


def test_some_records_and_some_attributes_can_be_taken() -> None:
    records = mixed()
    assert records.take([2, 0]).numeric.tolist() == [[5, 6], [1, 2]]
    part = records.attributes(numeric=[1])
    assert part.numeric.tolist() == [[2], [4], [6]]
    assert (part.codes.shape, part.taxonomies) == ((3, 0), ())
    assert part.bounds[1].tolist() == [10]
    codes = records.attributes(categorical=[0])
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
        _ = Records.of([[1.0]]).bounds


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
    space = records.space("domain")
    # (10/20)^2 + (1/10)^2 + 1: two different values of a flat list are as far as its boundaries
    distances = space.distances(space.numeric[0], space.codes[0])
    assert np.allclose(distances, [0.0, 0.25 + 0.01 + 1.0])


def test_the_domain_scale_needs_bounds() -> None:
    with pytest.raises(ParameterError, match="must declare the bounds"):
        Records.of([[1.0]]).space("domain")
