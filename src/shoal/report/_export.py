"""Single pictures, and pages for paper, drawn by the browser that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from shoal.errors import InputError, ParameterError, quoted
from shoal.report._charts import Chart
from shoal.report._document import Document
from shoal.report._html import charts

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_OPTIONS = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
_SECONDS = 60


def find_chart(document: Document, name: str) -> Chart:
    """Return the chart with a name, such as ``class-sizes`` or ``column:age``."""
    found = {chart.name: chart for chart in reversed(charts(document))}
    if name not in found:
        raise ParameterError(f"the report has no chart `{name}`.", hint=f"it has {quoted(reversed(found))}")
    return found[name]


def svg_to_png(chart: Chart, *, scale: int = 3) -> bytes:
    """Draw a chart with a Chromium that is installed.

    Raises
    ------
    InputError
        If there is none, or it fails; SVG needs none.
    """
    options = (
        f"--window-size={chart.width},{chart.height}",
        f"--force-device-scale-factor={scale}",
        "--screenshot={}",
    )
    return _drawn(chart.svg(alone=True), ".svg", ".png", options, instead="write the chart as SVG")


def page_to_pdf(page: str) -> bytes:
    """Print a report with a Chromium that is installed, as its print button would.

    Raises
    ------
    InputError
        If there is none, or it fails; HTML needs none.
    """
    options = ("--no-pdf-header-footer", "--print-to-pdf={}")
    return _drawn(page, ".html", ".pdf", options, instead="write HTML and print it with your browser")


def _drawn(text: str, source: str, kind: str, options: tuple[str, ...], *, instead: str) -> bytes:
    """Let the browser make a file of one kind from a text of another; the last option takes the file's name."""
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise InputError(
            f"Chromium, which draws {kind[1:].upper()} files, is not installed.", hint=f"install Chromium, or {instead}"
        )
    with tempfile.TemporaryDirectory() as scratch:
        page, drawn = Path(scratch, f"page{source}"), Path(scratch, f"drawn{kind}")
        page.write_text(text, encoding="utf-8")
        try:
            subprocess.run(  # noqa: S603 - a browser from the PATH, on a file of ours
                [
                    browser,
                    *_OPTIONS,
                    # Chromium refuses to start as root with its sandbox; what is drawn holds no script
                    *(["--no-sandbox"] if os.geteuid() == 0 else []),
                    f"--user-data-dir={scratch}/profile",
                    *(option.format(drawn) for option in options),
                    page.as_uri(),
                ],
                check=True,
                capture_output=True,
                timeout=_SECONDS,
            )
            return drawn.read_bytes()
        except (OSError, subprocess.SubprocessError):
            raise InputError(f"the browser could not draw the {kind[1:].upper()} file", hint=instead) from None
