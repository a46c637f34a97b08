"""From a table to a verified release, with tables, schemas, promises and methods that are almost those of real cases.

An input is the name of a golden case and the seeds of the changes made to it, so that it can be repeated and is small.
Inputs that reach new functions of Shoal, or end in another way, are remembered and changed further; ``corpus.json``
beside this file holds those of earlier runs (``SHOAL_FUZZ_CORPUS`` names where to write the new one). A run fails if
anything but a refusal of ours is raised, if a release does not verify, or if a value of a dropped column is in a
release, a message or a log.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import random
import re
import shutil
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from golden.cases import CASES, KEY
from shoal.errors import InputError, RequirementError, ShoalError
from shoal.mechanisms import SeededSource
from shoal.schema import Attribute, Role

from .test_fuzz import SECONDS, SEED

CANARY, SECRET = "canary-7f3a", "dropped-91c4"
CORPUS = Path(__file__).with_name("corpus.json")
SOURCE = str(Path(shoal.__file__).parent)
#: at least this share of the inputs must reach a verified release
LOWEST = 0.2
MOST_RECORDS = 60
#: seconds after which a case is too slow to be changed often
SLOW = 1.5

Input = tuple[str, tuple[int, ...]]
NUMBERS = [-1, 0, 1, 2, 3, 7, 50, 10**9, 0.0, 0.5, 1.0, 1e-9, 1e308, "1/3"]


@dataclasses.dataclass
class Work:
    """A table and what is asked of it."""

    rows: pa.Table
    schema: shoal.Schema
    models: tuple[Any, ...]
    method: Any


def _cells(chosen: random.Random, work: Work) -> None:
    name = chosen.choice(work.rows.column_names)
    values = work.rows[name].to_pylist()
    known = sorted({value for value in values if value is not None}, key=str)
    extremes: list[Any] = [None]
    if known and isinstance(known[0], str):
        extremes += ["", f"{CANARY}\u202e", f"={CANARY}", "*", "[0, 5)", " ", f"{CANARY}\n", "x" * 500]
    elif known and isinstance(known[0], int | float) and not isinstance(known[0], bool):
        extremes += [type(known[0])(number) for number in (0, -1, 10**15, -(2**53))]
    for _ in range(chosen.choice([1, 1, 3, len(values)])):
        values[chosen.randrange(len(values))] = chosen.choice(extremes + known[:5])
    _replace(work, name, values)


def _replace(work: Work, name: str, values: list[Any]) -> None:
    at = work.rows.column_names.index(name)
    work.rows = work.rows.set_column(at, name, pa.array(values, work.rows.schema.field(at).type))


def _records(chosen: random.Random, work: Work) -> None:
    number = chosen.choice([1, 2, 3, work.rows.num_rows // 2, work.rows.num_rows])
    work.rows = work.rows.take(pa.array([chosen.randrange(work.rows.num_rows) for _ in range(number)]))


def _constant(chosen: random.Random, work: Work) -> None:
    name = chosen.choice(work.rows.column_names)
    _replace(work, name, [work.rows[name][chosen.randrange(work.rows.num_rows)].as_py()] * work.rows.num_rows)


def _type(chosen: random.Random, work: Work) -> None:
    at = chosen.randrange(work.rows.num_columns)
    kind = chosen.choice([pa.string(), pa.large_string(), pa.float32(), pa.int8(), pa.decimal128(20, 3), pa.date32()])
    column = work.rows.column(at).cast(kind)
    work.rows = work.rows.set_column(at, work.rows.column_names[at], column)


def _encoded(chosen: random.Random, work: Work) -> None:
    at = chosen.randrange(work.rows.num_columns)
    work.rows = work.rows.set_column(at, work.rows.column_names[at], work.rows.column(at).dictionary_encode())


def _parameter(chosen: random.Random, work: Work) -> None:
    place = chosen.randrange(len(work.models) + 1)
    value = work.method if place == len(work.models) else work.models[place]
    names = [field.name for field in dataclasses.fields(value) if field.init]
    changed = dataclasses.replace(value, **{chosen.choice(names): chosen.choice([*NUMBERS, None, True, "loss"])})
    if place == len(work.models):
        work.method = changed
    else:
        work.models = (*work.models[:place], changed, *work.models[place + 1 :])


def _other_method(chosen: random.Random, work: Work) -> None:
    work.method = CASES[chosen.choice(sorted(CASES))].method


def _column(chosen: random.Random, work: Work) -> None:
    attributes = list(work.schema)
    at = chosen.randrange(len(attributes))
    change: dict[str, Any] = chosen.choice(
        [{"role": role} for role in Role] + [{"hierarchy": None}, {"domain": None}, {"kind": "categorical"}]
    )
    attributes[at] = dataclasses.replace(attributes[at], **change)
    work.schema = dataclasses.replace(work.schema, attributes=tuple(attributes))


CHANGES: list[Callable[[random.Random, Work], None]] = [
    _cells, _cells, _cells, _records, _constant, _type, _encoded, _parameter, _parameter, _other_method, _column,
]  # fmt: skip


class Whole:
    """All the way of an input, and what was seen of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.reached = folder, set[object]()
        self.endings: Counter[str] = Counter()
        self.schemas = {}
        for name, case in CASES.items():
            (folder / "schemas" / name).mkdir(parents=True)
            self.schemas[name] = case.described(folder / "schemas" / name)

    def make(self, given: Input) -> Work:
        """Return the work of an input; changes that cannot be made are left out."""
        name, seeds = given
        case, schema = CASES[name], self.schemas[name]
        rows = case.records(schema).slice(0, MOST_RECORDS).replace_schema_metadata(None)
        work = Work(rows, schema, case.promises, case.method)
        for seed in seeds:
            chosen, before = random.Random(seed), dataclasses.replace(work)
            try:
                chosen.choice(CHANGES)(chosen, work)
            except (ShoalError, pa.ArrowException, TypeError, ValueError, LookupError, OverflowError):
                work = before
        work.rows = work.rows.append_column("dropped", [[f"{SECRET}-{row}" for row in range(work.rows.num_rows)]])
        dropped = Attribute(name="dropped", role=Role.DROP)
        work.schema = dataclasses.replace(work.schema, attributes=(*work.schema, dropped))
        return work

    def go(self, given: Input) -> bool:
        """Go all the way; return whether something new was reached."""
        before, ending = len(self.reached), "the changes were refused"
        try:
            work = self.make(given)
            sys.setprofile(self._note)
            ending = self._release(work)
        except (InputError, RequirementError) as refusal:
            words = str(refusal)
            assert SECRET not in words, words
            assert CANARY not in words, words
            ending = re.sub(r"`[^`]*`|\d[\d,.]*", "", words.partition("\n")[0])[:60]
        finally:
            sys.setprofile(None)
        self.endings["released" if ending == "released" else "refused"] += 1
        self.reached.add(ending)
        return len(self.reached) > before

    def _release(self, work: Work) -> str:
        plan = shoal.Plan(schema=work.schema, models=work.models, method=work.method)
        pseudonyms = any(each.pseudonym for each in work.schema)
        release = plan.run(shoal.read(work.rows), source=SeededSource(1), pseudonym_key=KEY if pseudonyms else None)
        folder = self.folder / "release"
        shutil.rmtree(folder, ignore_errors=True)
        release.write(folder, csv=True)
        found = shoal.verify(folder)
        assert found.passed, [check for check in found.checks if not check.passed]
        for path in folder.rglob("*"):
            if path.is_file():
                content = str(pq.read_table(path).to_pydict()) if path.suffix == ".parquet" else path.read_text("utf-8")
                assert SECRET not in content, path.name
        return "released"

    def _note(self, frame: Any, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            self.reached.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))


