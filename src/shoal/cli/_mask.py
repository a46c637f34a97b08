"""``shoal mask``: recode and perturb columns, and measure what an intruder still finds."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from shoal.cli import _output, _source
from shoal.errors import OutputError, ParameterError, Problems, quoted

if TYPE_CHECKING:
    from shoal import Schema, Table
    from shoal.masking import MaskingStep


EXAMPLES = """\b
Examples:
  shoal mask survey.csv --round income=1000 --top age=80 --output masked.csv
  shoal mask survey.csv --pram roof=0.8 --output masked.csv
  shoal mask survey.csv --rank-swap expend=0.05 --known expend,income \\
      --output masked.csv
  shoal mask survey.csv --noise expend,income=0.1 \\
      --noise-kind correlated --output masked.csv
  shoal mask survey.csv --shuffle income,expend --given age,region \\
      --output masked.csv
  shoal mask eusilc.csv --swap-households db030 --geography db040 \\
      --risk age,rb090,hsize --similar hsize --output masked.csv
"""


@_source.takes_a_file
def mask(
    file: _source.InputFile,
    *,
    output: Annotated[Path, Option("--output", "-o", help="The file to write: .csv or .parquet.")],
    recode: Annotated[
        list[str] | None, Option(metavar="COLUMN:OLD=NEW,...", help="Merge values, in the same way everywhere.")
    ] = None,
    round_: Annotated[
        list[str] | None, Option("--round", metavar="COLUMN=STEP", help="Round to multiples of STEP.")
    ] = None,
    top: Annotated[
        list[str] | None, Option(metavar="COLUMN=LIMIT", help="Values of LIMIT or more become one value.")
    ] = None,
    bottom: Annotated[
        list[str] | None, Option(metavar="COLUMN=LIMIT", help="Values of LIMIT or less become one value.")
    ] = None,
    pram: Annotated[
        list[str] | None, Option(metavar="COLUMN=KEEP", help="Redraw values; each stays with probability KEEP.")
    ] = None,
    invariant: Annotated[
        bool, Option("--invariant", help="With --pram: keep the expected number of every value.")
    ] = False,
    rank_swap: Annotated[
        list[str] | None, Option(metavar="COLUMN=SHARE", help="Swap values at most SHARE of all ranks apart.")
    ] = None,
    noise: Annotated[
        list[str] | None, Option(metavar="COLUMN,...=AMOUNT", help="Add normal noise of AMOUNT times the variance.")
    ] = None,
    swap_households: Annotated[
        str | None, Option(metavar="COLUMN", help="Swap the geography of whole households; COLUMN identifies them.")
    ] = None,
    geography: Annotated[str | None, Option(metavar="COLUMN,...", help="What households swap, coarsest first.")] = None,
    risk: Annotated[
        str | None, Option(metavar="COLUMN,...", help="What an intruder may know about a member of a household.")
    ] = None,
    similar: Annotated[
        str | None, Option(metavar="COLUMN,...", help="What households that change places have in common.")
    ] = None,
    k: Annotated[int, Option("--k", help="Households with counts below K must change places.")] = 3,
    rate: Annotated[float, Option(help="The smallest share of households that change places.")] = 0.05,
    noise_kind: Annotated[str, Option(help="additive, correlated, kept-variance or kept-moments.")] = "additive",
    shuffle: Annotated[
        str | None, Option(metavar="COLUMN,...", help="Shuffle numbers by the ranks of drawn ones.")
    ] = None,
    given: Annotated[
        str | None, Option(metavar="COLUMN,...", help="With --shuffle: columns whose relationship to them is kept.")
    ] = None,
    known: Annotated[
        str | None,
        Option(metavar="COLUMN,...", help="What the simulated intruder knows; by default, the changed columns."),
    ] = None,
    schema: _source.SchemaOption = None,
    json: _source.Json = False,
) -> None:
    """Recode or perturb columns of a file, and measure its risk.

    The result is not anonymous: anonymize makes promises, mask does not. Columns that identify somebody, by the schema,
    are left out. A record next to the file says what was done.
    """
    import shoal
    from shoal.masking import RECORD, AddNoise, BottomCode, Pram, RankSwap, RecordSwap, RoundTo, Shuffle, TopCode

    for path in (output, output.with_name(output.name + RECORD)):
        if path.exists():
            raise OutputError(f"`{path.name}` already exists; nothing was written", hint="choose another name")
    steps: list[MaskingStep] = _recodings(recode or [])
    steps += [RoundTo(column=name, step=number) for name, number in _pairs("--round", round_)]
    steps += [TopCode(column=name, limit=number) for name, number in _pairs("--top", top)]
    steps += [BottomCode(column=name, limit=number) for name, number in _pairs("--bottom", bottom)]
    steps += [Pram(column=name, keep=number, invariant=invariant) for name, number in _pairs("--pram", pram)]
    steps += [RankSwap(column=name, share=number) for name, number in _pairs("--rank-swap", rank_swap)]
    steps += [
        AddNoise(names=tuple(names.split(",")), amount=number, kind=noise_kind)  # type: ignore[arg-type]
        for names, number in _pairs("--noise", noise)
    ]
    if shuffle is not None:
        steps.append(Shuffle(names=tuple(shuffle.split(",")), given=_names(given)))
    elif given:
        raise ParameterError("--given can only be used with --shuffle")
    if swap_households is not None:
        parts = {"geography": _names(geography), "risk": _names(risk), "similar": _names(similar)}
        steps.append(RecordSwap(household=swap_households, k=k, rate=rate, **parts))
    elif geography or risk or similar:
        raise ParameterError("--geography, --risk and --similar can only be used with --swap-households")
    if not steps:
        raise ParameterError("say what to do, for example --top age=80 or --pram roof=0.8")
    data = file.read()
    masked = shoal.mask(data, *steps, known=_names(known), schema=_schema(data, file.source, schema))
    record = masked.write(output)
    if json:
        _output.print_json(
            {
                "output": output,
                "record": record,
                "steps": masked.steps,
                "promises": masked.promises,
                "risk": masked.risk,
            }
        )
        return
    for line in str(masked).splitlines():
        indent = "    " if line.startswith("  - ") else ""
        _output.line(textwrap.fill(line, 80, subsequent_indent=indent) if indent else line)
    _output.line()
    _output.line(f"The masked file is {output}. It is not anonymous; keep the figures above to yourself.", style="bold")
    _output.line(
        f"{record.name} says what was done, for readers; shoal verify {shlex.quote(str(output))} compares the two."
    )


def _schema(data: Table, source: str, given: Path | None) -> Schema | None:
    """Return the schema of a file; without one, name the columns that seem to identify somebody, which stay."""
    import shoal
    from shoal.schema import load

    path = given or _source.default_schema(source)
    if given is not None or path.is_file():
        return load(path)
    telling = [column.name for column in shoal.draft(data).schema if column.role.names_someone]
    if telling:
        _output.warning(
            f"there is no {path.name}, so every column stays, and {quoted(telling)} may identify somebody; to leave "
            "such columns out, write a schema with `shoal draft`"
        )
    return None


def _recodings(texts: list[str]) -> list[MaskingStep]:
    from shoal.masking import GlobalRecode

    recodings: list[MaskingStep] = []
    for text in texts:
        column, colon, rest = text.partition(":")
        pairs = [pair.partition("=") for pair in rest.split(",")]
        if not colon or not column or not all(old and equals for old, equals, _ in pairs):
            raise ParameterError("--recode takes COLUMN:OLD=NEW,OLD=NEW, for example --recode canton:ZH=north,TI=south")
        recodings.append(GlobalRecode(column=column, values={old: new for old, _, new in pairs}))
    return recodings


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _pairs(option: str, texts: list[str] | None) -> list[tuple[str, float]]:
    problems, pairs = Problems(), []
    for text in texts or []:
        column, _, number = text.rpartition("=")
        try:
            pairs.append((column, float(number)))
        except ValueError:
            column = ""
        if not column:
            problems.add(f"{option} takes COLUMN=NUMBER, for example {option} age=80")
    problems.raise_as(ParameterError)
    return pairs
