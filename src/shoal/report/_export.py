"""Single pictures as files."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from shoal.errors import InputError, ParameterError
from shoal.report._charts import Chart
from shoal.report._document import Document
from shoal.report._html import charts

__all__ = ["find_chart", "svg_to_png"]

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
        raise ParameterError(
            f"the report has no chart `{name}`.", hint=f"it has {', '.join(f'`{each}`' for each in reversed(found))}"
        )
    return found[name]


def svg_to_png(chart: Chart, *, scale: int = 3) -> bytes:
    """Draw a chart with a Chromium that is installed.

    Raises
    ------
    InputError
        If there is none, or it fails; SVG needs none.
    """
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise InputError(
            "Chromium, which draws PNG files, is not installed.", hint="install Chromium, or write the chart as SVG"
        )
    with tempfile.TemporaryDirectory() as scratch:
        page, picture = Path(scratch, "chart.svg"), Path(scratch, "chart.png")
        page.write_text(chart.svg(alone=True), encoding="utf-8")
        try:
            subprocess.run(  # noqa: S603 - a browser from the PATH, on a file of ours
                [
                    browser,
                    *_OPTIONS,
                    # Chromium refuses to start as root with its sandbox; the picture holds no script
                    *(["--no-sandbox"] if os.geteuid() == 0 else []),
                    f"--user-data-dir={scratch}/profile",
                    f"--window-size={chart.width},{chart.height}",
                    f"--force-device-scale-factor={scale}",
                    f"--screenshot={picture}",
                    page.as_uri(),
                ],
                check=True,
                capture_output=True,
                timeout=_SECONDS,
            )
            return picture.read_bytes()
        except (OSError, subprocess.SubprocessError):
            raise InputError("the browser could not draw the chart", hint="write it as SVG instead") from None
