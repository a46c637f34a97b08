"""``shoal report``: what a release promises and shows, as a page, text or single pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from shoal.cli import _output, _source
from shoal.errors import ParameterError
from shoal.writing import check_file, write_file

if TYPE_CHECKING:
    from shoal.report import Chart, Document


EXAMPLES = """\b
Examples:
  shoal report release
  shoal report release --output report.html
  shoal report release --original patients.csv
  shoal report release --board --original patients.csv --output board.pdf
  shoal report release --chart class-sizes --output sizes.svg
"""


def report(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="The folder of a release.")],
    *,
    public: Annotated[bool, Option("--public", help="Use only the files of the release; this is the default.")] = False,
    original: Annotated[
        str | None, Option(metavar="FILE", help="Compare with the original table, in an internal report.")
    ] = None,
    board: Annotated[
        bool, Option("--board", help="Add WP216's three questions, HIPAA and ISO; with --original, attacks are tried.")
    ] = False,
    table: _source.TableName = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="Write a new .html, .pdf, .json or .txt file; a chart as .svg or .png."),
    ] = None,
    chart: Annotated[
        str | None, Option(help="One chart: levels, budget, class-sizes or column:NAME; needs --output.")
    ] = None,
    json: _source.Json = False,
) -> None:
    """Show or write a report on a release.

    Made from the files of the release alone, it is for everyone. With --original it compares the release with the
    table that it was made from, and is not for publication.
    """
    from shoal.folder import REPORT
    from shoal.report import render_text

    _check(folder, output, chart, public=public, original=original)
    if output is None and (original is not None or board) and not json:
        named = "board" if board else "internal"
        output = folder.absolute().with_name(f"{folder.absolute().name}.{named}-report.html")
    if output is not None:
        check_file(output)
    document = _gathered(folder, original, table, board=board)
    if output is not None:
        _write(document, output, chart)
        _output.line(f"Wrote {output}")
        if original is not None:
            _output.warning("it contains figures of the original table; do not publish it.")
    elif json:
        _output.line(document.to_json().rstrip())
    else:
        _output.line(render_text(document).rstrip())
        _output.line()
        page = folder / REPORT
        advice = f"open: {page}" if page.is_file() else "run: shoal report FOLDER --output report.html"
        _output.line(f"For pictures, {advice}")


def _gathered(folder: Path, original: str | None, table: str | None, *, board: bool) -> Document:
    import shoal
    from shoal.folder import ReleaseFolder
    from shoal.report import board_report, internal_report, public_report

    if original is None:
        return board_report(folder) if board else public_report(folder)
    # a folder that is not a release is refused before the original is read
    public_report(folder)
    plan = ReleaseFolder.inspected(folder).plan
    data = shoal.read(original, table=table).with_schema(plan.schema)
    return board_report(folder, data, plan) if board else internal_report(folder, data, plan)


def _check(folder: Path, output: Path | None, chart: str | None, *, public: bool, original: str | None) -> None:
    if public and original is not None:
        raise ParameterError(
            "`--public` cannot be combined with `--original`: a public report is made from the release alone."
        )
    if output is not None and output.resolve().is_relative_to(folder.resolve()):
        raise ParameterError("`--output` must be outside the release folder, whose files are certified.")
    if chart is not None and output is None:
        raise ParameterError("`--chart` needs `--output` with an .svg or .png file.")
    wanted = (".html", ".pdf", ".json", ".txt") if chart is None else (".svg", ".png")
    if output is not None and output.suffix.lower() not in wanted:
        raise ParameterError(f"`--output` must end in {', '.join(wanted[:-1])} or {wanted[-1]}; got `{output.suffix}`.")


def _write(document: Document, output: Path, chart: str | None) -> None:
    from shoal.report import find_chart, page_to_pdf, render_html, render_text

    kind = output.suffix.lower()
    if chart is not None:
        write_chart(find_chart(document, chart), output)
    elif kind == ".pdf":
        write_file(output, page_to_pdf(render_html(document)))
    else:
        forms = {".html": render_html, ".txt": render_text, ".json": type(document).to_json}
        write_file(output, forms[kind](document).encode())


def write_chart(chart: Chart, path: Path) -> None:
    """Write one picture to a new .svg or .png file."""
    from shoal.report import svg_to_png

    write_file(path, svg_to_png(chart) if path.suffix.lower() == ".png" else chart.svg(alone=True).encode())
