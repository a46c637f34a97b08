"""``shoal compare``: methods and parameters side by side."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from shoal import stopping
from shoal.cli import _output, _report, _source
from shoal.errors import ParameterError, Problems
from shoal.writing import check_file

if TYPE_CHECKING:
    from shoal.comparison import Comparison, Point


# as in shoal.comparison, which is not loaded for --help
_RISKS = "average, highest, linked, partial, inference or singling-out"
_UTILITIES = "queries, coverage, distributions, associations, distinguishable, prediction or suppressed"

EXAMPLES = """\b
Examples:
  shoal compare patients.csv --k 2,5,10
  shoal compare patients.csv --k 2,5,10 --t diagnosis=0.2,0.5 \\
      --epsilon 0.5,1,2 --folder comparison
  shoal compare patients.csv --k 5,10 --methods generalize,mondrian \\
      --risk highest --utility distributions
  shoal compare patients.csv --k 5,10 --folder comparison --export 2 plan.toml
"""


@_source.takes_a_file
def compare(
    file: _source.InputFile,
    *,
    k: Annotated[str | None, Option("--k", metavar="K,...", help="Values of k for k-anonymity.")] = None,
    l: Annotated[  # noqa: E741
        list[str] | None, Option("--l", metavar="COLUMN=L,...", help="Values of l for distinct l-diversity.")
    ] = None,
    t: Annotated[list[str] | None, Option("--t", metavar="COLUMN=T,...", help="Values of t for t-closeness.")] = None,
    epsilon: Annotated[
        str | None, Option(metavar="EPSILON,...", help="Values of epsilon for differential privacy.")
    ] = None,
    delta: Annotated[float, Option(help="The delta of differential privacy.")] = 1e-6,
    methods: Annotated[
        str | None, Option(metavar="NAME,...", help="Methods to try; by default all that can keep the promises.")
    ] = None,
    suppression_limit: Annotated[
        float | None, Option(help="The largest share of records that may be suppressed, in [0, 1].")
    ] = None,
    risk: Annotated[str, Option(help=f"The risk to compare by: {_RISKS}.")] = "average",
    utility: Annotated[str, Option(help=f"The loss of utility to compare by: {_UTILITIES}.")] = "queries",
    highest_risk: Annotated[
        float | None, Option(help="The highest acceptable risk; it decides the recommendation.")
    ] = None,
    target: Annotated[
        str | None, Option(metavar="COLUMN", help="A column that analysts want to predict; runs every plan twice.")
    ] = None,
    learn: Annotated[bool, Option(help="Whether to measure with classifiers (needs scikit-learn).")] = True,
    folder: Annotated[
        Path | None, Option(help="Where to keep finished points, so that an interrupted comparison can continue.")
    ] = None,
    processes: Annotated[int | None, Option(help="How many points to work on at the same time.")] = None,
    time_limit: Annotated[
        float | None, Option(help="Seconds after which the comparison ends with the points finished so far.")
    ] = None,
    seed: Annotated[int, Option(help="The random seed of the measurements.")] = 0,
    export: Annotated[
        tuple[int, Path] | None, Option(metavar="N PLAN", help="Write the plan of point N to a file.")
    ] = None,
    picture: Annotated[
        Path | None, Option(metavar="FILE", help="Draw the frontier into a new .svg or .png file.")
    ] = None,
    schema: _source.SchemaOption = None,
    undecided: _source.Undecided = None,
    json: _source.Json = False,
) -> None:
    """Try methods and parameters on a table and recommend one.

    Every combination is carried out and measured: the risk that is left, and the utility that is lost.
    """
    import shoal
    from shoal.comparison import RISKS

    problems = Problems()
    wanted = {
        "k": _numbers("--k", k, problems),
        "epsilon": _numbers("--epsilon", epsilon, problems),
        "l": _by_column("--l", l or [], problems),
        "t": _by_column("--t", t or [], problems),
    }
    if not problems and not any(wanted.values()):
        problems.add("specify what to promise, for example --k 2,5,10")
    if picture is not None and picture.suffix.lower() not in (".svg", ".png"):
        problems.add(f"--picture takes a .svg or .png file; got `{picture.suffix}`")
    problems.raise_as(ParameterError)
    for path in (picture, None if export is None else export[1]):
        if path is not None:
            check_file(path)
    data = file.read()
    described = _source.decided(_source.find_schema(data, file.source, schema), file.named, undecided)
    data = _source.conformed(data, described)
    if folder is not None:
        stopping.happened(f"finished points are in {folder}: run the same command again to continue")
    limit = RISKS[risk].usual if highest_risk is None and risk in RISKS else highest_risk
    if limit is not None and not json:
        said = "" if highest_risk is not None else " (the default limit; use --highest-risk to set another)"
        _output.line(f"The recommendation will be the most useful point with a risk of at most {_share(limit)}{said}.")
        _output.line()
    with _output.progress("Comparing") as progress, _output.searching("what is finished"):
        comparison = shoal.compare(
            data,
            **wanted,  # type: ignore[arg-type]
            delta=delta,
            methods=None if methods is None else [name.strip() for name in methods.split(",")],
            suppression_limit=suppression_limit,
            risk=risk,
            utility=utility,
            highest_risk=highest_risk,
            target=target,
            learn=learn,
            folder=folder,
            processes=processes,
            seed=seed,
            time_limit=time_limit,
            progress=progress,
        )
    if not json:
        _show(comparison)
    if export is not None:
        comparison.export(*export)
    if picture is not None:
        _report.write_chart(comparison.chart(), picture)
    if json:
        _output.print_json(comparison.to_json())
    elif export is not None:
        _output.line()
        _output.line(
            f"The plan of point {export[0]} is in {export[1]}. Use it: "
            f"shoal anonymize {file.named} --plan {shlex.quote(str(export[1]))} --output release"
        )


def _show(found: Comparison) -> None:
    from shoal.comparison import RISKS, UTILITIES

    made = [point for point in found.points if point.failure is None]
    width = len(str(len(found.points)))
    failed = [point for point in found.points if point.failure is not None]
    if made:
        _output.table(
            f"{len(made)} of {len(found.points)} points; * marks those that no other beats in both figures",
            ("point", "risk", "found", "utility lost", "records", "seconds"),
            [_row(found, point, width) for point in made],
        )
        _output.line(f"  risk: {RISKS[found.risk].title}; utility lost: {UTILITIES[found.utility].title}", style="dim")
        _output.line("  found: people whom the rehearsed attack finds; hollow: it would not be written", style="dim")
        _output.line()
        for text in found.text_plot().splitlines():
            _output.line(text)
    if failed:
        _output.line()
        _output.line("No release", style="bold")
        for point in failed:
            _wrapped(f"{point.number} {point.label}: {point.failure}")
    _output.line()
    _output.line("Recommendation", style="bold")
    for sentence in found.reasons:
        _wrapped(sentence)


def _row(found: Comparison, point: Point, width: int) -> list[str]:
    mark = "*" if point.number in found.best else " "
    chosen = "  <- recommended" if point.number == found.recommended else ""
    return [
        f"{mark} {point.number:>{width}} {point.label}{chosen}",
        _share(point.risk.get(found.risk)),
        f"{_share(point.found)}{' hollow' if point.hollow else ''}",
        _share(point.utility.get(found.utility)),
        f"{point.records:,}",
        f"{point.seconds:.1f}",
    ]


def _share(value: float | None) -> str:
    from shoal.exact import share

    return "-" if value is None else share(value)


def _wrapped(sentence: str) -> None:
    wrapped = textwrap.TextWrapper(80, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False)
    _output.text(wrapped.fill(sentence))


def _numbers(option: str, text: str | None, problems: Problems) -> list[float]:
    numbers: list[float] = []
    for part in () if text is None else text.split(","):
        try:
            numbers.append(int(part) if part.strip().lstrip("-").isdigit() else float(part))
        except ValueError:
            problems.add(f"{option} takes numbers separated by commas, for example {option} 2,5,10")
    return numbers


def _by_column(option: str, texts: list[str], problems: Problems) -> dict[str, list[float]]:
    by_column: dict[str, list[float]] = {}
    for text in texts:
        column, equals, values = text.rpartition("=")
        if not equals or not column:
            problems.add(f"{option} takes COLUMN=NUMBER,..., for example {option} diagnosis=0.2,0.5")
            continue
        by_column.setdefault(column, []).extend(_numbers(option, values, problems))
    return by_column
