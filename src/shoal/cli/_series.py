"""``shoal series``: releases of the same people that keep their promises together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from shoal import stopping
from shoal.cli import _output, _source
from shoal.errors import InputError, reason

EXAMPLES = """\b
Start with:
  shoal series create study --key patient_id
  shoal anonymize 2024.csv --k 5 --series study --output release-2024
  shoal anonymize 2025.csv --k 5 --series study --output release-2025
  shoal series show study
  shoal series check study
"""

series = typer.Typer(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)

Folder = Annotated[Path, Argument(metavar="STUDY", help="The folder of the series; never published.")]
Expect = Annotated[
    str | None, Option(metavar="NUMBER:CODE", help="The head that was written down before; an older copy is refused.")
]


@series.command("create")
def create(
    folder: Folder,
    *,
    key: Annotated[str, Option(help="The column that says who somebody is, in all versions of the table.")],
    secret: Annotated[
        Path | None, Option(metavar="FILE", help="The secret of the keyed hashes; drawn where not given.")
    ] = None,
) -> None:
    """Begin a series: one for all that is released about some people."""
    import shoal

    try:
        given = None if secret is None else secret.read_bytes()
    except OSError as error:
        raise InputError(f"the secret `{secret.name if secret else ''}` cannot be read: {reason(error)}") from None
    shoal.Series.create(folder, key=key, secret=given)
    stopping.finishing()
    _output.line(f"Began the series {folder}. It recognises people by the column {key}.", style="bold")
    _output.line("Pass it to every release of this table with --series, and keep it: it holds released rows and")
    _output.line("keyed hashes, is needed for the next release, and must not be published.")


@series.command("show")
def show(folder: Folder, *, expect: Expect = None, json: _source.Json = False) -> None:
    """Show the releases, and what each cost beside one on its own."""
    import shoal

    opened = shoal.Series.open(folder, expect=expect)
    entries, head = opened.entries, opened.head
    if json:
        _output.print_json({"series": folder, "key": opened.key, "head": head, "releases": list(entries)})
        return
    if not entries:
        _output.line("The series has no releases yet.")
        return
    header = ("release", "known", "new", "frozen", "of leavers", "suppressed", "loss", "alone")
    rows = [
        [
            *(f"{n:,}" for n in (e.number, e.continued, e.newcomers, e.frozen, e.leavers, e.hidden)),
            *("-" if x is None else f"{x:.3g}" for x in (e.loss, e.alone)),
        ]
        for e in entries
    ]
    _output.table(f"Releases of {folder}, k = {entries[0].k}", header, rows)
    _output.line("alone: the loss of a release on its own, which would not keep the promise of the series.")
    _output.line(f"Head: {head}")


@series.command("check")
def check(folder: Folder, *, expect: Expect = None, json: _source.Json = False) -> None:
    """Decide the promise of all releases together."""
    import shoal

    opened = shoal.Series.open(folder, expect=expect)
    checks = opened.check()
    passed = all(each.passed for each in checks)
    if json:
        _output.print_json({"passed": passed, "checks": checks})
    else:
        for each in checks:
            mark, style = ("ok  ", "green") if each.passed else ("FAIL", "bold red")
            _output.line(f"{mark} {each.subject}: {each.detail}".replace("\n", "\\n"), style=style)
        _output.line()
        _output.line(
            "The series keeps its promise." if passed else "The series does NOT keep its promise.", style="bold"
        )
    if not passed:
        raise typer.Exit(1)


@series.command("forecast")
@_source.takes_a_file
def forecast(
    file: _source.InputFile,
    *,
    key: Annotated[str, Option(help="The column that says who somebody is.")],
    k: Annotated[int, Option("--k", help="The least number of people in a joint crowd.", min=2)],
    releases: Annotated[int, Option(help="How many releases are planned.", min=2)] = 5,
    newcomers: Annotated[float, Option(help="The share of people who are new in each version, in [0, 1).")] = 0.1,
    leavers: Annotated[float, Option(help="The share of people who are gone in the next version, in [0, 1).")] = 0.1,
    schema: _source.SchemaOption = None,
    json: _source.Json = False,
) -> None:
    """Rehearse a series on a table, and advise on the size of classes.

    Nothing is kept, and nothing of this may be published.
    """
    import shoal
    from shoal.comparison import choose_forecast

    data = file.described(schema)
    outlook = shoal.comparison.forecast_series(
        data, key=key, k=k, releases=releases, newcomers=newcomers, leavers=leavers
    )
    advice = choose_forecast(outlook)
    if json:
        size = None if advice is None else advice.class_size
        _output.print_json({"class_size": size, "forecasts": outlook})
        return
    header = ("classes of", "release", "loss", "alone", "stale", "not shown")
    rows = [
        [
            f"{each.class_size:,}" if number == 0 else "",
            f"{number + 1}",
            f"{each.loss[number]:.3g}",
            "-" if (alone := each.alone[number]) is None else f"{alone:.3g}",
            f"{each.stale[number]:.1%}",
            f"{each.hidden[number]:.1%}",
        ]
        for each in outlook
        for number in range(len(each.loss))
    ]
    _output.table("A series of this table", header, rows)
    if advice is None:
        _output.text(
            "Every size leaves more than 5% of the people stale or not shown: larger classes, or fewer releases."
        )
    else:
        size = advice.class_size
        promise = f'--promise "series-k-anonymity k={k} class_size={size}"'
        _output.text(f"Begin with classes of {size:,} people: {promise}")


@series.command("risk")
def risk(
    releases: Annotated[
        list[Path], Argument(metavar="RELEASE...", help="Release folders, or files that kept an identifier.")
    ],
    *,
    original: Annotated[
        list[str], Option(metavar="TABLE", help="The table that a release was made of: once for all, or once for each.")
    ],
    schema: _source.SchemaOption = None,
    json: _source.Json = False,
) -> None:
    """Measure what releases made without a series give away together.

    Nothing of this may be published: the figures come from the original table.
    """
    import shoal

    originals = [shoal.read(each) for each in original]
    described = [_source.conformed(each, _source.find_schema(each, original[0], schema)) for each in originals]
    measured = shoal.comparison.joint_risk(described, releases)
    if json:
        _output.print_json(measured)
        return
    for line in measured.lines():
        _output.text(line)


@series.command("restore")
def restore(
    folder: Folder,
    number: Annotated[int, Argument(help="The number of the release.", min=1)],
    *,
    output: Annotated[Path, Option("--output", "-o", help="The folder to create for the release.")],
) -> None:
    """Write a release again as it was recorded."""
    import shoal

    shoal.Series.open(folder).restore(number, output)
    stopping.finishing()
    _output.line(f"Release {number} is in {output}.", style="bold")
