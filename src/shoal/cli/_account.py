"""``shoal account``: one account per table, from which releases and answers are paid."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from shoal import stopping
from shoal.cli import _output, _source
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.queries import Entry, Head, Standing, Unit


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
Delta = Annotated[str, Option(help="The delta of the budget, such as 1e-6.")]
Measure = Annotated[
    str,
    Option(
        help="What is added up: epsilon, or zcdp, which lets many questions with Gaussian noise cost far less. "
        "The budget is epsilon and delta either way."
    ),
]


@account.command("create")
@_source.takes_a_file
def create(
    folder: Folder,
    file: _source.InputFile,
    *,
    epsilon: Annotated[str, Option(help="What all releases and answers together may spend.")],
    delta: Delta = "0",
    neighbours: Annotated[
        str,
        Option(
            help="add-remove: hides whether somebody is in the table. replace: hides only what the record says; noisy "
            "data sets promise no more, and everything else then costs twice its epsilon."
        ),
    ] = "add-remove",
    measure: Measure = "epsilon",
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
        file.described(schema),
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
    _output.line(f"It counts the privacy loss of {unit}.")
    if budget.rho_units:
        _output.line(f"Adding up rho, it keeps epsilon {epsilon}, delta {delta} in all.")
    if unit.column is None:
        _output.line(SEVERAL)
    _output.line("Pass it to every release with --account, and to the table's vault.")
    _output.line("It cannot know about releases made without it or paid from another account.")


@account.command("show")
def show(
    folder: Folder,
    *,
    last: Annotated[int, Option(help="How many entries to show.", min=1)] = 20,
    before: Annotated[int | None, Option(help="Show entries before this number.", min=1)] = None,
    sampled: Annotated[
        str | None,
        Option(metavar="RATE", help="Also say what a member of the population loses, if the table is a secret sample."),
    ] = None,
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
                **amounts(standings["*"]),
                "unit": str(unit),
                "analysts": {name: amounts(one) for name, one in standings.items() if name != "*"},
                **entries_json(latest, head),
            }
        )
        return
    show_budgets({"all together" if name == "*" else name: one for name, one in standings.items()})
    _output.line(f"It counts the privacy loss of {unit}.")
    if standings["*"].budget.rho_units:
        _in_epsilon(standings["*"])
    if sampled is not None:
        _of_population(standings["*"], unit, sampled)
    _output.line()
    show_entries(latest, written, head)


@account.command("budget")
def budget(
    folder: Folder,
    *,
    epsilon: Annotated[str, Option(help="What all releases and answers together may spend from now on.")],
    delta: Delta = "0",
) -> None:
    """Change the budget; the history shows it."""
    import shoal

    opened = shoal.Account.open(folder)
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
    """Record that the table changed, but not whom it is about.

    What was spent stays spent, and counts for everybody: a new version of the table begins, in which a person may have
    other values. Needed when columns change; a new vault begins a version by itself.
    """
    import shoal

    opened = shoal.Account.open(folder)
    described = file.described(schema)
    with stopping.held():
        opened.follow(described)
        stopping.happened("the account follows the table")
    _output.line(f"The account {folder} is about this table now; {opened.standing.spent} stays spent.")


def _of_population(whole: Standing, unit: Unit, rate: str) -> None:
    """Say what everything together tells of a member of the population, and what must hold for that."""
    from shoal.queries import SAMPLED, attained_epsilon, of_population

    if unit.replaced:
        raise ParameterError("--sampled is for accounts that count who is in the table: --neighbours add-remove.")
    delta = 2 * whole.budget.delta if whole.budget.rho_units else whole.budget.delta
    epsilon = attained_epsilon(whole.budget, delta) if whole.budget.rho_units else whole.budget.epsilon
    if epsilon is None:
        raise ParameterError("the budget of this account implies no epsilon.")
    amplified, extra = of_population(epsilon, delta, rate)
    _output.line(
        f"If the table is a secret sample, its whole budget tells of a member of the population no more than epsilon "
        f"{amplified:.6g}, delta {float(extra):.6g}. That is not promised; it holds if"
    )
    for condition in SAMPLED:
        _output.line(f"  - {condition}.")


def _in_epsilon(whole: Standing) -> None:
    """Say what rho means in epsilon, at the delta that the account was made with."""
    from shoal.queries import attained_epsilon

    delta = 2 * whole.budget.delta
    spent = attained_epsilon(whole.spent, delta)
    if spent is not None:
        _output.line(f"What was spent so far keeps epsilon {float(spent):.6g} at delta {float(delta):.6g}.")


# what vaults, whose ledger may be that of an account, have in common with them

SEVERAL = "No column says whose record it is: a person with several records loses several times as much."


def amounts(standing: Standing) -> dict[str, str]:
    """Return how an account stands, in exact texts."""
    return {part: str(getattr(standing, part)) for part in ("budget", "spent", "left")}


def show_budgets(standings: dict[str, Standing]) -> None:
    """Print how accounts stand, by name."""
    rows = [[name, *amounts(one).values()] for name, one in standings.items()]
    _output.table("Budgets", ("who", "budget", "spent", "left"), rows)


def entries_json(entries: Sequence[Entry], head: Head) -> dict[str, object]:
    """Return entries of a ledger as plain values, with their total."""
    last = [{"number": each.number, **each.content} for each in entries]
    return {"entries": head.number, "head": str(head), "last": last}


def show_entries(entries: Sequence[Entry], written: Container[int], head: Head) -> None:
    """Print a line for each entry; ``written`` are those whose releases are known to have been written."""
    from shoal.queries import entry_text

    title = f"The last {len(entries):,} of {head.number:,} entries"
    if entries and entries[-1].number < head.number:
        title = f"Entries {entries[0].number:,} to {entries[-1].number:,} of {head.number:,}"
    _output.line(title, style="bold")
    for each in entries:
        unseen = each.content.get("query", "").startswith("release ") and each.number not in written
        note = " (no folder is known to have been written)" if unseen else ""
        _output.line(f"  {each.number:>6}  {each.content['time'][:19]}  {entry_text(each.content)}{note}")
