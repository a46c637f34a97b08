"""Everything that is read from outside, under inputs that are almost right: taken or refused, never a failure.

Each test prints how many inputs it tried and which share was accepted: a fuzzer whose inputs are all refused at the
door tests the door alone. ``SHOAL_FUZZ_SECONDS`` gives each more time; ``make fuzz`` runs them for long.
"""

from __future__ import annotations

import io
import os
import random
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st

import shoal
from reference import releases_of_others
from shoal import hierarchies, schema
from shoal.errors import ShoalError
from shoal.methods.nested import DatasetPlan
from shoal.policy import Policy
from shoal.queries import parse_query
from shoal.schema import Attribute, Kind, Role, Schema
from shoal.series import read_crowd_list
from shoal.testing import strategies

from . import mutations

SECONDS = float(os.environ.get("SHOAL_FUZZ_SECONDS", "1"))
SEED = int(os.environ.get("SHOAL_FUZZ_SEED", "1"))
CANARY = "canary-7f3a"
#: at least this share of the inputs must come in
LOWEST = 0.05


def fuzz(
    name: str, make: Callable[[random.Random], Any], use: Callable[[Any], object], *, lowest: float = LOWEST
) -> None:
    """Use inputs until the time is over."""
    chosen, until = random.Random(SEED), time.monotonic() + SECONDS
    tried = accepted = 0
    while time.monotonic() < until or tried < 20:
        given = make(chosen)
        tried += 1
        try:
            use(given)
            accepted += 1
        except ShoalError as error:
            if CANARY in str(error):
                raise AssertionError(f"{name}: a cell value is shown") from error
        except Exception as error:
            raise AssertionError(f"{name}: {type(error).__name__} on {given!r:.2000}") from error
    print(f"{name}: {tried:,} inputs, {accepted / tried:.0%} accepted")  # noqa: T201
    assert accepted >= tried * lowest


def examples(strategy: st.SearchStrategy[Any], number: int) -> list[Any]:
    """Return values of a strategy."""
    found: list[Any] = []

    def keep(value: Any) -> bool:
        found.append(value)
        return len(found) > number

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quiet = settings(
            max_examples=5 * number, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None
        )
        find(strategy, keep, settings=quiet, random=random.Random(SEED))
    return found


@pytest.fixture(scope="module")
def described() -> list[tuple[Schema, pa.Table]]:
    found = examples(strategies.described_tables(), 40)
    return [(each, table) for each, table in found if table.num_rows]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    people = pa.table({"age": [20, 20, 30, 30, 40, 40] * 3, "ill": [CANARY, "b", "c"] * 6})
    columns = (
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
        Attribute(name="ill", role=Role.SENSITIVE, kind=Kind.CATEGORICAL),
    )
    table = shoal.read(people, schema=Schema(attributes=columns))
    folder = tmp_path_factory.mktemp("fuzz") / "release"
    return shoal.anonymize(table, shoal.KAnonymity(2), shoal.TCloseness("ill", 0.5)).write(folder)


@pytest.fixture(scope="module")
def data_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return releases_of_others.dataset(tmp_path_factory.mktemp("fuzz") / "dataset")


def test_schemas(described: list[tuple[Schema, pa.Table]]) -> None:
    texts = [schema.dumps(each) for each, _ in described]

    def use(content: str) -> None:
        read = schema.loads(content, Path())
        assert schema.loads(schema.dumps(read), Path()) == read

    fuzz("schemas", lambda chosen: mutations.text(chosen, chosen.choice(texts)), use)


def test_csv_files(described: list[tuple[Schema, pa.Table]], tmp_path: Path) -> None:
    def make(chosen: random.Random) -> tuple[Schema, bytes]:
        each, table = chosen.choice(described)
        out = io.BytesIO()
        flat = pa.table([column.cast(pa.string()) for column in table.columns], names=table.column_names)
        pa.csv.write_csv(flat, out)
        content = mutations.text(chosen, out.getvalue().decode())
        if chosen.random() < 0.3:
            content = content.replace("\n", "\r\n")
        return each, content.encode(chosen.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]), "replace")

    def use(given: tuple[Schema, bytes]) -> None:
        path = tmp_path / "given.csv"
        path.write_bytes(given[1])
        shoal.read(path).with_schema(given[0]).count()

    fuzz("CSV files", make, use)


