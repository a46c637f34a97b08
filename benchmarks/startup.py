"""Start-up and width: processor seconds, modules and peak memory of whole commands, each in a process of its own.

    python benchmarks/startup.py                        this version
    python benchmarks/startup.py --against OTHER/src    also another version
    python benchmarks/startup.py --columns 1000         the wide table has so many columns (default 300)

The tiny job anonymises 6 records. pyarrow imports pandas where that is installed, whatever it is asked to do, so each
command runs twice: with pandas, and as in an installation without it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

TINY = """name,age,sex,diagnosis
Ada,34,F,flu
Ben,36,M,flu
Cai,31,M,asthma
Dee,52,F,flu
Eva,55,F,asthma
Fay,58,F,asthma
"""
RUN = """
import importlib.abc, json, os, resource, runpy, sys
def leave(code):
    raise SystemExit(code)
os._exit, code = leave, 0
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)
if sys.argv[1] == "without":
    sys.meta_path.insert(0, Hidden())
sys.argv = ["shoal", *sys.argv[2:]]
try:
    runpy.run_module("shoal", run_name="__main__", alter_sys=True)
except SystemExit as end:
    code = end.code or 0
used = resource.getrusage(resource.RUSAGE_SELF)
figures = {"cpu": used.ru_utime + used.ru_stime, "modules": len(sys.modules), "megabytes": used.ru_maxrss >> 10}
print(json.dumps(figures | {"code": code}), file=sys.stderr)
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--against", type=Path, help="the src folder of another version")
    arguments.add_argument("--columns", type=int, default=300)
    arguments.add_argument("--records", type=int, default=10_000)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    versions = {"this": Path(__file__).parents[1] / "src"} | ({"other": given.against} if given.against else {})
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("tiny.csv").write_text(TINY)
        write_wide(Path("wide.csv"), given.records, given.columns)
        print(f"{'command':<34}{'pandas':<9}{'version':<9}{'CPU s':>8}{'modules':>9}{'MB':>7}")
        for version, source in versions.items():
            for pandas in ("with", "without"):
                measure(source, version, pandas, given.rounds, given.columns)


def measure(source: Path, version: str, pandas: str, rounds: int, columns: int) -> None:
    """Print the figures of every command."""
    release = f"release-{version}-{pandas}"
    jobs = {
        "tiny": [["anonymize", "tiny.csv", "--k", "2", "--output", f"{release}-tiny"], ["verify", f"{release}-tiny"]],
        f"{columns} columns": [
            ["draft", "wide.csv", "--output", f"{release}.toml"],
            ["anonymize", "wide.csv", "--schema", "wide.toml", "--k", "5", "--output", f"{release}-wide"],
            ["verify", f"{release}-wide"],
        ],
    }
    for table, commands in jobs.items():
        for command in commands:
            again = rounds if table == "tiny" and command[0] == "verify" else 1
            figures = min((run(source, pandas, command) for _ in range(again)), key=lambda each: each["cpu"])
            name = f"{command[0]}, {table}"
            shown = f"{figures['cpu']:>8.2f}{figures['modules']:>9.0f}{figures['megabytes']:>7.0f}"
            print(f"{name:<34}{pandas:<9}{version:<9}{shown}", flush=True)


def run(source: Path, pandas: str, command: list[str]) -> dict[str, float]:
    """Run a command and return its figures."""
    environment = os.environ | {"PYTHONPATH": str(source)}
    ran = subprocess.run(
        [sys.executable, "-c", RUN, pandas, *command], env=environment, capture_output=True, text=True, check=True
    )
    figures: dict[str, float] = json.loads(ran.stderr.strip().splitlines()[-1])
    if figures.pop("code"):
        sys.exit(ran.stderr)
    return figures


def write_wide(path: Path, records: int, columns: int) -> None:
    """Write a table of two quasi-identifiers and many columns of codes, and its schema."""
    draw = random.Random(1)  # noqa: S311 - invented data
    names = [f"item{number}" for number in range(columns - 2)]
    with path.open("w") as file:
        print("age", "sex", *names, sep=",", file=file)
        for _ in range(records):
            row = (draw.randrange(18, 90), draw.choice("FM"), *(draw.randrange(5) for _ in names))
            print(*row, sep=",", file=file)
    with path.with_suffix(".toml").open("w") as file:
        print(
            '[columns.age]\nrole = "quasi-identifier"\nkind = "numeric"\nhierarchy = { intervals = [5, 10, 20] }',
            file=file,
        )
        print('[columns.sex]\nrole = "quasi-identifier"\nkind = "categorical"', file=file)
        for name in names:
            print(f'[columns.{name}]\nrole = "insensitive"\nkind = "categorical"', file=file)


if __name__ == "__main__":
    main()
