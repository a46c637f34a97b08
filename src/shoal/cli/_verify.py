"""``shoal verify``: check a release against its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from shoal.cli import _output, _source

EXAMPLES = """\b
Examples:
  shoal verify release && ./publish release
  shoal verify release --signer agency.pub.pem
  shoal verify masked.csv
"""


def verify(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="The folder of a release, or a file that mask wrote.")],
    *,
    signer: Annotated[
        Path | None, Option(metavar="PUBLIC_KEY", help="The public key, in PEM, that must have signed the release.")
    ] = None,
    json: _source.Json = False,
) -> None:
    """Check every promise of a release.

    Recomputes all that its certificate says from the data of the release; exits with 1 if anything fails.
    """
    import shoal

    found = shoal.verify(folder, signer=signer)
    if json:
        _output.print_json({"passed": found.passed, "checks": found.checks})
    else:
        for check in found.checks:
            mark, style = ("ok  ", "green") if check.passed else ("FAIL", "bold red")
            # one line each: the name of a column cannot pass for a further check
            told = f"{mark} {check.subject}: {check.detail}".replace("\n", "\\n")
            _output.line(told, style=style)
        _output.line()
        if found.passed and folder.is_file():
            _output.line("The file matches its record. It is masked, not anonymous.", style="bold")
        elif found.passed:
            _output.line("Verified: the release keeps every promise of its certificate.", style="bold")
            if not all(check.shown for check in found.checks):
                _output.line("What no data can prove, such as random swapping, rests on the publisher's word.")
        else:
            failed = sum(not check.passed for check in found.checks)
            _output.line(f"NOT verified: {failed} of {len(found.checks)} checks failed.", style="bold red")
    if not found.passed:
        raise typer.Exit(1)
