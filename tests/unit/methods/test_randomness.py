"""Random numbers of methods come from the source that they are given, and a step says what they are for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import methods
from shoal.errors import RequirementError, ShoalError
from shoal.guarantees import Event, ExpectedStep, exactly, load
from shoal.mechanisms import RandomSource, SeededSource
from shoal.methods import steps
from shoal.methods.classes import HeldRecords
from shoal.methods.classes._method import PartitionMethod
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._run import Classified
from shoal.methods.classes._steps import CLASS_STEPS
from shoal.models import Model

SOURCE = Path(methods.__file__).parent


class Shuffled(Event):
    """Records were taken in an order drawn at random."""

    name = "shuffled-for-a-test"
    draws = True
    sentence = "Took the records in an order drawn at random."


@dataclass(frozen=True, slots=True, kw_only=True)
class Careless(PartitionMethod):
    """Draw an order of the records, and say nothing of it."""

    name: ClassVar[str] = "careless"
    about: ClassVar[str] = "For a test."

    def classify(self, people: HeldRecords, models: Sequence[Model], source: RandomSource) -> Classified:
        k = max(model.capabilities.minimal_class_size for model in models)
        order = np.argsort(self.keys(len(people), source))
        return Classified(partition=Partition((order // k).clip(max=len(people) // k - 1).astype(np.int32)))

    def keys(self, number: int, source: RandomSource) -> Any:
        return source.uint64(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Honest(Careless):
    """Draw an order of the records, and say so."""

    name: ClassVar[str] = "honest"
    step_kinds: ClassVar[tuple[type[Event], ...]] = (*CLASS_STEPS, Shuffled)

    def classify(self, people: HeldRecords, models: Sequence[Model], source: RandomSource) -> Classified:
        made = Careless.classify(self, people, models, source)
        return Classified(partition=made.partition, events=(Shuffled(),))

    def expected_classes(self, plan: shoal.Plan, names: Sequence[str]) -> list[ExpectedStep]:
        return [*exactly(Shuffled()), *PartitionMethod.expected_classes(self, plan, names)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere(Honest):
    """Say that an order was drawn, and draw it from another generator."""

    name: ClassVar[str] = "elsewhere"

    def keys(self, number: int, source: RandomSource) -> Any:
        return np.random.default_rng(1).random(number)


@pytest.fixture(autouse=True)
def _listed(monkeypatch: pytest.MonkeyPatch) -> None:
    for method in (Careless, Honest, Elsewhere):
        monkeypatch.setitem(methods._METHODS, method.name, method)
    monkeypatch.setitem(steps.KINDS, Shuffled.name, Shuffled)


def _release(method: methods.Method, account: Any = None) -> shoal.Release:
    ages = pa.table({"age": list(range(20, 60)), "illness": ["flu", "cold"] * 20})
    age = shoal.Attribute(name="age", role="quasi-identifier", kind="numeric")
    schema = shoal.Schema(attributes=(age, shoal.Attribute(name="illness", role="sensitive")))
    plan = shoal.Plan(schema=schema, models=(shoal.KAnonymity(4),), method=method)
    return plan.run(shoal.read(ages), source=SeededSource(3), account=account)


def test_a_draw_that_no_step_declares_is_refused() -> None:
    with pytest.raises(ShoalError, match="method `careless` drew random numbers, and none of its steps says"):
        _release(Careless())


class Payer:
    """An account that counts any release."""

    def bill(self, *_: object) -> Payer:
        return self

    def pay(self) -> None: ...

    def __str__(self) -> str:
        return "epsilon 1 is spent"


def test_what_was_drawn_is_said_to_be_paid_where_a_step_is_refused() -> None:
    with pytest.raises(ShoalError, match="none of its steps says") as refused:
        _release(Careless(), account=Payer())
    assert "epsilon 1 is spent, and stays spent" in str(refused.value)


def test_a_step_that_draws_from_another_generator_is_refused() -> None:
    with pytest.raises(ShoalError, match="method `elsewhere` has a step that draws random numbers, and took none"):
        _release(Elsewhere())


#: tables in which one record decides whether a method has anything to draw
MEAGRE = {
    "one record": [("x", "1", "p")],
    "nothing known": [(None, None, "p")],
    "nothing declared": [("other", "many", "p")],
    "nobody's": [("x", "1", None)] * 3,
    "all alike": [("x", "1", str(i)) for i in range(200)],
}


@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("rows", MEAGRE.values(), ids=MEAGRE)
@pytest.mark.parametrize(
    "method",
    [
        shoal.methods.Truthful(levels={"a": 0, "n": 0}),
        shoal.methods.Truthful(scheme="multi-dimensional"),
        shoal.methods.Truthful(operator="sampling"),
        shoal.methods.TruthfulTables(tables="columns"),
        shoal.methods.TruthfulTables(tables="pairs+joint"),
    ],
    ids=lambda method: f"{method.name}-{getattr(method, 'tables', method.__class__.__name__)}",
)
def test_no_record_decides_whether_a_private_method_draws(
    method: methods.Method, rows: list[tuple[str | None, ...]], *, persons: bool
) -> None:
    """A release that drew nothing would be refused; that a release is too small to be shown is decided by chance."""
    given = (
        shoal.Attribute(name="a", role="quasi-identifier", domain=shoal.Domain(values=("x", "y"))),
        shoal.Attribute(name="n", role="quasi-identifier", kind="numeric", domain=shoal.Domain(minimum=0, maximum=9)),
        shoal.Attribute(name="p", role="person"),
    )[: 3 if persons else 2]
    columns = {each.name: pa.array(own, pa.string()) for each, own in zip(given, zip(*rows, strict=True), strict=False)}
    table = shoal.read(pa.table(columns), schema=shoal.Schema(attributes=given).total())
    try:
        release = shoal.anonymize(table, shoal.DifferentialPrivacy(epsilon=1, delta="1e-6"), method=method)
    except RequirementError:
        return
    assert release.guarantee.randomness.startswith("the cryptographic")


def test_a_declared_draw_is_stated_and_verifies(tmp_path: Path) -> None:
    folder = _release(Honest()).write(tmp_path / "release")
    assert shoal.verify(folder).passed
    assert load(folder / "certificate.json").randomness.startswith("a seed")


def test_a_method_that_draws_nothing_says_so_whatever_it_was_given() -> None:
    assert _release(shoal.methods.Mdav()).guarantee.randomness == "none used"


#: what draws without saying so
MODULES = ("random", "secrets", "uuid")
GENERATORS = {*MODULES, "default_rng", "urandom", "SystemRandom", "uuid4", "SYSTEM"}
#: executors of Spark draw from the system where the driver has noted that they will
EXECUTORS = "classes/_block_forms.py"


def _trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())


def _defaults(tree: ast.Module) -> set[int]:
    """Return the defaults of arguments called `source`: whoever calls such a function is looked at below."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            found |= {id(default) for argument, default in pairs if argument.arg == "source"}
    return found


