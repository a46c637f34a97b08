"""``shoal assess``: the risk of a table as it is."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import _output, _source

__all__ = ["EXAMPLES", "assess"]

EXAMPLES = """\b
Examples:
  shoal assess patients.csv
  shoal assess patients.csv --population register.parquet
"""


def assess(
    source: _source.Source,
    *,
    schema: _source.SchemaOption = None,
    population: Annotated[
        str | None, typer.Option(help="A table of the whole population, for the journalist's risk.")
    ] = None,
    table: _source.TableName = None,
    delimiter: _source.Delimiter = None,
    encoding: _source.Encoding = None,
    decimal: _source.Decimal = None,
    json: _source.Json = False,
) -> None:
    """Show who stands out in FILE: class sizes, unique records, risk, and the columns that separate most."""
    _output.json_wanted(wanted=json)
    import shoal

    data = _source.read(source, table=table, delimiter=delimiter, encoding=encoding, decimal=decimal)
    data = _source.with_schema(data, source, schema)
    found = shoal.assess(data, population=None if population is None else shoal.read(population))
    if json:
        _output.print_json(found)
        return
    risk = found.reidentification
    journalist = f"{risk.journalist:.1%}" if risk.journalist is not None else "at most the prosecutor's (no population)"
    for name, value in (
        ("records", f"{risk.records:,}"),
        ("equivalence classes", f"{risk.classes:,}"),
        ("smallest class", f"{risk.smallest:,}"),
        ("unique records", f"{risk.unique:,} ({risk.unique / max(risk.records, 1):.1%})"),
        ("prosecutor risk", f"{risk.prosecutor:.1%}  highest, when the person is known to be in the table"),
        (
            "journalist risk",
            f"{journalist}{'  highest, when that is not known' if risk.journalist is not None else ''}",
        ),
        ("marketer risk", f"{risk.marketer:.1%}  share of all records that could be linked"),
    ):
        _output.line(f"{name:<21}{value}")
    _output.line()
    _output.table("Class sizes", ("size", "classes", "records"), [_band(band) for band in risk.sizes])
    _output.line()
    _output.table(
        "Quasi-identifiers, the most separating first",
        ("column", "values", "pairs told apart", "unique without it"),
        [
            [each.column, f"{each.distinct:,}", f"{each.separation:.1%}", f"{each.unique_without:,}"]
            for each in found.columns
        ],
    )


def _band(band: object) -> list[str]:
    from shoal.risk import ClassSizes

    assert isinstance(band, ClassSizes)  # noqa: S101
    if band.largest is None:
        size = f"{band.smallest:,} or more"
    elif band.largest == band.smallest:
        size = f"{band.smallest:,}"
    else:
        size = f"{band.smallest:,} to {band.largest:,}"
    return [size, f"{band.classes:,}", f"{band.records:,}"]
