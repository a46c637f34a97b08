"""The program ``shoal``: commands, exit codes and the one place where errors are shown.

Exit codes: 0 done; 1 a requirement cannot be met or a verification failed; 2 wrong usage or input; 3 internal error;
130 stopped by the user. An output that cannot be printed is an error of the second kind, but the code of a pipe whose
reader has gone is that of the command.
"""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from shoal import __version__
from shoal.cli import (
    _account,
    _anonymize,
    _assess,
    _compare,
    _counts,
    _draft,
    _estimate,
    _export,
    _import,
    _mask,
    _open,
    _output,
    _parameters,
    _relations,
    _report,
    _series,
    _serve,
    _sign,
    _vault,
    _verify,
)
from shoal.errors import presentable

EXAMPLES = """\b
Start with:
  shoal draft patients.csv
  shoal anonymize patients.csv --k 5 --output release
"""

app = typer.Typer(
    name="shoal",
    help="Turn a table of personal records into a release in which every person hides in a crowd.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command("draft", epilog=_draft.EXAMPLES)(_draft.draft)
app.command("assess", epilog=_assess.EXAMPLES)(_assess.assess)
app.command("relations", epilog=_relations.EXAMPLES)(_relations.relations)
app.command("anonymize", epilog=_anonymize.EXAMPLES, cls=_anonymize.AnonymizeCommand)(_anonymize.anonymize)
app.command("mask", epilog=_mask.EXAMPLES)(_mask.mask)
app.command("compare", epilog=_compare.EXAMPLES)(_compare.compare)
app.command("report", epilog=_report.EXAMPLES)(_report.report)
app.command("export", epilog=_export.EXAMPLES)(_export.export)
app.command("estimate", epilog=_estimate.EXAMPLES)(_estimate.estimate)
app.command("verify", epilog=_verify.EXAMPLES)(_verify.verify)
app.command("sign", epilog=_sign.EXAMPLES)(_sign.sign)
app.command("import", epilog=_import.EXAMPLES)(_import.import_project)
app.command("parameters", epilog=_parameters.EXAMPLES)(_parameters.parameters)
app.command("serve", epilog=_serve.EXAMPLES)(_serve.serve)
app.command("open", epilog=_open.EXAMPLES)(_open.open_app)
app.add_typer(
    _account.account,
    name="account",
    help="One privacy budget per table, for all releases and answers.",
    epilog=_account.EXAMPLES,
)
app.add_typer(
    _counts.counts,
    name="counts",
    help="Publish counts of a table over time, paid for once.",
    epilog=_counts.EXAMPLES,
)
app.add_typer(
    _series.series,
    name="series",
    help="Releases of the same people that keep their promises together.",
    epilog=_series.EXAMPLES,
)
app.add_typer(
    _vault.vault, name="vault", help="Answer questions about a table within a privacy budget.", epilog=_vault.EXAMPLES
)


def _version(wanted: bool) -> None:
    if wanted:
        from shoal.kernels import name

        _output.line(f"shoal {__version__} ({name()} kernels)")
        raise typer.Exit


@app.callback()
def _shoal(
    *,
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Show the version and the kernels in use.")
    ] = False,
) -> None:
    del version
    _output.json_wanted(False)


def command() -> int:
    """Carry out what the command line asks for and return the exit code; nothing is raised."""
    with _output.streams() as printed:
        try:
            # not standalone: what is wrong with the arguments is shown here, too
            finished = app(standalone_mode=False)
            code = finished if isinstance(finished, int) else 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 3 if left.code else 0
        except BaseException as error:
            code = _output.usage(error) if isinstance(error, _output.WrongUsage) else _output.error(presentable(error))
    return printed.code(code)
