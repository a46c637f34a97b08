"""SHA-256 and HMAC as engine expressions, on bytes written in hexadecimal."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from shoal.tables._engine import OURS, Engine

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["builtin", "hexadecimal", "hmac_pads", "keyed_digest"]

_BLOCK = 64  # bytes in a block of SHA-256
#: names that no column of a table has: a column taken for a pad would stand in the place of the secret
_INNER, _OUTER = f"{OURS}inner_pad__", f"{OURS}outer_pad__"


def keyed_digest(engine: Engine, text: ir.StringValue, pads: ir.Table) -> ir.StringValue:
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


def hexadecimal(text: ir.StringValue) -> ir.StringValue:
    """Return the UTF-8 bytes of ``text`` in hexadecimal."""
    return builtin("hex", ("string",), "string")(text)


@functools.cache
def builtin(name: str, arguments: tuple[str, ...], result: str) -> Any:
    """Return a function of the engine that Ibis has no word for."""
    import ibis

    def none() -> object:
        return None

    def one(first: object) -> object:
        return first

    def two(first: object, second: object) -> object:
        return first, second

    shape = {0: none, 1: one, 2: two}[len(arguments)]
    return ibis.udf.scalar.builtin(shape, name=name, signature=(arguments, result))
