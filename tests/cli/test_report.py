"""``shoal report`` as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

from cli.conftest import Run


def test_report_speaks_prints_json_and_writes_the_page_that_the_release_holds(
    shoal: Run, release: Path, tmp_path: Path
) -> None:
    spoken = shoal("report", release)
    assert spoken.returncode == 0, spoken.stderr
    assert "Every record shares its quasi-identifiers" in spoken.stdout
    assert "before" not in spoken.stdout
    document = json.loads(shoal("report", release, "--json").stdout)
    assert (document["format"], document["version"], document["variant"]) == ("shoal-report", 1, "public")
    assert shoal("report", release, "--output", tmp_path / "again.html").returncode == 0
    assert (tmp_path / "again.html").read_bytes() == (release / "report.html").read_bytes()


def test_a_chart_becomes_a_picture_and_an_unknown_one_names_those_there_are(
    shoal: Run, release: Path, tmp_path: Path
) -> None:
    done = shoal("report", release, "--chart", "class-sizes", "--output", tmp_path / "sizes.svg")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "sizes.svg").read_text().startswith("<svg")
    unknown = shoal("report", release, "--chart", "nothing", "--output", tmp_path / "x.svg")
    assert unknown.returncode == 2
    assert "class-sizes" in unknown.stderr
    assert not (tmp_path / "x.svg").exists()


def test_without_chromium_a_png_is_refused_with_a_way_out(shoal: Run, release: Path, tmp_path: Path) -> None:
    done = shoal("report", release, "--chart", "class-sizes", "--output", tmp_path / "sizes.png", PATH=str(tmp_path))
    assert done.returncode == 2
    assert "Chromium" in done.stderr
    assert "SVG" in done.stderr


def test_public_and_original_exclude_each_other(shoal: Run, release: Path, hospital: Path) -> None:
    done = shoal("report", release, "--public", "--original", hospital / "discharges.csv")
    assert done.returncode == 2
    assert "--original" in done.stderr


def test_nothing_is_written_into_the_release(shoal: Run, release: Path, hospital: Path) -> None:
    before = sorted(path.name for path in release.iterdir())
    done = shoal("report", release, "--original", hospital / "discharges.csv", "--output", release / "mine.html")
    assert done.returncode == 2
    assert "outside the release" in done.stderr
    assert sorted(path.name for path in release.iterdir()) == before
