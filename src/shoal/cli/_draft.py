"""``shoal draft``: propose a schema and say why."""

from __future__ import annotations

import re
import shlex
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from shoal.cli import _datasets, _output, _source
from shoal.errors import OutputError, ParameterError, SchemaError, counted, quoted

if TYPE_CHECKING:
    from shoal import Table
    from shoal.queries import PaidDraft
    from shoal.schema import Draft


EXAMPLES = """\b
Examples:
  shoal draft patients.csv            then review patients.schema.toml
  shoal draft patients.csv --keep outcome,treatment,age --for researchers
                                      only what the purpose needs
  shoal draft clinic                  a folder of tables: keys, parents, roles
  shoal draft patients.csv --edit     answer questions about what is unclear
  shoal draft patients.csv --private  for differential privacy: a template
"""

_TITLES = {
    "identifier": "Names people: removed",
    "person": "Says whose record it is: removed; group sizes count persons",
    "household": "Says whose household it is: removed",
    "insensitive": "Harmless: kept unchanged",
    "weight": "Says how many people a record stands for: kept, or rounded",
    "stratum": "Says where a record was drawn: others may know it",
    "sensitive": "Sensitive, needed for analysis: kept unchanged, or rounded",
    "quasi-identifier": "Others may know it (quasi-identifiers): made coarser",
    "drop": "Left out",
    "decide": "To decide: nothing is released until you have decided",
}
# lines of a screen that the columns may take; the rest of 40 says how to go on
_ROWS, _WIDTH = 24, 80
#: secrets for which that is asked by default; with more of them little would stay
_PROTECTED = 3
_ANSWERS = {"k": "quasi-identifier", "s": "sensitive", "n": "identifier", "h": "insensitive", "d": "drop"}
_QUESTION = "[k]nown to others  [s]ecret  [n]ames people  [h]armless  [d]rop  [q]uit"


