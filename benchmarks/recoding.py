"""What recoding costs and what it loses: optimal search, all nodes scored, local methods, growth.

Marks to beat, ARX's CPU seconds on a machine of this kind with a warm virtual machine: Adult 5-anonymity with loss
3.6, k = 10 4.5, with 0.2-closeness 2.1, with entropy-3-diversity 1.1; local recoding 3.5 (fast) and 60 (iterative,
loss 0.0591); a table like FARS 9.5, like KDD Cup 98 42, 1.19 million rows 392 and 2.7 GB.

Pass names of sections (adult, scores, local, large, like, any-time, growth) to run only these. Without the Adult data
set (adult/ in the folder that SHOAL_DATA names) a table of its shape is made up.
"""

from __future__ import annotations

import csv
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from shoal import kernels, tables
from shoal.hierarchies import Hierarchy, build, leaf_codes
from shoal.kernels.recoding import group
from shoal.kernels.walk import score
from shoal.methods.recode import Box, Generalize, Iterate, Lattice, Mondrian, Recode, SearchResult, Specialize, Subtree
from shoal.models import (
    BetaLikeness,
    Classes,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    Model,
    RecursiveLDiversity,
    TCloseness,
)
from shoal.schema import Attribute, Domain, FromFile, Groups, Kind, Role, Schema
from shoal.tables import Frequencies, SensitiveAttribute

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
ADULT = (
    *("sex", "age", "race", "marital-status", "education"),
    *("native-country", "workclass", "occupation", "salary-class"),
)
T = TypeVar("T")


def main() -> None:
    if "--large-child" in sys.argv:
        return large_child(Path(sys.argv[-1]))
    sections = {
        "adult": adult_models,
        "scores": scores,
        "local": local,
        "large": large,
        "like": like,
        "any-time": any_time,
        "growth": growth,
    }
    chosen = [name for name in sys.argv[1:] if name in sections] or list(sections)
    print(f"kernels: {kernels.name()}; CPU seconds of one process\n")
    for name in chosen:
        sections[name]()
        print()
    return None


# -- sections ---------------------------------------------------------------------------------------------------------


def adult_models() -> None:
    print("Adult, optimal full-domain recoding with loss, any number of records suppressed")
    print(f"{'':<42}{'C++':>8}{'NumPy':>8}{'ARX':>7}{'nodes':>8}{'checked':>9}{'loss':>9}{'suppressed':>12}")
    whole, rest = adult(), adult("occupation")
    s = "occupation"
    cases: list[tuple[str, Frequencies, list[Model], str]] = [
        ("5-anonymity", whole, [KAnonymity(5)], "3.6"),
        ("10-anonymity", whole, [KAnonymity(10)], "4.5"),
        ("5-anonymity, 0.2-closeness (equal)", rest, [KAnonymity(5), TCloseness(s, 0.2)], "2.1"),
        ("5-anonymity, entropy-3-diversity", rest, [KAnonymity(5), EntropyLDiversity(s, 3)], "1.1"),
        ("5-anonymity, distinct-3-diversity", rest, [KAnonymity(5), DistinctLDiversity(s, 3)], ""),
        ("5-anonymity, recursive-(3,3)-diversity", rest, [KAnonymity(5), RecursiveLDiversity(s, c=3, l=3)], ""),
        ("5-anonymity, 1-likeness", rest, [KAnonymity(5), BetaLikeness(s, 1)], ""),
        ("5-anonymity, 1-disclosure", rest, [KAnonymity(5), DeltaDisclosure(s, 1)], ""),
    ]
    for name, frequencies, models, mark in cases:
        method = Generalize(suppression_limit=1)
        found, compiled = timed(lambda f=frequencies, m=models, g=method: g.recode(f, m))
        with_numpy = numpy_seconds(lambda f=frequencies, m=models, g=method: g.recode(f, m))
        print(
            f"{name:<42}{compiled:>8.2f}{with_numpy:>8.2f}{mark:>7}{found.nodes:>8,}{found.checked:>9,}"
            f"{found.value:>9.4f}{found.suppressed:>12,}"
        )


