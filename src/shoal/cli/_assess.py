"""``shoal assess``: the risk of a table as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import _output, _source

if TYPE_CHECKING:
    from shoal import Assessment, Attacks
    from shoal.risk import ClassSizes, PopulationUniqueness

__all__ = ["EXAMPLES", "assess"]

EXAMPLES = """\b
Examples:
  shoal assess patients.csv
  shoal assess patients.csv --sampling-fraction 0.01
  shoal assess patients.csv --population register.parquet --attacks
  shoal assess patients.csv --attacks --output risk.html
"""


def assess(
    source: _source.Source,
    *,
    schema: _source.SchemaOption = None,
    population: Annotated[
        str | None, typer.Option(help="A table of the whole population, for the journalist's risk.")
    ] = None,
    sampling_fraction: Annotated[
        float | None,
        typer.Option(help="The share of the population in FILE, in (0, 1], to estimate who is unique in it."),
    ] = None,
    attacks: Annotated[bool, typer.Option("--attacks", help="Let intruders with partial knowledge try.")] = False,
    seed: Annotated[int, typer.Option(help="Of the draws of the attacks.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write a new .html file with pictures; it is not for publication."),
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
    from shoal.errors import ParameterError

    if output is not None and output.suffix.lower() != ".html":
        raise ParameterError(f"`--output` must end in .html; got `{output.suffix}`.")
    data = _source.read(source, table=table, delimiter=delimiter, encoding=encoding, decimal=decimal)
    data = _source.with_schema(data, source, schema)
    found = shoal.assess(
        data,
        population=None if population is None else shoal.read(population),
        sampling_fraction=sampling_fraction,
    )
    tried = shoal.attack(data, data, seed=seed) if attacks else None
    if output is not None:
        from shoal.report import render_assessment, write_file

        write_file(output, render_assessment(found, name=data.source.name, attacks=tried).encode())
    if json:
        _output.print_json(found if tried is None else {**_fields(found), "attacks": tried})
        return
    _show_risk(found)
    _show_columns(found)
    _show_attributes(found)
    if found.population is not None:
        _show_population(found.population)
    if tried is not None:
        _show_attacks(tried)
    if output is not None:
        _output.line()
        _output.line(f"Wrote {output}")
        _output.warning("it shows figures of the table without protection; do not publish it.")


def _fields(found: Assessment) -> dict[str, object]:
    import dataclasses

    return {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}


def _show_risk(found: Assessment) -> None:
    risk = found.reidentification
    journalist = f"{risk.journalist:.1%}" if risk.journalist is not None else "at most the prosecutor's (no population)"
    _lines(
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
    )
    _output.line()
    _output.table("Class sizes", ("size", "classes", "records"), [_band(band) for band in risk.sizes])


def _show_columns(found: Assessment) -> None:
    _output.line()
    _output.table(
        "Quasi-identifiers, the most separating first",
        ("column", "values", "pairs told apart", "unique without it"),
        [
            [each.column, f"{each.distinct:,}", f"{each.separation:.1%}", f"{each.unique_without:,}"]
            for each in found.columns
        ],
    )


def _show_attributes(found: Assessment) -> None:
    if not found.attributes:
        return
    _output.line()
    _output.table(
        "Sensitive columns: right guesses without and with the class of a person, by level of the hierarchy",
        ("column", "level", "values", "without", "with", "certain records"),
        [
            [
                each.column,
                f"{each.level}",
                f"{each.values:,}",
                f"{each.baseline:.1%}",
                f"{each.guess:.1%}",
                f"{each.certain:,}",
            ]
            for each in found.attributes
        ],
    )


def _show_population(found: PopulationUniqueness) -> None:
    _output.line()
    _output.line(
        f"Population of {found.population:,} people, of whom {found.sampling_fraction:.2%} are in the table",
        style="bold",
    )
    names = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "SNB"}
    _lines(
        ("unique people", f"{found.people:,.0f} ({found.share:.1%})  by Dankar's rule: {names[found.chosen]}"),
        *((f"  by {name}", _share(getattr(found, key))) for key, name in names.items()),
        (
            "re-identifications",
            f"{found.reidentifications:,.0f}  expected by individual risk, another model, when every record is linked",
        ),
    )


def _show_attacks(tried: Attacks) -> None:
    _output.line()
    _output.table(
        "An intruder who knows some of the quasi-identifiers of a person",
        ("known", "one record fits", "linked", "linked at worst", "by"),
        [
            [
                f"{each.known}",
                f"{each.single:.1%}",
                f"{each.linked:.1%}",
                f"{each.worst_linked:.1%}",
                ", ".join(each.worst_columns),
            ]
            for each in tried.linkage
        ],
    )
    _output.line()
    questions = [tried.singling_out, *([tried.linkability] if tried.linkability else []), *tried.inference]
    _output.table(
        "Attacks: how often they are right, and how often they would be without the records",
        ("attack", "right", "without", "risk"),
        [
            [
                f"{each.name} {', '.join(each.columns)}".rstrip(),
                f"{each.success.rate:.1%}",
                f"{each.baseline.rate:.1%}",
                f"{each.risk:.2f}",
            ]
            for each in questions
        ],
    )


def _lines(*rows: tuple[str, str]) -> None:
    for name, value in rows:
        _output.line(f"{name:<20} {value}")


def _share(value: float | None) -> str:
    return "no estimate" if value is None else f"{value:.1%}"


def _band(band: ClassSizes) -> list[str]:
    if band.largest is None:
        size = f"{band.smallest:,} or more"
    elif band.largest == band.smallest:
        size = f"{band.smallest:,}"
    else:
        size = f"{band.smallest:,} to {band.largest:,}"
    return [size, f"{band.classes:,}", f"{band.records:,}"]
