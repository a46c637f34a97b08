"""How far estimates of survey risk are from the truth, on simulated populations: ``python benchmarks/survey_risk.py``.

Prints the table of docs/explanation/survey-risk.md: the truth and every estimate, means over samples of one population.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.risk import individual_risk, log_linear_risk, population_uniqueness
from shoal.tables import Classes, group

PEOPLE, SAMPLES = 100_000, 20
Codes = npt.NDArray[np.int32]


def independent(rng: np.random.Generator) -> Codes:
    """Six columns that have nothing to do with each other."""
    sizes = (2, 4, 6, 8, 10, 40)
    return np.stack([rng.choice(size, PEOPLE, p=_skewed(size)) for size in sizes], axis=1).astype(np.int32)


def grouped(rng: np.random.Generator) -> Codes:
    """The same columns, each of which depends on one of eight hidden groups of people."""
    sizes, hidden = (2, 4, 6, 8, 10, 40), rng.choice(8, PEOPLE, p=_skewed(8))
    columns = [(rng.choice(size, PEOPLE, p=_skewed(size)) + hidden * (size // 2)) % size for size in sizes]
    return np.stack(columns, axis=1).astype(np.int32)


def heavy(rng: np.random.Generator) -> Codes:
    """One column of places whose sizes follow Zipf's law, and two others."""
    places = np.minimum(rng.zipf(1.5, PEOPLE), 5000)
    return np.stack([places, rng.integers(0, 2, PEOPLE), rng.integers(0, 60, PEOPLE)], axis=1).astype(np.int32)


def _skewed(size: int) -> npt.NDArray[np.float64]:
    weights = 1 / np.arange(1, size + 1)
    return np.asarray(weights / weights.sum())


def measured(codes: Codes, fraction: float, rng: np.random.Generator) -> list[float]:
    """Draw one sample; return the truths and the estimates."""
    labels, _ = group(codes)
    people = np.bincount(labels)
    drawn = rng.random(len(codes)) < fraction
    chosen = np.flatnonzero(drawn)
    known, firsts = group(codes[chosen])
    sizes = np.bincount(known)
    truth = people[labels[chosen[firsts]]]
    alone = sizes == 1
    risks = individual_risk(sizes, np.maximum(sizes / fraction, sizes))
    models = [log_linear_risk(codes[chosen], fraction, effects=effects) for effects in (1, 2)]
    by = population_uniqueness(Classes(sizes=sizes), fraction)
    nan = float("nan")
    return [
        float((truth[alone] == 1).sum()),
        *(nan if each is None else each.unique for each in models),
        by.share * len(chosen),
        float((1 / truth[alone]).sum()),
        float(risks[alone].sum()),
        *(nan if each is None else each.found for each in models),
        float((sizes / truth).sum()),
        float(sizes @ risks),
        by.reidentifications,
    ]


def main() -> None:
    """Print the table."""
    print("population, share of it | records unique in it: truth, main effects, pairs, Dankar's rule")
    print("| unique records linked: truth, individual risk, main effects, pairs | all: truth, individual risk, Dankar")
    for make in (independent, grouped, heavy):
        rng = np.random.default_rng(18)
        codes = make(rng)
        for fraction in (0.01, 0.05, 0.2):
            found = np.mean([measured(codes, fraction, rng) for _ in range(SAMPLES)], axis=0)
            print(f"{make.__name__:<12} {fraction:>5} |", " ".join(f"{value:8.1f}" for value in found))


if __name__ == "__main__":
    main()
