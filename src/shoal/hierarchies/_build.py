"""From a rule and the values of a column to a hierarchy, and from values to its leaves."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, HierarchyError
from shoal.hierarchies._hierarchy import Codes, Hierarchy, grow
from shoal.schema import Attribute, Flat, HierarchyRule, Kind, Provenance
from shoal.schema.rules import Column, Tree, counted, days, is_text, numbers, plain, text

__all__ = ["build", "leaf_codes", "outside", "provenance"]

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def build(
    attribute: Attribute,
    values: pa.Array | pa.ChunkedArray,
    *,
    folder: Path = Path(),
    counts: Counts | None = None,
    missing: bool = False,
) -> Hierarchy:
    """Make the hierarchy of a column.

    Parameters
    ----------
    attribute
        What the schema says of the column; no rule means ``value -> *``.
    values
        The distinct values observed, in their own type; null is ignored.
    folder
        Where relative paths of hierarchy files start.
    counts
        Records per value, for rules that look at them (:class:`~shoal.schema.Quantiles`).
    missing
        Whether to add a last leaf for the missing value: missing at every level below ``*``, with share 0.

    Returns
    -------
    Hierarchy
        A rule that lists values (a file, groups, a taxonomy) gives all of them as leaves, whether observed or not.
        Other rules give the declared values, or else the observed ones that lie in the declared bounds. Observed
        values that are not leaves have no code: see :func:`outside`.

    Raises
    ------
    HierarchyError
        If the rule cannot be used, or values are not what the column's kind says. Counts are given, never values.

    Notes
    -----
    Cost: O(levels * values * log(values)), all in NumPy and Arrow.

    Examples
    --------
    >>> from shoal.schema import Intervals
    >>> age = Attribute(name="age", kind=Kind.NUMERIC, hierarchy=Intervals(widths=(5, 10)))
    >>> build(age, pa.array([21, 24, 25, 30])).labels[1]
    ('[20, 25)', '[25, 30)', '[30, 35)')
    """
    rule = attribute.hierarchy or Flat()
    values = plain(values)
    try:
        text(values[:0])
    except DataError as error:
        raise HierarchyError(f"column `{attribute.name}`: {error.problems[0]}") from None
    column = _column(attribute, values, counts, folder)
    tree = rule.tree(column)
    _check_declared(column, rule, tree)
    hierarchy = grow(
        tree,
        attribute=attribute.name,
        provenance=provenance(attribute),
        missing=missing,
        source=rule.source(attribute.domain),
    )
    return replace(hierarchy, positions=_positions(column, hierarchy))


def leaf_codes(hierarchy: Hierarchy, values: pa.Array | pa.ChunkedArray) -> Codes:
    """Return the leaf of every value; null is the missing leaf, -1 is a value outside the hierarchy."""
    written = text(values)
    size = hierarchy.size if hierarchy.missing is None else hierarchy.missing
    known = pa.array(hierarchy.labels[0][:size], pa.string())
    codes = pc.index_in(written, value_set=known, skip_nulls=True).fill_null(-1)
    found = np.array(codes.to_numpy(zero_copy_only=False), dtype=np.int32)
    if hierarchy.missing is not None:
        found[pc.is_null(written).to_numpy(zero_copy_only=False)] = hierarchy.missing
    return found


def outside(hierarchy: Hierarchy, values: pa.Array | pa.ChunkedArray, counts: Counts | None = None) -> str | None:
    """Say how many of the values (and of the records, given counts) are not in the hierarchy; None if all are.

    Null is never outside: what a missing value means is the schema's matter.

    Examples
    --------
    >>> from shoal.schema import Groups
    >>> sex = Attribute(name="sex", hierarchy=Groups(levels=((("any", ("female", "male")),),)))
    >>> outside(build(sex, pa.array([])), pa.array(["male", "Male", "F"]), np.array([10, 4, 1]))
    'column `sex`: 2 values (in 5 records) are not in its hierarchy'
    """
    values = plain(values)
    lost = (leaf_codes(hierarchy, values) < 0) & pc.is_valid(values).to_numpy(zero_copy_only=False)
    number = int(np.count_nonzero(lost))
    if not number:
        return None
    records = "" if counts is None else f" (in {counted(int(np.asarray(counts)[lost].sum()), 'record')})"
    verb = "is" if number == 1 else "are"
    return f"column `{hierarchy.attribute}`: {counted(number, 'value')}{records} {verb} not in {hierarchy.source}"


def _column(attribute: Attribute, values: pa.Array, counts: Counts | None, folder: Path) -> Column:
    source = values.type
    weights = np.ones(len(values), dtype=np.int64) if counts is None else np.asarray(counts, dtype=np.int64)
    valid = pc.is_valid(values)
    values, weights = values.filter(valid), weights[valid.to_numpy(zero_copy_only=False)]
    if attribute.hierarchy is not None and attribute.hierarchy.lists_values:
        values, weights = values[:0], weights[:0]
    elif attribute.domain is not None and attribute.domain.values is not None:
        values, weights = _declared(attribute, values, weights)
    values, weights = _ascending(attribute, values, weights)
    leaves, values, weights = _once(values, weights)
    return Column(
        name=attribute.name,
        kind=attribute.kind,
        domain=attribute.domain,
        values=values,
        leaves=leaves,
        counts=weights,
        source=source,
        folder=folder,
    )


def _declared(attribute: Attribute, values: pa.Array, counts: Counts) -> tuple[pa.Array, Counts]:
    """Return the declared values, each with the number of records observed."""
    assert attribute.domain is not None  # noqa: S101
    declared = pa.array(attribute.domain.values, pa.string())
    if attribute.kind is Kind.NUMERIC and not is_text(values.type):
        declared = text(pa.array(numbers(declared, attribute.name, "declared values")))
    place = pc.index_in(text(values), value_set=declared).fill_null(-1).to_numpy(zero_copy_only=False)
    observed = np.zeros(len(declared), dtype=np.int64)
    np.add.at(observed, place[place >= 0], counts[place >= 0])
    return declared, observed


def _ascending(attribute: Attribute, values: pa.Array, counts: Counts) -> tuple[pa.Array, Counts]:
    """Sort by number, by day, else by value; leave out what lies outside the declared bounds."""
    order = pc.sort_indices(values).to_numpy(zero_copy_only=False)
    values, counts = values.take(pa.array(order)), counts[order]
    if attribute.kind not in (Kind.NUMERIC, Kind.DATE):
        return values, counts
    read = numbers if attribute.kind is Kind.NUMERIC else days
    keys: npt.NDArray[Any] = read(values, attribute.name)
    inside = np.ones(len(keys), dtype=np.bool_)
    if attribute.domain is not None and attribute.domain.minimum is not None:
        inside &= keys >= _bound(attribute.domain.minimum)
    if attribute.domain is not None and attribute.domain.maximum is not None:
        inside &= keys <= _bound(attribute.domain.maximum)
    chosen = np.flatnonzero(inside)
    if np.any(keys[1:] < keys[:-1]):  # texts that are numbers or days
        chosen = chosen[np.argsort(keys[chosen], kind="stable")]
    return values.take(pa.array(chosen)), counts[chosen]


def _bound(bound: float | dt.date) -> Any:
    return np.datetime64(dt.date(bound.year, bound.month, bound.day), "D") if isinstance(bound, dt.date) else bound


def _once(values: pa.Array, counts: Counts) -> tuple[pa.StringArray, pa.Array, Counts]:
    """Return every text once; ``0.0`` and ``-0.0`` have the same, as have two hours when a clock is put back."""
    leaves = text(values)
    encoded = leaves.dictionary_encode()
    if len(encoded.dictionary) == len(leaves):
        return leaves, values, counts
    groups = encoded.indices.to_numpy(zero_copy_only=False)
    first = np.flatnonzero(np.diff(np.maximum.accumulate(groups), prepend=-1))
    total = np.zeros(len(first), dtype=np.int64)
    np.add.at(total, groups, counts)
    return encoded.dictionary, values.take(pa.array(first)), total


def _check_declared(column: Column, rule: HierarchyRule, tree: Tree) -> None:
    domain = column.domain
    if domain is None or domain.values is None:
        return
    declared = pa.array(domain.values, pa.string()) if rule.lists_values else column.leaves
    absent = len(declared) - int(pc.sum(pc.is_in(declared, value_set=tree.leaves)).as_py() or 0)
    if absent:
        raise HierarchyError(
            f"column `{column.name}`: {absent:,} of its {len(declared):,} declared values are not in "
            f"{rule.source(domain)}"
        )


def provenance(attribute: Attribute) -> Provenance:
    """Return whether the domain and the levels of a column are declared, or will be read off its data.

    Examples
    --------
    >>> from shoal.schema import Intervals
    >>> provenance(Attribute(name="age", kind=Kind.NUMERIC, hierarchy=Intervals(widths=(5, 10)))).value
    'inferred from the data'
    """
    rule, domain = attribute.hierarchy or Flat(), attribute.domain
    listed = rule.lists_values or (domain is not None and domain.values is not None)
    bounded = domain is not None and domain.bounded
    return Provenance.DECLARED if (listed or bounded) and not rule.data_dependent else Provenance.INFERRED


def _positions(column: Column, hierarchy: Hierarchy) -> Floats | None:
    """Return the positions of the leaves, or None where intervals of leaves would not be intervals of values."""
    if column.kind is Kind.CATEGORICAL or hierarchy.missing is not None or hierarchy.size < 2:
        return None
    leaves = pa.array(hierarchy.labels[0], pa.string())
    try:
        places = _places(column, leaves)
    except HierarchyError:  # numbers that are written in words: truth values
        return None
    low, high = _bounds(column, places)
    with np.errstate(all="ignore"):  # what does not come out as numbers is not ascending
        # halves: the domain may be wider than the largest float
        scaled = (places / 2 - low / 2) / (high / 2 - low / 2)
    return scaled if bool(np.all(np.diff(scaled) > 0)) else None


def _places(column: Column, leaves: pa.StringArray) -> Floats:
    if column.kind is Kind.NUMERIC:
        return numbers(leaves, column.name)
    if column.kind is Kind.DATE:
        return _days(days(leaves, column.name))
    return column.ranks(leaves).astype(np.float64)


def _bounds(column: Column, places: Floats) -> tuple[float, float]:
    domain = column.domain
    low, high = float(places[0]), float(places[-1])
    if domain is not None and domain.minimum is not None:
        low = min(low, _number(domain.minimum))
    if domain is not None and domain.maximum is not None:
        high = max(high, _number(domain.maximum))
    return (low, high) if high > low else (low, low + 1.0)


def _number(bound: float | dt.date) -> float:
    if isinstance(bound, dt.date):
        return float(_days(np.array([dt.date(bound.year, bound.month, bound.day)], dtype="datetime64[D]"))[0])
    return float(bound)


def _days(values: npt.NDArray[np.datetime64]) -> Floats:
    return np.asarray(values.astype("datetime64[D]").astype(np.float64))