def _names(node: ast.AST) -> list[str]:
    """Return the names by which a generator could come in; a variable may be called as a module is."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        module = (getattr(node, "module", None) or "").split(".")
        # the system's source may be imported, as a default
        return [part for each in node.names for part in (*module, *each.name.split(".")) if part != "SYSTEM"]
    if isinstance(node, ast.Attribute):
        # `np.random` is one; `secrets` is imported under its own name, and `search.secrets` are sensitive columns
        return [node.attr] if node.attr != "secrets" else []
    return [node.id] if isinstance(node, ast.Name) and node.id not in MODULES else []


def test_no_module_of_a_method_uses_another_generator() -> None:
    found = [
        f"{path}: line {getattr(node, 'lineno', 0)} uses `{name}`"
        for path, tree in _trees()
        for defaults in [_defaults(tree)]
        for node in ast.walk(tree)
        if id(node) not in defaults
        for name in _names(node)
        if name in GENERATORS and (path, name) != (EXECUTORS, "SYSTEM")
    ]
    assert not found, "\n".join(found)


def _draws_by_default(node: ast.FunctionDef) -> bool:
    defaults = [*node.args.defaults, *node.args.kw_defaults]
    return "SYSTEM" in {each.id for each in defaults if isinstance(each, ast.Name)}


def test_whatever_draws_by_default_from_the_system_is_given_the_source_by_methods() -> None:
    functions = [
        node
        for path in SOURCE.parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]
    # a name that other functions have as well, such as `select`, says nothing
    drawing = {node.name for node in functions if _draws_by_default(node)}
    drawing -= {node.name for node in functions if not _draws_by_default(node)}
    assert {"permutation_within", "release_all", "dp_microaggregate"} <= drawing
    found = []
    for path, tree in _trees():
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = {ast.unparse(each).rpartition(".")[2] for each in node.args} | {each.arg for each in node.keywords}
            if called in drawing and "source" not in given:
                found.append(f"{path}: line {node.lineno} calls `{called}` without a source")
    assert not found, "\n".join(found)
