"""Other Python packages on the same task: Adult, nine quasi-identifiers, 5-anonymity.

Each peer is compared with a method of Shoal that loses no more. The peers have requirements of their own, so they run
in an environment of their own::

    python -m venv peers && peers/bin/pip install anjana anonypy anonypyx
    SHOAL_PEERS=peers/bin/python python benchmarks/peers.py

Methods that keep one level per column are compared by loss. The others release sets of values, which have no place in
a hierarchy, so that all of them are compared by what they grouped: the mean over records and columns of the share of
the column's values that the record's class holds, and of the range for ages. CPU seconds; reading the file is not
counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

K = 5
DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "adult"
PEERS = ("anjana", "anonypy", "anonypyx")


def main() -> None:
    if "--peer" in sys.argv:
        return run_peer(*sys.argv[2:])
    if not DATA.is_dir():
        return print("needs the Adult data set: SHOAL_DATA names the folder that holds adult/")
    print(f"{'':<28}{'CPU s':>9}{'ours is faster':>16}{'loss':>9}{'spread':>9}{'suppressed':>12}")
    ours = run_ours()
    for name, row in ours.items():
        show(f"Shoal, {name}", row, None)
    if not os.environ.get("SHOAL_PEERS"):
        return print("SHOAL_PEERS does not name the interpreter of an environment with " + ", ".join(PEERS))
    for peer in PEERS:
        row = found_by(peer)
        if row is not None:
            show(peer, row, ours["best of 100 nodes" if peer == "anjana" else "specialize"])
    return None


def show(name: str, row: dict[str, Any], ours: dict[str, Any] | None) -> None:
    faster = "" if ours is None else f"{row['seconds'] / ours['seconds']:.0f} times"
    figures = [f"{row[key]:.4f}" if row.get(key) is not None else "" for key in ("loss", "spread")]
    print(f"{name:<28}{row['seconds']:>9.2f}{faster:>16}{figures[0]:>9}{figures[1]:>9}{row['suppressed']:>12,}")


# -- ours -------------------------------------------------------------------------------------------------------------


def run_ours() -> dict[str, dict[str, Any]]:
    from recoding import adult
    from shoal.methods.recode import Generalize, Mondrian, Specialize
    from shoal.models import KAnonymity
    from shoal.schema import Kind

    rows = {}
    for name, method, table in (
        ("best node", Generalize(suppression_limit=1), adult()),
        ("best of 100 nodes", Generalize(suppression_limit=0.05, steps=100), adult()),
        ("Mondrian, strict", Mondrian(intervals=True), adult(kind=Kind.NUMERIC)),
        ("Mondrian, relaxed", Mondrian(relaxed=True, intervals=True), adult(kind=Kind.NUMERIC)),
        ("specialize", Specialize(intervals=True), adult(kind=Kind.NUMERIC)),
    ):
        method.recode(table, [KAnonymity(K)])  # what is loaded on first use does not count
        found, seconds = timed(lambda method=method, table=table: method.recode(table, [KAnonymity(K)]))
        spread = spread_of(found.recoding.classes, [*table.codes.T], table.counts)
        rows[name] = {"seconds": seconds, "loss": found.value, "spread": spread, "suppressed": found.suppressed}
    return rows


def spread_of(classes: Any, columns: list[Any], counts: Any) -> float:
    """Return how much of every column a class holds, on average over records; a suppressed record counts 1."""
    import numpy as np

    total = 0.0
    for number, codes in enumerate(columns):
        kept = classes >= 0
        held = np.unique(np.stack([classes[kept], codes[kept]]), axis=1)
        if number == AGE:
            low, high = np.full(classes.max() + 1, codes.max()), np.zeros(classes.max() + 1, dtype=codes.dtype)
            np.minimum.at(low, held[0], held[1])
            np.maximum.at(high, held[0], held[1])
            share = (high - low) / (codes.max() - codes.min())
        else:
            share = (np.bincount(held[0]) - 1) / (len(np.unique(codes)) - 1)
        total += float((share[classes[kept]] * counts[kept]).sum() + counts[~kept].sum())
    return total / float(counts.sum()) / len(columns)


AGE = 1  # the place of the column whose values are numbers


# -- theirs -----------------------------------------------------------------------------------------------------------


def found_by(peer: str) -> dict[str, Any] | None:
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "found.json"
        command = [os.environ["SHOAL_PEERS"], __file__, "--peer", peer, str(DATA), str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return print(f"{peer}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
        row: dict[str, Any] = json.loads(target.read_text())
    if "levels" in row:
        return {**row, "loss": loss_at(row["levels"])}
    columns = [np.array(column) for column in row.pop("columns")]
    classes = np.array(row.pop("classes"))
    return {**row, "spread": spread_of(classes, columns, np.ones(len(classes)))}


def loss_at(levels: dict[str, int]) -> float:
    """Return the loss of a node of the lattice, classes below k being suppressed."""
    import numpy as np

    from recoding import adult

    table = adult()
    chosen = list(zip(table.hierarchies, (levels[name] for name in table.attributes), table.codes.T, strict=True))
    codes = np.stack([hierarchy.generalize(column, level) for hierarchy, level, column in chosen])
    shares = sum(hierarchy.shares[level][code] for (hierarchy, level, _), code in zip(chosen, codes, strict=True))
    _, classes = np.unique(codes, axis=1, return_inverse=True)
    large = np.bincount(classes, weights=table.counts)[classes] >= K
    return float((np.where(large, shares / len(chosen), 1) * table.counts).sum() / table.counts.sum())


def run_peer(peer: str, folder: str, target: str) -> None:
    """Run a peer, in an environment that has it, and write down what it grouped."""
    import pandas as pd

    table = pd.read_csv(Path(folder) / "adult.csv", sep=";", dtype=str)
    table["age"] = table["age"].astype(int)
    row = {"anjana": run_anjana, "anonypy": run_anonypy, "anonypyx": run_anonypyx}[peer](table, Path(folder))
    Path(target).write_text(json.dumps(row))


def run_anjana(table: Any, folder: Path) -> dict[str, Any]:
    import pandas as pd
    from anjana.anonymity._k_anonymity import k_anonymity_inner

    hierarchies = {}
    for name in table.columns:
        rows = pd.read_csv(folder / f"adult_hierarchy_{name}.csv", sep=";", header=None, dtype=str)
        rows[0] = rows[0].astype(table[name].dtype)
        hierarchies[name] = {level: rows[level].values for level in rows}
    (_, suppressed, levels), seconds = timed(
        lambda: k_anonymity_inner(table, [], list(table.columns), K, 5, hierarchies)
    )
    return {
        "seconds": seconds,
        "suppressed": int(suppressed),
        "levels": {name: int(level) for name, level in levels.items()},
    }


def run_anonypy(table: Any, _: Path) -> dict[str, Any]:
    from anonypy.mondrian import Mondrian

    typed = categories(table)
    partitions, seconds = timed(lambda: Mondrian(typed, list(typed.columns)).partition(K))
    return grouped(typed, partitions, seconds)


def run_anonypyx(table: Any, _: Path) -> dict[str, Any]:
    from anonypyx.models import kAnonymity
    from anonypyx.mondrian import Mondrian

    typed = categories(table)
    partitions, seconds = timed(lambda: Mondrian(typed, list(typed.columns)).partition([kAnonymity(K)]))
    return grouped(typed, partitions, seconds)


def categories(table: Any) -> Any:
    return table.astype({name: "category" for name in table.columns if name != "age"})


def grouped(table: Any, partitions: Any, seconds: float) -> dict[str, Any]:
    classes = [0] * len(table)
    for number, rows in enumerate(partitions):
        for row in rows:
            classes[row] = number
    columns = [(table[name] if name == "age" else table[name].cat.codes).astype(int).tolist() for name in table.columns]
    return {"seconds": seconds, "suppressed": 0, "classes": classes, "columns": columns}


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    return work(), time.process_time() - began


if __name__ == "__main__":
    main()
