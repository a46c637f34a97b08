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
    after: Annotated[
        list[Path] | None,
        Option(
            metavar="FOLDER", help="An earlier release of the same series, to be checked together; may be repeated."
        ),
    ] = None,
    any_size: Annotated[
        bool, Option("--any-size", help="Read tables that unpack to far more than their files hold, too.")
    ] = False,
    json: _source.Json = False,
) -> None:
    """Check every promise of a release.

    Recomputes all that its certificate says from the data of the release.

    Exits with 0 if every promise was decided on the data and holds; 4 if the same, but a promise rests on the
    publisher's word; 1 if anything fails; 5 if it could not be checked.
    """
    import shoal

    verification = shoal.verify(folder, signer=signer, after=after or (), any_size=any_size)
    if json:
        _output.print_json(
            {"outcome": verification.outcome, "passed": verification.passed, "checks": verification.checks}
        )
    else:
        for style, text in verification.lines():
            _output.line(text, style=style)
    if verification.outcome.exit_code:
        raise typer.Exit(verification.outcome.exit_code)
