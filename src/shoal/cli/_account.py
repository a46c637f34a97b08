"""``shoal account``: one account per table, from which releases and answers are paid."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal import stopping
from shoal.cli import _output, _source
from shoal.cli._ledger import amounts, shown

if TYPE_CHECKING:
    from shoal import Account
    from shoal.queries import Standing

__all__ = ["EXAMPLES", "account"]

EXAMPLES = """\b
Start with:
  shoal account create clinic.account patients.csv --epsilon 3 --delta 1e-6
  shoal anonymize patients.csv --epsilon 1 --delta 1e-7 \\
      --account clinic.account --output release
  shoal vault create clinic.vault patients.csv --account clinic.account
  shoal account show clinic.account
"""

account = typer.Typer(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)

Folder = Annotated[Path, typer.Argument(metavar="ACCOUNT", help="The folder of the account.")]
Delta = Annotated[str, typer.Option(help="The delta of the budget, such as 1e-6.")]


@account.command("create")
def create(
    folder: Folder,
    source: _source.Source,
    *,
    epsilon: Annotated[str, typer.Option(help="What all releases and answers together may spend.")],
    delta: Delta = "0",
    neighbours: Annotated[
        str,
        typer.Option(
            help="add-remove: whether somebody is in the table is hidden. replace: only what the record says; noisy "
            "data sets promise no more, and all else then costs twice its epsilon."
        ),
    ] = "add-remove",
    measure: Annotated[
        str,
        typer.Option(
            help="What is added up: epsilon, or zcdp, which lets many questions with Gaussian noise cost far less. "
            "The budget is epsilon and delta either way."
        ),
    ] = "epsilon",
    records_per_person: Annotated[
        int | None,
        typer.Option(help="With a person column: how many records of a person a vault looks at; 1 by default."),
    ] = None,
    schema: _source.SchemaOption = None,
    table: _source.TableName = None,
    delimiter: _source.Delimiter = None,
    encoding: _source.Encoding = None,
    decimal: _source.Decimal = None,
    json: _source.Json = False,
) -> None:
    """Open the account of a table. Keep one for each table, and only one."""
    _output.json_wanted(wanted=json)
    import shoal

    data = _source.read(source, table=table, delimiter=delimiter, encoding=encoding, decimal=decimal)
    made = shoal.Account.create(
        folder,
        _source.with_schema(data, source, schema),
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
    last: Annotated[int, typer.Option(help="How many entries to show.", min=1)] = 20,
    json: _source.Json = False,
) -> None:
    """Show what was spent, on what, and what is left."""
    _output.json_wanted(wanted=json)
    import shoal

    opened = shoal.Account.open(folder)
    with opened.inspected() as ledger:
        entries, standings, unit, head = ledger.entries(), ledger.standings(), ledger.unit, ledger.head
    latest = entries[-last:]
    if json:
        _output.print_json(
            {
                **amounts(standings["*"]),
                "unit": str(unit),
                "analysts": {name: amounts(one) for name, one in standings.items() if name != "*"},
                "entries": len(entries),
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
    _output.line(f"Counted is what is lost by {unit}.")
    if standings["*"].budget.rho_units:
        _in_epsilon(standings["*"])
    _output.line()
    _output.line(f"The last {len(latest)} of {len(entries):,} entries", style="bold")
    for line in shown(latest, entries):
        _output.line(line)


@account.command("budget")
def budget(
    folder: Folder,
    *,
    epsilon: Annotated[str, typer.Option(help="What all releases and answers together may spend from now on.")],
    delta: Delta = "0",
) -> None:
    """Change the budget; the history shows it."""
    opened = _opened(folder)
    with stopping.held():
        opened.set_budget(epsilon, delta)
        stopping.happened("the budget was set")
    _output.line(f"The budget is {opened.standing.budget}; {opened.standing.left} is left.")


@account.command("follow")
def follow(
    folder: Folder,
    source: _source.Source,
    *,
    schema: _source.SchemaOption = None,
    table: _source.TableName = None,
    delimiter: _source.Delimiter = None,
    encoding: _source.Encoding = None,
    decimal: _source.Decimal = None,
) -> None:
    """Say that the table has changed and is still about the same people.

    What was spent stays spent; the history shows when the table changed.
    """
    opened = _opened(folder)
    data = _source.read(source, table=table, delimiter=delimiter, encoding=encoding, decimal=decimal)
    found = _source.with_schema(data, source, schema)
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
