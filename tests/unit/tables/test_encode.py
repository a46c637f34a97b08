from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import DataError, HierarchyError, ParameterError
from shoal.schema import Attribute, Domain, Groups, Kind, Role, Schema
from shoal.tables import encode, read


def table(rows: dict[str, object], *attributes: Attribute) -> object:
    return read(pa.table(rows)).with_schema(Schema(attributes=attributes))


def quasi(name: str, kind: Kind = Kind.CATEGORICAL, **given: object) -> Attribute:
    return Attribute(name=name, role=Role.QUASI_IDENTIFIER, kind=kind, **given)


def sensitive(name: str, kind: Kind = Kind.CATEGORICAL, **given: object) -> Attribute:
    return Attribute(name=name, role=Role.SENSITIVE, kind=kind, **given)


def test_values_written_differently_are_one_tuple() -> None:
    frequencies = encode(table({"age": ["39", "39.0", " 39", "40"]}, quasi("age", Kind.NUMERIC))).frequencies
    assert frequencies.counts.tolist() == [3, 1]
    assert frequencies.hierarchies[0].labels[0] == ("39", "40")


def test_the_two_zeros_are_one_value() -> None:
    encoded = encode(table({"n": [0.0, -0.0, 1.0]}, quasi("n", Kind.NUMERIC)))
    assert encoded.frequencies.counts.tolist() == [2, 1]
    assert len(encoded.dictionaries[0].values) == 2


def test_codes_are_column_major_and_sorted() -> None:
    frequencies = encode(table({"a": list("zyxzy"), "b": list("12312")}, quasi("a"), quasi("b"))).frequencies
    assert frequencies.codes.flags.f_contiguous
    assert frequencies.codes.dtype == np.int32
    assert frequencies.codes.tolist() == sorted(frequencies.codes.tolist())


@pytest.mark.parametrize(
    ("kind", "values", "labels", "ordered"),
    [
        (Kind.CATEGORICAL, ["b", "a", "b"], ("a", "b"), False),
        (Kind.NUMERIC, ["10", "9", "9.0"], ("9", "10"), True),
        (Kind.DATE, [dt.date(2024, 1, 2), dt.date(1999, 1, 1)], ("1999-01-01", "2024-01-02"), True),
        (Kind.CATEGORICAL, ["b", None, "a", None], ("a", "b", None), False),
        (Kind.NUMERIC, [None, 2, 1], ("1", "2", None), True),
    ],
)
def test_sensitive_codes_follow_the_order_of_the_values(
    kind: Kind, values: list[object], labels: tuple[str | None, ...], ordered: bool
) -> None:
    frequencies = encode(table({"q": ["x"] * len(values), "s": values}, quasi("q"), sensitive("s", kind))).frequencies
    (attribute,) = frequencies.sensitive
    assert (attribute.labels, attribute.size, attribute.ordered) == (labels, len(labels), ordered)
    assert frequencies.sensitive_codes[:, 0].tolist() == list(range(len(labels)))


def test_ordinal_codes_follow_the_declared_order() -> None:
    grade = sensitive("s", Kind.ORDINAL, domain=Domain(values=("low", "middle", "high")))
    frequencies = encode(table({"q": ["x"] * 3, "s": ["high", None, "low"]}, quasi("q"), grade)).frequencies
    assert frequencies.sensitive[0].labels == ("low", "high", None)
    assert frequencies.sensitive[0].ordered


def test_a_declared_hierarchy_of_a_sensitive_attribute_gives_its_codes() -> None:
    ill = sensitive("s", hierarchy=Groups(levels=((("lung", ("flu", "asthma")), ("skin", ("acne",))),)))
    frequencies = encode(table({"q": ["x", "x"], "s": ["acne", "flu"]}, quasi("q"), ill)).frequencies
    attribute = frequencies.sensitive[0]
    assert attribute.hierarchy is not None
    assert attribute.size == attribute.hierarchy.size == 3
    assert [attribute.labels[code] for code in frequencies.sensitive_codes[:, 0]] == [
        attribute.hierarchy.labels[0][code] for code in frequencies.sensitive_codes[:, 0]
    ]
    assert {attribute.labels[code] for code in frequencies.sensitive_codes[:, 0]} == {"acne", "flu"}


def test_missing_values_have_a_leaf_of_their_own() -> None:
    frequencies = encode(table({"q": ["x", None, None]}, quasi("q"))).frequencies
    assert frequencies.hierarchies[0].labels[0] == ("x", None)
    assert frequencies.counts.tolist() == [1, 2]


def test_columns_can_be_chosen() -> None:
    made = table({"a": ["x"], "b": ["y"], "c": ["z"]}, quasi("a"), quasi("b"), sensitive("c"))
    frequencies = encode(made, quasi_identifiers=["b"], sensitive=[]).frequencies
    assert frequencies.attributes == ("b",)
    assert frequencies.sensitive == ()
    assert frequencies.sensitive_codes.shape == (1, 0)


def test_all_wrong_columns_are_named() -> None:
    made = table({"a": ["x"]}, quasi("a"))
    with pytest.raises(ParameterError) as caught:
        encode(made, quasi_identifiers=["a", "n"], sensitive=["a", "m"])
    assert len(caught.value.problems) == 3
    with pytest.raises(ParameterError, match="at least one column must be a quasi-identifier"):
        encode(made, quasi_identifiers=[])


def test_a_table_without_schema_is_refused() -> None:
    with pytest.raises(ParameterError, match="has no schema"):
        encode(read(pa.table({"a": [1]})))


def test_problems_of_all_hierarchies_are_reported_at_once() -> None:
    rule = Groups(levels=((("any", ("x",)),),))
    with pytest.raises(HierarchyError) as caught:
        encode(table({"a": ["x", "y"], "b": ["z", "z"]}, quasi("a", hierarchy=rule), quasi("b", hierarchy=rule)))
    assert len(caught.value.problems) == 2


def test_a_population_of_another_type_is_compared_as_text() -> None:
    made = table({"zip": [12345]}, quasi("zip"))
    frequencies = encode(made, population=read(pa.table({"zip": ["12345", "abc"]}))).frequencies
    assert frequencies.population is not None
    assert dict(zip(frequencies.codes[:, 0].tolist(), frequencies.population.tolist(), strict=True)) == {0: 1, 1: 1}


def test_a_population_needs_the_quasi_identifiers() -> None:
    made = table({"a": ["x"], "b": ["x"]}, quasi("a"), quasi("b"))
    with pytest.raises(DataError, match="the population arrow frame has no column `b`"):
        encode(made, population=read(pa.table({"a": ["x"]})))


def test_a_repr_shows_no_value() -> None:
    encoded = encode(table({"a": ["Xq7canary"]}, quasi("a")))
    assert "Xq7canary" not in repr(encoded.dictionaries)
