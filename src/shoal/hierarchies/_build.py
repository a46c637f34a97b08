"""Build the hierarchy of a column from its rule and its values, or from the schema alone.

Bounds that are declared are enough for noise; a mechanism that draws values must know all of them, for a value that
occurs is itself a fact about somebody.
"""

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
from shoal.hierarchies._hierarchy import Hierarchy, grow
from shoal.kernels import Counts, Floats
from shoal.schema import Attribute, Flat, HierarchyRule, Kind, Provenance
from shoal.schema.rules import RuledColumn, Tree, days, encode_texts, is_text, numbers, place_of, plain, text


def build(
    attribute: Attribute,
    values: pa.Array | pa.ChunkedArray,
    *,
    folder: Path = Path(),
    counts: Counts | None = None,
    missing: bool = False,
) -> Hierarchy:
    """Make the hierarchy of a column from its distinct ``values``, in their own type; without a rule it is value -> *.

    A rule that lists values (a file, groups, a taxonomy) gives all of them as leaves, whether observed or not. Other
    rules give the declared values, or else the observed ones that lie in the declared bounds. Observed values that are
    not leaves have no code: see :func:`outside`. Null is ignored; ``missing`` adds a last leaf for it, which is missing
    at every level below ``*``, with share 0. Relative paths of hierarchy files start at ``folder``, and ``counts`` are
    the records per value, for rules that look at them (:class:`~shoal.schema.Quantiles`).

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


def provenance(attribute: Attribute) -> Provenance:
    """Return whether the domain and the levels of a column are declared, or will be read off its data.

    Examples
    --------
    >>> from shoal.schema import Intervals
    >>> provenance(Attribute(name="age", kind=Kind.NUMERIC, hierarchy=Intervals(widths=(5, 10)))).value
    'inferred from the data'
    """
    domain = attribute.domain
    declared = _has_listed_values(attribute) or (domain is not None and domain.is_bounded)
    data_dependent = attribute.hierarchy is not None and attribute.hierarchy.data_dependent
    if not declared or data_dependent:
        return Provenance.INFERRED
    return Provenance.DECLARED if domain is None else domain.provenance


def leaves_declared(attribute: Attribute) -> bool:
    """Return whether the full list of values follows from the schema alone.

    It does where the schema lists the ``values``, where the rule of the hierarchy lists them (a file, groups, a
    taxonomy), and for days with both bounds. It does not for numbers with bounds: they may lie anywhere between.

    Examples
    --------
    >>> from shoal.schema import Domain
    >>> leaves_declared(Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=120)))
    False
    >>> days = Domain(minimum=dt.date(2020, 1, 1), maximum=dt.date(2020, 12, 31))
    >>> leaves_declared(Attribute(name="onset", kind=Kind.DATE, domain=days))
    True
    """
    return _has_listed_values(attribute) or _all_days(attribute) is not None


def declared_leaves(attribute: Attribute, *, folder: Path = Path()) -> tuple[str, ...]:
    """Return all values that a column may hold, as text, in the order of its hierarchy; the data is not needed.

    They are the texts that :func:`shoal.schema.rules.text` writes for the values of a table with this schema: numbers
    in their canonical form, days as 2024-12-31. The missing value is not among them. Relative paths of hierarchy files
    start at ``folder``.

    Raises
    ------
    HierarchyError
        If the schema does not declare the values: see :func:`leaves_declared`.

    Examples
    --------
    >>> from shoal.schema import Domain
    >>> declared_leaves(Attribute(name="sex", domain=Domain(values=("male", "female"))))
    ('male', 'female')
    """
    observed = _all_days(attribute)
    if _has_listed_values(attribute):
        types = {Kind.NUMERIC: pa.float64(), Kind.DATE: pa.date32()}
        observed = pa.array([], types.get(attribute.kind, pa.string()))
    if observed is None:
        raise HierarchyError(
            f"column `{attribute.name}`: the schema does not declare all its values",
            hint="list its `values`, give it a hierarchy that lists them, or declare both bounds of a date column",
        )
    return tuple(leaf for leaf in build(attribute, observed, folder=folder).labels[0] if leaf is not None)


def _has_listed_values(attribute: Attribute) -> bool:
    if attribute.domain is not None and not attribute.domain.provenance.reveals_nothing:
        return False
    by_rule = attribute.hierarchy is not None and attribute.hierarchy.lists_values
    return by_rule or (attribute.domain is not None and attribute.domain.values is not None)


def _all_days(attribute: Attribute) -> pa.Array | None:
    """Return all days between the bounds of a date column, None where it has not both."""
    low, high = (None, None) if attribute.domain is None else (attribute.domain.minimum, attribute.domain.maximum)
    if not (isinstance(low, dt.date) and isinstance(high, dt.date)):
        return None
    first, last = np.datetime64(low, "D"), np.datetime64(high, "D")
    return pa.array(np.arange(first, last + 1), pa.date32())


def _column(attribute: Attribute, values: pa.Array, counts: Counts | None, folder: Path) -> RuledColumn:
    source = values.type
    weights = np.ones(len(values), dtype=np.int64) if counts is None else np.asarray(counts, dtype=np.int64)
    valid = pc.is_valid(values)
    values, weights = values.filter(valid), weights[valid.to_numpy(zero_copy_only=False)]
    if attribute.hierarchy is not None and attribute.hierarchy.lists_values:
        values, weights = values[:0], weights[:0]
    elif attribute.domain is not None and attribute.domain.values is not None:
        values, weights = _count_declared_values(attribute, values, weights)
    values, weights = _ascending(attribute, values, weights)
    leaves, values, weights = _once(values, weights)
    return RuledColumn(
        name=attribute.name,
        kind=attribute.kind,
        domain=attribute.domain,
        values=values,
        leaves=leaves,
        counts=weights,
        source=source,
        folder=folder,
    )


def _count_declared_values(attribute: Attribute, values: pa.Array, counts: Counts) -> tuple[pa.Array, Counts]:
    """Return the declared values, each with the number of records observed."""
    assert attribute.domain is not None  # noqa: S101
    declared = pa.array(attribute.domain.values, pa.string())
    if attribute.kind is Kind.NUMERIC and not is_text(values.type):
        declared = text(pa.array(numbers(declared, attribute.name, "declared values")))
    position = pc.index_in(text(values), value_set=declared).fill_null(-1).to_numpy(zero_copy_only=False)
    observed = np.zeros(len(declared), dtype=np.int64)
    np.add.at(observed, position[position >= 0], counts[position >= 0])
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
        inside &= keys >= _key(attribute.domain.minimum)
    if attribute.domain is not None and attribute.domain.maximum is not None:
        inside &= keys <= _key(attribute.domain.maximum)
    chosen = np.flatnonzero(inside)
    if np.any(keys[1:] < keys[:-1]):  # texts that are numbers or days
        chosen = chosen[np.argsort(keys[chosen], kind="stable")]
    return values.take(pa.array(chosen)), counts[chosen]


def _key(bound: float | dt.date) -> Any:
    return np.datetime64(bound, "D") if isinstance(bound, dt.date) else bound


def _once(values: pa.Array, counts: Counts) -> tuple[pa.StringArray, pa.Array, Counts]:
    """Return every text once; ``0.0`` and ``-0.0`` have the same, as have two hours when a clock is put back."""
    leaves = encode_texts(text(values))
    if len(leaves.labels) == len(values):
        return leaves.labels, values, counts
    total = np.zeros(len(leaves.first), dtype=np.int64)
    np.add.at(total, leaves.groups, counts)
    return leaves.labels, values.take(pa.array(leaves.first)), total


def _check_declared(column: RuledColumn, rule: HierarchyRule, tree: Tree) -> None:
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


def _positions(column: RuledColumn, hierarchy: Hierarchy) -> Floats | None:
    """Return the positions of the leaves, or None where intervals of leaves would not be intervals of values."""
    if column.kind is Kind.CATEGORICAL or hierarchy.missing is not None or hierarchy.size < 2:
        return None
    leaves = pa.array(hierarchy.labels[0], pa.string())
    try:
        if column.kind is Kind.NUMERIC:
            positions = numbers(leaves, column.name)
        elif column.kind is Kind.DATE:
            positions = days(leaves, column.name).astype(np.int64).astype(np.float64)
        else:
            positions = column.ranks(leaves).astype(np.float64)
    except HierarchyError:  # numbers that are written in words: truth values
        return None
    low, high = float(positions[0]), float(positions[-1])
    if column.domain is not None and column.domain.minimum is not None:
        low = min(low, place_of(column.domain.minimum))
    if column.domain is not None and column.domain.maximum is not None:
        high = max(high, place_of(column.domain.maximum))
    high = high if high > low else low + 1.0
    with np.errstate(all="ignore"):  # what does not come out as numbers is not ascending
        # halves: the domain may be wider than the largest float
        scaled = (positions / 2 - low / 2) / (high / 2 - low / 2)
    return scaled if bool(np.all(np.diff(scaled) > 0)) else None
