"""``shoal vault``: keep a table, let analysts ask about it, and watch the budget."""

from __future__ import annotations

import os
import shlex
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from shoal import stopping
from shoal.cli import _account, _output, _source
from shoal.errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from shoal.queries.server import VaultServer


EXAMPLES = """\b
Start with:
  shoal vault create clinic.vault patients.csv --epsilon 10
  shoal vault analyst clinic.vault alice --epsilon 2
  shoal vault serve clinic.vault
"""
PORT = 8470

vault = typer.Typer(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)

Folder = Annotated[Path, Argument(metavar="VAULT", help="The folder of the vault.")]
Epsilon = Annotated[str | None, Option(help="A privacy budget, such as 0.5.")]


@vault.command("create")
def create(
    folder: Folder,
    source: _source.Source,
    *,
    epsilon: Annotated[str | None, Option(help="What all analysts together may spend.")] = None,
    delta: _account.Delta = "0",
    account: Annotated[
        Path | None, Option(help="Instead of --epsilon: the account of the table, which pays for releases as well.")
    ] = None,
    schema: _source.SchemaOption = None,
    table: _source.TableName = None,
    measure: _account.Measure = "epsilon",
    records_per_person: Annotated[
        int | None,
        Option(
            help="With a person column: answers use at most this many records per person, drawn at random; default 1."
        ),
    ] = None,
    json: _source.Json = False,
) -> None:
    """Create a vault from a snapshot of a table.

    Answers come from the snapshot.
    """
    from shoal.queries import Vault, budget_of

    if account is not None and measure != "epsilon":
        raise ParameterError("what is added up was decided when the account was made; leave --measure out")
    if (epsilon is None) == (account is None):
        raise ParameterError("give the vault a budget of its own with --epsilon, or the --account of the table")
    if source == "-":
        raise ParameterError(
            "a vault takes a snapshot of a table that can be read again: standard input is gone by then.",
            hint="save the table as a file",
        )
    made = Vault.create(
        folder,
        source,
        schema=schema or _source.default_schema(source),
        budget=None if epsilon is None else budget_of(epsilon, delta, measure),  # type: ignore[arg-type]
        account=account,
        table=table,
        records_per_person=records_per_person,
    )
    book = made.ledger()
    unit, budget = book.unit, book.standing("*").budget
    book.close()
    if json:
        _output.print_json({"vault": folder, "budget": str(budget), "unit": str(unit)})
        return
    shared = "all analysts and releases" if account is not None else "all analysts"
    _output.line(f"Created the vault {folder} with the budget {budget} for {shared} together.", style="bold")
    _output.line(f"The budget counts the privacy loss of {unit}.")
    if unit.column is None:
        _output.line(_account.SEVERAL)
    place = "the folder" if account is None else "the folder of the account"
    _output.line(f"The ledger's key is in {place}; keep a copy of the ledger's head elsewhere:")
    _output.line(f"  shoal vault ledger {shlex.quote(str(folder))}")


@vault.command("version")
def version(
    folder: Folder,
    source: Annotated[
        str | None, Argument(metavar="[SOURCE]", help="Where the table is now; by default where it was before.")
    ] = None,
    *,
    json: _source.Json = False,
) -> None:
    """Begin a new version of the table from a new snapshot.

    What was spent on any value then counts for everybody, because a person may have other values than before. Restart
    the server afterwards: until then it answers from the old snapshot, and charges everybody for each question.
    """
    from shoal.queries import Vault

    if source == "-":
        raise ParameterError("a snapshot is taken of a file or database; standard input is neither")
    opened = Vault.open(folder)
    with stopping.held():
        renewed = opened.renew(source)
        stopping.happened("a new version of the table began")
    with closing(renewed.ledger()) as book:
        whole = book.standing("*")
    if json:
        _output.print_json({"vault": folder, "version": renewed.version, **_account.amounts(whole)})
        return
    _output.line(f"Version {renewed.version} of the table began, with a new snapshot.", style="bold")
    _output.line(f"{whole.spent} of {whole.budget} is spent, and counts for everybody in it.")
    _output.line("Restart the server of the vault, if it runs.")


@vault.command("analyst")
def analyst(
    folder: Folder,
    name: Annotated[str, Argument(metavar="NAME", help="The analyst's name.")],
    *,
    epsilon: Epsilon = None,
    delta: _account.Delta = "0",
    dismiss: Annotated[bool, Option("--dismiss", help="Revoke the analyst's token.")] = False,
    json: _source.Json = False,
) -> None:
    """Add an analyst, or renew or revoke a token.

    With --epsilon, a new analyst is added, or a known one gets a new token and budget; --dismiss revokes the token.
    """
    from shoal.queries import Loss, Vault

    opened = Vault.open(folder)
    if dismiss == (epsilon is not None):
        raise ParameterError("give the analyst a budget with --epsilon, or use --dismiss")
    if dismiss or epsilon is None:
        with stopping.held():
            opened.dismiss(name)
            stopping.happened(f"the token of {name} was revoked")
        _output.line(f"{name} can no longer ask; what was spent stays spent.")
        return
    given = Loss.of(epsilon, delta)
    with stopping.held():
        token = opened.admit(name, given)
        stopping.happened(f"{name} was added, but the token was not shown: run the command again for a new one")
    if json:
        _output.print_json({"analyst": name, "token": token})
        return
    _output.line(f"The token of {name}, shown once and stored nowhere:", style="bold")
    _output.line(f"  {token}")


