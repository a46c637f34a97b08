"""The rules of ARCHITECTURE.md that a machine can check."""

from __future__ import annotations

import ast
import functools
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import shoal

SOURCE = Path(shoal.__file__).parent


def _tiers() -> dict[str, list[set[str]]]:
    """Return the layers of every tier as ARCHITECTURE.md lists them, the uppermost first."""
    text = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    block = text.partition("## Seven tiers")[2].split("```")[1]
    tiers: dict[str, list[set[str]]] = {}
    for line in block.strip("\n").splitlines():
        title, names = line[:15].strip(), line[15:]
        if title:
            tiers[title] = []
        tiers[[*tiers][-1]].append({name.strip() for name in names.split(",")})
    return tiers


TIERS = _tiers()
#: each layer may import itself and those below it
LAYERS = [{"__main__"}, *(layer for layers in TIERS.values() for layer in layers)]
#: what a plan, which is a plain value below methods, looks up or runs when it is asked to
LATE = {("plan", "methods"), ("plan", "running")}
RANK = {name: rank for rank, names in enumerate(reversed(LAYERS)) for name in names}
#: where each public name comes from
HOMES = {
    alias.name: f"shoal.{node.module}"
    for node in ast.parse((SOURCE / "__init__.pyi").read_text()).body
    if isinstance(node, ast.ImportFrom) and node.module
    for alias in node.names
}


#: names of steps that are names of other things as well, such as a form of classes or a kind of distance
WORDS_OF_OTHERS = {"counted", "generalized", "noised", "ordered", "permuted", "repeated", "suppressed"}


