"""Find hierarchies of columns that have none: values whose records are alike in all other columns come together.

At every level there are half as many groups as at the one below. Two groups cost what merging them makes unknown of
the other quasi-identifiers: for each of those, the entropy of its values in the merged group less the entropies in the
two, times their records. The cheapest are merged first (the agglomerative information bottleneck of Slonim and Tishby
1999); of columns with an order, neighbours alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.kernels import Floats
from shoal.schema import Attribute, Kind, Schema
from shoal.schema.rules import FoundGroups
from shoal.tables._classes import Frequencies
from shoal.tables._encode import encode
from shoal.tables._table import Table

#: Columns with more values than this are left as they are: labels that list them are no help to readers.
_MOST_VALUES = 60
#: Values of other columns that are told apart; those of longer columns at a coarser level.
_TOLD_APART = 100
#: Members that the label of a group lists.
_LISTED = 8

Labelled = tuple[tuple[str, tuple[str, ...]], ...]
Merged = list[list[int]]


@dataclass(frozen=True)
class FoundHierarchies:
    """What `find_hierarchies` returns.

    Parameters
    ----------
    schema
        The schema with the hierarchies that were found.
    columns
        The columns that got one.
    undeclared
        Columns without a hierarchy whose values the schema does not list: they are left as they are, as the groups
        would name every value that occurs.
    """

    schema: Schema
    columns: tuple[str, ...]
    undeclared: tuple[str, ...]


def find_hierarchies(table: Table) -> FoundHierarchies:
    """Give every quasi-identifier of names that has no hierarchy one that is found in the data.

    The groups depend on the records, so differential privacy refuses them; they stand in the schema, and so in the
    plan of a release, where verification reads them.

    Parameters
    ----------
    table
        The table that will be released, with its schema.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> rows = pyarrow.table({"job": ["a", "b", "c", "d"] * 3, "pay": ["low", "low", "high", "high"] * 3})
    >>> columns = [
    ...     shoal.Attribute(name="job", role="quasi-identifier", domain=shoal.Domain(values=("a", "c", "b", "d"))),
    ...     shoal.Attribute(name="pay", role="quasi-identifier", domain=shoal.Domain(values=("low", "high"))),
    ... ]
    >>> found = find_hierarchies(shoal.read(rows, schema=shoal.Schema(attributes=columns)))
    >>> found.schema["job"].hierarchy.levels[0]
    (('{a, b}', ('a', 'b')), ('{c, d}', ('c', 'd')))
    """
    schema = table.schema
    if schema is None:
        raise ParameterError("hierarchies are found for tables with a schema")
    without = [each for each in schema if _lacks_hierarchy(each)]
    found = [each for each in without if 2 < len(_values(each)) <= _MOST_VALUES]
    undeclared = tuple(each.name for each in without if not _values(each))
    if not found:
        return FoundHierarchies(schema, (), undeclared)
    frequencies = encode(table).frequencies
    rules = {each.name: FoundGroups(levels=_levels(each, frequencies)) for each in found}
    attributes = [replace(each, hierarchy=rules.get(each.name, each.hierarchy)) for each in schema]
    return FoundHierarchies(replace(schema, attributes=tuple(attributes)), tuple(rules), undeclared)


def _lacks_hierarchy(attribute: Attribute) -> bool:
    named = attribute.kind in (Kind.CATEGORICAL, Kind.ORDINAL)
    return attribute.role == "quasi-identifier" and named and attribute.hierarchy is None


def _values(attribute: Attribute) -> tuple[str, ...]:
    domain = attribute.domain
    return () if domain is None or domain.values is None else domain.values


def _levels(attribute: Attribute, frequencies: Frequencies) -> tuple[Labelled, ...]:
    """Return the groups of every level, finest first, as pairs of a label and the labels of the level below."""
    values = _values(attribute)
    names = [hierarchy.attribute for hierarchy in frequencies.hierarchies]
    leaves = frequencies.hierarchies[names.index(attribute.name)].labels[0]
    order = [leaves.index(value) for value in values]
    profiles = [each[order] for each in _profiles(names.index(attribute.name), frequencies)]
    labels = [[str(value) for value in values]]
    levels: list[Labelled] = []
    groups: Merged = [[place] for place in range(len(values))]
    while len(groups) > 2:
        wanted = (len(groups) + 1) // 2
        merged = _merge(groups, profiles, wanted, ordered=attribute.kind is Kind.ORDINAL)
        below = {place: label for group, label in zip(groups, labels[-1], strict=True) for place in group}
        labels.append([_label([values[place] for place in group]) for group in merged])
        members = [tuple(dict.fromkeys(below[place] for place in group)) for group in merged]
        levels.append((*zip(labels[-1], members, strict=True),))
        groups = merged
    return tuple(levels)


def _label(members: Sequence[str]) -> str:
    """Return a value, or the set of several; of large sets the first ones and the number of the others."""
    if len(members) == 1:
        return members[0]
    listed = members if len(members) <= _LISTED else [*members[: _LISTED - 2], f"{len(members) - _LISTED + 2} more"]
    return "{" + ", ".join(listed) + "}"


def _profiles(column: int, frequencies: Frequencies) -> list[Floats]:
    """Return the records of every value of a column by the values of each other column, missing ones included."""
    profiles = []
    for other, hierarchy in enumerate(frequencies.hierarchies):
        if other == column:
            continue
        level = next((j for j, codes in enumerate(hierarchy.codes) if codes.max(initial=0) < _TOLD_APART), -1)
        size, codes = frequencies.hierarchies[column].size, hierarchy.codes[level]
        counts = np.zeros((size, int(codes.max(initial=0)) + 1))
        np.add.at(counts, (frequencies.codes[:, column], codes[frequencies.codes[:, other]]), frequencies.counts)
        profiles.append(counts)
    return profiles


def _merge(groups: Merged, profiles: Sequence[Floats], wanted: int, *, ordered: bool) -> Merged:
    """Merge the two groups that cost least until there are as many as wanted."""
    groups = [[*group] for group in groups]
    tables = [np.array([profile[group].sum(axis=0) for group in groups]) for profile in profiles]
    while len(groups) > wanted:
        costs = _costs(tables)
        if ordered:
            costs[np.abs(np.subtract.outer(np.arange(len(groups)), np.arange(len(groups)))) != 1] = np.inf
        first, second = sorted(np.unravel_index(np.argmin(costs), costs.shape))
        groups[first] = sorted(groups[first] + groups.pop(second))
        for j, counts in enumerate(tables):
            counts[first] += counts[second]
            tables[j] = np.delete(counts, second, axis=0)
    return groups


def _costs(tables: Sequence[Floats]) -> Floats:
    """Return what merging every pair of groups costs; a group is not merged with itself."""
    number = len(tables[0])
    costs = np.zeros((number, number))
    for counts in tables:
        own = _unknown(counts)
        both = _unknown(counts[:, None, :] + counts[None, :, :])
        costs += both - own[:, None] - own[None, :]
    np.fill_diagonal(costs, np.inf)
    return costs


def _unknown(counts: Floats) -> npt.NDArray[np.float64]:
    """Return the entropies along the last axis, times the records."""
    total = counts.sum(axis=-1)
    return np.asarray(_times_log(total) - _times_log(counts).sum(axis=-1))


def _times_log(counts: Floats) -> Floats:
    return np.asarray(counts * np.log(np.maximum(counts, 1e-300)))
