"""Tables whose distinct tuples do not fit in memory."""

from __future__ import annotations

import itertools
import json
import math
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal import methods
from shoal.errors import Exhausted, ParameterError
from shoal.methods.steps import KINDS
from shoal.tables import _encode, encode
from shoal.tables._duckdb import DuckDBEngine

K = 3
TOWNS = [f"t{number:02}" for number in range(24)]
#: the values of every column at each of its levels, from scratch
LEVELS = {
    "town": [
        {town: town for town in TOWNS},
        {town: f"district {i // 4}" for i, town in enumerate(TOWNS)},
        {town: f"region {i // 12}" for i, town in enumerate(TOWNS)},
        dict.fromkeys(TOWNS, "*"),
    ],
    "age": [
        {age: str(age) for age in range(20, 60)},
        {age: f"[{age // 10 * 10}, {age // 10 * 10 + 10})" for age in range(20, 60)},
        dict.fromkeys(range(20, 60), "*"),
    ],
    "sex": [{"f": "f", "m": "m"}, {"f": "*", "m": "*"}],
}


def grouped(level):
    """Return the groups of a level with what they hold of the level below."""
    groups: dict[str, dict[str, None]] = {}
    for town in TOWNS:
        groups.setdefault(LEVELS["town"][level][town], {})[LEVELS["town"][level - 1][town]] = None
    return tuple((name, tuple(held)) for name, held in groups.items())


SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(
            name="town", role="quasi-identifier", hierarchy=shoal.schema.Groups(levels=(grouped(1), grouped(2)))
        ),
        shoal.Attribute(
            name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.schema.Intervals(widths=(10,))
        ),
        shoal.Attribute(name="sex", role="quasi-identifier"),
        shoal.Attribute(name="illness", role="sensitive"),
    )
)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    draw = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "town": np.array(TOWNS)[(24 * draw.random(600) ** 1.7).astype(int)],
            "age": 20 + (40 * draw.random(600) ** 1.3).astype(int),
            "sex": np.array(["f", "m"])[(2 * draw.random(600)).astype(int)],
            "illness": np.array(["flu", "cold", "gout"])[(3 * draw.random(600)).astype(int)],
        }
    )


@pytest.fixture
def little(monkeypatch):
    """Let so many tuples fit in memory."""

    def fit(number: int) -> None:
        monkeypatch.setattr(_encode, "tuples_that_fit", lambda _: number)

    return fit


def table(people: pd.DataFrame) -> shoal.Table:
    return shoal.read(pa.Table.from_pandas(people, preserve_index=False), schema=SCHEMA)


def at(people: pd.DataFrame, levels) -> pd.DataFrame:
    return pd.DataFrame({name: people[name].map(LEVELS[name][level]) for name, level in levels.items()})