@_source.takes_a_file
def draft(
    file: _source.InputFile,
    *,
    output: Annotated[Path | None, Option(help="Where to write the schema; next to FILE by default.")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing schema file.")] = False,
    all_tables: Annotated[
        bool,
        Option("--all-tables", help="Draft all tables of an Excel or DuckDB file together; so it is with a folder."),
    ] = False,
    edit: Annotated[bool, Option("--edit", help="Ask about every column that the draft could not classify.")] = False,
    private: Annotated[
        bool, Option("--private", help="For differential privacy: look at no record, write a template to fill in.")
    ] = False,
    account: Annotated[
        Path | None,
        Option(help="With --private: the account that pays for frequent values and bounds of undeclared columns."),
    ] = None,
    epsilon: Annotated[str, Option(help="With --account: what all of them together cost.")] = "0.05",
    delta: Annotated[str, Option(help="With --account: the delta of the frequent values.")] = "1e-7",
    numbers: Annotated[
        list[str] | None,
        Option(help="With --account: the columns that hold numbers; others are text.", metavar="NAME,NAME,..."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        Option(
            help="The columns that the purpose needs, by names or words in them; all others are left out.",
            metavar="NAME,NAME,...",
        ),
    ] = None,
    also: Annotated[
        list[str] | None,
        Option(help="Columns that stay as well, such as one whose meaning is unknown.", metavar="NAME,NAME,..."),
    ] = None,
    audience: Annotated[
        str | None,
        Option(
            "--for",
            help="Who gets the data: partners, researchers or public. It decides what to promise.",
            metavar="WHO",
        ),
    ] = None,
    drop: Annotated[
        list[str] | None, Option(help="Leave out columns with this word in their names; repeatable.", metavar="WORD")
    ] = None,
    person: Annotated[
        str | None,
        Option(
            help="The column that says whose record it is; `records` if every record stands for another person.",
            metavar="COLUMN",
        ),
    ] = None,
    json: _source.Json = False,
) -> None:
    """Draft a schema for a table.

    Proposes a role, a kind and a hierarchy for every column, with reasons, and writes them to a schema file.
    """
    import shoal
    from shoal.datasets import holds_tables
    from shoal.methods.shorthand import AUDIENCES

    if all_tables or holds_tables(file.source):
        if edit or private or keep or also or drop or person or audience or file.table:
            raise ParameterError("a data set of several tables is drafted with --output, --overwrite and --json alone.")
        _datasets.draft(file.source, output=output, overwrite=overwrite, json=json)
        return
    if edit and private:
        raise ParameterError("--edit asks for roles, and --private writes a template: fill it in as a file.")
    if edit and file.source == "-":
        raise ParameterError("--edit asks on standard input, which is the table here.", hint="save the table as a file")
    target = output or _source.default_schema(file.source)
    if target.exists() and not overwrite:
        raise OutputError(f"`{target}` already exists", hint="choose another name with --output, or use --overwrite")
    if audience is not None and audience not in AUDIENCES:
        raise ParameterError(f"--for must be one of {', '.join(AUDIENCES)}")
    if not private and (account is not None or numbers):
        raise ParameterError("--account and --numbers go with --private: any other draft looks at the records.")
    data = file.read()
    drafted = shoal.draft(
        data,
        private=private,
        keep=_listed(keep, data.columns),
        also=_listed(also, data.columns),
        drop=drop or (),
        person=person,
    )
    if account is not None:
        drafted = _paid(data, drafted, account, epsilon, delta, _listed(numbers), json=json)
    if not json:
        _show(drafted, Path(file.source).name)
    if edit:
        drafted = _asked(drafted)
    elif not (keep or private or json) and _is_interactive():
        drafted, audience = _form(drafted, audience)
    drafted.save(target, overwrite=overwrite)
    if json:
        columns = [
            {"column": each.name, "role": each.role, "kind": each.kind, "reason": drafted.reasons[each.name]}
            for each in drafted.schema
        ]
        _output.print_json({"schema": target, "summary": drafted.summary, "columns": columns})
        return
    named = file.named
    with_schema = named + (f" --schema {shlex.quote(str(output))}" if output else "")
    if private:
        _fill_in(drafted, with_schema, target, paid=account is not None)
        return
    again = "" if edit else named + (f" --output {shlex.quote(str(output))}" if output else "")
    _next_steps(drafted, with_schema, target, again=again, audience=audience, has_purpose=bool(keep))


def _paid(
    data: Table, drafted: Draft, account: Path, epsilon: str, delta: str, numbers: list[str], *, json: bool
) -> Draft:
    """Let an account pay for the domains of columns that nobody has declared, and say what it spent on what."""
    import shoal
    from shoal.queries import draft_paid

    paid = draft_paid(data, drafted, shoal.Account.open(account), epsilon=epsilon, delta=delta, numbers=numbers)
    if not json:
        show_paid(paid)
    return paid.draft


def show_paid(paid: PaidDraft) -> None:
    """Print what a draft spent on what."""
    parts = [
        f"{what} of {quoted(names)}"
        for what, names in (("the frequent values", paid.values), ("the bounds", paid.bounds))
        if names
    ]
    _paragraph(f"Spent {paid.cost} of the account on domains: {'; '.join(parts) or 'nothing was frequent enough'}.")
    if paid.nothing:
        _paragraph(f"Left out, because nothing in them is frequent enough to be told: {quoted(paid.nothing)}.")


def _listed(given: list[str] | None, columns: Sequence[str] = ()) -> list[str]:
    """Return names that are given one by one, or separated by commas; names of columns may have commas inside."""
    lines = []
    for text in given or []:
        for name in sorted((name for name in columns if "," in name), key=len, reverse=True):
            if name in text:
                lines.append(name)
                text = text.replace(name, "")
        lines += [name.strip() for name in text.split(",") if name.strip()]
    return lines


def _is_interactive() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _form(drafted: Draft, audience: str | None) -> tuple[Draft, str | None]:
    """Ask what matters: the purpose, who gets the data, and what nobody but a person can decide."""
    _output.line("Press Enter to keep what is in brackets.")
    while answer := _line("Which columns must survive, separated by commas? [all that are recognised] "):
        try:
            drafted = drafted.keeping(_listed([answer], drafted.schema.names))
            break
        except SchemaError as error:
            for problem in error.problems:
                _output.line(f"  {problem}")
    if audience is None:
        question = "Who gets the data: [p]artners, [r]esearchers, [w]orld (public)? [r] "
        letters = {"p": "partners", "r": "researchers", "w": "public"}
        audience = letters[_answer(question, list(letters)) or "r"]
    if drafted.schema.asks_for_persons:
        _paragraph(drafted.question)
        answer = _line("Name the column that says whose record it is, or `records`, or press Enter to decide later: ")
        if answer == "records" or answer in drafted.schema.names:
            drafted = drafted.with_persons(answer)
    return _asked(drafted, drafted.undecided), audience


def _line(question: str) -> str:
    """Return a line of a person's answer, empty at the end of input."""
    sys.stdout.write(question)
    sys.stdout.flush()
    return sys.stdin.readline().strip()


def _show(drafted: Draft, named: str) -> None:
    """Print the columns by role, within 80 characters and one screen; the file holds the rest."""
    groups = [(title, [each for each in drafted.schema if each.role == role]) for role, title in _TITLES.items()]
    groups = [(title, columns) for title, columns in groups if columns]
    records = "" if drafted.records is None else f", {counted(drafted.records, 'record')}"
    _output.line(f"{named}: {counted(len(drafted.schema.names), 'column')}{records}")
    shown = sum(len(columns) for _, columns in groups)
    one_by_one = shown + len(groups) <= _ROWS
    for title, columns in groups:
        _output.line(title, style="bold")
        if one_by_one:
            width = min(max(len(each.name) for each in drafted.schema), 20)
            for each in columns:
                _output.line(_one_line(f"  {each.name:<{width}}  {_why(drafted, each.name)}"))
        else:
            room = max(1, (_ROWS - len(groups)) // len(groups))
            for line in _names([each.name for each in columns], room):
                _output.line(f"  {line}")
    _output.line()


def _why(drafted: Draft, name: str) -> str:
    """Return the guess of a column in a few words."""
    column = drafted.schema[name]
    reason = re.split(r"; |, (?!but: )", drafted.reasons[name].removeprefix(f"{column.role}: "))[0].rstrip(".")
    if column.reading.round_to is not None:
        return f"{column.kind}, rounded to {column.reading.round_to:,.15g}: {reason}"
    kind = "" if column.role.left_out or drafted.records is None else f"{column.kind}; "
    return kind + reason


def _one_line(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def _names(names: Sequence[str], rows: int) -> list[str]:
    """Return names in at most so many lines; those without room are counted."""
    shown = [_one_line(name) for name in names]
    if len(lines := _wrapped(", ".join(shown))) <= rows:
        return lines
    lines = [f"{shown[0][: _WIDTH - len(' and 10,000 more') - 5]}... and {len(names) - 1:,} more"]
    for number in range(1, len(names)):
        longer = _wrapped(f"{', '.join(shown[:number])} and {len(names) - number:,} more")
        if len(longer) > rows:
            break
        lines = longer
    return lines


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH - 2, break_long_words=False)


def _asked(drafted: Draft, questions: Sequence[str] | None = None) -> Draft:
    """Ask about the open columns one by one; an empty answer keeps what was proposed, and the end of input all."""
    questions = drafted.questions if questions is None else questions
    if questions:
        _output.line("An empty answer keeps what is in brackets.")
    for number, name in enumerate(questions, 1):
        role = drafted.schema[name].role
        _output.line(f"{number} of {len(questions)}: `{name}`", style="bold")
        reason = drafted.reasons[name].removeprefix(f"{role}: ")
        for line in textwrap.wrap(reason, 76):
            _output.line(f"  {line}")
        answer = _answer(f"  {_QUESTION}\n  [{role}] ", [*_ANSWERS, "q"])
        if answer in (None, "q"):
            break
        if answer:
            drafted = drafted.with_role(name, _ANSWERS[answer])
    if not drafted.undecided and _answer("Have you checked all the other roles above? [y/N] ", ["y", "n"]) == "y":
        return drafted.confirmed()
    return drafted


def _answer(question: str, letters: list[str]) -> str | None:
    """Return one of the letters, an empty text for none, or None at the end of input."""
    while True:
        sys.stdout.write(question)
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            _output.line()
            return None
        if (answer := line.strip().lower()[:1]) in ("", *letters):
            return answer
        _output.line(f"  Please answer with one of {', '.join(letters)}, or press Enter.")


def _next_steps(
    drafted: Draft, source: str, target: Path, *, again: str, audience: str | None, has_purpose: bool
) -> None:
    """Print what must be decided, and the next command."""
    if drafted.schema.asks_for_persons:
        _paragraph(drafted.question, style="bold")
    if drafted.unknown and drafted.schema.guessed and again and not has_purpose:
        count = counted(len(drafted.unknown), "column")
        _paragraph(f"The meaning of {count} is unknown; left out (take one back: --also NAME).")
        _output.line("Better: name the columns that your purpose needs; all others are left out:")
        _command(f"shoal draft {again}", ["--keep NAME,NAME", "--overwrite"])
    if drafted.undecided and again:
        _output.line(f"To decide {counted(len(drafted.undecided), 'column')}, and to see the others one by one:")
        _command(f"shoal draft {again}", ["--edit", "--overwrite"])
    _paragraph(f"Wrote {target}. {'Review it, then run:' if drafted.schema.guessed else 'Now run:'}")
    _command(f"shoal anonymize {source}", [*_protection(drafted, audience), "--output release"])
    if audience:
        _paragraph(_explained(drafted, audience))
    if drafted.undecided:
        _output.line("It needs a decision first; `--undecided drop` leaves the undecided columns out.")
    if not drafted.schema.quasi_identifiers:
        _paragraph(
            "No column is known to others, so there is nothing to protect yet: name those that the purpose needs, as "
            "in --keep age,sex,outcome"
        )


def _protection(drafted: Draft, audience: str | None) -> list[str]:
    """Return the promises that are usual for those who get the data, as options."""
    from shoal.methods.shorthand import AUDIENCES

    if audience is None:
        return ["--k 5"]
    usual = AUDIENCES[audience]
    about = [f'--about "recipient={usual.recipient}"']
    return [
        f"--k {usual.k}",
        *(f"--l {shlex.quote(name)}={least}" for name, least in _varied_secrets(drafted, usual.varied).items()),
        *about,
    ]


def _varied_secrets(drafted: Draft, varied: int) -> dict[str, int]:
    """Return the secrets in words or codes that vary within groups, and how many of their values a group shows."""
    if not varied:
        return {}
    named = [each.name for each in drafted.schema if each.role == "sensitive" and each.kind != "numeric"]
    varieties = {name: min(varied, drafted.number_of_values(name) or varied) for name in named[:_PROTECTED]}
    return {name: least for name, least in varieties.items() if least > 1}


def _explained(drafted: Draft, audience: str) -> str:
    """Say what it changes who gets the data."""
    from shoal.methods.shorthand import AUDIENCES

    usual = AUDIENCES[audience]
    who = "the public" if audience == "public" else audience
    secrets = _varied_secrets(drafted, usual.varied)
    parts = [
        f"{least} different values of {quoted([name for name in secrets if secrets[name] == least])}"
        for least in sorted(set(secrets.values()), reverse=True)
    ]
    vary = f", each with at least {' and '.join(parts)}" if parts else ""
    return f"For {who}: groups of at least {usual.k} records{vary}."


def _command(start: str, options: Sequence[str]) -> None:
    """Print a command, on several lines where it does not fit on one."""
    line = f"  {start}"
    for option in options:
        if len(line) + 1 + len(option) > _WIDTH - 2:
            _output.line(f"{line} \\")
            line = f"    {option}"
        else:
            line += f" {option}"
    _output.line(line)


def _paragraph(text: str, *, style: str | None = None) -> None:
    _output.line(textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False), style=style)


def _fill_in(drafted: Draft, source: str, target: Path, *, paid: bool) -> None:
    _output.line(textwrap.fill(f"{counted(len(drafted.schema.names), 'column')}: {drafted.summary}.", 80), style="bold")
    _output.line()
    looked = "and what the account paid for" if paid else "alone: no record was looked at"
    wrote = f"Wrote {target}, from the names of the columns {looked}."
    _output.line(textwrap.fill(wrote, 80, break_long_words=False, break_on_hyphens=False))
    if open_ := len(drafted.undecided):
        columns = "1 column" if open_ == 1 else f"{open_} columns"
        _output.line(f"Fill in {columns}, but not from the data; nothing is released until then.\nThen run:")
    else:
        _output.line("Check what it says and remove the line `guessed = true`. Then run:")
    _command(f"shoal anonymize {source}", ["--epsilon 1", "--delta 1e-5", "--output release"])
