"""Schemas as TOML files.

::

    shoal = 1                                  # version of the format; may be left out
    guessed = true                             # nobody has confirmed the roles yet; remove the line when you have

    [columns.age]                              # one table per column, in the order of the data's columns
    role = "quasi-identifier"                  # identifier, quasi-identifier, sensitive or insensitive
    kind = "numeric"                           # categorical (default), ordinal, numeric or date
    minimum = 0                                # bounds of a numeric or date column; dates as 2024-12-31
    maximum = 120
    missing = "category"                       # category (default), drop or refuse
    weight = 2                                 # how much analysts care; default 1
    hierarchy = { intervals = [5, 10, 20] }    # left out: value -> *

    [columns.pain]
    role = "sensitive"
    kind = "ordinal"
    values = ["none", "mild", "severe"]        # all values; of an ordinal column in ascending order

    [columns.record]
    role = "identifier"
    pseudonym = true                           # replaced by a keyed pseudonym instead of dropped

A hierarchy is a table with one rule, named by its key, and the rule's options:

================================================================  ====================================================
``{ intervals = [5, 10, 20], origin = 0 }``                        equal-width intervals
``{ cuts = [[18, 40, 65], [65]] }``                                intervals between cut points, finest level first
``{ quantiles = [16, 4] }``                                        intervals of about equally many records
``{ mask = [1, 2, 3], length = 5, side = "right", symbol = "*" }``  hide characters
``{ dates = ["month", "quarter", "year"] }``                       truncate days
``{ groups = [{ low = ["a", "b"], high = ["c"] }] }``              named groups, one table per level, finest first
``{ taxonomy = { flu = "infection", cold = "infection" } }``       a tree, as ``child = "parent"``
``{ taxonomy = "icd.csv", delimiter = ";" }``                      the same in a file of two columns
``{ file = "zip.csv", delimiter = ";" }``                          a table in ARX format
``{ flat = true }``                                                value -> ``*``, spelt out
================================================================  ====================================================

Paths start at the schema's folder.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from shoal.errors import OutputError, SchemaError
from shoal.schema._schema import Schema
from shoal.schema._write import write

__all__ = ["dumps", "from_document", "load", "loads", "save"]


def load(path: str | os.PathLike[str]) -> Schema:
    """Read a schema from a TOML file; relative paths in it start at the file's folder.

    Raises
    ------
    SchemaError
        With every problem of the file at once.
    """
    path = Path(path)
    subject = f"the schema `{path}`"
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise SchemaError(f"{subject} does not exist", hint="`shoal draft` writes one") from None
    except OSError as error:
        raise SchemaError(f"{subject} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{subject} is not UTF-8 text", hint="save it as UTF-8") from None
    return loads(text, path.parent, subject=subject)


def loads(text: str, folder: str | os.PathLike[str] = ".", *, subject: str = "the schema") -> Schema:
    r"""Read a schema from TOML text.

    Parameters
    ----------
    folder
        Where relative paths in it start.
    subject
        How messages call it.

    Examples
    --------
    >>> loads('[columns.sex]\nrole = "sensitive"\nkid = "numeric"')
    Traceback (most recent call last):
    shoal.errors.SchemaError: column `sex`: unknown key `kid` (did you mean `kind`?)
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"{subject} is not valid TOML: {error}") from None
    except RecursionError:
        raise SchemaError(f"{subject} is not valid TOML: too deeply nested") from None
    return from_document(document, folder)


def from_document(document: dict[str, Any], folder: str | os.PathLike[str] = ".") -> Schema:
    """Read a schema from a parsed TOML document, which other files may hold as a part."""
    from shoal.schema._document import read  # pydantic is loaded where a file is read

    return read(document, Path(folder))


def dumps(schema: Schema) -> str:
    """Write a schema as TOML text; :func:`loads` gives it back."""
    return write(schema)


def save(schema: Schema, path: str | os.PathLike[str]) -> None:
    """Write a schema to a TOML file. Paths in it stay as they are, so save it into ``schema.folder``."""
    try:
        Path(path).write_text(dumps(schema), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"the schema cannot be written to `{path}`: {error.strerror}") from None
