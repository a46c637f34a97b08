"""What a series of releases costs beside releases on their own: Adult growing, changing, and a large made-up table.

python benchmarks/series.py [growth] [years] [large]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import shoal

DATA = Path(os.environ.get("SHOAL_DATA", "../shared/data")) / "adult"
K = 5


def adult() -> tuple[pa.Table, shoal.Schema]:
    """Return the Adult table with a key, and its schema: nine quasi-identifiers."""
    text = pyarrow.csv.ConvertOptions(column_types={"age": pa.string()})
    options = pyarrow.csv.ParseOptions(delimiter=";")
    rows = pyarrow.csv.read_csv(DATA / "adult.csv", parse_options=options, convert_options=text)
    attributes = [
        shoal.Attribute(
            name=name,
            role=shoal.Role.QUASI_IDENTIFIER,
            hierarchy=shoal.schema.FromFile(path=f"adult_hierarchy_{name}.csv"),
        )
        for name in rows.column_names
    ]
    attributes.append(shoal.Attribute(name="id", role=shoal.Role.IDENTIFIER))
    rows = rows.append_column("id", pa.array([f"p{i}" for i in range(rows.num_rows)]))
    return rows, shoal.Schema(attributes=tuple(attributes), folder=DATA)


def large(number: int) -> tuple[pa.Table, shoal.Schema]:
    """Return a made-up table of people."""
    draws = np.random.default_rng(1)
    widths = {"age": 90, "region": 60, "job": 40, "children": 6, "income": 100}
    columns = {name: pa.array((draws.beta(2, 4, number) * width).astype(int)) for name, width in widths.items()}
    attributes = [
        shoal.Attribute(
            name=name,
            role=shoal.Role.QUASI_IDENTIFIER,
            kind=shoal.Kind.NUMERIC,
            domain=shoal.Domain(minimum=0, maximum=width),
            hierarchy=shoal.schema.Intervals(widths=(2, 4, 8, 16, 32)),
        )
        for name, width in widths.items()
    ]
    attributes.append(shoal.Attribute(name="id", role=shoal.Role.IDENTIFIER))
    rows = pa.table(columns | {"id": pa.array([f"p{i}" for i in range(number)])})
    return rows, shoal.Schema(attributes=tuple(attributes))


def release(
    rows: pa.Table,
    schema: shoal.Schema,
    chosen: Sequence[int],
    folder: Path,
    study: shoal.Series | None,
    *,
    class_size: int | None = None,
    leavers: str = "frozen",
) -> shoal.Release:
    """Make and write a release, and print what it cost."""
    table = shoal.read(rows.take(pa.array(sorted(chosen))), schema=schema)
    models: list[shoal.guarantees.Requirement] = [shoal.KAnonymity(K)]  # type: ignore[name-defined]
    if study is not None:
        models.append(shoal.series.SeriesKAnonymity(K, leavers, class_size))
    limit = 0.05 if leavers == "frozen" else 1
    plan = shoal.Plan(
        schema=schema, models=tuple(models), method=shoal.methods.Specialize(effort=20.0, suppression_limit=limit)
    )
    begun = time.process_time()
    made = plan.run(table, series=study)
    made.write(folder)
    seconds = time.process_time() - begun
    said = f"{len(chosen):>9,} people, loss {made.measures['loss']:.4f}, {seconds:5.1f} CPU s"
    if study is not None:
        last = study.entries[-1]
        stale = (last.frozen - last.leavers) / max(len(chosen), 1)
        alone = "" if last.alone is None else f", alone {last.alone:.4f}"
        said += f"{alone}; {last.newcomers:,} new, {last.leavers:,} left, stale {stale:.1%}, not shown {last.hidden:,}"
    print(f"  {'single' if study is None else 'series'} {said}", flush=True)
    return made


def growth(place: Path) -> None:
    """Adult grows from 80 % to 100 %."""
    rows, schema = adult()
    order = np.random.default_rng(1).permutation(rows.num_rows).tolist()
    print("growth 80 % to 100 %")
    study = shoal.Series.create(place / "growth", key="id")
    release(rows, schema, order[: int(0.8 * len(order))], place / "g1", study)
    release(rows, schema, order, place / "g2", study)
    release(rows, schema, order, place / "g0", None)
    check(study)


def years(place: Path) -> None:
    """Five versions of Adult, a tenth leaving and as many coming, with classes of k, 2k, 5k and 10k people."""
    rows, schema = adult()
    for leavers in ("frozen", "suppressed"):
        for factor in (1, 2, 5, 10):
            print(f"five versions, a tenth leaves each time; {leavers}, classes of {factor * K} or more")
            draws = np.random.default_rng(2)
            order = draws.permutation(rows.num_rows).tolist()
            inside, waiting = order[:20_000], order[20_000:]
            name = f"{leavers}{factor}"
            study = shoal.Series.create(place / name, key="id")
            for version in range(5):
                release(
                    rows,
                    schema,
                    inside,
                    place / f"{name}-{version}",
                    study,
                    class_size=factor * K,
                    leavers=leavers,
                )
                inside = [each for each in inside if draws.random() >= 0.1] + waiting[:2000]
                waiting = waiting[2000:]
            check(study)


def many(place: Path) -> None:
    """A million people in the second release of a series, beside a single release."""
    rows, schema = large(1_000_000)
    draws = np.random.default_rng(3)
    first = [each for each in range(rows.num_rows) if draws.random() < 0.9]
    second = [each for each in range(rows.num_rows) if draws.random() < 0.97]
    print("a million people")
    study = shoal.Series.create(place / "many", key="id")
    release(rows, schema, first, place / "m1", study, class_size=10 * K)
    release(rows, schema, second, place / "m2", study, class_size=10 * K)
    release(rows, schema, second, place / "m0", None)


def check(study: shoal.Series) -> None:
    """Print whether the promise holds for all releases."""
    failed = [each for each in study.check() if not each.passed]
    crowds = next(each for each in study.check() if each.subject == "joint crowds")
    print(f"  {'FAILED' if failed else 'holds'}: {crowds.detail}", flush=True)


PARTS = {"growth": growth, "years": years, "large": many}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for part in sys.argv[1:] or PARTS:
            PARTS[part](Path(folder))