def _modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _home(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def _imports(path: Path) -> set[str]:
    """Return the modules of Shoal that a module imports anywhere, in functions too, but for those for types alone."""
    tree = _tree(path)
    typing = {id(node) for each in ast.walk(tree) if _is_for_types(each) for node in ast.walk(each)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in typing:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "shoal":
            found |= {node.module} if "." in node.module else {_home_of(alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("shoal.")}
    return found - {"shoal.__version__"}


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def _home_of(name: str) -> str:
    """Return the module of Shoal that a name of the public API comes from; a part's own name is itself."""
    return HOMES.get(name, f"shoal.{name}")


def test_the_packages_lie_in_seven_tiers() -> None:
    assert [title.split()[0] for title in TIERS] == list("7654321")
    assert {name for layer in LAYERS for name in layer} == {_home(path) for path in _modules()}


def test_imports_point_down_and_stay_out_of_the_private_modules_of_others() -> None:
    wrong = []
    for path in _modules():
        home = _home(path)
        assert home in RANK, f"{home} has no place in the layers: add it to this test and to ARCHITECTURE.md"
        for imported in _imports(path):
            other, *inside = imported.split(".")[1:]
            if RANK[other] > RANK[home] and (home, other) not in LATE:
                wrong.append(f"{path.relative_to(SOURCE)} imports {imported}, which lies above it")
            if other != home and any(part.startswith("_") for part in inside):
                wrong.append(f"{path.relative_to(SOURCE)} imports {imported}, which is private to {other}")
    assert not wrong, "\n".join(wrong)


def test_kernels_import_nothing_of_ours() -> None:
    for path in (SOURCE / "kernels").glob("*.py"):
        assert {name.split(".")[1] for name in _imports(path)} <= {"kernels"}


def test_an_installation_without_extras_can_import_everything_but_the_app() -> None:
    always = {"lazy_loader", "numpy", "pyarrow", "pydantic", "rich", "typer"}
    allowed = {"web": {"fastapi", "jinja2", "starlette", "uvicorn"}, "testing": {"hypothesis"}}
    found = []
    for path in _modules():
        package = path.relative_to(SOURCE).parts[0]
        for node in _tree(path).body:
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            roots = {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {"shoal"}
            found += [f"{path.name}: {root}" for root in roots - always - allowed.get(package, set())]
    assert not found, "import what an extra brings inside of the function that needs it"


def test_no_two_classes_share_a_name() -> None:
    found: dict[str, list[str]] = {}
    for path in _modules():
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    shared = {name: places for name, places in found.items() if len(places) > 1}
    assert not shared, "call the less prominent one what it is"


def test_no_module_is_called_utils() -> None:
    names = {path.stem.lstrip("_") for path in _modules()}
    assert not names & {"utils", "util", "helpers", "common", "misc"}


@pytest.mark.parametrize("stub", sorted(SOURCE.rglob("*.pyi")), ids=lambda stub: str(stub.parent.relative_to(SOURCE)))
def test_every_name_of_a_package_is_there_and_comes_from_its_own_modules(stub: Path) -> None:
    package = import_module(".".join(("shoal", *stub.relative_to(SOURCE).parts[:-1])))
    imported = [node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom)]
    assert {node.level for node in imported} == {1}
    assert sorted(alias.name for node in imported for alias in node.names) == package.__all__
    for name in package.__all__:
        assert hasattr(package, name), f"{package.__name__} lists `{name}`, which its module does not have"


@functools.cache
def _kinds_of_steps() -> frozenset[type]:
    """Return every kind of step that is defined in a module of Shoal."""
    for each in pkgutil.walk_packages(import_module("shoal.methods").__path__, "shoal.methods."):
        import_module(each.name)
    kinds: list[type] = [import_module("shoal.guarantees").Event]
    for kind in kinds:
        kinds += (each for each in kind.__subclasses__() if each.__module__.startswith("shoal."))
    return frozenset(kind for kind in kinds if hasattr(kind, "name"))


def test_every_kind_of_step_is_listed_by_a_method_that_takes_it() -> None:
    assert _kinds_of_steps() == {*import_module("shoal.methods.steps").KINDS.values()}


@pytest.mark.parametrize(
    ("package", "base", "listing"),
    [
        ("methods", "Method", "METHODS"),
        ("models", "Model", "MODELS"),
        ("quality", "Measure", "MEASURES"),
        ("schema.rules", "HierarchyRule", "RULES"),
        ("tables.formats", "Format", "FORMATS"),
    ],
)
def test_every_class_that_is_defined_is_listed_once(package: str, base: str, listing: str) -> None:
    home = import_module(f"shoal.{package}")
    for module in pkgutil.walk_packages(home.__path__, f"shoal.{package}."):
        import_module(module.name)
    kinds: list[type] = [getattr(home, base)]
    for kind in kinds:
        kinds += (each for each in kind.__subclasses__() if each.__module__.startswith("shoal."))
    defined = {kind.name for kind in kinds if not inspect.isabstract(kind) and "name" in vars(kind)}
    listed = getattr(home, listing)
    names = [each.name for each in listed] if isinstance(listed, tuple) else [*listed]
    assert sorted(defined) == sorted(names)  # a name that is listed twice is there twice


def test_nothing_is_found_by_scanning_the_names_of_a_module() -> None:
    called = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in _modules()
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Name) and node.id in ("globals", "locals")
    ]
    assert not called


#: modules that make releases; what checks them does not call these
PRODUCERS = {"_make", "_method", "_forms", "_block_forms", "_by_block", "_sets_method", "_scheme", "_lattice"}


def test_no_step_checks_itself_with_what_made_it() -> None:
    for kind in _kinds_of_steps():
        for name in {"check", "_contradiction", "_data"} & {*vars(kind)}:
            check = vars(kind)[name]
            called = {check.__globals__.get(each) for each in check.__code__.co_names if each in check.__globals__}
            homes = {getattr(each, "__module__", "").rpartition(".")[2] for each in called}
            assert not homes & PRODUCERS, f"`{kind.__name__}.{name}` calls a function that makes releases"


def test_no_step_is_named_by_a_text_outside_of_its_class() -> None:
    names = {kind.name for kind in _kinds_of_steps()} - WORDS_OF_OTHERS
    found = []
    for path in _modules():
        tree = _tree(path)
        own = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and [getattr(each, "id", None) for each in node.targets] == ["name"]
        }
        found += [
            f"{path.relative_to(SOURCE)}:{node.lineno} `{node.value}`"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and node.value in names and id(node) not in own
        ]
    assert not found, "\n".join(found)


