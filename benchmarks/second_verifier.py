"""Time both verifiers on a release of a million records: `shoal verify`, and the page in Chromium on a zip archive."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

import duckdb
from playwright.sync_api import sync_playwright

import shoal
from shoal.folder import OUR_VERIFIER

RECORDS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
COLUMNS = (
    "(hash(x) % 80 + 18)::INT AS age, (hash(x * 3) % 2)::VARCHAR AS sex, 'z' || (hash(x * 7) % 1000) AS zip,"
    " 'd' || (hash(x * 11) % 20) AS diagnosis, (hash(x * 13) % 5000) / 10 AS charge, (hash(x * 17) % 12)::INT AS visits"
)


def release(folder: Path) -> Path:
    """Write a release of records drawn evenly: 5-anonymous, with three diagnoses in every class, and 0.4-close."""
    attributes = (
        shoal.Attribute(
            name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.schema.Intervals(widths=(5, 10, 20))
        ),
        shoal.Attribute(name="sex", role="quasi-identifier"),
        shoal.Attribute(name="zip", role="quasi-identifier"),
        shoal.Attribute(name="diagnosis", role="sensitive"),
        shoal.Attribute(name="charge", role="sensitive", kind="numeric"),
        shoal.Attribute(name="visits", role="insensitive", kind="numeric"),
    )
    with duckdb.connect() as engine:
        rows = engine.sql(f"SELECT {COLUMNS} FROM range({RECORDS}) AS t(x)").to_arrow_table()  # noqa: S608
    table = shoal.read(rows, schema=shoal.Schema(attributes=attributes))
    models = (shoal.KAnonymity(5), shoal.DistinctLDiversity("diagnosis", 3), shoal.TCloseness("diagnosis", 0.4))
    return shoal.anonymize(table, *models, method=shoal.Generalize()).write(folder)


def seconds_in_browser(archive: Path) -> tuple[float, str]:
    """Return how long the page takes from the choice of an archive to its verdict, and the verdict."""
    program = next(found for found in map(shutil.which, BROWSERS) if found)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(OUR_VERIFIER.as_uri())
        start = time.perf_counter()
        page.set_input_files("#archive", archive)
        page.wait_for_selector("#result h2", timeout=300_000)
        taken = time.perf_counter() - start
        verdict = page.inner_text("#result h2")
        browser.close()
    return taken, verdict


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = release(Path(scratch) / "release")
        start = time.perf_counter()
        passed = shoal.verify(folder).passed
        print(f"{RECORDS:,} records, shoal verify: {time.perf_counter() - start:.1f} s, passed: {passed}")
        archive = Path(shutil.make_archive(str(Path(scratch) / "release"), "zip", folder))
        taken, verdict = seconds_in_browser(archive)
        print(f"{RECORDS:,} records, verify.html in Chromium: {taken:.1f} s, {verdict}")


if __name__ == "__main__":
    main()
