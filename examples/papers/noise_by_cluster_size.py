"""Draw figures 3 and 4 of [SCDF17]: the error of data sets with noise, by the size of clusters.

Four attributes of Census, widths 0 to 1.5 times the greatest value as in the paper. MDAV and IR_MDAV are the clusters
without noise; MDAV+DP, IR_MDAV+DP_1 and IR_MDAV+DP_2 protect the values given the clusters (`target="partition"`);
INS+DP is the older method for comparison, with the noise that its paper takes: all of epsilon 10 for each of the four
attributes, which costs 40.

    python examples/papers/noise_by_cluster_size.py [--runs 10] [--output figures-3-and-4.svg]
"""

from __future__ import annotations

import argparse
import csv
import math
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from shoal.methods.classes import Partition, cluster_means, individual_ranking, mdav
from shoal.methods.noise import AttributeSet, Records, dp_microaggregate

ATTRIBUTES = ("FICA", "FEDTAX", "INTVAL", "POTHVAL")
EACH = [AttributeSet(numeric=(column,)) for column in range(len(ATTRIBUTES))]
SIZES = (2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200)
EPSILONS = (1, 2)
MEASURES = {
    "SSE": lambda before, after: float(np.square(before - after).sum()),
    "SAE": lambda before, after: float(np.abs(before - after).sum()),
}

Masked = Callable[[Records, int, int], np.ndarray]


def without_noise(census: Records, k: int, epsilon: int) -> np.ndarray:
    """Replace records by the means of their clusters."""
    del epsilon
    return aggregated(census.numeric, mdav(census.space(), k))


def ranked(census: Records, k: int, epsilon: int) -> np.ndarray:
    """Replace every attribute by the means of its own clusters."""
    del epsilon
    columns = census.numeric.T
    return np.concatenate([aggregated(each[:, None], individual_ranking(each, k)) for each in columns], axis=1)


def aggregated(values: np.ndarray, partition: Partition) -> np.ndarray:
    """Return the mean of its cluster for every record."""
    return cluster_means(values, partition)[partition.labels]


def noisy(**parameters: object) -> Masked:
    """Return a method that adds noise; sets of attributes come back as one table, row by row."""

    def masked(census: Records, k: int, epsilon: int) -> np.ndarray:
        release = dp_microaggregate(census, k=k, **{"epsilon": epsilon, **parameters})  # type: ignore[arg-type]
        return np.concatenate([part.numeric for part in release.table()], axis=1)

    return masked


#: name, how records are masked, whether runs differ, colour, dashes
METHODS: tuple[tuple[str, Masked, bool, str, str], ...] = (
    ("MDAV", without_noise, False, "#888888", ""),
    ("IR_MDAV", ranked, False, "#888888", "2 3"),
    ("MDAV+DP", noisy(target="partition", split="proportional"), True, "#c0392b", ""),
    ("IR_MDAV+DP_1", noisy(target="partition", split="equal", sets=EACH), True, "#2471a3", "7 3"),
    ("IR_MDAV+DP_2", noisy(target="partition", split="proportional", sets=EACH), True, "#1e8449", ""),
    ("INS+DP, epsilon 10", noisy(target="record-query", epsilon=40), True, "#9b59b6", "1 3"),
)

Curves = dict[tuple[str, int, str], list[float]]


def curves(census: Records, runs: int) -> Curves:
    """Return the mean error of each method by measure and epsilon, one number per cluster size."""
    found: Curves = {}
    for name, masked, random, *_ in METHODS:
        for epsilon in EPSILONS:
            for k in SIZES:
                tables = [masked(census, k, epsilon) for _ in range(runs if random else 1)]
                for measure, error in MEASURES.items():
                    mean = float(np.mean([error(census.numeric, table) for table in tables]))
                    found.setdefault((measure, epsilon, name), []).append(mean)
    return found


# -- the picture: four panels, cluster size by error on a logarithmic scale

