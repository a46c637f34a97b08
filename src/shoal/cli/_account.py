"""``shoal account``: one account per table, from which releases and answers are paid."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from shoal import stopping
from shoal.cli import _ledger, _output, _source

if TYPE_CHECKING:
    from shoal import Account
    from shoal.queries import Standing


EXAMPLES = """\b
Start with:
  shoal account create clinic.account patients.csv --epsilon 3 --delta 1e-6
  shoal anonymize patients.csv --epsilon 1 --delta 1e-7 \\
      --account clinic.account --output release
  shoal vault create clinic.vault patients.csv --account clinic.account
  shoal account show clinic.account
"""

account = typer.Typer(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)

Folder = Annotated[Path, Argument(metavar="ACCOUNT", help="The folder of the account.")]


@account.command("create")
@_source.takes_a_file
def create(
    folder: Folder,
    file: _source.InputFile,
    *,
    epsilon: Annotated[str, Option(help="What all releases and answers together may spend.")],
    delta: _ledger.Delta = "0",
    neighbours: Annotated[
        str,
        Option(
            help="add-remove: whether somebody is in the table is hidden. replace: only what the record says; noisy "
            "data sets promise no more, and everything else then costs twice its epsilon."
        ),
    ] = "add-remove",
    measure: _ledger.Measure = "epsilon",
    records_per_person: Annotated[
        int | None, Option(help="With a person column: how many records per person a vault looks at; 1 by default.")
    ] = None,
    schema: _source.SchemaOption = None,
    json: _source.Json = False,
) -> None:
    """Open the account of a table. Keep one for each table, and only one."""
    import shoal

    made = shoal.Account.create(
        folder,
        _source.with_schema(file.read(), file.source, schema),
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,  # type: ignore[arg-type]
        measure=measure,  # type: ignore[arg-type]
        records_per_person=records_per_person,
    )
    stopping.finishing()
    budget, unit = made.standing.budget, made.unit
    if json:
        _output.print_json({"account": folder, "budget": str(budget), "unit": str(unit)})
        return
    _output.line(f"Opened the account {folder} with the budget {budget}.", style="bold")
    _output.line(f"It counts what is lost by {unit}.")
    if budget.rho_units:
        _output.line(f"Adding up rho, it keeps epsilon {epsilon}, delta {delta} in all.")
    if unit.column is None:
        _output.line("No column says whose record it is: a person with several records loses several times as much.")
    _output.line("Give it to every release with --account, and to the vault of the table.")
    _output.line("What is released without it, or from another account, it cannot know.")


@account.command("show")
def show(
    folder: Folder,
    *,
    last: Annotated[int, Option(help="How many entries to show.", min=1)] = 20,
    before: Annotated[int | None, Option(help="Show entries before this number.", min=1)] = None,
    json: _source.Json = False,
) -> None:
    """Show what was spent, on what, and what is left."""
    import shoal

    opened = shoal.Account.open(folder)
    with opened.inspected() as ledger:
        latest, written = ledger.entries(last=last, before=before), ledger.written()
        standings, unit, head = ledger.standings(), ledger.unit, ledger.head
    if json:
        _output.print_json(
            {
                **_ledger.amounts(standings["*"]),
                "unit": str(unit),
                "analysts": {name: _ledger.amounts(one) for name, one in standings.items() if name != "*"},
                "entries": head.number,
                "head": str(head),
                "last": [{"number": each.number, **each.content} for each in latest],
            }
        )
        return
    rows = [
        ["all together" if name == "*" else name, str(one.budget), str(one.spent), str(one.left)]
        for name, one in standings.items()
    ]
    _output.table("Budgets", ("who", "budget", "spent", "left"), rows)
    _output.line(f"It counts what is lost by {unit}.")
    if standings["*"].budget.rho_units:
        _in_epsilon(standings["*"])
    _output.line()
    _output.line(_ledger.title(latest, head.number), style="bold")
    for line in _ledger.shown(latest, written):
        _output.line(line)


@account.command("budget")
def budget(
    folder: Folder,
    *,
    epsilon: Annotated[str, Option(help="What all releases and answers together may spend from now on.")],
    delta: _ledger.Delta = "0",
) -> None:
    """Change the budget; the history shows it."""
    opened = _opened(folder)
    with stopping.held():
        opened.set_budget(epsilon, delta)
        stopping.happened("the budget was set")
    _output.line(f"The budget is {opened.standing.budget}; {opened.standing.left} is left.")


@account.command("follow")
@_source.takes_a_file
def follow(
    folder: Folder,
    file: _source.InputFile,
    *,
    schema: _source.SchemaOption = None,
) -> None:
    """Say that the table has changed and is still about the same people.

    What was spent stays spent; the history shows when the table changed.
    """
    opened = _opened(folder)
    found = _source.with_schema(file.read(), file.source, schema)
    with stopping.held():
        opened.follow(found)
        stopping.happened("the account follows the table")
    _output.line(f"The account {folder} is about this table now; {opened.standing.spent} stays spent.")


def _in_epsilon(whole: Standing) -> None:
    """Say what rho means in epsilon, at the delta that the account was made with."""
    from shoal.queries import attained_epsilon

    delta = 2 * whole.budget.delta
    spent = attained_epsilon(whole.spent, delta)
    if spent is not None:
        _output.line(f"What was spent so far keeps epsilon {float(spent):.6g} at delta {float(delta):.6g}.")


def _opened(folder: Path) -> Account:
    import shoal

    return shoal.Account.open(folder)
