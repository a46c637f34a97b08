"""Which records swapped values come from, and whose they are, counted on the bundled hospital."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import RequirementError
from shoal.guarantees import Words
from shoal.mechanisms import SeededSource
from shoal.methods import OwnValue
from shoal.methods.classes import Exchanged
from shoal.models import ProbabilisticKAnonymity
from shoal.report import internal_report, public_report
from shoal.report._text import say_hidden

HOSPITAL = Path(__file__).parents[4] / "examples" / "hospital"
KNOWN = ("age", "sex", "zip", "admission_date")
METHODS = [shoal.methods.IndividualRankingSwap(), shoal.methods.Swap()]


@pytest.fixture(scope="module")
def discharges() -> shoal.Table:
    return shoal.read(HOSPITAL / "discharges.csv", schema=HOSPITAL / "discharges.schema.toml")


def _by_known(table: shoal.Table) -> dict[tuple[str, ...], dict[str, Any]]:
    """Return the records of those who are unique by their quasi-identifiers, which swaps leave as they are."""
    records = table.to_arrow().to_pylist()
    keys = [tuple(str(record[name]) for name in KNOWN) for record in records]
    times = Counter(keys)
    return {key: record for key, record in zip(keys, records, strict=True) if times[key] == 1}


def _own(before: dict[Any, dict[str, Any]], after: dict[Any, dict[str, Any]], column: str) -> float:
    """Return the share of records that still show their own value."""
    assert before.keys() == after.keys()
    return sum(before[key][column] == after[key][column] for key in before) / len(before)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_swaps_bound_the_record_and_not_the_value_and_say_so(
    method: shoal.methods.Swap | shoal.methods.IndividualRankingSwap, discharges: shoal.Table
) -> None:
    k = 5
    plan = shoal.Plan(schema=discharges.schema, models=(ProbabilisticKAnonymity(k),), method=method)
    release = plan.run(discharges, source=SeededSource(1))
    before, after = _by_known(discharges), _by_known(release.table)
    # charges are exact to the cent: whoever shows an own charge kept the whole record that was moved
    moved_to_itself = _own(before, after, "charge")
    assert abs(moved_to_itself - 1 / k) < 0.02
    # diagnoses are few, and a neighbour in the ranking has the same: a bound of one in k on values is false
    assert _own(before, after, "diagnosis") > (0.95 if method.name == "ir-swap" else moved_to_itself)
    (promise,) = release.guarantee.promises
    assert "which record a value came from, not whether it is the person's own" in promise.statement


def test_no_sentence_bounds_the_chance_that_a_swapped_value_is_the_persons() -> None:
    words = Words(alike=False, person="name")
    for intruder in ("uninformed", "informed"):
        promise = Exchanged(k=5, intruder=intruder, columns=("illness",))  # type: ignore[arg-type]
        assert "that person's with" not in promise.statement(words)
        assert "came from a record of that person with probability at most 1/5" in promise.statement(words)
    assert "the person's with a chance" not in say_hidden(5)
    assert "does not limit whether the value is the person's own" in say_hidden(5)


CLUSTERS = [
    [["a", "a", "b"], ["c", "c", "c"]],
    [["a", "b", "c", "d"], ["a", "a"]],
    [["a", "b"], ["b", "c"], ["a", "b", "b", "b", "c"]],
]


def _enumerated(clusters: list[list[str]]) -> tuple[Fraction, Fraction]:
    """Return the mean and the greatest chance of a record to show its own value, by carrying out every permutation."""
    chances = []
    for values in clusters:
        ways = list(permutations(values))
        chances += [Fraction(sum(way[i] == own for way in ways), len(ways)) for i, own in enumerate(values)]
    return sum(chances, start=Fraction(0)) / len(chances), max(chances)


def _tallied(clusters: list[list[str]]) -> tuple[np.ndarray, np.ndarray]:
    pairs = Counter((number, value) for number, values in enumerate(clusters) for value in values)
    return np.array([number for number, _ in pairs]), np.array([*pairs.values()])


@pytest.mark.parametrize("clusters", CLUSTERS)
def test_the_chance_of_an_own_value_is_that_of_all_permutations(clusters: list[list[str]]) -> None:
    owned = OwnValue.of("illness", *_tallied(clusters))
    assert (owned.mean, owned.greatest) == _enumerated(clusters)


def _without_weights(labels: np.ndarray, counts: np.ndarray) -> Fraction:
    """Average over clusters rather than records: the broken twin."""
    shares = []
    for cluster in np.unique(labels):
        times = counts[labels == cluster].tolist()
        shares.append(Fraction(sum(m * m for m in times), sum(times) ** 2))
    return sum(shares, start=Fraction(0)) / len(shares)


def test_enumeration_tells_clusters_that_are_not_weighted_by_their_records() -> None:
    assert any(_without_weights(*_tallied(clusters)) != _enumerated(clusters)[0] for clusters in CLUSTERS)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_release_says_how_many_values_stay_the_records_own(
    method: shoal.methods.Swap | shoal.methods.IndividualRankingSwap, discharges: shoal.Table
) -> None:
    plan = shoal.Plan(schema=discharges.schema, models=(ProbabilisticKAnonymity(5),), method=method)
    release = plan.run(discharges, source=SeededSource(1))
    before, after = _by_known(discharges), _by_known(release.table)
    figures = {each.column: each for each in release.result.own_values}
    assert "diagnosis" in figures
    for name, figure in figures.items():
        assert abs(_own(before, after, name) - figure.mean) < 0.02
        assert figure.mean <= figure.greatest <= 1
    assert "released value is the record's own" in str(release)
    said = " ".join(release.attention)
    assert ("of those of `diagnosis`" in said) == (figures["diagnosis"].mean > Fraction(1, 2))
    assert ("Some classes hold a single value of `diagnosis`" in said) == (figures["diagnosis"].greatest == 1)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_the_publishers_report_has_the_figures_and_the_public_one_does_not(
    method: shoal.methods.Swap | shoal.methods.IndividualRankingSwap, tmp_path: Path
) -> None:
    rows = [{"age": 30 + i, "illness": "abcca"[i % 5], "insured": "yyn"[i % 3], "cost": float(i)} for i in range(20)]
    table = shoal.read(pa.Table.from_pylist(rows), schema=_schema())
    plan = shoal.Plan(schema=_schema(), models=(ProbabilisticKAnonymity(5),), method=method)
    release = plan.run(table)
    folder = release.write(tmp_path / "release")
    told = [(each.column, each.mean, each.greatest) for each in internal_report(folder, table, plan).own_values]
    assert told == [(each.column, float(each.mean), float(each.greatest)) for each in release.result.own_values] != []
    assert public_report(folder).own_values == ()


def test_ir_swap_refuses_columns_of_which_every_cluster_has_one_value() -> None:
    rows = [
        {"age": 30 + i, "illness": "flu" if i < 10 else "cold", "insured": "yes", "cost": float(i)} for i in range(20)
    ]
    table = shoal.read(pa.Table.from_pylist(rows), schema=_schema())
    plan = shoal.Plan(
        schema=_schema(), models=(ProbabilisticKAnonymity(5),), method=shoal.methods.IndividualRankingSwap()
    )
    with pytest.raises(RequirementError) as refused:
        plan.run(table)
    said = str(refused.value)
    assert "`illness`" in said
    assert "`insured`" in said
    assert "`cost`" not in said
    assert "larger k" in said


def _schema() -> shoal.Schema:
    secrets = [shoal.Attribute(name=name, role="sensitive") for name in ("illness", "insured")]
    return shoal.Schema(
        attributes=(
            shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),
            *secrets,
            shoal.Attribute(name="cost", role="sensitive", kind="numeric"),
        )
    )