WIDTH, HEIGHT, LEFT, TOP, GAP = 440, 300, 70, 40, 90


def draw(found: Curves) -> str:
    """Return the picture as SVG."""
    panels = [(measure, epsilon) for measure in MEASURES for epsilon in EPSILONS]
    parts = []
    for number, (measure, epsilon) in enumerate(panels):
        column, row = number % 2, number // 2
        parts.append(
            f'<g transform="translate({LEFT + column * (WIDTH + GAP)} {TOP + row * (HEIGHT + GAP)})">'
            f"{_panel(found, measure, epsilon)}</g>"
        )
    width, height = 2 * WIDTH + GAP + LEFT + 30, 2 * (HEIGHT + GAP) + TOP + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f"{''.join(parts)}{_legend(height - 22)}</svg>\n"
    )


def _panel(found: Curves, measure: str, epsilon: int) -> str:
    own = {name: found[measure, epsilon, name] for name, *_ in METHODS}
    values = [value for errors in own.values() for value in errors if value > 0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def place(k: int, error: float) -> str:
        across = WIDTH * (k - SIZES[0]) / (SIZES[-1] - SIZES[0])
        down = HEIGHT * (1 - (math.log10(error) - low) / (high - low))
        return f"{across:.1f},{down:.1f}"

    parts = [f'<text x="{WIDTH / 2}" y="-12" text-anchor="middle">{measure}, epsilon = {epsilon}</text>']
    for power in range(low, high + 1):
        down = HEIGHT * (1 - (power - low) / (high - low))
        parts.append(f'<path d="M0 {down:.1f}H{WIDTH}" stroke="#dddddd"/>')
        parts.append(f'<text x="-8" y="{down + 4:.1f}" text-anchor="end">1e{power}</text>')
    for k in (2, 50, 100, 150, 200):
        across = WIDTH * (k - SIZES[0]) / (SIZES[-1] - SIZES[0])
        parts.append(f'<text x="{across:.1f}" y="{HEIGHT + 16}" text-anchor="middle">{k}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT + 34}" text-anchor="middle">records per cluster, k</text>')
    for name, _, _, colour, dashes in METHODS:
        points = " ".join(place(k, error) for k, error in zip(SIZES, own[name], strict=True))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>'
        )
    return "".join(parts)


def _legend(down: int) -> str:
    parts, across = [], LEFT
    for name, _, _, colour, dashes in METHODS:
        parts.append(
            f'<path d="M{across} {down}h30" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>'
            f'<text x="{across + 36}" y="{down + 4}">{name}</text>'
        )
        across += 60 + 9 * len(name)
    return "".join(parts)


def load() -> Records:
    """Read the four attributes of Census."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    path = Path(os.environ.get("SHOAL_DATA", beside)) / "census" / "census.csv"
    if not path.is_file():
        raise SystemExit("There is no census/census.csv; set SHOAL_DATA to the folder of the data sets.")
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    values = np.array([[float(row[name]) for name in ATTRIBUTES] for row in rows])
    return Records(numeric=values, lower=np.zeros(len(ATTRIBUTES)), upper=1.5 * values.max(axis=0))


def main() -> None:
    """Draw the figures and print their numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10, help="draws of the noise that are averaged")
    parser.add_argument("--output", type=Path, default=Path("figures-3-and-4.svg"))
    given = parser.parse_args()
    found = curves(load(), given.runs)
    given.output.write_text(draw(found), encoding="utf-8")
    for measure in MEASURES:
        for epsilon in EPSILONS:
            print(f"\n{measure}, epsilon = {epsilon}\n{'k':>20}" + "".join(f"{k:>10}" for k in SIZES))
            for name, *_ in METHODS:
                print(f"{name:>20}" + "".join(f"{error:>10.2e}" for error in found[measure, epsilon, name]))
    print(f"\nThe picture is in {given.output}.")


if __name__ == "__main__":
    main()
