"""``shoal import``: a project of ARX becomes a plan."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from shoal.cli import _output, _source
from shoal.writing import check_destination

EXAMPLES = """\b
Examples:
  shoal import study.deid --output study
  shoal anonymize patients.csv --plan study/plan.toml --output release
"""


def import_project(
    project: Annotated[Path, Argument(metavar="FILE", help="An ARX project: a .deid file.")],
    *,
    output: Annotated[Path, Option("--output", "-o", help="The folder to create for plan and hierarchies.")],
    partly: Annotated[bool, Option("--partly", help="Leave out what has no counterpart, and say so.")] = False,
    json: _source.Json = False,
) -> None:
    """Turn an ARX project into a plan with its hierarchies.

    Roles, hierarchies, weights, privacy models and the suppression limit are carried over. The data in the project are
    not read.
    """
    from shoal.arx import read_arx_project

    check_destination(output)
    imported = read_arx_project(project, partly=partly)
    imported.write(output)
    if json:
        _output.print_json({"plan": output / "plan.toml", "notes": imported.notes})
        return
    promises = ", ".join(model.name for model in imported.plan.models)
    columns = len(list(imported.plan.schema))
    _output.line(
        f"Wrote {output / 'plan.toml'}: {columns} columns, {len(imported.hierarchies)} hierarchies, {promises}."
    )
    for note in imported.notes:
        _output.line(f"  - {note}")
    _output.line(f"Now run: shoal anonymize FILE --plan {shlex.quote(str(output / 'plan.toml'))} --output release")
