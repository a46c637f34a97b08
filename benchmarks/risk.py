"""Print how long risk and utility figures take on a table of hospital stays, as it is and released.

python benchmarks/risk.py                      1 million records
python benchmarks/risk.py --records 100000     fewer
python benchmarks/risk.py --compare            shoal compare over 5 methods on the bundled table, too
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import shoal
from shoal import risk, utility
from shoal.methods import from_parameters
from shoal.risk import Pair

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "hospital"
T = TypeVar("T")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--records", type=int, default=1_000_000)
    arguments.add_argument("--compare", action="store_true")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="shoal-benchmark-") as folder:
        path = Path(folder) / "discharges.parquet"
        command = [sys.executable, EXAMPLE / "generate.py", "--rows", str(given.records), "--output", path]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        table = shoal.read(path, schema=EXAMPLE / "discharges.schema.toml")
        print(f"{given.records:,} records")
        measure(table)
    if given.compare:
        compare()


def measure(table: shoal.Table) -> None:
    timed("assess, with a sampling fraction", lambda: shoal.assess(table, sampling_fraction=0.01))
    releases = {"as it is": table}
    for name in ("generalize", "mondrian"):
        made = timed(
            f"{name}, k = 5",
            lambda name=name: shoal.anonymize(table, shoal.KAnonymity(5), method=from_parameters(name, {})),
        )
        releases[name] = shoal.read(made.table.to_arrow())
    for name, released in releases.items():
        print(f"-- {name}")
        figures(table, released)
    known = table.select(*table.schema.quasi_identifiers)
    timed("k-map, released by mondrian", lambda: risk.k_map(releases["mondrian"], known, table.schema))


def figures(table: shoal.Table, released: shoal.Table) -> None:
    pair = timed("read the pair", lambda: Pair.of(table, released))
    started, busy = time.perf_counter(), time.process_time()
    for attack in (risk.linkage, risk.singling_out, risk.linkability, risk.inference, risk.extreme_values):
        timed(attack.__name__, lambda attack=attack: attack(pair))
    spent = time.process_time() - busy
    print(f"{'all attacks':<36} {time.perf_counter() - started:8.2f} s  ({spent:.2f} s of processor time)")
    for figure in (utility.distributions, utility.associations, utility.query_error, utility.propensity):
        timed(figure.__name__, lambda figure=figure: figure(pair))


def compare() -> None:
    table = shoal.read(EXAMPLE / "discharges.csv", schema=EXAMPLE / "discharges.schema.toml")
    methods = ("generalize", "mondrian", "specialize", "anatomy", "truthful")
    found = timed(
        "compare 5 methods on 10,000 records",
        lambda: shoal.compare(table, k=(2, 5, 10), epsilon=(0.5, 1, 2), methods=methods),
    )
    print(found.text_plot())
    print("\n".join(found.reasons))


def timed(what: str, work: Callable[[], T]) -> T:
    started, busy = time.perf_counter(), time.process_time()
    result = work()
    spent = time.process_time() - busy
    print(f"{what:<36} {time.perf_counter() - started:8.2f} s  ({spent:.2f} s of processor time)", flush=True)
    return result


if __name__ == "__main__":
    main()
