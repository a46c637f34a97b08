"""Names of columns that mean something to an engine, a library or to Shoal, and names that look like others."""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

#: words of DuckDB, Spark, PostgreSQL, SQLite, pandas, Arrow and Ibis
WORDS = [
    *("rowid", "_rowid_", "oid", "ctid", "xmin", "xmax", "cmin", "cmax"),
    *("tableoid", "file_row_number", "filename", "file_index", "_metadata", "__index_level_0__", "index", "level_0"),
    *("count", "count_star", "value", "values", "key", "select", "order", "group"),
    *("from", "where", "join", "table", "column", "all", "by", "self"),
    *("name", "null", "true", "false", "default", "user", "current_date", "now"),
    *("unnest", "left", "right", "using", "natural", "row_number", "over", "partition"),
    *("monotonically_increasing_id", "_c0", "col0", "col1", "struct", "array", "list", "map"),
    *("interval", "date", "time", "timestamp", "cast", "distinct", "limit", "offset"),
    *("exclude", "replace"),
]
#: what has a meaning inside names and texts of some language
SIGNS = [
    *(
        "*",
        '"',
        "`",
        ".",
        "'",
        "''",
        '""',
        "``",
        "\\",
        "\\N",
        "$1",
        "?",
        ":x",
        "%",
        "%s",
        "{",
        "{0}",
        "[",
        "]",
        "(",
        ")",
    ),
    *(
        "a.b",
        'a"b',
        "a`b",
        "a b",
        "a/b",
        "a,b",
        "a;b",
        "a\tb",
        "--",
        "/*",
        ";",
        "#a",
        "@a",
        "+x",
        "=1+1",
        "1",
        "-1",
        "1a",
    ),
    *(
        "nan",
        "Infinity",
        "year=2024",
        "a\x01b",
        "a\x7fb",
        "a\u200bb",
        "a\u202eb",
        "😀",
        "x" * 64,
        " a",
        "a ",
        "\u00a0x",
        "_",
    ),
]
ACCENTS = ["é", unicodedata.normalize("NFD", "é"), "e", "İ", "straße", "strasse", "Å", "\u212b"]
SPECIAL = (*WORDS, *SIGNS, *ACCENTS)
#: names that engines take for the same
TWINS = (("rowid", "ROWID"), ("é", "É"), ("s", "\u017f"), ("k", "\u212a"), ("i", "\u0131"), ("\u00b5", "\u03bc"))
#: names that show nothing
BLANK = ("", " ", "\t", "\x01", "\u00a0", "\u200b", "\ufeff", "\u2028")


def internal_names(source: Path) -> list[str]:
    """Return the names that the code in a folder gives to columns: names of arguments, and texts that are words."""
    found: set[str] = set()
    for path in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found |= set(_names_in(node))
    return sorted(name for name in found if name.isidentifier() and not name.startswith("__shoal_"))


def _names_in(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield from (each.arg for each in node.keywords if each.arg is not None)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        yield node.slice.value
    if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
        yield f"{node.values[0].value}0"
        yield f"{node.values[0].value}1"


def tables_of_names(names: Sequence[str], size: int) -> list[list[str]]:
    """Divide names into tables of at most so many columns, none of which an engine takes for another of its table."""
    tables: list[list[str]] = []
    for name in dict.fromkeys(names):
        fits = (one for one in tables if len(one) < size and name.casefold() not in map(str.casefold, one))
        table = next(fits, None)
        if table is None:
            tables.append(table := [])
        table.append(name)
    return tables