def scores() -> None:
    frequencies = adult()
    costs = tuple(tuple(shares / 9 for shares in hierarchy.shares) for hierarchy in frequencies.hierarchies)
    gains = np.append(np.zeros(5), 5.0)
    found, compiled = timed(lambda: scored(frequencies, gains, costs))
    with_numpy = numpy_seconds(lambda: scored(frequencies, gains, costs))
    print(f"Adult, all {found.size:,} nodes scored: C++ {compiled:.2f}, NumPy {with_numpy:.2f}")
    print(f"the best of them has loss {1 - found.max() / frequencies.records:.4f}")


def scored(
    frequencies: Frequencies, gains: np.ndarray[Any, Any], costs: tuple[tuple[np.ndarray[Any, Any], ...], ...]
) -> np.ndarray[Any, Any]:
    lattice = Lattice(frequencies, costs)
    return score(Box(lattice, lattice.bottom, lattice.top, costs).start, gains, slope=1.0)


def local() -> None:
    print("Adult, local recoding: loss (records suppressed) and CPU seconds, the best node included for comparison")
    numeric = adult(kind=Kind.NUMERIC)
    methods: list[tuple[str, Recode, Frequencies]] = [
        ("best node", Generalize(suppression_limit=1), adult()),
        ("best node, cells suppressed", Generalize(suppression_limit=1, cells=True), adult()),
        ("subtree", Subtree(suppression_limit=1), adult()),
        ("iterate", Iterate(), adult()),
        ("Mondrian, strict", Mondrian(), adult()),
        ("Mondrian, relaxed", Mondrian(relaxed=True), adult()),
        ("specialize, no foresight", Specialize(foresight=0), adult()),
        ("specialize", Specialize(), adult()),
        ("specialize, foresight 1,000", Specialize(foresight=1_000), adult()),
        ("Mondrian, strict, ages as intervals", Mondrian(), numeric),
        ("Mondrian, relaxed, ages as intervals", Mondrian(relaxed=True), numeric),
        ("specialize, ages as intervals", Specialize(), numeric),
    ]
    sizes = (2, 5, 10, 20)
    print(f"{'':<40}" + "".join(f"{f'k = {k}':>26}" for k in sizes))
    for name, method, frequencies in methods:
        cells = []
        for k in sizes:
            found, seconds = timed(lambda m=method, f=frequencies, k=k: m.recode(f, [KAnonymity(k)]), once=True)
            verify(found, frequencies, k)
            cells.append(f"{found.value:.4f} ({found.suppressed:,}) {seconds:.2f} s")
        print(f"{name:<40}" + "".join(f"{cell:>26}" for cell in cells))


def large() -> None:
    rows = 1_200_000
    print(f"{rows:,} rows of the shape of Adult, 5-anonymity with loss, from a CSV file; ARX 392 s, 2.7 GB")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        write_large(path, rows)
        for kernels in ("", "numpy"):
            done = subprocess.run(
                [sys.executable, __file__, "--large-child", str(path)],
                env={**os.environ, "SHOAL_KERNELS": kernels},
                capture_output=True,
                text=True,
                check=True,
            )
            print(done.stdout.strip())


def large_child(path: Path) -> None:
    started, wall = time.process_time(), time.perf_counter()
    encoded = tables.encode(tables.read(path, schema=adult_schema()))
    frequencies = encoded.frequencies
    read, read_wall = time.process_time() - started, time.perf_counter() - wall
    found, seconds = timed(lambda: Generalize(suppression_limit=1).recode(frequencies, [KAnonymity(5)]), once=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{kernels.name():<6} encode {read:.1f} (wall {read_wall:.1f}), search {seconds:.2f}; "
        f"{len(frequencies.counts):,} distinct tuples, {found.checked:,} of {found.nodes:,} nodes checked, "
        f"loss {found.value:.4f}; peak {peak:,.0f} MB"
    )


