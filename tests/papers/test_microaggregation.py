"""Published figures of microaggregation: METHODS 13, and tables of [SC13] chapters 3 and 6."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reference.errors import change_of_means, change_of_variances, correlations, information_loss, sse
from reference.microaggregation import aggregate
from shoal.mechanisms import SeededSource
from shoal.methods.classes import individual_ranking, mdav, permutation_within, standardize
from shoal.methods.noise import Records, insensitive
from shoal.risk._record_linkage import linked_percentage

CHAPTER_6 = ("FICA", "FEDTAX", "INTVAL", "POTHVAL")


def read(path: Path) -> tuple[list[str], np.ndarray]:
    if not path.is_file():
        pytest.skip(f"needs the data set {path.name}")
    names = path.read_text().splitlines()[0].replace('"', "").split(",")
    return names, np.genfromtxt(path, delimiter=",", skip_header=1)


@pytest.fixture(scope="module")
def census(shared_data: Path) -> np.ndarray:
    return read(shared_data / "census" / "census.csv")[1]


@pytest.fixture(scope="module")
def chapter_6(shared_data: Path) -> Records:
    """Return the four attributes of chapter 6 with its bounds: 0 and 1.5 times the maximum."""
    names, values = read(shared_data / "census" / "census.csv")
    chosen = values[:, [names.index(name) for name in CHAPTER_6]]
    return Records(numeric=chosen, lower=np.zeros(4), upper=1.5 * chosen.max(axis=0))


@pytest.mark.parametrize(("k", "loss"), [(3, 5.6922), (5, 9.0884), (10, 14.1559)])
def test_census_loses_what_is_published(census: np.ndarray, k: int, loss: float) -> None:
    masked = aggregate(census, mdav(standardize(census), k).labels)
    assert round(100 * information_loss(census, masked), 4) == loss


@pytest.mark.parametrize(("k", "loss"), [(3, 0.48), (5, 1.67), (10, 3.84)])
def test_eia_loses_what_is_published(shared_data: Path, k: int, loss: float) -> None:
    _, eia = read(shared_data / "eia" / "eia11_published.csv")
    masked = aggregate(eia, mdav(standardize(eia), k).labels)
    assert round(100 * information_loss(eia, masked), 2) == loss


@pytest.mark.parametrize(
    ("k", "error", "linkage"), [(2, 3.07e9, 45.3), (5, 1.20e10, 18.4), (15, 2.41e10, 6.48), (30, 4.00e10, 3.33)]
)
def test_table_6_1_mdav_columns(chapter_6: Records, k: int, error: float, linkage: float) -> None:
    masked = aggregate(chapter_6.numeric, mdav(chapter_6.space(), k).labels)
    assert float(f"{sse(chapter_6.numeric, masked):.2e}") == error
    found = linked_percentage(chapter_6.numeric, masked, scale=chapter_6.upper)
    assert float(f"{found:.3g}") == linkage


#: k: changes of the variances of FEDTAX, POTHVAL, INTVAL and FICA under MDAV
TABLE_6_5_MDAV = {
    2: (0.0053, 0.0247, 0.0349, 0.0067),
    5: (0.0156, 0.0991, 0.1327, 0.0224),
    15: (0.0398, 0.1967, 0.2614, 0.0670),
    30: (0.0639, 0.3214, 0.4729, 0.1060),
}
TABLE_6_5_INSENSITIVE = {
    2: (0.0447, 0.0697, 0.0950, 0.0593),
    5: (0.0804, 0.1268, 0.1358, 0.1117),
    15: (0.1015, 0.2429, 0.2362, 0.1634),
    30: (0.1254, 0.3416, 0.4476, 0.1797),
}
ROWS_6_5 = [CHAPTER_6.index(name) for name in ("FEDTAX", "POTHVAL", "INTVAL", "FICA")]


@pytest.mark.parametrize("k", TABLE_6_5_MDAV)
def test_table_6_5_mdav_column(chapter_6: Records, k: int) -> None:
    masked = aggregate(chapter_6.numeric, mdav(chapter_6.space(), k).labels)
    changes = change_of_variances(chapter_6.numeric, masked)[ROWS_6_5]
    assert tuple(changes.round(4)) == TABLE_6_5_MDAV[k]
    assert change_of_means(chapter_6.numeric, masked).max() < 1e-12


@pytest.mark.parametrize("k", TABLE_6_5_INSENSITIVE)
@pytest.mark.parametrize("corner", [1.5, 1.0])
def test_table_6_5_insensitive_column_is_met_closely(chapter_6: Records, corner: float, k: int) -> None:
    # Not to the digit: the seed leaves ties in the sequence of corners open, and none of the 384 sequences that its
    # rule admits gives the printed figures, be the corners at 1.5 times the maximum, as declared, or at the maximum
    # itself, which comes closer for k above 2.
    records = Records(numeric=chapter_6.numeric, lower=np.zeros(4), upper=corner * chapter_6.numeric.max(axis=0))
    masked = aggregate(records.numeric, insensitive(records, k).labels)
    changes = change_of_variances(records.numeric, masked)[ROWS_6_5]
    tolerance = 0.06 if k == 2 else {1.5: 0.05, 1.0: 0.02}[corner]
    assert np.abs(changes - TABLE_6_5_INSENSITIVE[k]).max() < tolerance
    assert change_of_means(records.numeric, masked).max() < 1e-12


def confidential_changes(before: np.ndarray, after: np.ndarray) -> float:
    """Return the mean of Table 3.10: the printed upper triangle of A_1..A_13 by A_7..A_13, its diagonal included."""
    changes = np.abs(correlations(after) - correlations(before))
    return float(changes[:, 6:][np.triu(np.ones((13, 13), bool))[:, 6:]].mean())


def mdav_swap_runs(census: np.ndarray, k: int, runs: int) -> list[float]:
    """Against an intruder for each confidential attribute: MDAV on all others, the attribute permuted [SC13 3.3.2]."""
    source = SeededSource(k)
    partitions = {column: mdav(np.delete(census, column, 1), k) for column in range(6, 13)}
    results = []
    for _ in range(runs):
        masked = census.copy()
        for column, partition in partitions.items():
            masked[:, column] = census[permutation_within(partition, source=source), column]
        results.append(confidential_changes(census, masked))
    return results


def ir_swap_runs(census: np.ndarray, k: int, runs: int) -> list[float]:
    source = SeededSource(k)
    results = []
    for _ in range(runs):
        masked = census.copy()
        for column in range(6, 13):
            rows = permutation_within(individual_ranking(census[:, column], k), source=source)
            masked[:, column] = census[rows, column]
        results.append(confidential_changes(census, masked))
    return results


def mdav_id(census: np.ndarray, k: int) -> float:
    return confidential_changes(census, aggregate(census, mdav(census, k).labels))


def test_chapter_3_quality_is_worst_for_mdav_id_and_best_for_ir_swap(census: np.ndarray) -> None:
    swapped, ranked = mdav_swap_runs(census, 12, 100), ir_swap_runs(census, 12, 100)
    assert np.mean(ranked) < np.mean(swapped) < mdav_id(census, 12)
    # not by chance: in every run
    assert max(ranked) < min(swapped)
    assert max(swapped) < mdav_id(census, 12)


@pytest.mark.parametrize(("k", "swap", "ranking"), [(5, 0.037, 0.0021), (11, 0.061, 0.0038)])
def test_table_3_10_swapping_columns(census: np.ndarray, k: int, swap: float, ranking: float) -> None:
    # The table is of raw values: with z-scores MDAV-SWAP at k = 5 gives 0.026.
    assert np.mean(mdav_swap_runs(census, k, 30)) == pytest.approx(swap, rel=0.05)
    assert np.mean(ir_swap_runs(census, k, 30)) == pytest.approx(ranking, rel=0.15)


def test_table_3_7_correlations_rise_under_mdav_id(census: np.ndarray) -> None:
    # A_2 with A_7, ..., A_13 for k = 12, to within one digit of the last place printed
    found = correlations(aggregate(census, mdav(census, 12).labels))[1, 6:]
    assert np.abs(found - [1.0, 0.18, 0.39, 0.80, 0.81, 0.80, 0.78]).max() < 0.011