@vault.command("budget")
def budget(
    folder: Folder,
    name: Annotated[str | None, Argument(metavar="[NAME]", help="An analyst; all of them by default.")] = None,
    *,
    epsilon: Epsilon = None,
    delta: _account.Delta = "0",
    whole: Annotated[bool, Option("--all", help="Set the budget of all analysts together.")] = False,
    json: _source.Json = False,
) -> None:
    """Show what has been spent and what is left, or set a budget."""
    from shoal.queries import Loss, Vault

    ledger = Vault.open(folder).ledger()
    if epsilon is not None:
        if (name is None) != whole:
            raise ParameterError("say whose budget to set: an analyst's NAME, or --all")
        if name is not None:
            ledger.standing(name)
        given = Loss.of(epsilon, delta)
        with stopping.held():
            ledger.set_budget(name or "*", given)
            stopping.happened("the budget was set")
    known, unit = ledger.standings(), ledger.unit
    if name is None:
        shown = {"all together" if each == "*" else each: standing for each, standing in known.items()}
    else:
        shown = {name: ledger.standing(name)}
    ledger.close()
    if json:
        _output.print_json({each: _account.amounts(standing) for each, standing in shown.items()})
        return
    _account.show_budgets(shown)
    _output.line(f"Budgets count the privacy loss of {unit}.")


@vault.command("ledger")
def ledger(
    folder: Folder,
    *,
    expect: Annotated[
        str | None, Option(metavar="HEAD", help="A head that was noted earlier; exits with 1 if it is not there.")
    ] = None,
    restore_anchor: Annotated[
        bool, Option("--restore-anchor", help="Make a new anchor if the old one is lost; an entry says so.")
    ] = False,
    last: Annotated[int, Option(help="How many entries to show.", min=0)] = 20,
    before: Annotated[int | None, Option(help="Show entries before this number.", min=1)] = None,
    full: Annotated[
        bool, Option("--full", help="Also add up every entry from the first one, and compare with the stored totals.")
    ] = False,
    json: _source.Json = False,
) -> None:
    """Check the ledger and show its last entries.

    Exits with 1 if any entry was changed or is missing.
    """
    from shoal.queries import Head, Vault

    opened = Vault.open(folder)
    expected = None if expect is None else Head.parse(expect)
    if restore_anchor:
        with stopping.held():
            checked = opened.restore_anchor()
            stopping.happened("a new anchor was made")
    else:
        checked = opened.ledger(expect=expected)
    with closing(checked):
        if full:
            checked.check()
        shown, written, head = checked.entries(last=last, before=before), checked.written(), checked.head
    if json:
        _output.print_json(_account.entries_json(shown, head))
        return
    _account.show_entries(shown, written, head)
    _output.line()
    _output.line("Checked: no entry was changed, and none is missing up to the head", style="bold")
    _output.line(f"  {head}")
    _output.line("Store it elsewhere, and pass it with --expect next time: only then will an older copy be noticed.")


@vault.command("serve")
def serve(
    folder: Folder,
    *,
    host: Annotated[str, Option(help="The address to listen on; by default only this machine.")] = "127.0.0.1",
    port: Annotated[int, Option(help="The port to listen on; 0 picks a free one.", min=0, max=65535)] = PORT,
    certificate: Annotated[Path | None, Option(help="The file of the TLS certificate.")] = None,
    private_key: Annotated[Path | None, Option(help="The file of the TLS certificate's private key.")] = None,
    behind_proxy: Annotated[
        bool, Option("--behind-proxy", help="A proxy in front of this server provides TLS.")
    ] = False,
    name: Annotated[
        list[str] | None,
        Option(help="A name under which this server is asked, besides its addresses and localhost; may be repeated."),
    ] = None,
    share: Annotated[
        float,
        Option(help="The share of a processor that each analyst's questions may take over time.", min=0.001),
    ] = 0.25,
    burst: Annotated[float, Option(help="Processor seconds that they may take at once.", min=0.1)] = 5.0,
    pace: Annotated[
        float, Option(help="Send answers only at multiples of this many seconds, which hides computing times.", min=0)
    ] = 0.05,
    connections: Annotated[int, Option(help="How many connections may be open at once.", min=1)] = 512,
) -> None:
    """Answer analysts' questions over HTTP until stopped."""
    from shoal.queries import Vault
    from shoal.queries.client import is_loopback

    if not is_loopback(host) and certificate is None and not behind_proxy:
        raise ParameterError(
            "tokens and answers must not travel in clear text.",
            hint="give --certificate and --private-key, or --behind-proxy if a proxy provides TLS",
        )
    if (certificate is None) != (private_key is None):
        raise ParameterError("--certificate and --private-key must be given together")
    from shoal.queries import server as http

    limits = http.ConnectionLimits(in_all=connections)
    admitted = http.Connections(replace(limits, per_address=None) if behind_proxy else limits)
    opened = Vault.open(folder)
    book = opened.ledger()
    try:
        desk = opened.desk(book)
        desk.rehearse()
        app = http.create_app(
            desk,
            book,
            limits=http.RateLimits(share=share, burst=burst, pace=pace),
            connections=admitted,
            names=name or (),
            behind_proxy=behind_proxy,
        )
        server = http.VaultServer(
            app,
            admitted,
            host=host,
            port=port,
            certificate=certificate,
            private_key=private_key,
            started=lambda address: _output.warning(f"the vault answers at {address}; stop it with Ctrl-C."),
        )
        _serve(server)
    finally:
        book.close()
    _output.warning("the vault is closed; its ledger holds what was spent.")


