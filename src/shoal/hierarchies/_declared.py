"""What a schema says of a column without its data: bounds, levels, and the full list of values.

Bounds are enough for noise; a mechanism that draws values must know all of them, for a value that occurs is itself a
fact about somebody.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal.errors import HierarchyError
from shoal.hierarchies._build import build
from shoal.schema import Attribute, Kind

__all__ = ["declared_leaves", "leaves_declared"]


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
    return _listed(attribute) or _days(attribute) is not None


def declared_leaves(attribute: Attribute, *, folder: Path = Path()) -> tuple[str, ...]:
    """Return all values that a column may hold, as text, in the order of its hierarchy; the data is not needed.

    Parameters
    ----------
    attribute
        What the schema says of the column.
    folder
        Where relative paths of hierarchy files start.

    Returns
    -------
    tuple of str
        The texts that :func:`shoal.hierarchies.text` writes for the values of a table with this schema: numbers in
        their canonical form, days as 2024-12-31. The missing value is not among them.

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
    days = _days(attribute)
    if not _listed(attribute) and days is None:
        raise HierarchyError(
            f"column `{attribute.name}`: the schema does not declare all its values",
            hint="list its `values`, give it a hierarchy that lists them, or declare both bounds of a date column",
        )
    types = {Kind.NUMERIC: pa.float64(), Kind.DATE: pa.date32()}
    observed = pa.array([], types.get(attribute.kind, pa.string())) if days is None or _listed(attribute) else days
    return tuple(leaf for leaf in build(attribute, observed, folder=folder).labels[0] if leaf is not None)


def _listed(attribute: Attribute) -> bool:
    by_rule = attribute.hierarchy is not None and attribute.hierarchy.lists_values
    return by_rule or (attribute.domain is not None and attribute.domain.values is not None)


def _days(attribute: Attribute) -> pa.Array | None:
    """Return all days between the bounds of a date column, None where it has not both."""
    low, high = (None, None) if attribute.domain is None else (attribute.domain.minimum, attribute.domain.maximum)
    if not (isinstance(low, dt.date) and isinstance(high, dt.date)):
        return None
    first, last = np.datetime64(low, "D"), np.datetime64(high, "D")
    return pa.array(np.arange(first, last + 1), pa.date32())
