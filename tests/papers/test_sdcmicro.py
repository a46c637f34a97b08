"""Figures of sdcMicro 5.8.1 on its own data sets, run with R 4.2.2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.kernels.uniques import unique_sets
from shoal.risk import individual_risk, log_linear_risk
from shoal.risk._special_uniques import record_scores, summarize_scores
from shoal.risk._survey import Sample, household_risks, sample

SURVEYS = {
    "testdata": ("urbrur roof walls water electcon relat sex", "sampling_weight", "ori_hid"),
    "eusilc": ("db040 hsize rb090 age", "rb050", "db030"),
}


def opened(folder: Path, name: str) -> Sample:
    keys, weight, household = SURVEYS[name]
    table = shoal.read(folder / "survey" / f"{name}.csv")
    roles = {**dict.fromkeys(keys.split(), "quasi-identifier"), weight: "weight", household: "household"}
    columns = (shoal.Attribute(name=each, role=roles.get(each, "drop")) for each in table.columns)
    return sample(table.with_schema(shoal.Schema(attributes=tuple(columns))))


@pytest.fixture(scope="module")
def testdata(shared_data: Path) -> Sample:
    return opened(shared_data, "testdata")


@pytest.fixture(scope="module")
def eusilc(shared_data: Path) -> Sample:
    return opened(shared_data, "eusilc")


def test_special_uniques(testdata: Sample, eusilc: Sample) -> None:
    found = summarize_scores(record_scores(testdata))
    assert found.by_size == (1, 11, 94, 86, 35, 7, 1)
    assert (found.scored, found.score, found.highest) == (157, 4890, 720)
    assert found.intrusions == pytest.approx(9.831091, rel=1e-6)  # sdcMicro computes it in single precision
    shares = {each.column: 100 * each.share for each in found.columns}
    expected = [12.0450, 33.8650, 18.0982, 53.4151, 22.5153, 92.5971, 24.9489]
    assert [shares[name] for name in testdata.keys] == pytest.approx(expected, abs=5e-5)
    scores = record_scores(testdata)
    assert sorted(scores.scores)[-5:] == [120, 120, 132, 144, 720]
    assert scores.intrusions.max() == pytest.approx(0.6781426, abs=5e-8)
    found = summarize_scores(record_scores(eusilc))
    assert (found.by_size, found.scored, found.score) == ((2, 90, 764, 569), 1319, 1525)
    assert found.intrusions == pytest.approx(9.671888, rel=1e-6)


def test_the_other_scores(testdata: Sample) -> None:
    found = summarize_scores(record_scores(testdata, scores="shares"))
    assert found.score == pytest.approx(88.7238095238)
    assert (found.highest, found.scored) == (pytest.approx(9), 156)


@pytest.mark.parametrize(
    ("name", "total", "households", "members", "below"),
    [
        ("testdata", 10.778298918735, 10.512360299567, 51.812927435961, (157, 281, 458, 741)),
        ("eusilc", 24.67772991158, 24.486355760062, 91.831563902314, (1319, 3317, 7217, 12908)),
    ],
)
def test_individual_and_household_risk(name, total, households, members, below, request) -> None:
    data = request.getfixturevalue(name)
    labels, sizes = data.classes()
    assert tuple(int(sizes[sizes < k].sum()) for k in (2, 3, 5, 10)) == below
    risks = individual_risk(sizes, data.people(labels, sizes), approximate=True)[labels]
    assert risks.sum() == pytest.approx(total, rel=1e-12)
    found = household_risks(risks, data.homes)
    assert found.sum() == pytest.approx(households, rel=1e-12)
    assert found[data.homes].sum() == pytest.approx(members, rel=1e-12)
    if name == "testdata":
        first = [9.433072352e-5, 9.900009900e-5, 5.713959202e-5, 5.713959202e-5, 2.221728505e-4]
        assert risks[:5] == pytest.approx(first, rel=1e-9)


def test_exact_individual_risk() -> None:
    expected = [0.0049532207806, 0.0024917477694, 0.0011097261708]
    assert individual_risk([3, 5, 10], [300, 500, 1000]) == pytest.approx(expected, abs=5e-14)


def test_log_linear_risk(testdata: Sample) -> None:
    found = log_linear_risk(testdata.codes, len(testdata) / testdata.weights.sum())
    assert (found.unique, found.found) == (pytest.approx(5.470138, abs=5e-7), pytest.approx(14.924667, abs=5e-7))


def test_adult_has_as_many_minimal_uniques(shared_data: Path) -> None:
    names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    rows = [line.split(";") for line in (shared_data / "adult" / "adult.csv").read_text().splitlines()]
    places = [rows[0].index(name) for name in names]
    columns = [np.unique([row[place] for row in rows[1:]], return_inverse=True)[1] for place in places]
    assert len(unique_sets(np.stack(columns, axis=1).astype(np.int32)).rows) == 46_648
