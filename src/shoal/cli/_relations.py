"""``shoal relations``: columns that follow from others."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from typer import Option

from shoal.cli import _output, _source

EXAMPLES = """\b
Examples:
  shoal relations patients.csv
  shoal relations patients.csv --exceptions 0
  shoal relations patients.csv --json
"""


@_source.takes_a_file
def relations(
    file: _source.InputFile,
    *,
    exceptions: Annotated[
        float, Option(help="The share of records that may break a relation, in [0, 0.1]: typing errors.")
    ] = 0.01,
    json: _source.Json = False,
) -> None:
    """Show which columns are equal to others or follow from them.

    Finds copies, codes and their labels, roundings, intervals, parts and differences of dates, ages, sums, products,
    ratios, shares, changes, linear formulas of up to three columns, and columns that are a function of another.
    """
    import shoal

    table = file.read()
    relations = shoal.find_relations(table, exceptions=exceptions)
    if json:
        _output.print_json({"relations": [dataclasses.asdict(relation) for relation in relations]})
        return
    if not relations:
        _output.line("No column follows from others.")
        return
    rows = [(each.formula, f"{each.percentage}", f"{each.records:,}") for each in relations]
    _output.table("Relations between columns", ("relation", "followed by", "records compared"), rows)
    _output.line("Whoever knows the columns on one side knows the other side, in this table and in its releases.")
