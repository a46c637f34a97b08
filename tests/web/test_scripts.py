"""The scripts of the pages: typed, without what nobody uses, and readable."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = [
    path for place in ("web/static", "queries/page") for path in sorted((ROOT / "src/shoal" / place).glob("*.js"))
]
#: what would read a text as HTML or as code
DANGEROUS = re.compile(r"\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function\(|\.srcdoc")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_no_line_is_long_and_no_text_is_read_as_html(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [number for number, line in enumerate(text.splitlines(), 1) if len(line) > 120] == []
    assert DANGEROUS.findall(text) == []
    assert text.startswith("// "), "the first line says what the script is for"


@pytest.mark.slow
def test_the_scripts_of_the_app_agree_with_their_types() -> None:
    folder = ROOT / "verifier"
    if shutil.which("npx") is None or not (folder / "node_modules").is_dir():
        pytest.skip("needs npm, and `npm ci` in `verifier`")
    done = subprocess.run(["npx", "tsc", "-p", "app.tsconfig.json"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
