"""The risk of surveys: by hand on small tables, and against the truth of a simulated population."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import ParameterError
from shoal.risk import individual_risk, log_linear_risk, population_uniqueness
from shoal.tables import Classes, group

ROLES = {"sex": "quasi-identifier", "town": "stratum", "w": "weight", "home": "household"}


def survey(**columns) -> shoal.Table:
    attributes = tuple(shoal.Attribute(name=name, role=ROLES.get(name, "insensitive")) for name in columns)
    return shoal.read(pa.table(columns)).with_schema(shoal.Schema(attributes=attributes))


def test_weights_say_how_many_people_a_class_has() -> None:
    table = survey(sex=["f", "f", "m"], town=["Ulm", "Ulm", "Ulm"], w=[10.0, 30.0, 2.0], home=["a", "b", "b"])
    found = shoal.risk.survey_risk(table)
    assert (found.records, found.population, found.fewest) == (3, 42, 2)
    alone, pair = individual_risk([1, 2], [2.0, 40.0])
    assert found.expected == pytest.approx(alone + 2 * pair)
    assert found.highest == pytest.approx(math.log(2))
    assert dict(found.crowds)[3] == 1
    assert found.households.highest == pytest.approx(1 - (1 - alone) * (1 - pair))


def test_strata_have_their_own_shares() -> None:
    table = survey(sex=["f", "m", "f", "m"], town=["Ulm", "Ulm", "Rome", "Rome"], w=[1.0, 1.0, 50.0, 50.0])
    main = shoal.risk.survey_risk(table).log_linear[0]
    # all of Ulm is in the table, so that two records are certain; the expected counts are 1 in each cell
    assert main.unique == pytest.approx(2 + 2 * math.exp(-49))


def test_an_assessment_has_what_was_asked_for() -> None:
    table = survey(sex=["f", "f", "m"], town=["Ulm", "Rome", "Rome"], w=[10.0, 30.0, 2.0])
    found = shoal.assess(table, special=True, combinations=2)
    assert found.population.sampling_fraction == pytest.approx(3 / 42)
    assert found.special.by_size == (2, 1)
    assert [each.columns for each in found.combinations] == [("sex", "town"), ("sex",), ("town",)]
    plain = shoal.assess(survey(sex=["f", "m"], town=["Ulm", "Rome"]))
    assert (plain.survey, plain.special, plain.combinations) == (None, None, ())


def test_records_of_one_person_have_no_weights_of_their_own() -> None:
    columns = {"sex": ["f", "f"], "w": [2.0, 2.0], "who": ["a", "a"]}
    attributes = [shoal.Attribute(name=name, role=ROLES.get(name, "person")) for name in columns]
    found = shoal.assess(shoal.read(pa.table(columns)).with_schema(shoal.Schema(attributes=tuple(attributes))))
    assert found.survey is None
    assert "`w` is not used" in found.notes[-1]


def test_every_record_has_its_line_without_a_value_of_the_table() -> None:
    table = survey(sex=["f", "f", "secret"], town=["Ulm", "Ulm", None], w=[10.0, 30.0, 2.0], home=["a", "b", "b"])
    found = shoal.risk.record_risks(table)
    assert found["class_size"].to_pylist() == [2, 2, 1]
    assert found["population"].to_pylist() == [40, 40, 2]
    assert found["unique_by"].to_pylist() == [None, None, "sex"]
    assert found["dis_score"].to_pylist() == [0, 0, pytest.approx(1 / (1 + 2 * 0.99 / 0.01))]
    assert "secret" not in str(found.to_pylist())


def test_wrong_arguments_are_refused() -> None:
    table = survey(sex=["f"], town=["Ulm"])
    with pytest.raises(ParameterError, match="`largest`"):
        shoal.risk.special_uniques(table, largest=0)
    with pytest.raises(ParameterError, match='"original" or "shares"'):
        shoal.risk.special_uniques(table, scores="other")
    with pytest.raises(ParameterError, match="at least 1"):
        shoal.risk.combination_risk(table, largest=0)
    with pytest.raises(ParameterError, match=r"in \(0, 1\]"):
        log_linear_risk(np.zeros((1, 1), dtype=np.int32), 0)


def test_the_bias_of_every_estimate_is_the_documented_one() -> None:
    rng = np.random.default_rng(18)
    sizes = (2, 4, 6, 8, 10, 40)
    codes = np.stack([rng.choice(n, 20_000, p=_skewed(n)) for n in sizes], axis=1).astype(np.int32)
    labels, _ = group(codes)
    chosen = np.flatnonzero(rng.random(len(codes)) < 0.05)
    known, firsts = group(codes[chosen])
    seen, people = np.bincount(known), np.bincount(labels)[labels[chosen[firsts]]]
    truth = float((seen / people).sum())
    by_weights = float(seen @ individual_risk(seen, seen / 0.05))
    main, pairs = (log_linear_risk(codes[chosen], 0.05, effects=effects) for effects in (1, 2))
    uniques = float((1 / people[seen == 1]).sum())
    assert by_weights < truth / 2
    assert main.found == pytest.approx(uniques, rel=0.05)
    assert pairs.found < uniques
    assert population_uniqueness(Classes(sizes=seen), 0.05).reidentifications > truth


def _skewed(size: int) -> np.ndarray:
    weights = 1 / np.arange(1, size + 1)
    return weights / weights.sum()
