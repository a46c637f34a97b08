"""``shoal export``: the records of a release in another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from shoal.cli import _output, _source
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.estimation import ConcreteRecords

EXAMPLES = """\b
Examples:
  shoal export release patients.sav
  shoal export release patients.xlsx --bounds
  shoal export release survey-released.sav --like survey.sav
  shoal export release --concrete patients.csv
"""


def export(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="The folder of a release.")],
    output: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="The file to write, outside the folder: .csv, .xlsx, .dta, .sav, .xpt, .jsonl, .feather or .parquet.",
        ),
    ],
    *,
    bounds: Annotated[
        bool, Option("--bounds", help="Also write the ends of intervals, as columns NAME_lower and NAME_upper.")
    ] = False,
    part: Annotated[str | None, Option(metavar="FILE", help="The table to write, where a release has several.")] = None,
    like: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="The Stata or SPSS file that was anonymised: its codes, value labels and column descriptions are "
            "written again.",
        ),
    ] = None,
    spreadsheet_safe: Annotated[
        bool,
        Option(
            "--spreadsheet-safe",
            help="Write an apostrophe before texts of a CSV file that spreadsheet programs would run as formulas.",
        ),
    ] = False,
    concrete: Annotated[
        bool,
        Option("--concrete", help="Write one possible value in place of every label, drawn from the release alone."),
    ] = False,
    seed: Annotated[int | None, Option(min=0, help="With --concrete: draw the same values again.")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing file.")] = False,
    json: _source.Json = False,
) -> None:
    """Write the records of a release in another format.

    The copy is for analysts; the release itself, which anyone can verify, stays as it is.
    """
    import shoal
    from shoal.folder import check_outside_releases

    check_outside_releases(output)
    if concrete and bounds:
        raise ParameterError("--bounds cannot be combined with --concrete: concrete values have no bounds")
    if concrete and spreadsheet_safe:
        raise ParameterError("--spreadsheet-safe cannot be combined with --concrete")
    if seed is not None and not concrete:
        raise ParameterError("--seed can only be used with --concrete")
    release = shoal.released(folder)
    if concrete:
        records = release.write_concrete(output, part=part, overwrite=overwrite, like=like, seed=seed)
        _show_concrete(records, output, json=json)
        return
    release.write(output, bounds=bounds, part=part, overwrite=overwrite, like=like, spreadsheet_safe=spreadsheet_safe)
    if json:
        _output.print_json({"written": output})
    else:
        _output.line(f"Wrote {output}")


def _show_concrete(records: ConcreteRecords, output: Path, *, json: bool) -> None:
    """Say what was written, and which values were drawn."""
    drawn = ", ".join(f"`{name}`" for name in records.drawn)
    if json:
        figures = {"records": len(records.rows), "drawn": records.drawn, "impossible": records.impossible}
        _output.print_json({"written": output, **figures})
        return
    _output.line(f"Wrote {len(records.rows):,} concrete records to {output}.")
    if drawn:
        _output.line(f"Values below released labels were drawn for {drawn}; all other columns are as released.")
    if records.impossible:
        _output.line(f"{records.impossible:,} records are impossible by the rules of the schema, whatever is drawn.")
