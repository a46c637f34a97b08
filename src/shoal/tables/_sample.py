"""Bernoulli sampling as an engine expression."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pyarrow as pa

from shoal.errors import ParameterError
from shoal.tables._digest import hexadecimal
from shoal.tables._engine import ROW, quiet
from shoal.tables._table import Table, numbered

__all__ = ["bernoulli", "sampling_threshold"]

_KEY = 32  # bytes
_DIGITS = 16  # hexadecimal digits of 64 bits


def bernoulli(table: Table, probability: float | Fraction, key: bytes) -> Table:
    """Keep each record with the same probability, independently of all others.

    Guarantee
    ---------
    A record is kept when the first 64 bits of ``SHA-256(key || number of the record)`` are below
    ``floor(probability * 2^64)``: with probability ``floor(probability * 2^64) / 2^64`` exactly, never more than was
    asked for (see :func:`sampling_threshold`).

    Assumptions
    -----------
    SHA-256 with a secret prefix is a pseudorandom function; ``key`` is fresh from ``os.urandom``, used for one sample
    and then forgotten. Records have distinct numbers that do not change between two looks at the table (see
    :func:`~shoal.tables.numbered`): the table may be counted first and released later, and both see the same sample.
    The numbers are those of the records' places in the source, so the same key keeps other people if the source is
    put into another order; this is why a key must not be used twice.

    Parameters
    ----------
    probability
        In [0, 1].
    key
        32 secret bytes.
    """
    if not 0 <= probability <= 1:
        raise ParameterError(f"`probability` of `bernoulli` must be in [0, 1]; got {probability}.")
    if len(key) != _KEY:
        raise ParameterError(f"`key` of `bernoulli` must have {_KEY} bytes; got {len(key)}.")
    table = numbered(table)
    threshold = sampling_threshold(probability)
    if threshold == 1 << 64:
        return table
    with quiet(table.source.name):
        # a column, not a part of the query: queries end up in plans and logs
        records = table.expression.cross_join(table.engine.stage(pa.table({"sampling_key": [key.hex()]})))
        drawn = table.engine.sha256(records.sampling_key + hexadecimal(records[ROW].cast("string"))).substr(0, _DIGITS)
        # hexadecimal digits of equal length compare as the numbers do
        kept = records.filter(drawn < f"{threshold:0{_DIGITS}x}")
        return replace(table, expression=kept.select(*table.expression.columns))


def sampling_threshold(probability: float | Fraction) -> int:
    """Return ``floor(probability * 2^64)``, computed exactly.

    Examples
    --------
    >>> sampling_threshold(0.5) == 2**63
    True
    """
    return int(Fraction(probability) * (1 << 64))
