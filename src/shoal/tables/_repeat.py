"""A few distinct rows with counts, as the many records they stand for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.tables._engine import quiet
from shoal.tables._table import Table

__all__ = ["repeat"]

_ORDER, _COPIES, _COPY = "__shoal_order__", "__shoal_copies__", "__shoal_copy__"


def repeat(table: Table, rows: pa.Table, counts: npt.NDArray[np.int64]) -> Table:
    """Return a table, on the engine of ``table``, that holds every one of ``rows`` so many times, in their order.

    Lazy: records are made while they are written, so memory does not grow with the counts.

    Examples
    --------
    >>> import shoal
    >>> on = shoal.read(pa.table({"any": [1]}))
    >>> repeat(on, pa.table({"town": ["Ulm", None]}), np.array([2, 1])).to_arrow()["town"].to_pylist()
    ['Ulm', 'Ulm', None]
    """
    import ibis

    numbered = rows.append_column(_ORDER, pa.array(np.arange(len(rows), dtype=np.int64)))
    with quiet(table.source.name):
        staged = table.engine.stage(numbered.append_column(_COPIES, pa.array(counts, pa.int64())))
        copies = staged.mutate(**{_COPY: ibis.range(0, staged[_COPIES]).unnest()})
        expression = copies.order_by(_ORDER).select(*rows.column_names)
    return replace(table, expression=expression, schema=None, left_out=0)
