"""``shoal draft``: propose a schema and say why."""

from __future__ import annotations

import shlex
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from shoal.cli import _output, _source
from shoal.errors import OutputError, ParameterError, counted

if TYPE_CHECKING:
    from shoal import Draft


EXAMPLES = """\b
Examples:
  shoal draft patients.csv            then review patients.schema.toml
  shoal draft patients.csv --edit     answer questions about what is unclear
  shoal draft patients.csv --private  for differential privacy: a template
"""

_TITLES = {
    "identifier": "Names people: removed",
    "person": "Says whose record it is: removed; group sizes count persons",
    "household": "Says whose household it is: removed",
    "drop": "Left out",
    "insensitive": "Harmless: released as it is",
    "weight": "Says how many people a record stands for: released as it is",
    "stratum": "Says where a record was drawn: others may know it",
    "sensitive": "Secret (sensitive): released as it is",
    "quasi-identifier": "May be known to others (quasi-identifiers): made coarser",
    "decide": "To decide: nothing is released until you have decided",
}
_ANSWERS = {"k": "quasi-identifier", "s": "sensitive", "n": "identifier", "h": "insensitive", "d": "drop"}
_QUESTION = "[k]nown to others  [s]ecret  [n]ames people  [h]armless  [d]rop  [q]uit"


@_source.takes_a_file
def draft(
    file: _source.InputFile,
    *,
    output: Annotated[Path | None, Option(help="Where to write the schema; next to FILE by default.")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing schema file.")] = False,
    edit: Annotated[bool, Option("--edit", help="Ask about every column that the draft could not classify.")] = False,
    private: Annotated[
        bool, Option("--private", help="For differential privacy: look at no record, write a template to fill in.")
    ] = False,
    drop: Annotated[
        list[str] | None, Option(help="Leave out columns with this word in their names; repeatable.", metavar="WORD")
    ] = None,
    json: _source.Json = False,
) -> None:
    """Draft a schema for a table.

    Proposes a role, a kind and a hierarchy for every column, with reasons, and writes them to a schema file.
    """
    import shoal

    if edit and private:
        raise ParameterError("--edit asks for roles, and --private writes a template: fill it in as a file.")
    if edit and file.source == "-":
        raise ParameterError("--edit asks on standard input, which is the table here.", hint="save the table as a file")
    target = output or _source.default_schema(file.source)
    if target.exists() and not overwrite:
        raise OutputError(f"`{target}` already exists", hint="choose another name with --output, or use --overwrite")
    drafted = shoal.draft(file.read(), private=private, drop=drop or ())
    if not json:
        _show(drafted)
    if edit:
        drafted = _asked(drafted)
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
        _fill_in(drafted, with_schema, target)
        return
    again = "" if edit else named + (f" --output {shlex.quote(str(output))}" if output else "")
    _next_steps(drafted, with_schema, target, again=again)


def _show(drafted: Draft) -> None:
    """Print the columns by role, each with its reason, within 80 characters."""
    for role, title in _TITLES.items():
        columns = [each for each in drafted.schema if each.role == role]
        if not columns:
            continue
        _output.line(title, style="bold")
        width = min(max(len(each.name) for each in columns), 20)
        for each in columns:
            kind = "" if drafted.records is None else f"{each.kind}; "
            reason = kind + drafted.reasons[each.name].removeprefix(f"{role}: ")
            start = f"  {each.name:<{width}}  "
            first = start if len(start) <= width + 4 else f"{start.rstrip()}\n{' ' * (width + 4)}"
            lines = textwrap.wrap(reason, 76 - width)
            _output.line(first + f"\n{' ' * (width + 4)}".join(lines))
        _output.line()


def _asked(drafted: Draft) -> Draft:
    """Ask about the open columns one by one; an empty answer keeps what was proposed, and the end of input all."""
    questions = drafted.questions
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


def _next_steps(drafted: Draft, source: str, target: Path, *, again: str) -> None:
    _output.line(textwrap.fill(f"{counted(len(drafted.schema.names), 'column')}: {drafted.summary}.", 80), style="bold")
    if drafted.unknown and drafted.schema.guessed:
        count = len(drafted.unknown)
        roles, told = (
            ("The role of 1 column was", "it is") if count == 1 else (f"The roles of {count} columns were", "they are")
        )
        caution = f"{roles} chosen out of caution alone: say what {told}, and the release keeps more detail."
        _output.line(textwrap.fill(caution, 80))
    _output.line()
    count = len(drafted.questions)
    if drafted.questions and again:
        _output.line(f"To be asked about {'the open column' if count == 1 else f'{count} open columns, one by one'}:")
        _output.line(f"  shoal draft {again} --edit --overwrite")
    guesses = "These are guesses: review and correct them, then run:" if drafted.schema.guessed else "Now run:"
    _output.line(textwrap.fill(f"Wrote {target}. {guesses}", 80, break_long_words=False, break_on_hyphens=False))
    _output.line(f"  shoal anonymize {source} --k 5 --output release")
    if drafted.undecided:
        _output.line("It needs a decision first; `--undecided drop` leaves the undecided columns out.")


def _fill_in(drafted: Draft, source: str, target: Path) -> None:
    _output.line(textwrap.fill(f"{counted(len(drafted.schema.names), 'column')}: {drafted.summary}.", 80), style="bold")
    _output.line()
    wrote = f"Wrote {target}, from the names of the columns alone: no record was looked at."
    _output.line(textwrap.fill(wrote, 80, break_long_words=False, break_on_hyphens=False))
    if open_ := len(drafted.undecided):
        columns = "1 column" if open_ == 1 else f"{open_} columns"
        _output.line(f"Fill in {columns}, but not from the data; nothing is released until then.\nThen run:")
    else:
        _output.line("Check what it says and remove the line `guessed = true`. Then run:")
    _output.line(f"  shoal anonymize {source} --epsilon 1 --delta 1e-5 --output release")
