"""Releases of surveys: weights and strata go through every family of methods, and what is released verifies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
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


METHODS = [shoal.Generalize(suppression_limit=1), shoal.Mondrian(), shoal.TMicroaggregate(), shoal.Suppress()]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_survey_is_released_with_its_weights_and_verifies(survey, method, tmp_path) -> None:
    release = shoal.anonymize(survey, shoal.KAnonymity(5), method=method)
    release.write(tmp_path / "release")
    assert shoal.verify(tmp_path / "release").passed
    weights = release.table.expression["pw"].sum().execute()
    assert weights == pytest.approx(survey.expression["pw"].sum().execute()) or release.records < 400


def test_strata_count_like_quasi_identifiers(survey) -> None:
    known = shoal.assess(survey)
    assert {each.column for each in known.columns} == {"region", "sex"}
    assert known.survey.population == pytest.approx(survey.expression["pw"].sum().execute())


def test_a_released_survey_is_assessed_by_its_own_weights(survey) -> None:
    release = shoal.anonymize(survey, shoal.KAnonymity(5), method=shoal.Generalize())
    found = shoal.assess(release.table, schema=survey.schema)
    assert found.survey is None or found.survey.records == release.records
