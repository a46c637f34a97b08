"""``shoal export``: the records of a release in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from shoal.cli import _output, _source
from shoal.errors import OutputError

EXAMPLES = """\b
Examples:
  shoal export release patients.sav
  shoal export release patients.xlsx --bounds
  shoal export release survey-released.sav --like survey.sav
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
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing file.")] = False,
    json: _source.Json = False,
) -> None:
    """Write the records of a release in another format.

    The copy is for analysts; the release itself, which anyone can verify, stays as it is.
    """
    import shoal

    if output.resolve().is_relative_to(folder.resolve()):
        raise OutputError("a copy in the folder of the release would no longer verify", hint="write it elsewhere")
    shoal.released(folder).write(output, bounds=bounds, part=part, overwrite=overwrite, like=like)
    if json:
        _output.print_json({"written": output})
    else:
        _output.line(f"Wrote {output}")