@pytest.mark.slow
def test_the_whole_way(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "shoal")
    whole, chosen = Whole(tmp_path), random.Random(SEED)
    corpus: list[Input] = [(name, tuple(seeds)) for name, seeds in json.loads(CORPUS.read_text()) if name in CASES]
    waiting, tried = [(name, ()) for name in CASES] + corpus, 0
    chosen.shuffle(waiting)
    kept: list[Input] = []
    until = time.monotonic() + SECONDS
    while time.monotonic() < until or tried < 5:
        if waiting and chosen.random() < 0.5:
            given = waiting.pop()
        else:
            name, seeds = chosen.choice(kept or waiting)
            given = (name, (*seeds[-8:], chosen.randrange(2**32)))
        started = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                is_new = whole.go(given)
            except Exception as error:
                raise AssertionError(f"{type(error).__name__} on {given}") from error
        assert SECRET not in caplog.text
        assert CANARY not in caplog.text
        caplog.clear()
        tried += 1
        if is_new and time.monotonic() - started < SLOW:
            kept.append(given)
    share = whole.endings["released"] / tried
    print(f"whole way: {tried:,} inputs, {share:.0%} verified, {len(whole.reached):,} places, {len(kept):,} kept")  # noqa: T201
    if place := os.environ.get("SHOAL_FUZZ_CORPUS"):
        known = sorted({*corpus, *(each for each in kept if each[1])})
        Path(place).write_text("[\n" + ",\n".join(map(json.dumps, known)) + "\n]\n")
    assert share >= LOWEST
