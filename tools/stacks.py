"""Say which common stacks Shoal installs beside, and run its smoke test in each.

``stacks.py [--resolve] WHEEL [STACK...]``: every stack gets an environment of its own, which goes with the script;
``--resolve`` asks pip for the versions that go together and installs nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
STACKS = {
    "pandas 2": ["pandas<3"],
    "streamlit": ["streamlit"],
    "airflow": ["apache-airflow>=3"],
    "great-expectations": ["great-expectations>=1"],
    "jupyter": ["jupyterlab", "pandas"],
    "dbt": ["dbt-core", "dbt-duckdb"],
}
SHOWN = ("duckdb", "numpy", "pandas", "pyarrow")
_PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--only-binary", ":all:")


def resolve(python: str, wheel: str, stack: list[str]) -> dict[str, str] | None:
    """Return the versions that pip would install, by package; None where none go together."""
    command = [python, *_PIP, "--ignore-installed", "--dry-run", "--report", "-", wheel, *stack]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr[-1000:], file=sys.stderr)
        return None
    chosen = [each["metadata"] for each in json.loads(done.stdout)["install"]]
    return {each["name"].lower(): each["version"] for each in chosen}


def smoke(folder: Path, wheel: str, stack: list[str]) -> str | None:
    """Install a stack with Shoal and run the smoke test on it; return the last line of what failed."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    for command in (
        [python, *_PIP, wheel, "pytest", "hypothesis", *stack],
        [python, "-m", "pip", "check"],
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / "tests" / "smoke" / "test_smoke.py")],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode:
            return (done.stdout + done.stderr).strip().splitlines()[-1]
    return None


def main() -> int:
    """Print a line for each stack; return 1 if one fails."""
    only_resolve = "--resolve" in sys.argv
    wheel, *wanted = [each for each in sys.argv[1:] if each != "--resolve"]
    wheel, failed = str(Path(wheel).resolve()), 0
    for name in wanted or STACKS:
        versions = resolve(sys.executable, wheel, STACKS[name])
        if versions is None:
            problem: str | None = "no versions go together"
        else:
            print(name, *(f"{each} {versions[each]}" for each in SHOWN if each in versions), sep=", ", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                problem = None if only_resolve else smoke(Path(folder), wheel, STACKS[name])
        failed += problem is not None
        print(f"{name}: {problem or ('resolves' if only_resolve else 'smoke test passed')}", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
