"""Every code block of the documentation runs, or at least reads, as it stands there."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from types import ModuleType

import pyarrow.csv
import pyarrow.parquet
import pytest

import shoal

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: what needs a server or a cluster is checked by the conformance suite; here it must at least compile
ELSEWHERE = ("postgresql://", "pyspark", "hdfs:", "http://", "https://", "spark")


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that holds what the pages speak of: the example, as CSV and Parquet, and a release of it."""
    shutil.copytree(ROOT / "examples" / "hospital", tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "release", ignore_errors=True)
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("release"))
    text = pyarrow.csv.ConvertOptions(column_types={"zip": pyarrow.string()})
    pyarrow.parquet.write_table(
        pyarrow.csv.read_csv(tmp_path / "discharges.csv", convert_options=text), tmp_path / "discharges.parquet"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if _blocks(page, "python")], ids=_name)
def test_python_blocks_run_one_after_the_other(page: Path, folder: Path) -> None:
    blocks = _blocks(page, "python")
    if any('"release"' in block for block in blocks) and not any('write("release")' in block for block in blocks):
        discharges = shoal.read("discharges.csv", schema="discharges.schema.toml")
        shoal.anonymize(discharges, shoal.KAnonymity(5)).write("release")
    names: dict[str, object] = {}
    for block in blocks:
        code = compile(block, _name(page), "exec")
        if not any(word in text for text in blocks for word in ELSEWHERE):
            exec(code, names)  # noqa: S102


@pytest.mark.parametrize("page", [page for page in PAGES if _blocks(page, "toml")], ids=_name)
def test_toml_blocks_are_toml(page: Path) -> None:
    for block in _blocks(page, "toml"):
        tomllib.loads(block)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{_name(page)} links to {target}"


def test_the_reference_names_all_that_is_public() -> None:
    named = set(
        re.findall(r"^::: shoal\.[\w.]*?(\w+)$", (ROOT / "docs" / "reference" / "python.md").read_text(), re.MULTILINE)
    )
    assert {name for name in shoal.__all__ if not isinstance(getattr(shoal, name), ModuleType)} <= named
