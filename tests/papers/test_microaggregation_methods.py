"""Published figures of microaggregation, from a file to a release: METHODS 13, and the order of [SC13] chapter 3."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import shoal
from reference.errors import change_of_correlations
from shoal.mechanisms import SeededSource

Read = Callable[..., shoal.Table]


@pytest.fixture
def table(shared_data: Path) -> Read:
    """Return a function that reads a file of numbers: quasi-identifiers, and the last columns sensitive."""

    def read(*path: str, sensitive: int = 0) -> shoal.Table:
        file = shared_data.joinpath(*path)
        if not file.is_file():
            pytest.skip(f"needs the data set {file.name}")
        found = shoal.read(file)
        names = found.columns
        roles = ["quasi-identifier"] * (len(names) - sensitive) + ["sensitive"] * sensitive
        attributes = (shoal.Attribute(name=n, role=r, kind="numeric") for n, r in zip(names, roles, strict=True))
        return found.with_schema(shoal.Schema(attributes=tuple(attributes)))

    return read


@pytest.mark.parametrize(
    ("path", "k", "loss"),
    [
        (("census", "census.csv"), 3, 5.6922),
        (("census", "census.csv"), 5, 9.0884),
        (("census", "census.csv"), 10, 14.1559),
        (("eia", "eia11_published.csv"), 3, 0.48),
        (("eia", "eia11_published.csv"), 10, 3.84),
    ],
)
def test_a_release_loses_what_is_published(table: Read, path: tuple[str, ...], k: int, loss: float) -> None:
    release = shoal.anonymize(table(*path), shoal.KAnonymity(k), method=shoal.methods.Mdav())
    digits = len(str(loss).partition(".")[2])
    assert round(100 * float(release.measures["sse/sst"] or 0), digits) == loss
    assert release.after.smallest >= k


def test_chapter_3_correlations_stay_nearer_with_ranks_than_with_clusters(table: Read) -> None:
    census = table("census", "census.csv", sensitive=7)
    names = census.columns
    original = _matrix(census, names)

    def change(method: shoal.methods.Swap | shoal.methods.IndividualRankingSwap, seed: int) -> float:
        plan = shoal.Plan(schema=census.schema, models=(shoal.models.ProbabilisticKAnonymity(12),), method=method)  # type: ignore[arg-type]
        released = _matrix(plan.run(census, source=SeededSource(seed)).table, names)
        return change_of_correlations(original, released, to=tuple(range(len(names) - 7, len(names)))).mean

    swapped = [change(shoal.methods.Swap(), seed) for seed in range(4)]
    ranked = [change(shoal.methods.IndividualRankingSwap(), seed) for seed in range(4)]
    assert max(ranked) < min(swapped) / 2


def _matrix(table: shoal.Table, names: tuple[str, ...]) -> np.ndarray:
    rows = table.to_arrow()
    return np.stack([rows[name].to_numpy() for name in names], axis=1).astype(float)
