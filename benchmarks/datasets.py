"""What (k, m)-anonymity of people with items costs: a table of baskets, and a million people in DuckDB.

    python benchmarks/datasets.py baskets FILE [k]     # a basket per line, items separated by spaces
    python benchmarks/datasets.py people [persons]     # ten items per person on average, in a DuckDB file

``baskets`` compares Shoal with the apriori anonymisation of Terrovitis, Mamoulis and Kalnis (PVLDB 1, 2008), which
Amnesia uses and which is written here again: a cut through the hierarchy of the items in place of levels, and nothing
left out. Items are put into a hierarchy of fan-out 5 in the order of their names, as in that paper. The loss is the
mean share of the items that a released item may stand for; what was left out counts as 1. CPU seconds and peak memory
are those of a process of its own, with reading and, for Shoal, with writing and verification.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import shoal
from shoal import datasets

FAN_OUT = 5
PEOPLE = """
shoal = 1
[tables.people]
key = "person"
[tables.people.columns.age]
role = "quasi-identifier"
kind = "numeric"
minimum = 0
maximum = 99
hierarchy = { intervals = [10, 20, 40] }
[tables.people.columns.sex]
role = "quasi-identifier"
values = ["F", "M"]
[tables.people.columns.region]
role = "quasi-identifier"
[tables.items]
parent = "people"
[tables.items.columns.day]
role = "quasi-identifier"
kind = "date"
minimum = 2025-01-01
maximum = 2025-12-31
hierarchy = { dates = ["month", "quarter", "year"] }
[tables.items.columns.category]
role = "quasi-identifier"
"""
PEOPLE_TABLE = """
CREATE TABLE people AS SELECT i AS person, CAST(floor(random() * 100) AS int) AS age,
CASE WHEN random() < 0.5 THEN 'F' ELSE 'M' END AS sex, 'R' || CAST(floor(random() * 20) AS int) AS region
FROM range($1) t(i)
"""
ITEMS_TABLE = """
CREATE TABLE items AS SELECT CAST(floor(random() * $1) AS bigint) AS person,
DATE '2025-01-01' + CAST(floor(random() * 365) AS int) AS day,
'c' || CAST(floor(40 * pow(random(), 3)) AS int) AS category FROM range($2)
"""
BASKETS = """
shoal = 1
[tables.baskets]
key = "basket"
[tables.products]
parent = "baskets"
list = "products"
[tables.products.columns.products]
role = "quasi-identifier"
hierarchy = { file = "items.csv" }
"""


def main() -> None:
    what, *rest = sys.argv[1:] or ["people"]
    if what == "child":
        return child(*rest)
    print(f"{'':<34}{'loss':>9}{'left out':>10}{'CPU s':>9}{'GB':>7}")
    if what == "baskets":
        k = rest[1] if len(rest) > 1 else "5"
        for m in ("2", "3"):
            for method in ("shoal", "apriori"):
                run(f"{method}, k = {k}, m = {m}", method, rest[0], k, m)
    else:
        number = int((rest or ["1000000"])[0].replace(",", ""))
        with tempfile.TemporaryDirectory() as folder:
            make_people(Path(folder) / "people.duckdb", number)
            run(f"{number:,} people, k = 5, m = 2", "people", folder, "5", "2")
    return None


def run(title: str, *arguments: str) -> None:
    """Print what a process of its own finds."""
    done = subprocess.run([sys.executable, __file__, "child", *arguments], capture_output=True, text=True, check=True)
    print(f"{title:<34}{done.stdout.rstrip()}", flush=True)


def child(method: str, source: str, k: str, m: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if method == "apriori":
            loss, lost = apriori(read_baskets(Path(source)), int(k), int(m)), 0
        else:
            loss, lost = with_shoal(method, Path(source), Path(folder), int(k), int(m))
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{loss:>9.4f}{lost:>10,}{used.ru_utime + used.ru_stime:>9.1f}{used.ru_maxrss / 2**20:>7.2f}")


def with_shoal(method: str, source: Path, folder: Path, k: int, m: int) -> tuple[float, int]:
    if method == "people":
        data = datasets.read_dataset(source / "people.duckdb", datasets.loads(PEOPLE))
    else:
        baskets = read_baskets(source)
        (folder / "items.csv").write_text("\n".join(";".join(row) for row in hierarchy(baskets)) + "\n")
        rows = pa.table({"basket": [str(number) for number in range(len(baskets))], "products": pa.array(baskets)})
        data = datasets.read_dataset({"baskets": rows}, datasets.loads(BASKETS, folder))
    release = shoal.anonymize_dataset(data, k=k, known_items=m)
    release.write(folder / "release")
    return release.loss, data.items - sum(len(release.tables[table.name]) for table in data.schema.items)


def make_people(path: Path, number: int) -> None:
    """Write a DuckDB file of people and their items."""
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(PEOPLE_TABLE, [number])
        connection.execute(ITEMS_TABLE, [number, 10 * number])


def read_baskets(path: Path) -> list[list[str]]:
    """Return the items of every basket."""
    return [line.split() for line in path.read_text().splitlines() if line.strip()]


def hierarchy(baskets: list[list[str]]) -> list[list[str]]:
    """Return for every item the groups that it lies in, up to one for all."""
    items = sorted({item for basket in baskets for item in basket}, key=lambda item: (len(item), item))
    rows = []
    for place, item in enumerate(items):
        row, number, level = [item], len(items), 0
        while number > 1:
            place, number, level = place // FAN_OUT, -(-number // FAN_OUT), level + 1
            row.append(f"group {level} {place}" if number > 1 else "*")
        rows.append(row)
    return rows


def apriori(baskets: list[list[str]], k: int, m: int) -> float:
    """Return the loss of apriori anonymisation: for sizes 1 to m, rare sets of items are generalised until none is.

    Of a rare set, the item is generalised whose group costs least; with it, all items of that group.
    """
    rows = hierarchy(baskets)
    place = {row[0]: number for number, row in enumerate(rows)}
    owners = np.repeat(np.arange(len(baskets)), [len(basket) for basket in baskets])
    leaves = np.array([place[item] for basket in baskets for item in basket])
    height, number = len(rows[0]) - 1, len(rows)
    occurrences = np.bincount(leaves, minlength=number)
    level = np.zeros(number, dtype=np.int64)  # the level of the cut above every item
    places = np.arange(number)

    def nodes() -> np.ndarray:
        """Return a number for the node of the cut above every item: its level and place there."""
        return level * number + places // FAN_OUT**level

    def cost(node: int, up: int = 0) -> float:
        depth, at = divmod(node, number)
        depth, at = depth + up, at // FAN_OUT**up
        covered = slice(at * FAN_OUT**depth, (at + 1) * FAN_OUT**depth)
        size = len(places[covered])
        return float(occurrences[covered].sum()) * (size - 1) / (number - 1) if depth else 0.0

    for size in range(1, m + 1):
        while len(rare := rare_sets(owners, nodes()[leaves], size, k)):
            raised: set[int] = set()
            for nodes_of in rare.tolist():
                if raised & {*nodes_of}:
                    continue
                open_ = [node for node in nodes_of if node // number < height]
                if not open_:
                    raise SystemExit("no cut does")
                node = min(open_, key=lambda each: (cost(each, 1) - cost(each), each))
                depth, at = node // number + 1, node % number // FAN_OUT
                covered = slice(at * FAN_OUT**depth, (at + 1) * FAN_OUT**depth)
                raised |= {*np.unique(nodes()[covered]).tolist()}
                level[covered] = depth
    found = nodes()
    return sum(cost(int(node)) for node in np.unique(found)) / len(leaves)


def rare_sets(owners: np.ndarray, nodes: np.ndarray, size: int, k: int) -> np.ndarray:
    """Return the sets of so many different nodes that between 1 and k - 1 baskets have."""
    names, codes = np.unique(nodes, return_inverse=True)
    pairs = np.unique(owners * len(names) + codes.ravel())
    owners, codes = pairs // len(names), pairs % len(names)
    sets, last, whose = codes[:, None], np.arange(len(codes)), owners
    ends = np.searchsorted(owners, owners, side="right")
    for _ in range(1, size):
        more = ends[last] - last - 1
        held = np.repeat(np.arange(len(last)), more)
        last = np.arange(len(held)) - np.repeat(np.cumsum(more) - more, more) + last[held] + 1
        sets, whose = np.column_stack([sets[held], codes[last]]), whose[held]
    keys = sets[:, 0]
    for column in sets.T[1:]:
        keys = keys * len(names) + column
    found, counts = np.unique(keys, return_counts=True)
    rare, columns = found[counts < k], []
    for _ in range(size):
        columns.append(rare % len(names))
        rare = rare // len(names)
    return names[np.column_stack(columns[::-1])]


if __name__ == "__main__":
    main()
