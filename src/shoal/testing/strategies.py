"""Hypothesis strategies for schemas, hierarchies and small tables.

They cover what real data does to code: names and values in any script, missing values, no rows, one row, one value.

Examples
--------
>>> from hypothesis import given
>>> @given(described_tables())
... def a_table_has_the_columns_of_its_schema(described):
...     schema, table = described
...     assert tuple(table.column_names) == schema.names
>>> a_table_has_the_columns_of_its_schema()
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from shoal.hierarchies import Hierarchy, build
from shoal.schema import (
    DATE_LEVELS,
    Attribute,
    Cuts,
    Dates,
    Domain,
    Flat,
    FromFile,
    Groups,
    HierarchyRule,
    Intervals,
    Kind,
    Mask,
    Missing,
    Quantiles,
    Regions,
    Role,
    Schema,
    Taxonomy,
)

__all__ = [
    "attributes",
    "column_names",
    "columns",
    "described_tables",
    "hierarchies",
    "rules",
    "schemas",
    "tables",
    "words",
]

Draw = st.DrawFn

# letters whose capital is the capital of another letter: engines ignore case in names
_ONE_LETTER_IN_CAPITALS = "\N{LATIN SMALL LETTER DOTLESS I}\N{LATIN SMALL LETTER LONG S}"
_INNER = "\N{BLACK UP-POINTING TRIANGLE}"
_LARGEST = 10**6
_FIRST_DAY, _LAST_DAY = dt.date(1890, 1, 1), dt.date(2090, 12, 31)


# made once: taking the characters of a category out of Unicode is slow
@functools.cache
def words(*, max_size: int = 6) -> st.SearchStrategy[str]:
    """Return values of text columns: any script, blanks and symbols, no control characters or surrogates."""
    exotic = st.text(
        st.characters(exclude_categories=("C", "Z"), exclude_characters="*" + _INNER), min_size=1, max_size=max_size
    )
    return st.one_of(st.text("abc01 -_", min_size=1, max_size=max_size).filter(str.strip), exotic)


@functools.cache
def column_names() -> st.SearchStrategy[str]:
    """Return names that every engine can tell apart from others, in any script."""
    letters = st.characters(categories=("Ll", "Lo", "Nd"), exclude_characters=_ONE_LETTER_IN_CAPITALS)
    return st.text(letters, min_size=1, max_size=8)


# -- rules -----------------------------------------------------------------------------------------------------------


@st.composite
def rules(draw: Draw, kind: Kind, *, leaves: Sequence[str] | None = None, files: bool = False) -> HierarchyRule:
    """Return a rule that fits a column of a kind.

    Parameters
    ----------
    leaves
        The values that a rule of named values must hold; drawn where they are not given.
    files
        Whether rules may name files, which do not exist.
    """
    choices: list[st.SearchStrategy[Any]] = [st.just(Flat())]
    if kind is Kind.NUMERIC:
        choices += [_intervals(), _cuts(), _quantiles()]
    elif kind is Kind.DATE:
        choices += [st.lists(st.sampled_from(DATE_LEVELS), min_size=1, unique=True).map(_dates)]
    else:
        named = st.lists(words(), min_size=1, max_size=8, unique=True) if leaves is None else st.just(list(leaves))
        choices += [_mask(leaves), st.just(Regions()), named.flatmap(_groups), named.flatmap(_taxonomy)]
    if files:
        path, delimiter = words(max_size=20), st.sampled_from(";,\t|")
        choices += [st.builds(FromFile, path=path, delimiter=delimiter)]
        if kind in (Kind.CATEGORICAL, Kind.ORDINAL):
            choices += [st.builds(Taxonomy, path=path, delimiter=delimiter)]
    return draw(st.one_of(choices))  # type: ignore[no-any-return]


@st.composite
def _intervals(draw: Draw) -> Intervals:
    first = draw(st.sampled_from([0.1, 0.25, 0.3, 1, 2, 5, 7.5, 100]))
    factors = draw(st.lists(st.integers(2, 5), max_size=3))
    widths = itertools.accumulate([first, *factors], lambda width, factor: round(width * factor, 6))
    return Intervals(widths=tuple(widths), origin=draw(st.sampled_from([0, 1, -3, 0.5, 1900])))


@st.composite
def _cuts(draw: Draw) -> Cuts:
    points = draw(st.lists(_numbers(), min_size=1, max_size=8, unique=True))
    levels = [tuple(sorted(points))]
    while len(levels[-1]) > 1 and draw(st.booleans()):
        kept = draw(st.sets(st.sampled_from(levels[-1]), min_size=1, max_size=len(levels[-1]) - 1))
        levels.append(tuple(sorted(kept)))
    return Cuts(levels=tuple(levels))


@st.composite
def _quantiles(draw: Draw) -> Quantiles:
    factors = draw(st.lists(st.integers(2, 4), max_size=2))
    return Quantiles(counts=tuple(itertools.accumulate([draw(st.integers(2, 4)), *factors], int.__mul__))[::-1])


@st.composite
def _mask(draw: Draw, leaves: Sequence[str] | None) -> Mask:
    length = max((len(leaf) for leaf in leaves or ()), default=draw(st.integers(2, 6)))
    length = max(length, 2)
    hidden = draw(st.sets(st.integers(1, length - 1), min_size=1, max_size=3))
    side, symbol = draw(st.sampled_from(["left", "right"])), draw(st.sampled_from("*#x"))
    return Mask(length=length, masked=tuple(sorted(hidden)), side=side, symbol=symbol)


def _dates(levels: list[str]) -> Dates:
    return Dates(levels=tuple(sorted(levels, key=DATE_LEVELS.index)))


@st.composite
def _groups(draw: Draw, leaves: list[str]) -> Groups:
    levels, members = [], list(leaves)
    for _ in range(draw(st.integers(1, 3))):
        labels = draw(st.lists(words(), min_size=1, max_size=len(members), unique=True))
        # every group holds at least one member: the first ones go round, the others go anywhere
        owner = [*range(len(labels)), *(draw(st.integers(0, len(labels) - 1)) for _ in members[len(labels) :])]
        groups = [tuple(m for m, o in zip(members, owner, strict=True) if o == group) for group in range(len(labels))]
        levels.append(tuple(zip(labels, groups, strict=True)))
        members = labels
    return Groups(levels=tuple(levels))


@st.composite
def _taxonomy(draw: Draw, leaves: list[str]) -> Taxonomy:
    inner = draw(st.lists(words(), min_size=1, max_size=5, unique=True).map(lambda names: [n + _INNER for n in names]))
    pairs = [
        (leaf, inner[position % len(inner)] if position < len(inner) else draw(st.sampled_from(inner)))
        for position, leaf in enumerate(leaves)
    ]
    used = [name for name in inner if any(parent == name for _, parent in pairs)]
    for position, name in enumerate(used[1:], start=1):
        if draw(st.booleans()):
            pairs.append((name, used[draw(st.integers(0, position - 1))]))
    return Taxonomy(pairs=tuple(pairs))


# -- attributes and schemas ------------------------------------------------------------------------------------------


@st.composite
def attributes(
    draw: Draw,
    *,
    names: st.SearchStrategy[str] | None = None,
    roles: Sequence[Role] = tuple(Role),
    kinds: Sequence[Kind] = tuple(Kind),
    files: bool = False,
) -> Attribute:
    """Return the description of a column, with or without a declared domain and a hierarchy."""
    kind = draw(st.sampled_from(list(kinds)))
    role = draw(st.sampled_from([role for role in roles if role is not Role.WEIGHT or kind is Kind.NUMERIC]))
    if role is Role.WEIGHT:
        domain = draw(st.sampled_from([None, Domain(minimum=0.5, maximum=1000)]))
        name = draw(column_names() if names is None else names)
        return Attribute(name=name, role=role, kind=Kind.NUMERIC, domain=domain)
    domain, leaves = _domain(draw, kind)
    rule = draw(st.none() | rules(kind, leaves=leaves, files=files))
    return Attribute(
        name=draw(column_names() if names is None else names),
        role=role,
        kind=kind,
        domain=domain,
        missing=draw(st.sampled_from([Missing.CATEGORY, Missing.CATEGORY, Missing.DROP])),
        weight=draw(st.sampled_from([1.0, 1.0, 0.0, 0.5, 3.25])),
        hierarchy=rule,
        pseudonym=role.names_someone and not role.left_out and draw(st.booleans()),
    )


def _domain(draw: Draw, kind: Kind) -> tuple[Domain | None, list[str] | None]:
    if kind is Kind.ORDINAL or (kind is Kind.CATEGORICAL and draw(st.booleans())):
        leaves = draw(st.lists(words(), min_size=1, max_size=8, unique=True))
        return Domain(values=tuple(leaves)), leaves
    if kind is Kind.CATEGORICAL or draw(st.booleans()):
        return None, None
    bounds: st.SearchStrategy[Any] = _days() if kind is Kind.DATE else _numbers()
    low, high = sorted([draw(bounds), draw(bounds)])
    return Domain(minimum=low, maximum=high), None


@st.composite
def schemas(
    draw: Draw,
    *,
    min_columns: int = 1,
    max_columns: int = 5,
    names: st.SearchStrategy[str] | None = None,
    roles: Sequence[Role] = tuple(Role),
    kinds: Sequence[Kind] = tuple(Kind),
    files: bool = False,
) -> Schema:
    """Return a schema of columns with different names; at most one each is the person, the household, the weight."""
    schema = draw(
        st.lists(
            attributes(names=names, roles=roles, kinds=kinds, files=files),
            min_size=min_columns,
            max_size=max_columns,
            unique_by=lambda attribute: attribute.name.casefold(),
        )
    )
    return Schema(attributes=tuple(_one_each(schema)), guessed=draw(st.booleans()))


def _one_each(found: Sequence[Attribute]) -> Iterator[Attribute]:
    """Make identifiers of all persons, households and weights but the first of each."""
    seen: set[Role] = set()
    for attribute in found:
        again = attribute.role in (Role.PERSON, Role.HOUSEHOLD, Role.WEIGHT) and attribute.role in seen
        seen.add(attribute.role)
        yield dataclasses.replace(attribute, role=Role.IDENTIFIER) if again else attribute


# -- data ------------------------------------------------------------------------------------------------------------


@st.composite
def columns(
    draw: Draw, attribute: Attribute, *, min_rows: int = 0, max_rows: int = 30, missing: bool = True
) -> pa.Array:
    """Return values that fit an attribute: in its domain and hierarchy, in one of the types that engines use."""
    values, kind = _values(draw, attribute)
    cells = st.none() | values if missing else values
    return pa.array(draw(st.lists(cells, min_size=min_rows, max_size=max_rows)), kind)


def _values(draw: Draw, attribute: Attribute) -> tuple[st.SearchStrategy[Any], pa.DataType]:
    domain = attribute.domain
    bounds: tuple[Any, Any] = (None, None) if domain is None else (domain.minimum, domain.maximum)
    if attribute.kind is Kind.DATE:
        return _days(*(bounds if domain is not None else (_FIRST_DAY, _LAST_DAY))), pa.date32()
    if attribute.kind is Kind.NUMERIC:
        lowest = 0.25 if attribute.role is Role.WEIGHT else -_LARGEST
        low, high = (lowest, _LARGEST) if domain is None else bounds
        whole = math.ceil(low) <= math.floor(high) and draw(st.booleans())
        if whole:
            return st.integers(math.ceil(low), math.floor(high)), pa.int64()
        return st.floats(float(low), float(high), allow_nan=False), pa.float64()
    leaves = _leaves(attribute)
    return (words() if leaves is None else st.sampled_from(leaves)), pa.string()


def _leaves(attribute: Attribute) -> list[str] | None:
    rule, domain = attribute.hierarchy, attribute.domain
    if domain is not None and domain.values is not None:
        return list(domain.values)
    if isinstance(rule, Groups):
        return [member for _, members in rule.levels[0] for member in members]
    if isinstance(rule, Taxonomy):
        parents = {parent for _, parent in rule.pairs}
        return [child for child, _ in rule.pairs if child not in parents]
    if isinstance(rule, Mask):
        return [str(number)[: rule.length] for number in range(0, 10**rule.length, max(1, 10**rule.length // 97))]
    return None


@st.composite
def tables(draw: Draw, schema: Schema, *, min_rows: int = 0, max_rows: int = 30) -> pa.Table:
    """Return a table that fits a schema: no missing values where they are refused, no person in two households."""
    rows = draw(st.integers(min_rows, max_rows))
    found = [
        draw(columns(attribute, min_rows=rows, max_rows=rows, missing=attribute.missing is not Missing.REFUSE))
        for attribute in schema
    ]
    table = pa.table(found, names=list(schema.names))
    if schema.person is None or schema.household is None:
        return table
    homes: dict[Any, Any] = {}
    pairs = zip(table[schema.person].to_pylist(), table[schema.household].to_pylist(), strict=True)
    moved = pa.array(
        [homes.setdefault(person, home) for person, home in pairs], table.schema.field(schema.household).type
    )
    return table.set_column(table.column_names.index(schema.household), schema.household, moved)


@st.composite
def described_tables(
    draw: Draw, /, *, min_rows: int = 0, max_rows: int = 30, **options: Any
) -> tuple[Schema, pa.Table]:
    """Return a schema and a table that fits it; further options are those of :func:`schemas`."""
    schema = draw(schemas(**options))
    return schema, draw(tables(schema, min_rows=min_rows, max_rows=max_rows))


@st.composite
def hierarchies(draw: Draw, *, kinds: Sequence[Kind] = tuple(Kind), max_values: int = 30) -> Hierarchy:
    """Return a hierarchy made for the values of some column, with or without a leaf for the missing value."""
    attribute = draw(attributes(kinds=kinds))
    values = draw(columns(attribute, max_rows=max_values, missing=False)).unique()
    return build(attribute, values, missing=draw(st.booleans()))


@functools.cache
def _numbers() -> st.SearchStrategy[float]:
    return st.one_of(
        st.integers(-1000, 1000), st.integers(-4000, 4000).map(lambda n: n / 4), st.floats(-1e6, 1e6, allow_nan=False)
    )


def _days(first: dt.date = _FIRST_DAY, last: dt.date = _LAST_DAY) -> st.SearchStrategy[dt.date]:
    return st.dates(first, last)
