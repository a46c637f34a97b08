"""At most so many records of every person, drawn by a secret key, on the engine."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from shoal.errors import ParameterError
from shoal.tables._engine import OURS, ROW, key, quiet
from shoal.tables._keyed import check_sampling_key, hexadecimal
from shoal.tables._table import Table, numbered

__all__ = ["at_most"]

_SECRET, _RANK = f"{OURS}secret__", f"{OURS}rank__"


def at_most(table: Table, person: str, records: int, secret: bytes) -> Table:
    """Keep at most ``records`` records of every person, drawn at random among that person's own.

    Guarantee
    ---------
    A person's records are put in the order of ``SHA-256(secret || number of the record)`` and the first ``records`` are
    kept. All orders are equally likely, and what is kept of one person does not depend on who else is in the table:
    adding or removing a person changes at most ``records`` of what is kept.

    Assumptions
    -----------
    As for :func:`bernoulli`: SHA-256 with a secret prefix is a pseudorandom function, ``secret`` is fresh, used for one
    sample and then forgotten. The key of a person is the same in all of that person's records.

    Parameters
    ----------
    person
        The column that says whose record it is. Records without a value, which a schema refuses for such a column,
        count as those of one person.
    records
        At least 1.
    secret
        32 secret bytes.

    Notes
    -----
    Lazy: one window over the table, on the engine; a second look sees the same records.
    """
    if isinstance(records, bool) or not isinstance(records, int) or records < 1:
        raise ParameterError(f"`records` of `at_most` must be an integer of at least 1; got {records!r}.")
    check_sampling_key(secret, "at_most")
    table = numbered(table)
    import ibis

    with quiet(table.source.name):
        # a column, not a part of the query: queries end up in plans and logs
        drawn = table.expression.cross_join(table.engine.stage(pa.table({_SECRET: [secret.hex()]})))
        digest = table.engine.sha256(drawn[_SECRET] + hexadecimal(drawn[ROW].cast("string")))
        whose = ibis.window(group_by=key(drawn[person]), order_by=digest)
        ranked = drawn.mutate(**{_RANK: ibis.row_number().over(whose)})
        kept = ranked.filter(ranked[_RANK] < records)
        return replace(table, expression=kept.select(*table.expression.columns))
