"""Re-identification risk: of records, against a population, and of the people whom they are of."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from reference.examples import examples
from shoal import tables
from shoal.errors import SchemaError
from shoal.models import Classes
from shoal.report import assessment_text, render_assessment
from shoal.risk import (
    PeopleRisk,
    UnitRisk,
    k_map,
    people_risk,
    reidentification,
    reidentification_of_crowds,
    risk_of_crowds,
)
from shoal.schema import Attribute, Kind, Role, Schema


@given(st.lists(st.integers(1, 200), min_size=1, max_size=60))
def test_the_figures_agree_with_counting_records_one_by_one(sizes: list[int]) -> None:
    risk = reidentification(Classes(sizes=np.array(sizes)))
    records = [size for size in sizes for _ in range(size)]
    assert risk.records == len(records)
    assert risk.unique == Counter(records)[1]
    assert risk.prosecutor == max(1 / size for size in records)
    assert risk.marketer == pytest.approx(sum(1 / size for size in records) / len(records))
    assert sum(band.records for band in risk.sizes) == len(records)
    assert sum(band.classes for band in risk.sizes) == len(sizes)
    for k in (2, 3, 5, 10, 20, 50, 100):
        assert risk.below(k) == sum(size < k for size in records)


def test_a_population_lowers_the_journalists_and_the_marketers_risk() -> None:
    risk = reidentification(Classes(sizes=np.array([1, 2]), population=np.array([10, 4])))
    assert risk.prosecutor == 1.0
    assert risk.journalist == 1 / 4
    assert risk.marketer == pytest.approx((1 / 10 + 2 / 4) / 3)


def test_without_a_population_the_journalists_risk_is_unknown() -> None:
    assert reidentification(Classes(sizes=np.array([3]))).journalist is None


def test_an_empty_table_has_no_risk() -> None:
    risk = reidentification(Classes(sizes=np.array([], dtype=np.int64)))
    assert (risk.records, risk.classes, risk.prosecutor, risk.marketer) == (0, 0, 0.0, 0.0)


SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),
        shoal.Attribute(name="town", role="quasi-identifier"),
        shoal.Attribute(name="illness", role="sensitive"),
    )
)
TOWNS = ("a", "b", "c")


@pytest.mark.slow
@examples(25)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(TOWNS)), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from((*TOWNS, "*"))), min_size=1, max_size=10),
)
def test_it_is_the_least_number_of_people_that_fit(people: list, released: list) -> None:
    population = shoal.read(pa.table({"age": [age for age, _ in people], "town": [town for _, town in people]}))
    ranges = [(min(a, b), max(a, b), town) for a, b, town in released]
    ages = sorted({age for age, _ in people})
    # ends that the population holds, as a method would release them
    known = [
        (a, b, town) for a, b, town in ranges if a in ages and b in ages and town in {*(t for _, t in people), "*"}
    ]
    if not known:
        return
    table = shoal.read(
        pa.table({"age": [f"[{a}, {b}]" if a < b else str(a) for a, b, _ in known], "town": [t for *_, t in known]})
    )
    found = k_map(table, population, SCHEMA)
    fits = [sum(a <= age <= b and town in ("*", home) for age, home in people) for a, b, town in known]
    assert found.k == min((fit for fit in fits if fit), default=0)
    assert found.unmatched == sum(not fit for fit in fits)
    assert found.people == len(people)


def test_the_risk_is_measured_against_the_population() -> None:
    population = shoal.read(pa.table({"age": [1, 1, 1, 2], "town": ["a"] * 4, "extra": [0, 0, 0, 0]}))
    released = shoal.read(pa.table({"age": [1, 2], "town": ["a", "a"], "illness": ["flu", "flu"]}))
    found = k_map(released, population, SCHEMA)
    assert (found.k, found.reidentification.prosecutor, found.reidentification.journalist) == (1, 1.0, 1.0)
    assert found.reidentification.marketer == pytest.approx((1 / 3 + 1) / 2)


def test_a_release_without_quasi_identifiers_is_refused() -> None:
    table = shoal.read(pa.table({"illness": ["flu"]}))
    with pytest.raises(SchemaError, match="none of the schema's quasi-identifiers"):
        k_map(table, table, SCHEMA)


QUASI = tuple(Attribute(name=name, role="quasi-identifier") for name in ("sex", "town"))
PERSON, HOME = Attribute(name="patient", role="person"), Attribute(name="home", role="household")


def assessed(rows: list[dict[str, str]], *, person: bool = True, home: bool = True) -> shoal.risk.Assessment:
    chosen = (*([PERSON] if person else []), *([HOME] if home else []), *QUASI)
    table = pa.Table.from_pylist(rows).select([each.name for each in chosen])
    return shoal.assess(shoal.read(table).with_schema(Schema(attributes=chosen)))


def measured(rows: list[dict[str, str]], *, person: bool = True, home: bool = True) -> PeopleRisk:
    found = assessed(rows, person=person, home=home).people
    assert found is not None
    return found


def drawn(seed: int) -> list[dict[str, str]]:
    draw = random.Random(seed)
    rows = []
    for patient in range(draw.randrange(1, 30)):
        home = f"h{patient // draw.randrange(1, 4)}"
        for _ in range(draw.choice((1, 1, 2, 3, 7))):
            own = {"patient": f"p{patient}", "home": home}
            rows.append({**own, "sex": draw.choice("FM"), "town": draw.choice("abc")})
    draw.shuffle(rows)
    return rows


def reference(rows: list[dict[str, str]]) -> PeopleRisk:
    """Return the risks by the definitions, record by record."""
    crowd = defaultdict(set)
    own, homes = defaultdict(list), {}
    for row in rows:
        crowd[row["sex"], row["town"]].add(row["patient"])
        own[row["patient"]].append((row["sex"], row["town"]))
        homes[row["patient"]] = row["home"]
    missed = {person: math.prod(1 - 1 / len(crowd[each]) for each in set(own[person])) for person in own}
    of_homes: dict[str, float] = defaultdict(lambda: 1.0)
    for person, home in homes.items():
        of_homes[home] *= missed[person]
    seen = Counter(tuple(sorted(each)) for each in own.values())

    def unit(chances: list[float]) -> UnitRisk:
        risks = [1 - each for each in chances]
        return UnitRisk(number=len(risks), highest=max(risks), mean=sum(risks) / len(risks), certain=chances.count(0))

    return PeopleRisk(
        records=unit([1 - 1 / len(crowd[row["sex"], row["town"]]) for row in rows]),
        persons=unit(list(missed.values())),
        households=unit(list(of_homes.values())),
        trajectories=sum(seen[tuple(sorted(each))] == 1 for each in own.values()),
        column="patient",
        most=max(map(len, own.values())),
    )


def same(found: UnitRisk | None, wanted: UnitRisk | None) -> bool:
    assert found is not None
    assert wanted is not None
    return (found.number, found.certain) == (wanted.number, wanted.certain) and (found.highest, found.mean) == (
        pytest.approx(wanted.highest),
        pytest.approx(wanted.mean),
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_risks_are_those_of_the_definitions(seed: int) -> None:
    rows = drawn(seed)
    found, wanted = measured(rows), reference(rows)
    assert same(found.records, wanted.records)
    assert same(found.persons, wanted.persons)
    assert same(found.households, wanted.households)
    assert (found.trajectories, found.column, found.most) == (wanted.trajectories, "patient", wanted.most)


def test_without_a_person_column_every_record_is_a_person() -> None:
    rows = [{**row, "patient": f"{place}"} for place, row in enumerate(drawn(3))]
    found, wanted = measured(rows, person=False), reference(rows)
    assert same(found.persons, wanted.persons)
    assert same(found.persons, wanted.records)
    assert same(found.households, wanted.households)
    assert found.column is None


def test_nothing_is_said_of_persons_where_the_schema_names_none() -> None:
    found = assessed(drawn(1), person=False, home=False)
    assert found.people is None
    assert "Whose risk" not in assessment_text(found)


def test_a_person_who_is_found_by_one_of_many_records_is_found() -> None:
    common = [{"patient": f"p{i}", "home": "h", "sex": "F", "town": "a"} for i in range(100)]
    found = measured([*common, {"patient": "p7", "home": "h", "sex": "M", "town": "c"}])
    assert (found.records.certain, found.persons.certain, found.trajectories) == (1, 1, 1)
    assert found.households is not None
    assert found.households.certain == 1
    assert measured(common).trajectories == 0


def test_the_terminal_and_the_page_say_it_in_words() -> None:
    found = assessed(drawn(5))
    text, page = assessment_text(found), render_assessment(found, name="visits")
    assert "Whose risk it is" in text
    assert "risk of one  there are" in text
    assert max(map(len, text.splitlines())) <= 120
    for words in ("household", "have a set of records that nobody else has"):
        assert words in text
        assert words in page


def test_one_person_with_half_of_all_records_is_pointed_out() -> None:
    few = [{"patient": f"p{i}", "home": "h", "sex": "FM"[i % 2], "town": "a"} for i in range(30)]
    many = [{"patient": "p0", "home": "h", "sex": "F", "town": "a"} for _ in range(29)]
    words = "One person has 30 of the 59"
    assert f"{words} records" in assessment_text(assessed([*few, *many]))
    assert "One person has" not in assessment_text(assessed([*few, few[0]]))
    table = shoal.read(pa.Table.from_pylist([*few, *many])).with_schema(Schema(attributes=(PERSON, HOME, *QUASI)))
    (told,) = shoal.anonymize(table, shoal.KAnonymity(3), method=shoal.Generalize()).attention
    assert told.startswith(f"{words} released records")


@pytest.mark.slow
@pytest.mark.parametrize("person", [True, False])
@pytest.mark.parametrize(
    "method", [shoal.Generalize(suppression_limit=1), shoal.methods.Mdav()], ids=lambda each: each.name
)
def test_the_risk_after_a_release_is_that_of_its_classes(method: shoal.Method, person: bool) -> None:
    for seed in (3, 5, 9):
        rows = [{**row, "row": str(place)} for place, row in enumerate(drawn(seed))]
        if not person:
            rows = [{**row, "patient": row["row"]} for row in rows]
        chosen = (*([PERSON] if person else []), HOME, *QUASI, Attribute(name="row", role="insensitive"))
        records = pa.Table.from_pylist(rows).select([each.name for each in chosen])
        table = shoal.read(records).with_schema(Schema(attributes=chosen))
        release = shoal.anonymize(table, shoal.KAnonymity(2), method=method)
        left = {row["row"]: row for row in release.table.to_arrow().to_pylist()}
        after = reference([{**row, **left[row["row"]]} for row in rows if row["row"] in left])
        assert release.people is not None
        for found, wanted in zip(release.people, (reference(rows), after), strict=True):
            assert same(found.persons, wanted.persons)
            assert same(found.households, wanted.households)
            assert found.trajectories == wanted.trajectories
        assert "Risk of a household" in str(release)
        assert ("unique if linked" in str(release)) == person


VISITS = Schema(
    attributes=(
        Attribute(name="who", role=Role.PERSON),
        Attribute(name="town", role=Role.QUASI_IDENTIFIER),
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
    )
)


def _visits(seed: int) -> shoal.Table:
    """Return visits of some people; towns hold each other's names, may be missing, and zero has two signs."""
    draw = np.random.default_rng(seed)
    number = int(draw.integers(2, 60))
    towns = [["Ulm", "Ulm1", "-", "1:a", None][i] for i in draw.integers(0, 5, number)]
    ages = [[0.0, -0.0, 1.5, 1e300, None][i] for i in draw.integers(0, 5, number)]
    people = [f"person {i}" for i in draw.integers(0, number // 2 + 1, number)]
    return shoal.read(pa.table({"who": people, "town": towns, "age": ages})).with_schema(VISITS)


@pytest.mark.parametrize("seed", range(12))
def test_the_engine_counts_persons_as_they_are_counted_here(seed: int) -> None:
    table = _visits(seed)
    found = tables.crowds(table, ("town", "age"), "who")
    wanted = people_risk(table)
    assert wanted is not None
    ours = risk_of_crowds(found, "who")
    for unit in ("records", "persons"):
        mine, theirs = getattr(ours, unit), getattr(wanted, unit)
        assert (mine.number, mine.certain) == (theirs.number, theirs.certain)
        assert (mine.highest, mine.mean) == pytest.approx((theirs.highest, theirs.mean))
    assert replace(ours, records=wanted.records, persons=wanted.persons) == wanted
    classes = tables.Classes.from_tuples(tables.encode(table, sensitive=()).frequencies)
    if classes.persons is not None:
        assert reidentification_of_crowds(found) == reidentification(classes)
        assert found.people == len(set(table.to_arrow()["who"].to_pylist()))