@functools.cache
def _names_of_classes() -> dict[str, str]:
    return {kind.__name__: kind.name for kind in (*import_module("shoal.methods").METHODS, *_kinds_of_steps())}


def _texts(node: ast.AST) -> set[object]:
    """Return the texts of an expression; a class of which the name is asked for counts as its name."""
    asked = [each.value for each in ast.walk(node) if isinstance(each, ast.Attribute) and each.attr == "name"]
    named = {getattr(each, "attr", getattr(each, "id", None)) for each in asked}
    constants = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
    return constants | {name for each, name in _names_of_classes().items() if each in named}


def _compared_with_a_name(tree: ast.Module) -> Iterator[tuple[int, set[object]]]:
    """Return the texts that something called ``name`` or ``method`` is compared with, and the line."""
    for node in ast.walk(tree):
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Match):
            sides = [node.subject]
        if any(_is_a_name(side) for side in sides):
            patterns = node.cases if isinstance(node, ast.Match) else sides
            yield node.lineno, set().union(*(_texts(each) for each in patterns))


def _is_a_name(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript):
        return bool(_texts(node.slice) & {"method", "step"})
    called = getattr(node, "attr", getattr(node, "id", None))
    return called in ("method", "name", "step")


def test_nobody_asks_for_a_step_by_its_name() -> None:
    homes = {kind.name: kind.__module__.split(".")[1] for kind in _kinds_of_steps()}
    found = [
        f"{path.relative_to(SOURCE)}:{line} {asked & {*homes}}"
        for path in _modules()
        for line, asked in _compared_with_a_name(_tree(path))
        if any(homes.get(str(each), _home(path)) != _home(path) for each in asked)
    ]
    assert not found, "say it with an attribute of the step:\n" + "\n".join(found)


def test_nobody_asks_for_a_method_by_its_name() -> None:
    """Everybody reads its capabilities; templates of the app are looked at as texts."""
    names = {kind.name for kind in import_module("shoal.methods").METHODS}
    found = [
        f"{path.relative_to(SOURCE)}:{line} {asked & names}"
        for path in _modules()
        for line, asked in _compared_with_a_name(_tree(path))
        if asked & names
    ]
    for path in (SOURCE / "web" / "templates").glob("*.html"):
        conditions = re.findall(r"{[{%].*?[%}]}", path.read_text(encoding="utf-8"))
        found += [f"{path.name}: {each}" for each in conditions if any(f'"{name}"' in each for name in names)]
    assert not found, "ask for its capabilities:\n" + "\n".join(found)


def test_importing_shoal_loads_nothing_heavy() -> None:
    heavy = ("numpy", "ibis", "duckdb", "pyarrow", "pandas", "polars", "pyspark", "flint", "scipy", "rich", "typer")
    code = f"import shoal, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_loads_nothing_heavy() -> None:
    heavy = ("numpy", "ibis", "duckdb", "pyarrow", "pandas", "pydantic", "flint", "scipy")
    code = (
        "import sys; sys.argv = ['shoal', '--help']\n"
        "from shoal.cli._main import command\n"
        f"command(); print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_every_public_name_exists_and_is_documented() -> None:
    for name in shoal.__all__:
        assert getattr(shoal, name).__doc__, f"shoal.{name} has no docstring"


def test_a_function_is_never_hidden_by_the_package_that_has_its_name() -> None:
    code = "import shoal, shoal.comparison, shoal.release, shoal.verification; print(callable(shoal.verify))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
    assert not {name for name in HOMES if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").exists()}
