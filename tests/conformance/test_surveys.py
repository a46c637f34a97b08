"""Releases of surveys: weights and strata go through every family of methods, and what is released verifies."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError
from shoal.schema import Groups

REGIONS = ("north", "east", "south", "west")


@pytest.fixture(scope="module")
def survey() -> shoal.Table:
    rng = np.random.default_rng(3)
    regions = rng.choice(REGIONS, 400, p=[0.4, 0.3, 0.2, 0.1])
    weights = {"north": 12.5, "east": 20.0, "south": 7.0, "west": 3.0}
    rows = {
        "region": regions,
        "sex": rng.choice(["f", "m"], 400),
        "illness": rng.choice(["flu", "cold", "none"], 400),
        "pw": [weights[region] for region in regions],
    }
    sides = Groups(levels=((("here", REGIONS[:2]), ("there", REGIONS[2:])),))
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(name="region", role="stratum", hierarchy=sides, domain=shoal.Domain(values=REGIONS)),
            shoal.Attribute(name="sex", role="quasi-identifier", domain=shoal.Domain(values=("f", "m"))),
            shoal.Attribute(name="illness", role="sensitive", domain=shoal.Domain(values=("flu", "cold", "none"))),
            shoal.Attribute(name="pw", role="weight", domain=shoal.Domain(minimum=1, maximum=50)),
        )
    )
    return shoal.read(pa.table(rows)).with_schema(schema)


def _sum_weights(table: shoal.Table) -> float:
    return sum(table.to_arrow()["pw"].to_pylist())


METHODS = [
    shoal.Generalize(suppression_limit=1),
    shoal.methods.Mondrian(),
    shoal.methods.TMicroaggregate(),
    shoal.methods.Suppress(),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_survey_is_released_with_its_weights_and_verifies(survey, method, tmp_path) -> None:
    release = shoal.anonymize(survey, shoal.KAnonymity(5), method=method)
    release.write(tmp_path / "release")
    assert shoal.verify(tmp_path / "release").passed
    assert _sum_weights(release.table) == pytest.approx(_sum_weights(survey)) or release.records < 400


def test_strata_count_like_quasi_identifiers(survey) -> None:
    known = shoal.assess(survey)
    assert {each.column for each in known.columns} == {"region", "sex"}
    assert known.survey.population == pytest.approx(_sum_weights(survey))


def test_a_released_survey_is_assessed_by_its_own_weights(survey) -> None:
    release = shoal.anonymize(survey, shoal.KAnonymity(5), method=shoal.Generalize())
    found = shoal.assess(release.table, schema=survey.schema)
    assert found.survey is None or found.survey.records == release.records


K, P = shoal.KAnonymity(5), shoal.models.ProbabilisticKAnonymity(5)
CLOSE = shoal.models.MultiplicativeCloseness("illness", 3)


@pytest.mark.parametrize(
    ("method", "promises", "together"),
    [
        (shoal.methods.Mdav(), (K,), ("illness", "pw")),
        (shoal.methods.VMdav(), (K,), ("illness", "pw")),
        (shoal.methods.Suppress(), (K,), ("illness", "pw")),
        (shoal.methods.Swap(), (P,), ("illness", "pw")),
        (shoal.methods.IndividualRankingSwap(), (P,), ("region", "sex", "pw")),
        (shoal.methods.Bucketize(form="permuted"), (CLOSE,), ("pw",)),
        (shoal.methods.Slice(), (K, shoal.DistinctLDiversity("illness", 2)), ("pw",)),
    ],
    ids=lambda each: getattr(each, "name", None),
)
def test_weights_go_with_the_columns_that_the_docs_say(survey, method, promises, together) -> None:
    release = shoal.anonymize(survey, *promises, method=method)
    before, after = (
        Counter(zip(*(table.to_arrow()[name].to_pylist() for name in together), strict=True))
        for table in (survey, release.table)
    )
    assert before == after


@pytest.mark.parametrize("level", [0, 1])
def test_calibrated_weights_add_up_in_every_stratum(survey, tmp_path, level) -> None:
    rows = survey.to_arrow().to_pylist()
    side = {name: name if level == 0 else ("here" if name in REGIONS[:2] else "there") for name in REGIONS}
    least = min(Counter((side[row["region"]], row["sex"]) for row in rows).values())
    method = shoal.Generalize(suppression_limit=1, levels={"region": level, "sex": 0})
    shoal.anonymize(survey, shoal.KAnonymity(least + 1), method=method).write(tmp_path / "release")
    found = shoal.estimation.calibrated_weights(tmp_path / "release", survey)
    before, after = Counter(), Counter()
    for row in rows:
        before[side[row["region"]]] += row["pw"]
    for row in found.records.to_pylist():
        after[row["region"]] += row["pw"]
    assert found.records.num_rows < 400
    for name, total in after.items():
        assert total == pytest.approx(before[name])
    assert sum(after.values()) + found.lost == pytest.approx(sum(before.values()))
    factors = {row["region"]: row["factor"] for row in found.factors.to_pylist()}
    assert set(factors) == set(after)
    assert max(factors.values()) > 1


def test_a_release_without_weights_is_not_calibrated(survey, tmp_path) -> None:
    plain = survey.to_arrow().drop_columns(["pw"])
    schema = shoal.Schema(attributes=tuple(each for each in survey.schema if each.name != "pw"))
    table = shoal.read(plain).with_schema(schema)
    shoal.anonymize(table, shoal.KAnonymity(5), method=shoal.Generalize()).write(tmp_path / "release")
    with pytest.raises(InputError, match="role `weight`"):
        shoal.estimation.calibrated_weights(tmp_path / "release", table)
    with pytest.raises(InputError, match="no release"):
        shoal.estimation.calibrated_weights(tmp_path, table)
