"""Published figures of microaggregation: METHODS 13, and tables of [SC13] chapter 6."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reference.errors import change_of_means, change_of_variances, information_loss, sse
from reference.microaggregation import aggregate
from shoal.methods.classes import mdav, standardize
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
