"""Bring the public data sets of PyPI packages through draft, assess, anonymize and report, untouched.

Run from the project's folder::

    python benchmarks/first_hour.py [WORD ...]      # all data sets, or those whose name contains a word

What is measured: the seconds of each step, the loss with the default method and with one level per column, and what was
left to decide. Nothing of the data is kept.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import shoal
from shoal.errors import ShoalError

STATISTICS = ("anes96", "cancer", "ccard", "engel", "fair", "fertility", "heart", "modechoice", "randhie", "spector")
STATISTICS += ("star98", "statecrime", "strikes")
LEARNING = ("breast_cancer", "diabetes", "iris", "linnerud", "wine")
K = 5


def frames() -> Iterator[tuple[str, Any]]:
    """Return the data sets that are installed."""
    try:
        learning = importlib.import_module("sklearn.datasets")
    except ImportError:
        print("scikit-learn is not installed: its data sets are left out")
    else:
        for name in LEARNING:
            yield f"scikit-learn {name}", getattr(learning, f"load_{name}")(as_frame=True).frame
    for name in STATISTICS:
        try:
            module = importlib.import_module(f"statsmodels.datasets.{name}")
        except ImportError:
            print(f"statsmodels {name} is not installed: it is left out")
            continue
        yield f"statsmodels {name}", module.load_pandas().data


def brought(frame: Any, folder: Path) -> str:
    """Return a line of figures of one data set."""
    path = folder / "data.csv"
    frame.to_csv(path, index=False)
    table = shoal.read(path)
    drafted = shoal.draft(table)
    schema = drafted.schema
    for name in drafted.undecided:
        schema = schema.with_role(name, "drop")
    table = table.with_schema(schema)
    shoal.assess(table)
    start = time.monotonic()
    release = shoal.anonymize(table, shoal.KAnonymity(K))
    seconds = time.monotonic() - start
    release.write(folder / "release")
    try:
        other = shoal.anonymize(table, shoal.KAnonymity(K), method=shoal.Generalize(time_limit=20))
        one_level = f"{other.measures['loss']:.3f}"
    except ShoalError:
        one_level = "none"
    return (
        f"{len(frame):,} | {len(schema.names)} | {len(schema.quasi_identifiers)} | {len(schema.sensitive)} | "
        f"{len(drafted.undecided)} | {release.measures['loss']:.3f} | {one_level} | {seconds:.1f}"
    )


def main(words: list[str]) -> None:
    """Print a table, one row per data set."""
    print("| data set | records | columns | others know | secret | to decide | loss | one level a column | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, frame in frames():
        if words and not any(word in name for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                told = brought(frame, Path(folder))
            except ShoalError as error:
                told = f"DEAD END: {error}"
        print(f"| {name} | {told} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