def like() -> None:
    print("made-up tables of the size of other data sets, 5-anonymity with loss, any number of records suppressed")
    shapes = (
        ("FARS: 100,937 x 8", 100_937, (4, 4, 4, 3, 3, 3, 3, 4), "9.5"),
        ("KDD Cup 98: 63,441 x 8", 63_441, (5, 5, 5, 5, 2, 3, 4, 3), "42"),
    )
    print(f"{'':<26}{'C++':>8}{'NumPy':>8}{'ARX':>7}{'nodes':>8}{'checked':>9}{'tuples':>9}{'loss':>9}")
    for name, rows, levels, mark in shapes:
        frequencies = made_up(rows, levels)
        method = Generalize(suppression_limit=1)
        found, compiled = timed(lambda f=frequencies, m=method: m.recode(f, [KAnonymity(5)]))
        with_numpy = numpy_seconds(lambda f=frequencies, m=method: m.recode(f, [KAnonymity(5)]))
        print(
            f"{name:<26}{compiled:>8.2f}{with_numpy:>8.2f}{mark:>7}{found.nodes:>8,}{found.checked:>9,}"
            f"{len(frequencies.counts):>9,}{found.value:>9.4f}"
        )


def any_time() -> None:
    print("any-time search, 30,000 made-up accounts, k = 5: value, proven bound, gap, nodes checked; CPU seconds")
    for columns in (16, 24):
        frequencies = accounts(columns)
        for limit, seconds in ((1, 5), (1, 20), (0.05, 5), (0.05, 20)):
            method = Generalize(suppression_limit=limit, time_limit=float(seconds))
            found, used = timed(lambda m=method, f=frequencies: m.recode(f, [KAnonymity(5)]), once=True)
            print(
                f"{columns:>4} columns, {found.nodes:.1e} nodes, limit {limit:<5}{found.value:.4f} >= "
                f"{found.bound:.4f}, gap {found.value - found.bound:.4f}, {found.checked:,} nodes, {used:.1f} s"
            )


def growth() -> None:
    print("growth with rows (shape of Adult, k = 5): distinct tuples, best node, relaxed Mondrian, specialize")
    for rows in (10_000, 100_000, 1_000_000, 10_000_000):
        frequencies = resampled(rows)
        cells = [seconds_of(method, frequencies, 5) for method in (Generalize(), Mondrian(relaxed=True), Specialize())]
        print(f"{rows:>12,}{len(frequencies.counts):>12,}" + "".join(f"{cell:>20}" for cell in cells))
    print("growth with attributes (30,000 rows, k = 5): nodes, best node, relaxed Mondrian, specialize")
    for number in range(5, 16, 2):
        frequencies = made_up(30_000, ((3, 4) * 8)[:number])
        nodes = math.prod(height + 1 for height in frequencies.heights)
        limited = Generalize(time_limit=20.0)
        cells = [seconds_of(method, frequencies, 5) for method in (limited, Mondrian(relaxed=True), Specialize())]
        print(f"{number:>12}{nodes:>14,}" + "".join(f"{cell:>20}" for cell in cells))
    print("growth with k (Adult): best node, relaxed Mondrian, specialize")
    for k in (2, 5, 10, 50, 100, 500):
        cells = [seconds_of(method, adult(), k) for method in (Generalize(), Mondrian(relaxed=True), Specialize())]
        print(f"{k:>12}" + "".join(f"{cell:>20}" for cell in cells))


def seconds_of(method: Recode, frequencies: Frequencies, k: int) -> str:
    found, seconds = timed(lambda: method.recode(frequencies, [KAnonymity(k)]), once=True)
    gap = "" if found.gap is None or found.gap == 0 else f" (gap {found.gap:.2f})"
    return f"{seconds:.2f}{gap}"


# -- tables -----------------------------------------------------------------------------------------------------------


