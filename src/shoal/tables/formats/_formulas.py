"""Texts in CSV files that spreadsheet programs run as formulas."""

from __future__ import annotations

import logging
import re
from dataclasses import replace

from shoal.errors import quoted
from shoal.tables._engine import figures
from shoal.tables._expressions import Value, literal
from shoal.tables._table import Table

# what spreadsheet programs in some language or other take for the beginning of a formula, blanks before it aside
_BEGINNING = "^[ \t\r\n]*[=+@\uff1d\uff0b\uff0d\uff20-]"
# a sign alone, and a number, are values everywhere
_HARMLESS = r"^[+-]?([0-9]+([.,][0-9]*)?([eE][+-]?[0-9]+)?)?$"


def is_formula(text: str) -> bool:
    """Return whether spreadsheet programs may run a text.

    Examples
    --------
    >>> [is_formula(each) for each in ("=1+1", "+1+1", " =1", "-5", "+", "1-5")]
    [True, True, True, False, False, False]
    """
    return re.search(_BEGINNING, text) is not None and re.search(_HARMLESS, text) is None


def formula_columns(table: Table) -> tuple[str, ...]:
    """Return the columns that hold a text, or have a name, that spreadsheet programs may run."""
    records = table.expression
    texts = [name for name in table.columns if records[name].type().is_string()]
    asked = {str(j): _runs(records[name]).ifelse(1, 0).max() for j, name in enumerate(texts)}
    counts = figures(table, records.aggregate(**asked)) if asked else {}
    running = {name for j, name in enumerate(texts) if counts[str(j)]}
    return tuple(name for name in table.columns if name in running or is_formula(name))


def note_formulas(table: Table, name: str) -> None:
    """Say which columns of a CSV file hold texts that spreadsheet programs may run."""
    columns = formula_columns(table)
    if columns:
        logging.getLogger("shoal").warning(
            "%s: spreadsheet programs may run texts or names of %s as formulas. For their users, `shoal export "
            "--spreadsheet-safe` writes an apostrophe before these, and Excel files hold them as text.",
            name,
            quoted(columns),
        )


def defuse_formulas(table: Table) -> Table:
    """Return the table with an apostrophe before every text and name that spreadsheet programs may run."""
    records = table.visible
    values: dict[str, Value] = {}
    for name in table.columns:
        value: Value = records[name]
        if value.type().is_string():
            value = _runs(value).ifelse(literal("'") + value, value)
        values[f"'{name}" if is_formula(name) else name] = value
    return replace(table, expression=records.select(**values))


def _runs(value: Value) -> Value:
    return value.re_search(_BEGINNING) & ~value.re_search(_HARMLESS)
