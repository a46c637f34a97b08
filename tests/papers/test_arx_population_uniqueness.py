"""Population uniqueness of the Adult records, against the figures that ARX's own tests hold it to.

The figures are those of `TestRiskMetrics.testDecisionRule2` of ARX, compared there to four digits.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from shoal.models import Classes
from shoal.risk import population_uniqueness, reidentification


@pytest.fixture(scope="module")
def classes(shared_data: Path) -> Classes:
    """Return the classes of the 30,162 records on all nine columns."""
    with (shared_data / "adult" / "adult.csv").open(newline="") as stream:
        rows = list(csv.reader(stream, delimiter=";"))[1:]
    return Classes(sizes=np.array(list(Counter(map(tuple, rows)).values())))


@pytest.mark.parametrize(("fraction", "share"), [(0.1, 0.27684993883653597), (0.01, 0.1446083531167384)])
def test_pitman_agrees_and_is_chosen(classes: Classes, fraction: float, share: float) -> None:
    found = population_uniqueness(classes, fraction)
    assert found.chosen == "pitman"
    assert found.share == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize(("fraction", "share"), [(0.1, 0.3207402393466189), (0.2, 0.3577099234829125)])
def test_zayatz_agrees(classes: Classes, fraction: float, share: float) -> None:
    assert population_uniqueness(classes, fraction).zayatz == pytest.approx(share, rel=1e-8)


def test_the_whole_population_agrees(classes: Classes) -> None:
    assert population_uniqueness(classes, 1.0).share == 0.5142895033485844


def test_the_average_risk_agrees(classes: Classes) -> None:
    assert reidentification(classes).marketer == 0.6465751607983555
