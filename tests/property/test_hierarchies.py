"""Laws of hierarchies, checked by code that shares nothing with theirs."""

from __future__ import annotations

import collections
import datetime as dt
import itertools
import re
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reference import hierarchies as reference
from reference.examples import examples
from shoal.errors import HierarchyError
from shoal.hierarchies import TOP, build, leaf_codes, outside, read_arx, write_arx
from shoal.schema import Attribute, Kind, Provenance, Quantiles
from shoal.schema.rules import text
from shoal.testing import strategies

# building a case costs some ten milliseconds
few = examples(40)

INTERVAL = re.compile(r"\[(\S+), (\S+)\)|< (\S+)|>= (\S+)")


def interval(label: str) -> tuple[Fraction | None, Fraction | None]:
    low, high, below, above = INTERVAL.fullmatch(label).groups()
    if below or above:
        return (None, reference.exact(below)) if below else (reference.exact(above), None)
    return reference.exact(low), reference.exact(high)


def period(label: str, level: str) -> tuple[dt.date, dt.date]:
    """Read a label of a truncated day back and return its first day and the first day after it."""
    if level == "quarter":
        year, quarter = label.split("-Q")
        first = dt.date(int(year), 3 * int(quarter) - 2, 1)
    elif level == "decade":
        first = dt.date(int(label.removesuffix("s")), 1, 1)
    else:
        first = dt.date.fromisoformat((label + "-01-01")[:10])
    return reference._period(first, level)


@st.composite
def built(draw, **options):
    attribute = draw(strategies.attributes(**options))
    values = draw(strategies.columns(attribute, missing=False)).unique()
    return attribute, values, build(attribute, values, missing=draw(st.booleans()))


@few
@given(strategies.hierarchies())
def test_codes_form_a_tree_in_order(hierarchy):
    size = hierarchy.size
    assert hierarchy.codes[0].tolist() == list(range(size))
    assert len(hierarchy.labels[-1]) == 1
    for level in range(hierarchy.levels):
        codes = hierarchy.codes[level].tolist()
        assert codes == sorted(codes)
        assert sorted(set(codes)) == list(range(len(hierarchy.labels[level]))) or (not size and level)
        counted = collections.Counter(codes)
        assert hierarchy.leaves[level].tolist() == [counted[code] for code in range(len(hierarchy.labels[level]))]
        assert len(hierarchy.shares[level]) == len(hierarchy.labels[level])
    for lower, upper in zip(hierarchy.codes, hierarchy.codes[1:], strict=False):
        parents = collections.defaultdict(set)
        for fine, coarse in zip(lower.tolist(), upper.tolist(), strict=True):
            parents[fine].add(coarse)
        assert all(len(found) == 1 for found in parents.values())


@few
@given(strategies.hierarchies())
def test_shares_grow_from_nothing_to_everything(hierarchy):
    assert not hierarchy.shares[0].any()
    assert hierarchy.shares[-1].tolist() == [1.0]
    for leaf in range(hierarchy.size):
        along = [hierarchy.shares[level][hierarchy.codes[level][leaf]] for level in range(hierarchy.levels)]
        assert all(a <= b + 1e-12 for a, b in itertools.pairwise(along))
        assert 0 <= min(along) <= max(along) <= 1


@few
@given(strategies.hierarchies())
def test_a_label_stands_for_one_set_of_values(hierarchy):
    meaning = collections.defaultdict(set)
    for level in range(hierarchy.levels):
        for code, label in enumerate(hierarchy.labels[level]):
            meaning[label].add(tuple(np.flatnonzero(hierarchy.codes[level] == code).tolist()))
    assert all(len(found) == 1 for label, found in meaning.items() if label not in (TOP, None))


@few
@given(strategies.hierarchies())
def test_the_missing_value_is_the_last_leaf_and_stays_missing_below_the_top(hierarchy):
    nowhere = None if hierarchy.missing is None else hierarchy.size - 1
    assert hierarchy.missing == nowhere
    for level in range(hierarchy.height):
        places = [code for code, label in enumerate(hierarchy.labels[level]) if label is None]
        assert places == ([] if nowhere is None else [len(hierarchy.labels[level]) - 1])
        if nowhere is not None:
            assert hierarchy.codes[level][nowhere] == places[0]
            assert hierarchy.shares[level][places[0]] == 0


@few
@given(built())
def test_every_observed_value_finds_its_leaf_and_null_the_missing_one(case):
    _, values, hierarchy = case
    codes = leaf_codes(hierarchy, pa.concat_arrays([values, pa.nulls(1, values.type)]))
    assert codes.dtype == np.int32
    for value, code in zip(text(values).to_pylist(), codes, strict=False):
        assert hierarchy.labels[0][code] == value
    assert codes[-1] == (-1 if hierarchy.missing is None else hierarchy.missing)
    assert outside(hierarchy, values) is None