def test_parquet_files(described: list[tuple[Schema, pa.Table]], tmp_path: Path) -> None:
    def make(chosen: random.Random) -> bytes:
        out = io.BytesIO()
        pq.write_table(chosen.choice(described)[1], out, compression=chosen.choice(["none", "zstd", "snappy"]))
        return mutations.octets(chosen, out.getvalue())

    def use(given: bytes) -> None:
        path = tmp_path / "given.parquet"
        path.write_bytes(given)
        shoal.read(path).to_arrow()

    fuzz("Parquet files", make, use)


def test_hierarchy_files(tmp_path: Path) -> None:
    texts = ["a;x;*\nb;x;*\nc;y;*\n", "1;[0, 5);*\n2;[0, 5);*\n7;[5, 10);*\n", f"{CANARY};north\nhere;north\n"]
    column = Attribute(name="city", role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORICAL)

    def use(given: str) -> None:
        (tmp_path / "given.csv").write_text(given, encoding="utf-8", newline="")
        hierarchies.read_arx(tmp_path / "given.csv", attribute=column)

    fuzz("hierarchies", lambda chosen: mutations.text(chosen, chosen.choice(texts)), use)


def test_plans(release: Path) -> None:
    text = (release / "plan.toml").read_text()

    def use(given: str) -> None:
        plan = shoal.Plan.loads(given, folder=release)
        assert shoal.Plan.loads(plan.dumps(), folder=release).dumps() == plan.dumps()

    fuzz("plans", lambda chosen: mutations.text(chosen, text), use)


def test_plans_of_data_sets(data_set: Path) -> None:
    text = (data_set / "plan.toml").read_text()

    def use(given: str) -> None:
        plan = DatasetPlan.loads(given, folder=data_set)
        assert DatasetPlan.loads(plan.dumps(), folder=data_set).dumps() == plan.dumps()

    fuzz("plans of data sets", lambda chosen: mutations.text(chosen, text), use)


def test_lists_of_joint_crowds(tmp_path: Path) -> None:
    def use(given: str) -> None:
        (tmp_path / "given.csv").write_text(given, encoding="utf-8", newline="")
        read_crowd_list(tmp_path / "given.csv")

    text = "number,parent,people,state\n0,,4,shown\n1,0,3,frozen\n2,0,5,absent\n"
    # every byte counts
    fuzz("joint crowds", lambda chosen: mutations.text(chosen, text), use, lowest=0)


def test_policies(tmp_path: Path) -> None:
    text = (
        f'policy = 1\noffice = "{CANARY}"\nleast_k = 5\nmost_epsilon = 1\nmost_delta = 1e-6\nnever = ["ssn", "*_id"]\n'
        'masked = true\n[may_accept]\nalice = ["admission"]\nbob = ["*"]\n'
    )

    def use(given: str) -> None:
        (tmp_path / "policy.toml").write_text(given, encoding="utf-8")
        read = Policy.load(tmp_path / "policy.toml")
        read.problems(columns=["ssn", "a"], k=2, epsilon=Fraction(1), delta=Fraction(0), accepted=["a"])

    fuzz("policies", lambda chosen: mutations.text(chosen, text), use)


def test_certificates(release: Path) -> None:
    path = release / "certificate.json"
    content = path.read_text()

    def use(given: str) -> None:
        path.write_text(given)
        if not shoal.verify(release, rendered=False).passed:
            raise ShoalError("refused")

    try:
        # every byte counts: none need come in
        fuzz("certificates", lambda chosen: mutations.document(chosen, content), use, lowest=0)
        use(content)
    finally:
        path.write_text(content)


QUESTIONS = [
    "count",
    'mean of age where sex = "F"',
    "quantile 0.9 of age where not (age >= 40 and age < 60) or age = 3",
    'histogram of age at 0, 10, 20 where region in ("north", "west") and income is missing',
    'look up age of name "Ann"',
    "sum of income where " + " and ".join(["(age > 1 or age < 2)"] * 12),
]


def test_questions_and_filters() -> None:
    fuzz(
        "questions",
        lambda chosen: mutations.text(chosen, chosen.choice(QUESTIONS)),
        lambda given: parse_query(given, epsilon="0.1", delta="1e-6"),
    )