def adult_schema() -> Schema:
    attributes = [
        Attribute(name=name, role=Role.QUASI_IDENTIFIER, hierarchy=FromFile(path=f"adult_hierarchy_{name}.csv"))
        for name in ADULT
    ]
    return Schema(attributes=tuple(attributes), folder=DATA / "adult")


def records() -> dict[str, list[str]]:
    with (DATA / "adult" / "adult.csv").open(encoding="utf-8") as file:
        head, *rows = csv.reader(file, delimiter=";")
    return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


def hierarchy(name: str, kind: Kind = Kind.CATEGORICAL) -> Hierarchy:
    attribute = Attribute(name=name, kind=kind, hierarchy=FromFile(path=f"adult_hierarchy_{name}.csv"))
    return build(attribute, pa.array([], pa.string()), folder=DATA / "adult")


def adult(sensitive: str | None = None, *, kind: Kind = Kind.CATEGORICAL) -> Frequencies:
    """Return the Adult table; `kind` is that of its ages."""
    if not (DATA / "adult").is_dir():
        return made_up(30_162, (2, 5, 2, 3, 4, 3, 3, 3, 2), sensitive=sensitive)
    columns = records()
    names = [name for name in columns if name != sensitive]
    found = [hierarchy(name, kind if name == "age" else Kind.CATEGORICAL) for name in names]
    codes = [leaf_codes(made, pa.array(columns[made.attribute])) for made in found]
    values = sorted(set(columns[sensitive])) if sensitive else []
    if sensitive:
        codes.append(np.array([values.index(value) for value in columns[sensitive]], dtype=np.int32))
    return gathered(found, codes, sensitive, len(values))


def gathered(
    found: Sequence[Hierarchy], codes: Sequence[np.ndarray[Any, Any]], sensitive: str | None = None, size: int = 0
) -> Frequencies:
    sizes = [made.size for made in found] + ([size] if sensitive else [])
    rows = np.stack([np.asarray(column, dtype=np.int32) for column in codes])
    groups = group(rows, sizes)
    counts = np.bincount(groups.labels, minlength=len(groups.first))
    columns = rows[:, groups.first]
    number = len(found)
    empty = np.zeros((len(counts), 0), dtype=np.int32)
    return Frequencies(
        hierarchies=tuple(found),
        codes=np.asfortranarray(np.stack(columns[:number], axis=1)),
        counts=counts.astype(np.int64),
        sensitive=(SensitiveAttribute(name=sensitive, size=size, ordered=False),) if sensitive else (),
        sensitive_codes=np.asfortranarray(np.stack(columns[number:], axis=1)) if sensitive else empty,
    )


def resampled_columns(rows: int) -> tuple[tuple[Hierarchy, ...], list[np.ndarray[Any, Any]]]:
    """Draw records of Adult and redraw every fifth cell from the distribution of its column."""
    base = adult()
    rng = np.random.default_rng(0)
    source = np.repeat(np.arange(len(base.counts)), base.counts)
    chosen = rng.choice(source, rows)
    columns = []
    for column in base.codes.T:
        codes = column[chosen]
        redrawn = rng.random(rows) < 0.2
        codes[redrawn] = column[rng.choice(source, int(redrawn.sum()))]
        columns.append(codes)
    return base.hierarchies, columns


def resampled(rows: int) -> Frequencies:
    return gathered(*resampled_columns(rows))


def write_large(path: Path, rows: int) -> None:
    import pyarrow.csv

    found, columns = resampled_columns(rows)
    texts = [pa.array(made.labels[0]).take(pa.array(codes)) for made, codes in zip(found, columns, strict=True)]
    arrays = dict(zip((made.attribute for made in found), texts, strict=True))
    pyarrow.csv.write_csv(pa.table(arrays), path)