def _serve(server: VaultServer) -> None:
    """Serve until a signal comes; refusals are logged to standard error, one line each, with their time."""
    import logging

    log, lines = logging.getLogger("shoal.vault"), logging.StreamHandler()
    lines.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.addHandler(lines)
    log.propagate = False
    try:
        server.load()
    except OSError:
        # also what TLS says of files that hold something else
        raise ParameterError("--certificate and --private-key must be readable files of one PEM certificate.") from None
    try:
        listener = server.listen()
    except OSError:
        raise ParameterError(
            f"the vault cannot listen on {server.config.host}, port {server.config.port}.",
            hint="another program may be using it: choose another --port",
        ) from None
    with stopping.gently(lambda: setattr(server, "should_exit", True)):
        server.run(sockets=[listener])


@vault.command("ask", epilog="The token is read from the variable SHOAL_TOKEN, so that no command line shows it.")
def ask(
    question: Annotated[str, Argument(metavar="QUESTION", help='For example: mean of age where sex = "F"')],
    *,
    epsilon: Annotated[str | None, Option(help="What the answer may cost.")] = None,
    rho: Annotated[
        str | None,
        Option(help="What a count, a sum or a histogram may cost, where the vault adds up rho: Gaussian noise."),
    ] = None,
    delta: Annotated[str, Option(help="The delta of a look-up.")] = "0",
    address: Annotated[str, Option(help="Where the vault is.")] = f"http://127.0.0.1:{PORT}",
    certificate: Annotated[
        Path | None, Option(help="The certificate authority, if the system does not know it.")
    ] = None,
    json: _source.Json = False,
) -> None:
    """Ask a vault a question.

    Questions: count; sum of COLUMN; mean of COLUMN; median of COLUMN; quantile 0.9 of COLUMN; histogram of COLUMN;
    histogram of COLUMN at EDGE, EDGE, ...; each with: where FILTER. Or: look up COLUMN of IDENTIFIER "PERSON".

    Filters: age >= 40 and (sex = "F" or region in ("north", "west")) and not income is missing.
    """
    from shoal.queries import Client, parse_query

    token = os.environ.get("SHOAL_TOKEN")
    if not token:
        raise ParameterError(
            "there is no token.", hint="set the variable SHOAL_TOKEN to the token that the steward gave you"
        )
    client = Client(address, token, certificate=certificate)
    if (epsilon is None) == (rho is None):
        raise ParameterError("say what the answer may cost, with --epsilon or with --rho")
    query = parse_query(question, epsilon=epsilon, delta=delta, rho=rho)
    stopping.happened("the question may have reached the vault, and then its cost is spent")
    answer = client.ask(query)
    client.close()
    if json:
        _output.print_json(answer.to_json())
    else:
        _output.line(str(answer))


@vault.command("cost")
def cost(
    *,
    questions: Annotated[int, Option(help="How many counts are to be asked.")] = 1000,
    epsilon: Annotated[str, Option(help="What all of them together may spend.")] = "1",
    delta: Annotated[str, Option(help="The delta of the budget.")] = "1e-6",
    json: _source.Json = False,
) -> None:
    """Show how exact many answers can be, counted in epsilon or in rho.

    Nothing is asked, and nothing is spent.
    """
    from shoal.queries import Loss, numeric_epsilon, prospects

    outlook = prospects(questions, epsilon, delta)
    budget = Loss.of(epsilon, delta)
    try:
        numeric = numeric_epsilon([outlook[1].each] * questions, budget.delta)
    except MissingExtraError:
        numeric = None
    if json:
        _output.print_json({"prospects": outlook, "numeric_epsilon": numeric})
        return
    rows = [[one.measure, str(one.each), f"{one.deviation:,.0f}", f"{one.margin:,.0f}"] for one in outlook]
    _output.table(
        f"{questions:,} counts within {budget}",
        ("adding up", "each costs", "standard deviation", "within (95%)"),
        rows,
    )
    _output.line("Choose with --measure when the vault or account is made; ask with --rho where rho is added up.")
    if numeric is not None:
        _output.line(
            f"Numerical accounting (dp-accounting) puts the Gaussian answers at epsilon {numeric:.3f}: a report only."
        )
