"""How much of their domain released values cover."""

from __future__ import annotations

import numpy as np

from shoal.risk import Pair

__all__ = ["coverage"]


def coverage(pair: Pair) -> float | None:
    """Return the mean share of the leaves that a released quasi-identifier covers, in [0, 1].

    0 is exact, 1 is ``*``, and a record that was left out counts 1. None where values were perturbed: noise and means
    cover nothing, and are not exact. Cost: O(records * columns).

    Examples
    --------
    >>> import pyarrow, shoal
    >>> town = shoal.Attribute(name="town", role="quasi-identifier")
    >>> people = pyarrow.table({"town": ["a", "b", "c", "c"]})
    >>> table = shoal.read(people).with_schema(shoal.Schema(attributes=(town,)))
    >>> coverage(Pair.of(table, shoal.read(pyarrow.table({"town": ["*", "b", "c"]}))))
    0.5
    """
    columns = list(pair.quasi_identifiers)
    if any(pair.axes[column].perturbed for column in columns):
        return None
    others = np.maximum([pair.axes[column].leaves - 1 for column in columns], 1)
    widths = (pair.released.high[:, columns] - pair.released.low[:, columns]) / others
    records = max(pair.original.records, pair.released.records)
    covered = float((widths.mean(axis=1) * pair.released.counts).sum()) if len(widths) else 0.0
    return (covered + records - pair.released.records) / records
