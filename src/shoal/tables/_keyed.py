"""Pseudonyms and samples decided by a secret key, as engine expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa

from shoal.errors import ParameterError
from shoal.exact import fraction
from shoal.tables._engine import OURS, ROW, Engine, key, name_values, quiet, text_of
from shoal.tables._expressions import Value, function, row_number
from shoal.tables._relations import TableQuery
from shoal.tables._table import Table, number_records
from shoal.tables._types import STRING

_BLOCK = 64  # bytes in a block of SHA-256
_KEY = 32  # bytes of a sampling key
_DIGITS = 16  # hexadecimal digits of 64 bits
#: names that no column of a table has: a column taken for one of these would stand in the place of the secret
_INNER, _OUTER, _SECRET = f"{OURS}inner_pad__", f"{OURS}outer_pad__", f"{OURS}secret__"
_RANK = f"{OURS}rank__"


def pseudonyms(table: Table, records: TableQuery, chosen: list[str], key: bytes | None) -> TableQuery:
    """Return the records with a keyed digest in place of each identifier among the chosen columns."""
    assert table.schema is not None  # noqa: S101 - encode asks for it
    names = [name for name in chosen if name in table.schema and table.schema[name].role.names_someone]
    if not names or key is None:
        return records
    records = records.cross_join(table.engine.stage(hmac_pads(key)))
    digests = {name: keyed_digest(table.engine, text_of(records[name]), records) for name in names}
    return records.mutate(*name_values(digests))


def keyed_digest(engine: Engine, text: Value, pads: TableQuery) -> Value:
    """Return HMAC-SHA256 of the UTF-8 bytes of ``text`` in hexadecimal; null stays null.

    RFC 2104: ``H(K xor opad, H(K xor ipad, text))``. ``pads`` is the table of :func:`hmac_pads`, cross-joined with the
    table that ``text`` comes from: a key inside the query would show in query plans and event logs.
    """
    inner = engine.sha256(pads[_INNER] + hexadecimal(text))
    return engine.sha256(pads[_OUTER] + inner)


def hmac_pads(key: bytes) -> pa.Table:
    """Return a table of one row with the two padded keys of HMAC-SHA256, in hexadecimal."""
    import hashlib

    block = (hashlib.sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in block).hex() for pad in (0x36, 0x5C))
    return pa.table({_INNER: [inner], _OUTER: [outer]})


def hexadecimal(text: Value) -> Value:
    """Return the UTF-8 bytes of ``text`` in hexadecimal, which is how engines hash them."""
    return function("hex", STRING, text)


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
    :func:`~shoal.tables.number_records`): the table may be counted first and released later, and both see the
    same sample.
    The numbers are those of the records' places in the source, so the same key keeps other people if the source is
    put into another order; this is why a key must not be used twice.
    """
    if not 0 <= probability <= 1:
        raise ParameterError(f"`probability` of `bernoulli` must be in [0, 1]; got {probability}.")
    check_sampling_key(key, "bernoulli")
    table = number_records(table)
    threshold = sampling_threshold(probability)
    if threshold == 1 << 64:
        return table
    with quiet(table.source.name):
        records, digest = _digests(table, key)
        # hexadecimal digits of equal length compare as the numbers do
        kept = records.filter(digest.substr(0, _DIGITS) < f"{threshold:0{_DIGITS}x}")
        return replace(table, expression=kept.select(*table.expression.columns))


def _digests(table: Table, secret: bytes) -> tuple[TableQuery, Value]:
    """Return the records of a numbered table beside a secret, and the digest of both for every record."""
    # a column, not a part of the query: queries end up in plans and logs
    records = table.expression.cross_join(table.engine.stage(pa.table({_SECRET: [secret.hex()]})))
    return records, table.engine.sha256(records[_SECRET] + hexadecimal(records[ROW].cast("string")))


def check_sampling_key(key: bytes, owner: str) -> None:
    """Refuse a key that is not as long as the keys of samples are."""
    if len(key) != _KEY:
        raise ParameterError(f"`key` of `{owner}` must have {_KEY} bytes; got {len(key)}.")


def sampling_threshold(probability: float | Fraction) -> int:
    """Return ``floor(probability * 2^64)``, computed exactly.

    Examples
    --------
    >>> sampling_threshold(0.5) == 2**63
    True
    """
    return int(fraction(probability) * (1 << 64))


def check_identifiers(table: Table, names: Sequence[str], key: bytes | None) -> None:
    """Refuse to release identifiers in any other way than as pseudonyms."""
    schema = table.schema
    assert schema is not None  # noqa: S101 - records are encoded by it
    plain = [name for name in names if name in schema.identifiers and (key is None or not schema[name].pseudonym)]
    if plain:
        raise ParameterError(f"column `{plain[0]}` is an identifier and is never released as it is")


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
    sample and then forgotten. The column ``person`` is the same in all records of a person; records without a value,
    which a schema refuses for such a column, count as those of one person.

    Notes
    -----
    Lazy: one window over the table, on the engine; a second look sees the same records.
    """
    if isinstance(records, bool) or not isinstance(records, int) or records < 1:
        raise ParameterError(f"`records` of `at_most` must be an integer of at least 1; got {records!r}.")
    check_sampling_key(secret, "at_most")
    table = number_records(table)
    with quiet(table.source.name):
        drawn, digest = _digests(table, secret)
        position = row_number().over(group_by=key(drawn[person]), order_by=digest)
        ranked = drawn.mutate(**{_RANK: position})
        kept = ranked.filter(ranked[_RANK] < records)
        return replace(table, expression=kept.select(*table.expression.columns))