def made_up(rows: int, levels: Sequence[int], *, sensitive: str | None = None) -> Frequencies:
    """Make a table whose columns hang together through 30 hidden groups, with skewed values.

    ``levels`` are the numbers of levels of the hierarchies, values and ``*`` included; every level halves the values
    of the one below it, or nearly.
    """
    rng = np.random.default_rng(len(levels))
    hidden = rng.integers(0, 30, rows)
    found, columns = [], []
    for number, height in enumerate(levels):
        size = 2 * 3 ** (height - 1)
        skew = 1 / np.arange(1, size + 1) ** 1.5
        orders = np.stack([rng.permutation(size) for _ in range(30)])
        columns.append(orders[hidden, rng.choice(size, rows, p=skew / skew.sum())].astype(np.int32))
        found.append(tower(f"q{number}", size, height))
    if sensitive:
        columns.append(rng.integers(0, 14, rows).astype(np.int32))
    return gathered(found, columns, sensitive, 14)


def accounts(columns: int) -> Frequencies:
    """Make a table of the shape of credit card accounts: amounts of six months that hang together, and a few groups."""
    rng, rows = np.random.default_rng(columns), 30_000
    wealth, bill = rng.normal(size=(2, rows))
    found, codes = [], []

    def add(values: np.ndarray[Any, Any], levels: int) -> None:
        size = 2 * 3 ** (levels - 1)
        codes.append(np.clip(np.round(values), 0, size - 1).astype(np.int32))
        found.append(tower(f"q{len(found)}", size, levels))

    for number in range(columns):
        if number % 4 == 0:
            add(np.abs(rng.normal(1.2, 0.8, rows) - 0.3 * wealth), 2)
        elif number % 4 == 1:
            add(2 + np.exp(0.7 * wealth + 0.3 * rng.normal(size=rows)), 3)
        elif number % 4 == 2:
            bill = 0.95 * bill + 0.3 * rng.normal(size=rows)
            add(np.exp(0.9 * bill + 2.5), 5)
        else:
            add(np.where(rng.random(rows) < 0.2, 0, np.exp(0.5 * bill + 0.9 * rng.normal(size=rows) + 2)), 4)
    return gathered(found, codes)


def tower(name: str, size: int, levels: int) -> Hierarchy:
    """Return a hierarchy in which every third of a group is a group of the level below."""
    values = [f"{value:04d}" for value in range(size)]
    steps, members = [], values
    for level in range(1, levels - 1):
        groups = [(f"{level}.{start}", tuple(members[start : start + 3])) for start in range(0, len(members), 3)]
        steps.append(tuple(groups))
        members = [label for label, _ in groups]
    domain = Domain(values=tuple(values))
    rule = Groups(levels=tuple(steps)) if steps else None
    return build(Attribute(name=name, hierarchy=rule, domain=domain), pa.array(values))


# -- measuring --------------------------------------------------------------------------------------------------------


def timed(work: Callable[[], T], *, once: bool = False) -> tuple[T, float]:
    """Return the result and the CPU seconds: the best of three where that is quick."""
    started = time.process_time()
    result = work()
    best = time.process_time() - started
    for _ in range(0 if once or best > 1 else 2):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return result, best


def numpy_seconds(work: Callable[[], object]) -> float:
    for _ in only_numpy():
        return timed(work)[1]
    return math.nan


def only_numpy() -> Iterator[None]:
    """Switch the compiled kernels off for a while."""
    before = os.environ.get("SHOAL_KERNELS")
    os.environ["SHOAL_KERNELS"] = "numpy"
    kernels.library.cache_clear()
    try:
        yield
    finally:
        os.environ.pop("SHOAL_KERNELS")
        if before is not None:
            os.environ["SHOAL_KERNELS"] = before
        kernels.library.cache_clear()


def verify(found: SearchResult, frequencies: Frequencies, k: int) -> None:
    """Look at the classes of the release once more."""
    classes = Classes.of(frequencies, found.recoding.classes, number=found.recoding.number)
    released = {tuple(row) for row in found.recoding.codes.tolist()}
    if int(classes.sizes.min(initial=k)) < k or len(released) != found.recoding.number:
        raise AssertionError("a release breaks its promise")


if __name__ == "__main__":
    main()