@few
@given(strategies.hierarchies(kinds=[Kind.CATEGORICAL]), st.lists(strategies.words(), max_size=5, unique=True))
def test_values_outside_are_counted_and_never_shown(hierarchy, strangers):
    strangers = [f"{word}-stranger" for word in strangers]
    assume(not set(strangers) & set(hierarchy.labels[0]))
    message = outside(hierarchy, pa.array(strangers, pa.string()), np.full(len(strangers), 7))
    assert leaf_codes(hierarchy, pa.array(strangers, pa.string())).tolist() == [-1] * len(strangers)
    if strangers:
        assert f"{len(strangers)} value" in message
        assert f"(in {7 * len(strangers)} records)" in message
        assert "stranger" not in message
    else:
        assert message is None


@few
@given(built(), st.randoms(use_true_random=False))
def test_the_order_of_the_values_does_not_matter(case, random):
    attribute, values, hierarchy = case
    order = list(range(len(values)))
    random.shuffle(order)
    again = build(attribute, values.take(pa.array(order, pa.int64())), missing=hierarchy.missing is not None)
    assert again.labels == hierarchy.labels
    assert all(np.array_equal(a, b) for a, b in zip(again.codes, hierarchy.codes, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(again.shares, hierarchy.shares, strict=True))


# -- against the slow reference --------------------------------------------------------------------------------------


def domain_of(attribute, values):
    """Return the bounds as exact numbers: declared, else observed."""
    observed = values.to_pylist()
    exact = reference.exact if attribute.kind is Kind.NUMERIC else dt.date.toordinal
    declared = attribute.domain
    low = declared.minimum if declared and declared.minimum is not None else min(observed, default=None)
    high = declared.maximum if declared and declared.maximum is not None else max(observed, default=None)
    return (None, None) if low is None else (exact(low), exact(high))


@few
@given(built(kinds=[Kind.NUMERIC]))
def test_numbers_lie_in_the_intervals_that_the_labels_show(case):
    attribute, values, hierarchy = case
    rule = attribute.hierarchy
    assume(not isinstance(rule, Quantiles))
    minimum, maximum = domain_of(attribute, values)
    for value, leaf in zip(values.to_pylist(), leaf_codes(hierarchy, values), strict=True):
        for level, ends in enumerate(reference.path(rule, value), start=1):
            code = hierarchy.codes[level][leaf]
            assert interval(hierarchy.labels[level][code]) == ends
            share = reference.width_share(*ends, minimum, maximum)
            assert hierarchy.shares[level][code] == pytest.approx(float(share), abs=1e-12)
    assert [reference.exact(label) for label in hierarchy.labels[0] if label] == sorted(
        {reference.exact(value) for value in values.to_pylist()}
    )


@few
@given(built(kinds=[Kind.DATE]))
def test_days_lie_in_the_periods_that_the_labels_show(case):
    attribute, values, hierarchy = case
    rule = attribute.hierarchy
    minimum, maximum = domain_of(attribute, values)
    for value, leaf in zip(values.to_pylist()[:2], leaf_codes(hierarchy, values), strict=False):
        for level, (name, (first, after)) in enumerate(
            zip(getattr(rule, "levels", ()), reference.path(rule, value), strict=True), start=1
        ):
            code = hierarchy.codes[level][leaf]
            assert period(hierarchy.labels[level][code], name) == (first, after)
            share = reference.width_share(first.toordinal(), after.toordinal(), minimum, maximum)
            assert hierarchy.shares[level][code] == pytest.approx(float(share), abs=1e-12)


@few
@given(built(kinds=[Kind.CATEGORICAL, Kind.ORDINAL]))
def test_named_values_have_the_ancestors_that_the_rule_names(case):
    attribute, _, hierarchy = case
    size = hierarchy.size - (hierarchy.missing is not None)
    for leaf in range(size):
        expected = reference.path(attribute.hierarchy, hierarchy.labels[0][leaf])
        last = {tuple(reference.path(attribute.hierarchy, other)[-1:]) for other in hierarchy.labels[0][:size]}
        assert len(expected) in (hierarchy.height - 1, hierarchy.height)
        assert len(last) == 1 or len(expected) == hierarchy.height - 1
        for level, label in enumerate(expected, start=1):
            code = hierarchy.codes[level][leaf]
            # a mark is added where a finer level uses the same text for other values
            assert re.sub(r" \(level \d\)'*$", "", hierarchy.labels[level][code]) == label
            share = reference.list_share(int(hierarchy.leaves[level][code]), size) if level < hierarchy.height else 1
            assert hierarchy.shares[level][code] == pytest.approx(float(share))


@few
@given(built(kinds=[Kind.ORDINAL]))
def test_ordinal_leaves_keep_their_declared_order_inside_each_group(case):
    attribute, _, hierarchy = case
    place = {value: number for number, value in enumerate(attribute.domain.values)}
    leaves = [label for label in hierarchy.labels[0] if label is not None]
    if hierarchy.height == 1:
        assert leaves == list(attribute.domain.values)
    else:
        groups = hierarchy.codes[1].tolist()
        for before, after, here, there in zip(leaves, leaves[1:], groups, groups[1:], strict=False):
            assert here != there or place[before] < place[after]


@few
@given(
    st.dictionaries(st.integers(-50, 50), st.integers(1, 40), min_size=1, max_size=30),
    st.sampled_from([(4,), (8, 4, 2), (16, 4)]),
)
def test_quantile_intervals_hold_no_more_records_than_ties_force(counted, counts):
    attribute = Attribute(name="x", kind=Kind.NUMERIC, hierarchy=Quantiles(counts=counts))
    values, records = pa.array(list(counted)), np.array(list(counted.values()))
    hierarchy = build(attribute, values, counts=records)
    assert hierarchy.provenance is Provenance.INFERRED
    total, most = int(records.sum()), max(counted.values())
    leaves = leaf_codes(hierarchy, values)
    for level, number in enumerate(counts, start=1):
        held = np.zeros(len(hierarchy.labels[level]), dtype=int)
        np.add.at(held, hierarchy.codes[level][leaves], records)
        assert len(held) <= number
        assert held.max() <= total / number + most
        for value, leaf in zip(counted, leaves, strict=True):
            if len(held) > 1:
                low, high = interval(hierarchy.labels[level][hierarchy.codes[level][leaf]])
                assert low is None or low <= value
                assert high is None or value < high


# -- text ------------------------------------------------------------------------------------------------------------


@few
@given(st.lists(st.floats(allow_nan=False) | st.integers(-(2**53), 2**53).map(float), max_size=20))
def test_the_text_of_a_number_gives_the_number_back(numbers):
    for number, written in zip(numbers, text(pa.array(numbers, pa.float64())).to_pylist(), strict=True):
        assert float(written) == number
        assert not written.endswith(".0")
        assert written != "-0"


@few
@given(st.lists(st.decimals(-(10**12), 10**12, places=10), max_size=20))
def test_the_text_of_a_decimal_has_no_needless_zeros(numbers):
    for number, written in zip(numbers, text(pa.array(numbers, pa.decimal128(38, 10))).to_pylist(), strict=True):
        assert Fraction(written) == Fraction(number)
        assert "." not in written or written[-1] not in "0."


@few
@given(st.lists(st.datetimes(), max_size=20))
def test_the_text_of_a_time_stamp_is_iso_8601(stamps):
    for stamp, written in zip(stamps, text(pa.array(stamps, pa.timestamp("us"))).to_pylist(), strict=True):
        assert dt.datetime.fromisoformat(written) == stamp
        assert ("T" in written) == (stamp.time() != dt.time())


# -- files -----------------------------------------------------------------------------------------------------------


def read_or_refuse(path, attribute):
    try:
        return read_arx(path, attribute=attribute)
    except HierarchyError as error:
        return error


@few
@given(strategies.hierarchies(), st.sampled_from(";,\t|"))
def test_a_hierarchy_survives_its_file(hierarchy, delimiter):
    size = hierarchy.size - (hierarchy.missing is not None)
    assume(size)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "h.csv")
        write_arx(hierarchy, path, delimiter=delimiter)
        again = read_arx(path, delimiter=delimiter)
    assert again.provenance is Provenance.DECLARED
    assert [labels[: len(found)] for labels, found in zip(hierarchy.labels, again.labels, strict=True)] == list(
        again.labels
    )
    assert all(np.array_equal(a[:size], b) for a, b in zip(hierarchy.codes, again.codes, strict=True))


@examples(150)
@given(
    st.binary(max_size=60) | st.text('ab;*"\n\r\0, é', max_size=60).map(lambda s: s.encode("utf-8", "surrogatepass"))
)
def test_any_file_is_read_or_refused_with_a_clear_message(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "zip.csv")
        path.write_bytes(content)
        found = read_or_refuse(path, "zip")
    if isinstance(found, HierarchyError):
        assert all("column `zip`: its hierarchy `zip.csv`" in problem for problem in found.problems)
    else:
        assert len(found.labels[-1]) == 1


@few
@given(
    st.lists(
        st.lists(st.sampled_from(["canary0", "canary1", "canary2", ""]), min_size=1, max_size=4), min_size=1, max_size=6
    )
)
def test_no_cell_of_a_file_is_shown_in_a_message(rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "h.csv")
        path.write_text("\n".join(";".join(row) for row in rows), encoding="utf-8")
        for kind in Kind.CATEGORICAL, Kind.NUMERIC, Kind.DATE:
            found = read_or_refuse(path, Attribute(name="x", kind=kind))
            assert "canary" not in f"{found} {found!r}"
