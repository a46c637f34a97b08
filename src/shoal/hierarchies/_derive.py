"""Columns that follow from others by public rules, computed from the values of those others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.hierarchies._build import build
from shoal.hierarchies._hierarchy import leaf_codes
from shoal.schema import Attribute, Derived, Kind, Schema
from shoal.schema.rules import days, numbers, text


def derive_columns(schema: Schema, columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return the derived columns of a schema whose sources are there, in the types of their kinds.

    Raises
    ------
    InputError
        If a rule says nothing about some value; the message tells how many values, not which.

    Examples
    --------
    >>> from shoal.schema import Derived, Role
    >>> grown = Derived(source="age", cuts=(18,), labels=("minor", "adult"))
    >>> age = Attribute(name="age", role="quasi-identifier", kind="numeric")
    >>> schema = Schema(attributes=(age, Attribute(name="group", role="drop", derived=grown)))
    >>> derive_columns(schema, {"age": pa.array([4, 40, None])})["group"].to_pylist()
    ['minor', 'adult', None]
    """
    computed: dict[str, pa.Array] = {}
    waiting = [attribute for attribute in schema if attribute.derived is not None]
    while waiting:
        known = {**columns, **computed}
        ready = [each for each in waiting if each.derived is not None and each.derived.source in known]
        if not ready:
            break
        for attribute in ready:
            assert attribute.derived is not None  # noqa: S101
            source = schema[attribute.derived.source]
            derived, possible = _derive_values(attribute.derived, source, known[source.name], schema)
            computed[attribute.name] = _convert_type(derived, attribute, possible)
        waiting = [each for each in waiting if each.name not in computed]
    return computed


def _derive_values(
    rule: Derived, source: Attribute, values: pa.Array, schema: Schema
) -> tuple[pa.StringArray, pa.StringArray]:
    """Return the derived value of every value, as text, and all values that the rule can give."""
    if rule.cuts is not None:
        assert rule.labels is not None  # noqa: S101
        absent = pc.is_null(values).to_numpy(zero_copy_only=False)
        positions = np.zeros(len(values), dtype=np.int64)
        positions[~absent] = np.searchsorted(rule.cuts, numbers(values.drop_null(), source.name), side="right")
        labels = pa.array(rule.labels, pa.string())
        return labels.take(pa.array(positions, mask=absent)), labels
    different = values.unique()
    if rule.level is not None:
        hierarchy = build(source, different.drop_null(), folder=schema.folder, missing=bool(different.null_count))
        level = min(rule.level, hierarchy.height)
        leaves = leaf_codes(hierarchy, different)
        labels = pa.array(hierarchy.labels[level], pa.string())
        derived = labels.take(pa.array(hierarchy.generalize(np.maximum(leaves, 0), level)))
        known = pa.array(leaves >= 0)
    else:
        pairs = dict(rule.values or ())
        position = pc.index_in(text(different), value_set=pa.array([*pairs], pa.string()), skip_nulls=True)
        labels = pa.array([*pairs.values()], pa.string())
        derived = labels.take(position)
        known = pc.is_valid(position)
    absent_too = pc.is_null(different)
    lost = int(pc.sum(pc.invert(pc.or_(known, absent_too))).as_py() or 0)
    if lost:
        raise InputError(
            f"column `{source.name}`: the rule of a column that is derived from it says nothing about {lost:,} of its "
            f"{len(different):,} values",
            hint="list every value of the source in the rule",
        )
    derived = pc.if_else(absent_too, pa.scalar(None, pa.string()), derived)
    return derived.take(pc.index_in(values, value_set=different)), labels


def possible_values(attribute: Attribute, schema: Schema) -> tuple[str, ...] | None:
    """Return all values that the rule of a derived column can give, as text; None if the schema does not tell them."""
    rule = attribute.derived
    if rule is None:
        return None
    if rule.labels is not None:
        return tuple(dict.fromkeys(rule.labels))
    if rule.values is not None:
        return tuple(dict.fromkeys(derived for _, derived in rule.values))
    domain = schema[rule.source].domain
    if domain is None or domain.values is None:
        return None
    none = pa.array([], pa.string())
    _, possible = _derive_values(rule, schema[rule.source], none, schema)
    return tuple(dict.fromkeys(label for label in possible.to_pylist() if label is not None))


def _convert_type(derived: pa.StringArray, attribute: Attribute, possible: pa.StringArray) -> pa.Array:
    """Return derived values in the type of their kind; numbers are whole if all values of the rule are."""
    if attribute.kind is Kind.NUMERIC:
        absent = pc.is_null(derived).to_numpy(zero_copy_only=False)
        found = np.zeros(len(derived))
        found[~absent] = numbers(derived.drop_null(), attribute.name, "derived values")
        every = numbers(possible.drop_null(), attribute.name, "derived values")
        whole = bool(np.all(every == np.floor(every)))
        return pa.array(found.astype(np.int64) if whole else found, mask=absent)
    if attribute.kind is Kind.DATE:
        present = derived.drop_null()
        days(present, attribute.name, "derived values")
        return derived.cast(pa.date32())
    return derived
