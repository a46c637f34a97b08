from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from reference import microaggregation as reference
from shoal.errors import ParameterError
from shoal.hierarchies import Concepts
from shoal.mechanisms import SYSTEM
from shoal.methods.classes import HeldRecords, Space, _blocks, mdav, quasi_identifiers, standardize
from shoal.methods.classes import _microaggregation as module
from shoal.methods.classes._microaggregation import Averaged, Compared
from shoal.methods.classes._steps import Blocked
from shoal.methods.classes._swap import Ranked
from shoal.models import KAnonymity
from shoal.schema import Attribute, Kind, Role, Schema
from shoal.tables import encode_records


def _people(*weights: float, **columns: list[Any]) -> HeldRecords:
    """Return records whose columns are quasi-identifiers: texts are categories, all else numbers."""
    kinds = {name: Kind.CATEGORICAL if isinstance(values[0], str) else Kind.NUMERIC for name, values in columns.items()}
    given = weights or (1.0,) * len(columns)
    schema = Schema(
        attributes=tuple(
            Attribute(name=name, role=Role.QUASI_IDENTIFIER, kind=kinds[name], weight=weight)
            for name, weight in zip(columns, given, strict=True)
        )
    )
    encoded = encode_records(shoal.read(pa.table(columns)).with_schema(schema), sensitive=())
    return HeldRecords(
        quasi_identifiers=quasi_identifiers(schema, encoded), sensitive=(), codes=encoded.sensitive_codes
    )


def _numbers(rows: int = 60) -> dict[str, list[Any]]:
    rng = np.random.default_rng(3)
    return {"age": rng.integers(20, 80, rows).tolist(), "income": (rng.normal(size=rows) * 1000).tolist()}


def test_numbers_are_clustered_as_mdav_does_on_z_scores() -> None:
    columns = _numbers()
    wanted = reference.mdav(standardize(np.array(list(columns.values()), dtype=float).T).tolist(), 4)
    found = shoal.methods.Mdav().classify(_people(**columns), [KAnonymity(4)], SYSTEM)
    assert found.partition.labels.tolist() == wanted


def test_v_mdav_is_that_of_the_reference() -> None:
    columns = _numbers()
    points = standardize(np.array(list(columns.values()), dtype=float).T).tolist()
    found = shoal.methods.VMdav(gamma=1.1).classify(_people(**columns), [KAnonymity(4)], SYSTEM)
    assert found.partition.labels.tolist() == reference.vmdav(points, 4, 1.1)


def test_categories_are_clustered_by_semantic_distance() -> None:
    towns = np.random.default_rng(5).integers(0, 30, 90)
    names = [f"town {code:02}" for code in towns]
    ages = np.random.default_rng(6).integers(20, 80, 90)
    people = _people(town=names, age=ages.tolist())
    present, codes = np.unique(towns, return_inverse=True)
    space = Space.of(standardize(ages[:, None]), codes[:, None], [Concepts.flat(len(present))])
    found = shoal.methods.Mdav().classify(people, [KAnonymity(3)], SYSTEM).partition
    assert found.same_clusters(mdav(space, 3))


def test_a_weight_makes_an_attribute_count_more() -> None:
    columns = _numbers()
    light, heavy = (
        shoal.methods.Mdav().classify(_people(weight, 1.0, **columns), [KAnonymity(4)], SYSTEM).partition
        for weight in (1.0, 100.0)
    )
    ages = np.array(columns["age"])
    spread = [sum(float(np.ptp(ages[rows])) for rows in found.clusters()) for found in (light, heavy)]
    assert spread[1] < spread[0] / 2


def test_large_tables_are_clustered_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    people = _people(**_numbers(200))
    monkeypatch.setattr(module, "LEAST_BLOCK", 20)
    monkeypatch.setattr(_blocks, "LEAST_BLOCK", 20)
    found = shoal.methods.Mdav(block=50).classify(people, [KAnonymity(4)], SYSTEM)
    assert 4 <= found.partition.sizes.min() <= found.partition.sizes.max() <= 7
    (event,) = (event for event in found.events if isinstance(event, Blocked))
    assert event.blocks >= 4
    assert event.largest <= 50
    assert "then exchanged" in event.describe()


def test_v_mdav_runs_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    people = _people(**_numbers(200))
    monkeypatch.setattr(module, "LEAST_BLOCK", 20)
    found = shoal.methods.VMdav(block=50).classify(people, [KAnonymity(4)], SYSTEM)
    assert found.partition.sizes.min() >= 4
    assert found.partition.sizes.max() <= 50
    (event,) = (event for event in found.events if isinstance(event, Blocked))
    assert not event.repaired
    never = shoal.methods.VMdav(block=0).classify(people, [KAnonymity(4)], SYSTEM)
    assert not any(isinstance(event, Blocked) for event in never.events)


def test_integers_beyond_what_a_double_holds_are_rounded() -> None:
    people = _people(number=[2**60 + 1, 2**60 + 3, 5, 6])
    assert shoal.methods.Mdav().classify(people, [KAnonymity(2)], SYSTEM).partition.labels.tolist() in (
        [0, 0, 1, 1],
        [1, 1, 0, 0],
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"block": 10}, "`block` of `Mdav` must be 0 or at least 40,000; got 10"),
        ({"block": -1}, "`block`"),
        ({"strategy": "luck"}, "`strategy`"),
        ({"form": "anatomy"}, "`form`"),
        ({"decimals": 13}, r"`decimals` of `Mdav` must be in \[0, 12\]"),
        ({"decimals": "two"}, "`decimals`"),
        ({"categories": "guess"}, "`categories`"),
        ({"groups": [["age", "age"]]}, "`groups`"),
        ({"groups": [3]}, "`groups`"),
    ],
)
def test_wrong_parameters_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        shoal.methods.Mdav(**options)


@pytest.mark.parametrize("gamma", [-0.1, float("nan"), float("inf"), "much", True])
def test_gamma_must_be_a_number_of_at_least_0(gamma: Any) -> None:
    with pytest.raises(ParameterError, match="`gamma` of `VMdav`"):
        shoal.methods.VMdav(gamma=gamma)


@pytest.mark.parametrize("method", [shoal.methods.Swap, shoal.methods.IndividualRankingSwap])
def test_exchanged_values_have_one_form(method: type) -> None:
    with pytest.raises(ParameterError, match="`form`"):
        method(form="microaggregated")


def test_steps_say_what_they_did() -> None:
    compared = Compared(scaled=("age",), concepts=("town",), distance="points", weighted=True)
    assert compared.describe() == (
        "Compared records by `age` in standard deviations (z-scores) and `town` by semantic distance, approximated by "
        "points, times their weights."
    )
    averaged = Averaged(means=("age",), medians=("health",), decimals=2)
    assert averaged.describe() == (
        "Typical values of a class are: of `age` the mean, rounded to 2 decimals; of `health` the median. Members "
        "without a value are left out of means and medians."
    )
    assert Averaged(concepts=("town",)).describe().endswith("the concept with the least sum of distances.")
    ranked = Ranked(column="charge", clusters=3, smallest=5, largest=7)
    assert ranked.describe().endswith("inside 3 clusters of 5 to 7 neighbours.")
