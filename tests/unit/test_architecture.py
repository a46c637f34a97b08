"""The rules of ARCHITECTURE.md that a machine can check."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import shoal

SOURCE = Path(shoal.__file__).parent

#: each layer may import itself and those below it
LAYERS = [
    {"__main__"},
    {"cli", "web"},
    {"queries", "comparison"},
    {"_anonymize"},
    {"_run"},
    {"release"},
    {"plan", "_staging"},
    {"report"},
    {"promises"},
    {"risk", "utility"},
    {"methods"},
    {"guarantees"},
    {"quality"},
    {"models", "mechanisms"},
    {"tables"},
    {"hierarchies"},
    {"schema"},
    {"exact"},
    {"errors", "kernels", "workers"},
]
RANK = {name: rank for rank, names in enumerate(reversed(LAYERS)) for name in names}


def _modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def _home(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0].removesuffix(".py")


def _imports(path: Path) -> set[str]:
    """Return the parts of Shoal that a module imports, but for those needed for types alone or inside functions."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "shoal":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {_home_of(alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("shoal.")}
    return found - {"__version__"}


def _home_of(name: str) -> str:
    """Return the part of Shoal that a name of the public API comes from; a part's own name is itself."""
    return shoal._HOME[name].split(".")[1] if name in shoal._HOME else name


@pytest.mark.parametrize("path", _modules(), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_imports_point_down(path: Path) -> None:
    home = _home(path)
    if home == "testing":
        return
    assert home in RANK, f"{home} has no place in the layers: add it to this test and to ARCHITECTURE.md"
    for imported in _imports(path):
        assert RANK[imported] <= RANK[home], f"{path.name} of {home} imports {imported}, which lies above it"


def test_kernels_import_nothing_of_ours() -> None:
    for path in (SOURCE / "kernels").glob("*.py"):
        assert _imports(path) <= {"kernels"}


def test_no_module_is_called_utils() -> None:
    names = {path.stem.lstrip("_") for path in _modules()}
    assert not names & {"utils", "util", "helpers", "common", "misc"}


def test_importing_shoal_loads_nothing_heavy() -> None:
    heavy = ("numpy", "ibis", "duckdb", "pyarrow", "pandas", "polars", "pyspark", "flint", "scipy", "rich", "typer")
    code = f"import shoal, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_loads_nothing_heavy() -> None:
    heavy = ("numpy", "ibis", "duckdb", "pyarrow", "pandas", "pydantic", "flint", "scipy")
    code = (
        "import sys; sys.argv = ['shoal', '--help']\n"
        "from shoal.cli import main\n"
        "try: main()\n"
        f"finally: print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_every_public_name_exists_and_is_documented() -> None:
    for name in shoal.__all__:
        value = getattr(shoal, name)
        assert name == "__version__" or value.__doc__, f"shoal.{name} has no docstring"


def test_the_public_surface_is_what_the_types_say() -> None:
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    typed = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.If)
        for entry in node.body
        if isinstance(entry, ast.ImportFrom)
        for alias in entry.names
    }
    assert typed | {"__version__"} == set(shoal.__all__)
