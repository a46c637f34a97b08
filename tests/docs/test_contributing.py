"""The diffs of CONTRIBUTING.md apply to the tree as it is, and what they add works from reading to verification."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shoal

ROOT = Path(__file__).parents[2]
USE = """
import sys
from pathlib import Path

import pyarrow as pa

import shoal
from shoal.models import AlphaDominance
from shoal.schema import loads
from shoal.tables import write

rows = pa.table({
    "name": ["Adam", "Ada", "Bert", "Bea"] * 10,
    "age": [str(20 + i) for i in range(40)],
    "illness": ["flu", "asthma", "angina", "flu"] * 10,
})
folder = Path(sys.argv[1])
write(shoal.read(rows), folder / "people.orc")
schema = loads('''
[columns.name]
role = "quasi-identifier"
hierarchy = { initials = [2, 1] }
[columns.age]
role = "quasi-identifier"
kind = "numeric"
hierarchy = { intervals = [10, 20] }
[columns.illness]
role = "sensitive"
''')
table = shoal.read(folder / "people.orc", schema=schema)
plans = {
    "generalize": shoal.Plan(
        schema=schema,
        models=(shoal.KAnonymity(4), AlphaDominance("illness", 0.75)),
        method=shoal.Generalize(quality="stars"),
    ),
    **{
        name: shoal.Plan(schema=schema, models=(shoal.KAnonymity(4),), method=shoal.methods.by_name(name)())
        for name in ("runs", "random-runs")
    },
}
for name, plan in plans.items():
    plan.run(table).write(folder / name)
    print(name, shoal.verify(folder / name).passed)
"""


@pytest.mark.slow
def test_every_diff_applies_and_what_it_adds_makes_a_release(tmp_path: Path) -> None:
    shutil.copytree(
        Path(shoal.__file__).parent, tmp_path / "src" / "shoal", ignore=shutil.ignore_patterns("__pycache__")
    )
    diffs = re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(diffs) == 6
    for diff in diffs:
        assert len(re.findall(r"^--- ", diff, re.MULTILINE)) == 2, "one new file, and one that lists it"
        added = re.findall(r"^\+([^+].*)", diff.rpartition("\n--- ")[2], re.MULTILINE)
        assert len([line for line in added if "import" in line]) == 1, "one line that imports it"
        assert len(added) == 2, "and one that lists it"
        subprocess.run(["git", "apply", "-"], input=diff, text=True, cwd=tmp_path, check=True)
    used = subprocess.run(
        [sys.executable, "-c", USE, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert used.stdout.split() == ["generalize", "True", "runs", "True", "random-runs", "True"], used.stderr
