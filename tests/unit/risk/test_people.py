"""Risk of records, persons and households, against plain Python from the definitions."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict

import pyarrow as pa
import pytest

import shoal
from shoal.report import assessment_text, render_assessment
from shoal.risk import PeopleRisk, UnitRisk
from shoal.schema import Attribute, Schema

QUASI = tuple(Attribute(name=name, role="quasi-identifier") for name in ("sex", "town"))
PERSON, HOME = Attribute(name="patient", role="person"), Attribute(name="home", role="household")


def assessed(rows: list[dict[str, str]], *, person: bool = True, home: bool = True) -> shoal.Assessment:
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
@pytest.mark.parametrize("method", [shoal.Generalize(suppression_limit=1), shoal.Mdav()], ids=lambda each: each.name)
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