def share(name: str, level: int, value) -> float:
    """The part of the domain that a released value covers."""
    if level == 0:
        return 0.0
    if level == len(LEVELS[name]) - 1:
        return 1.0
    if name == "age":
        return (min(value // 10 * 10 + 10, 59) - value // 10 * 10) / 39
    below = [each for each, label in LEVELS[name][level].items() if label == LEVELS[name][level][value]]
    return (len(below) - 1) / (len(LEVELS[name][level]) - 1)


def nodes_above(floors):
    return [
        dict(zip(LEVELS, levels, strict=True))
        for levels in itertools.product(
            *(range(floor, len(LEVELS[name])) for name, floor in zip(LEVELS, floors, strict=True))
        )
    ]


def floors_of(release) -> tuple[int, ...]:
    return release.search.floors or (0, 0, 0)


@pytest.mark.parametrize("limit", [150, 40, 6, 1])
def test_the_best_node_above_the_levels_that_fit_is_found(people, little, limit) -> None:
    whole = shoal.anonymize(table(people), shoal.KAnonymity(K), method=methods.Generalize())
    little(limit)
    release = shoal.anonymize(table(people), shoal.KAnonymity(K), method=methods.Generalize())
    floors = floors_of(release)
    assert any(floors)
    assert len(at(people, dict(zip(LEVELS, floors, strict=True))).drop_duplicates()) <= limit
    values = {}
    for levels in nodes_above(floors):
        released = at(people, levels)
        sizes = released.groupby(list(LEVELS))["sex"].transform("size")
        if (sizes < K).sum() > 0.05 * len(people):
            continue
        costs = sum(
            people[name].map({value: share(name, level, value) for value in LEVELS[name][0]})
            for name, level in levels.items()
        )
        values[tuple(levels.values())] = float(np.where(sizes < K, 1.0, costs / 3).mean())
    best = min(values.values())
    assert math.isclose(release.search.value, best, abs_tol=1e-12)
    assert release.search.levels in values
    assert release.search.value >= whole.search.value - 1e-12
    assert release.before == whole.before


def test_a_limit_that_holds_every_tuple_changes_nothing(people, little) -> None:
    plain = encode(table(people), sensitive=("illness",), coarse=True)
    distinct = len(people.drop_duplicates())
    little(distinct)
    packed = encode(table(people), sensitive=("illness",), coarse=True)
    assert packed.finest is None
    for name in ("codes", "counts", "sensitive_codes"):
        assert np.array_equal(getattr(plain.frequencies, name), getattr(packed.frequencies, name))
    assert [h.labels for h in plain.frequencies.hierarchies] == [h.labels for h in packed.frequencies.hierarchies]


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("limit", [100, 20])
def test_counts_at_coarser_levels_are_those_of_the_records(people, little, monkeypatch, limit, joined) -> None:
    little(limit)
    if joined:
        monkeypatch.setattr(DuckDBEngine, "translate_values", lambda *_: None)
    found = encode(table(people), sensitive=("illness",), coarse=True)
    levels = {h.attribute: h.floor for h in found.frequencies.hierarchies}
    expected = at(people, levels).assign(illness=people["illness"]).value_counts().to_dict()
    labels = [h.labels[0] for h in found.frequencies.hierarchies]
    secret = found.frequencies.sensitive[0].labels
    counted = {
        (*(names[code] for names, code in zip(labels, row, strict=True)), secret[own]): int(count)
        for row, (own,), count in zip(
            found.frequencies.codes, found.frequencies.sensitive_codes, found.frequencies.counts, strict=True
        )
    }
    assert found.finest is not None
    assert found.finest.tuples == len(people.drop_duplicates())
    assert len(counted) <= limit
    assert counted == expected


@pytest.mark.parametrize("name", ["generalize", "specialize", "iterate", "subtree", "mondrian"])
def test_every_recoding_keeps_its_promise_says_what_it_left_out_and_is_verified(people, little, name, tmp_path) -> None:
    little(60)
    release = shoal.anonymize(
        table(people), shoal.KAnonymity(K), shoal.DistinctLDiversity("illness", 2), method=methods.by_name(name)()
    )
    floors = dict(zip(LEVELS, release.search.floors, strict=True))
    assert any(floors.values())
    released = release.table.to_pandas()
    classes = released.fillna("none").groupby(list(LEVELS))["illness"]
    assert classes.size().min() >= K
    assert classes.nunique().min() >= 2
    for column, floor in floors.items():
        finer = {str(value) for level in range(floor) for value in LEVELS[column][level].values()}
        assert not finer & set(released[column].astype(str)), column
    (step,) = [event for event in release.guarantee.events if event.name == "coarsened"]
    assert dict(zip(step.columns, step.levels, strict=True)) == {c: f for c, f in floors.items() if f}
    assert not release.search.optimal
    assert "at level" in release.explain()
    assert "do not fit in the memory" in release.explain()
    assert any(sentence.startswith("Only releases with ") for sentence in release.attention)
    release.write(tmp_path / "release")
    assert shoal.verify(tmp_path / "release").passed
    assert "Looked only at releases with " in (tmp_path / "release" / "summary.txt").read_text()
    # not as a part of a fingerprint
    different = re.compile(rf"\b{len(people.drop_duplicates())}\b")
    assert not any(
        different.search((tmp_path / "release" / file).read_text())
        for file in ("certificate.json", "summary.txt", "report.html")
    )


def test_a_release_at_levels_that_it_says_it_never_looked_at_is_refused(people, little, tmp_path) -> None:
    little(60)
    shoal.anonymize(table(people), shoal.KAnonymity(K), method=methods.Generalize()).write(tmp_path / "release")
    file = tmp_path / "release" / "certificate.json"
    certificate = json.loads(file.read_text())
    (step,) = [each for each in certificate["steps"] if each["step"] == "coarsened"]
    step["levels"] = [level + 2 for level in step["levels"]]
    step["description"] = KINDS["coarsened"].from_fields(step).describe()
    file.write_text(json.dumps(certificate))
    assert not shoal.verify(tmp_path / "release").passed


@pytest.mark.parametrize("measure", ["precision", "discernibility", "average-class-size"])
def test_measures_of_a_node_do_not_depend_on_where_tuples_were_counted(people, little, measure) -> None:
    levels = {"town": 2, "age": 1, "sex": 1}
    method = methods.Generalize(levels=levels, quality=measure, suppression_limit=1)
    whole = shoal.anonymize(table(people), shoal.KAnonymity(K), method=method)
    little(20)
    coarse = shoal.anonymize(table(people), shoal.KAnonymity(K), method=method)
    assert coarse.search.floors
    assert coarse.search.levels == whole.search.levels == tuple(levels.values())
    assert coarse.search.value == pytest.approx(whole.search.value, abs=1e-12)
    assert coarse.table.to_arrow().equals(whole.table.to_arrow())


def test_what_needs_the_values_themselves_is_refused(people, little) -> None:
    little(20)
    with pytest.raises(Exhausted, match="non-uniform-entropy"):
        shoal.anonymize(table(people), shoal.KAnonymity(K), method=methods.Generalize(quality="non-uniform-entropy"))
    with pytest.raises(Exhausted, match="aggregated"):
        shoal.anonymize(table(people), shoal.KAnonymity(K), method=methods.Generalize(aggregates={"age": "median"}))
    with pytest.raises(ParameterError, match="only level 1 and above fit in memory"):
        shoal.anonymize(table(people), shoal.KAnonymity(K), method=methods.Generalize(levels={"age": 0}))


def test_a_check_never_counts_at_coarser_levels(people, little) -> None:
    little(1)
    assert encode(table(people), sensitive=()).finest is None


def test_no_more_is_given_up_than_needed() -> None:
    year, country = 0, 1
    # a year of age that becomes ten years is nearly enough and cheap; a country that becomes `*` saves all, and itself
    assert _encode._cheapest(28, {year: 20, country: 1}, {year: 0.14, country: 1.0}, 19) == year
    assert _encode._cheapest(28, {year: 27, country: 1}, {year: 0.9, country: 1.0}, 19) == country
    assert _encode._cheapest(28, {year: 5, country: 19}, {year: 0.3, country: 0.2}, 19) == country
