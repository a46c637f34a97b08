"""``shoal assess``: the risk of a table as it is."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from shoal.cli import _datasets, _output, _source
from shoal.errors import ParameterError
from shoal.writing import check_file, write_file

if TYPE_CHECKING:
    from shoal import Table


#: relations that are shown
_RELATIONS = 10

EXAMPLES = """\b
Examples:
  shoal assess patients.csv
  shoal assess patients.csv --sampling-fraction 0.01
  shoal assess patients.csv --population register.parquet --attacks
  shoal assess patients.csv --attacks --output risk.html
  shoal assess survey.csv --special-uniques --combinations 3
  shoal assess survey.csv --records risks.csv
"""


@_source.takes_a_file
def assess(
    file: _source.InputFile,
    *,
    schema: _source.SchemaOption = None,
    population: Annotated[str | None, Option(help="A table of the whole population, for the journalist risk.")] = None,
    sampling_fraction: Annotated[
        float | None,
        Option(
            help="The share of the population that FILE holds, in (0, 1]; estimates how many people are unique in it."
        ),
    ] = None,
    special_uniques: Annotated[
        bool, Option("--special-uniques", help="Find the smallest sets of columns that make records unique (SUDA).")
    ] = False,
    combinations: Annotated[
        int, Option(help="Show the risk by combination of at most this many columns; 0 for none.", min=0)
    ] = 0,
    records: Annotated[
        Path | None,
        Option(
            "--records", help="Also write a new .csv or .parquet file with the risk of every record, for internal use."
        ),
    ] = None,
    known_items: Annotated[
        int | None,
        Option(metavar="M", help="Of a data set of several tables: how many items of a person are known at most."),
    ] = None,
    attacks: Annotated[bool, Option("--attacks", help="Simulate intruders with partial knowledge.")] = False,
    seed: Annotated[int, Option(help="The random seed of the simulated attacks.")] = 0,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Also write a new .html file with pictures, not for publication.")
    ] = None,
    json: _source.Json = False,
) -> None:
    """Show the risk of a table as it is.

    Shows class sizes, unique records, the risk of re-identification and the columns that make people stand out.
    """
    import shoal
    from shoal.report import assessment_text, render_assessment
    from shoal.tables import relations_of_sample

    if _datasets.is_meant({"source": file.source, "known_items": known_items}):
        alone = not (population or sampling_fraction or special_uniques or combinations or records or attacks or output)
        if not alone:
            raise ParameterError("a data set of several tables is assessed with --known-items and --schema alone.")
        _datasets.assess(
            file.source, schema=schema, known_items=2 if known_items is None else known_items, k=5, json=json
        )
        return
    if output is not None and output.suffix.lower() != ".html":
        raise ParameterError(f"`--output` must end in .html; got `{output.suffix}`.")
    if records is not None and records.suffix.lower() not in (".csv", ".parquet"):
        raise ParameterError(f"`--records` must end in .csv or .parquet; got `{records.suffix}`.")
    for path in (output, records):
        if path is not None:
            check_file(path)
    data = file.described(schema)
    if open_ := data.schema.having(shoal.Role.DECIDE) if data.schema else ():
        _output.warning(
            f"{'1 column' if len(open_) == 1 else f'{len(open_)} columns'} with the role `decide` "
            f"{'was' if len(open_) == 1 else 'were'} left out of the assessment."
        )
    assessment = shoal.assess(
        data,
        population=None if population is None else shoal.read(population),
        sampling_fraction=sampling_fraction,
        special=special_uniques,
        combinations=combinations,
    )
    tried = shoal.risk.attack(data, data, seed=seed) if attacks else None
    left_out = [] if data.schema is None else [each.name for each in data.schema if each.role.left_out]
    relations = relations_of_sample(data, [name for name in data.columns if name not in left_out])
    if output is not None:
        write_file(output, render_assessment(assessment, name=data.source.name, attacks=tried).encode())
    if records is not None:
        _write_records(data, records)
    if json:
        figures = {field.name: getattr(assessment, field.name) for field in dataclasses.fields(assessment)}
        figures["relations"] = [dataclasses.asdict(relation) for relation in relations]
        _output.print_json(figures if tried is None else {**figures, "attacks": tried})
        return
    _output.text(assessment_text(assessment, attacks=tried))
    if relations:
        rows = [(each.formula, each.percentage) for each in relations[:_RELATIONS]]
        _output.table("Columns that follow from others (shoal relations looks at all records)", ("", "in"), rows)
    written = [path for path in (output, records) if path is not None]
    if written:
        _output.line()
        _output.line(f"Wrote {' and '.join(map(str, written))}")
        words = "they contain" if len(written) > 1 else "it contains"
        what = "them" if len(written) > 1 else "it"
        _output.warning(f"{words} unprotected figures of the table; do not publish {what}.")


def _write_records(data: Table, path: Path) -> None:
    """Write the risk of every record; what stops in between leaves nothing behind."""
    import io

    import pyarrow.csv
    import pyarrow.parquet

    import shoal

    content, risks = io.BytesIO(), shoal.risk.record_risks(data)
    if path.suffix.lower() == ".csv":
        pyarrow.csv.write_csv(risks, content)
    else:
        pyarrow.parquet.write_table(risks, content)
    write_file(path, content.getvalue())
