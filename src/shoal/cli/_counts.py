"""``shoal counts``: counts of a table that is published again and again, paid for once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from shoal import stopping
from shoal.cli import _output, _source
from shoal.errors import ParameterError, counted

if TYPE_CHECKING:
    from shoal.queries import CountsOverTime

EXAMPLES = """\b
Twelve monthly counts of in-patients, who come to be counted once and cease to be once:
  shoal counts create ward.counts patients.csv --account clinic.account \\
      --count "in ward=ward = 'A'" --count all --periods 12 --changes 2 --epsilon 1
  shoal counts publish ward.counts patients.csv
  shoal counts show ward.counts
"""

counts = typer.Typer(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)
Folder = Annotated[Path, Argument(metavar="COUNTS", help="The folder of the counts. Never publish it.")]


@counts.command("create")
@_source.takes_a_file
def create(
    folder: Folder,
    file: _source.InputFile,
    *,
    account: Annotated[Path, Option(help="The account of the table, which pays for all periods now.")],
    count: Annotated[
        list[str], Option(metavar="NAME[=FILTER]", help="A count: a name, and which records it counts; all by default.")
    ],
    periods: Annotated[int, Option(help="How many periods will be published.", min=1)],
    changes: Annotated[
        int | None,
        Option(
            help="How often a person may come to be counted or cease to be; later changes are not counted. Needs a "
            "person column. By default a change in every period is paid for."
        ),
    ] = None,
    epsilon: Annotated[str | None, Option(help="What all counts of all periods together cost.")] = None,
    rho: Annotated[str | None, Option(help="The same in rho, with Gaussian noise.")] = None,
    schema: _source.SchemaOption = None,
    json: _source.Json = False,
) -> None:
    """Pay for counts of a table over time. Publish each period with `shoal counts publish`."""
    import shoal
    from shoal.queries import CountsOverTime

    place = schema or _source.default_schema(file.source)
    where = dict(_named(each) for each in count)
    if len(where) != len(count):
        raise ParameterError("two counts have the same name")
    opened = shoal.Account.open(account)
    data = _source.conformed(file.read(), shoal.Schema.load(place).total())
    made = CountsOverTime.create(
        folder,
        data,
        account=opened,
        schema=place,
        where=where,
        periods=periods,
        changes=changes,
        epsilon=epsilon,
        rho=rho,
    )
    stopping.finishing()
    if json:
        _output.print_json({"counts": folder, "sums that a person changes": made.sensitivity, "periods": periods})
        return
    paid = f"{counted(len(where), 'count')} in {counted(periods, 'period')}"
    _output.line(f"Paid for {paid}; {opened.standing.left} is left.", style="bold")
    _output.line(f"Of each count, a person can change at most {made.sensitivity} of the sums that get noise.")
    _output.line(f"Publish every period, whatever the table holds: shoal counts publish {folder} FILE")


@counts.command("publish")
def publish(
    folder: Folder,
    file: _source.Source,
    *,
    table: _source.TableName = None,
    json: _source.Json = False,
) -> None:
    """Count the next period and print its counts."""
    from shoal.queries import CountsOverTime

    opened = CountsOverTime.open(folder)
    with stopping.held():
        period = opened.publish(file, table=table)
        stopping.happened(f"period {period} is published")
    _show(opened, period, json=json)


@counts.command("show")
def show(folder: Folder, *, json: _source.Json = False) -> None:
    """Print all counts that were published."""
    from shoal.queries import CountsOverTime

    _show(CountsOverTime.open(folder), None, json=json)


def _show(opened: CountsOverTime, period: int | None, *, json: bool) -> None:
    periods = [each for each in opened.published() if period in (None, each.period)]
    if json:
        _output.print_json(
            [
                {"period": each.period, "count": each.name, "value": each.count, "margin": each.margin}
                for each in periods
            ]
        )
        return
    rows = [[f"{each.period}", each.name, f"{each.count:,}", f"{each.margin:,}"] for each in periods]
    title = f"{len({each.period for each in periods})} of {opened.periods} periods"
    _output.table(title if period is None else f"Period {period} of {opened.periods}", _HEAD, rows)
    _output.line("The margin holds with 95 % confidence for each count, if nobody changed more often than is paid for.")


_HEAD = ("period", "count", "value", "+/-")


def _named(written: str) -> tuple[str, str | None]:
    name, mark, where = written.partition("=")
    if not name.strip():
        raise ParameterError("--count needs a name: NAME or NAME=FILTER")
    return name.strip(), where.strip() if mark else None
