"""Does the time of an answer tell how many records match its filter?

``python benchmarks/timing.py [REPETITIONS]``: every kind of question is asked with a filter that matches everybody and
with one that matches nobody, by turns, 200 times each, in memory and on DuckDB. Printed are the medians of the
processor time of the computation, without ledger and pace, in milliseconds; their ratio; and p of a rank test, which is
small where times differ. A second filter that matches everybody shows what the machine does of itself.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from scipy.stats import mannwhitneyu

import shoal
from shoal.mechanisms import SYSTEM
from shoal.queries import Count, Histogram, LookUp, Mean, Quantile, Query, Sum
from shoal.queries._records import ExactFigures, records_of
from shoal.schema import Attribute, Domain, Kind, Role, Schema

RECORDS, EPSILON = 300_000, "1e-9"
SCHEMA = Schema(
    attributes=(
        Attribute(name="name", role=Role.IDENTIFIER),
        Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=100)),
        Attribute(name="income", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=1_000_000)),
        Attribute(name="sex", domain=Domain(values=("F", "M"))),
    )
)
#: a column with few values, which answers are kept for, and one with many
FILTERS = {
    "few values": ("age >= 0", "age <= 100", "age > 100"),
    "many values": ("income >= 0", "income <= 1000000", "income > 1000000"),
}
QUESTIONS: dict[str, Callable[[str], Query]] = {
    "count": lambda where: Count(epsilon=EPSILON, where=where),
    "sum": lambda where: Sum(column="income", epsilon=EPSILON, where=where),
    "mean": lambda where: Mean(column="income", epsilon=EPSILON, where=where),
    "histogram of texts": lambda where: Histogram(column="sex", epsilon=EPSILON, where=where),
    "histogram of numbers": lambda where: Histogram(
        column="income", edges=tuple(range(0, 1_000_001, 50_000)), epsilon=EPSILON, where=where
    ),
    "quantile": lambda where: Quantile(column="income", epsilon=EPSILON, where=where),
}


def main(repetitions: int) -> None:
    numbers = np.random.default_rng(1)
    rows = {
        "name": [f"person {number}" for number in range(RECORDS)],
        "age": numbers.integers(0, 101, RECORDS),
        "income": np.minimum(numbers.gamma(2, 20_000, RECORDS), 1e6),
        "sex": np.array(["F", "M"])[numbers.integers(0, 2, RECORDS)],
    }
    table = shoal.read(pa.table(rows), schema=SCHEMA)
    print(f"{RECORDS:,} records, {repetitions} repetitions by turns; milliseconds of processor time")
    print(f"{'':<42}{'all':>8}{'all':>8}{'none':>8}{'ratio':>7}{'p all/all':>11}{'p all/none':>11}")
    for engine, in_memory in (("memory", True), ("DuckDB", False)):
        schema, records = records_of(table, in_memory=in_memory)
        for filters, wheres in FILTERS.items():
            for name, question in QUESTIONS.items():
                if not in_memory and filters == "few values" and name == "quantile":
                    continue  # answered as that of many values is
                asked = [_work(question(where), schema, records) for where in wheres]
                show(f"{engine}, {name}, {filters}", asked, repetitions if in_memory else max(repetitions // 4, 10))
        people = [LookUp(identifier="name", person=each, columns=("sex",), epsilon=1) for each in _people()]
        show(f"{engine}, look-up", [_work(each, schema, records) for each in people], repetitions)


def _people() -> Sequence[str]:
    """Return two persons and nobody, all with names of the same length: longer texts take longer to compare."""
    return f"person {RECORDS - 5}", f"person {RECORDS - 9}", f"person {RECORDS + 5}"


def _work(query: Query, schema: Schema, records: ExactFigures) -> Callable[[], object]:
    prepared = query.prepare(schema)
    return lambda: prepared.answer(records, SYSTEM)


def show(title: str, asked: Sequence[Callable[[], object]], repetitions: int) -> None:
    """Ask by turns, and print how the times differ."""
    times: list[list[float]] = [[] for _ in asked]
    for work in asked:
        work()
    gc.disable()
    for number in range(repetitions):
        for place in np.roll(range(len(asked)), number):
            started = time.process_time()
            asked[place]()
            times[place].append((time.process_time() - started) * 1e3)
    gc.enable()
    one, other, none = map(statistics.median, times)
    same, differ = (float(mannwhitneyu(times[0], times[place]).pvalue) for place in (1, 2))
    figures = f"{one:>8.2f}{other:>8.2f}{none:>8.2f}{one / none:>7.2f}{same:>11.1e}{differ:>11.1e}"
    print(f"{title:<42}{figures}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 200)
