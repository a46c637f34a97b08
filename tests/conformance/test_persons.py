"""Promises to persons, end to end: a plain count with pandas, on releases whose records can be traced in the test."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.errors import ParameterError, RequirementError, ShoalError
from shoal.schema import Attribute, Domain, Intervals, Mask, Role, Schema

KNOWN = ["age", "sex", "zip"]


def described(person: Role = Role.PERSON, **changes: object) -> Schema:
    """Return the schema of the visits; `trace` is released as it is, so that the test knows whose record it is."""
    return Schema(
        attributes=(
            Attribute(name="id", role=person, **changes),
            Attribute(name="trace"),
            Attribute(
                name="age",
                role="quasi-identifier",
                kind="numeric",
                domain=Domain(minimum=0, maximum=99),
                hierarchy=Intervals(widths=(5, 10, 20)),
            ),
            Attribute(name="sex", role="quasi-identifier"),
            Attribute(name="zip", role="quasi-identifier", hierarchy=Mask(length=2, masked=(1,))),
            Attribute(name="ill", role="sensitive"),
        )
    )


def visits(seed: int, *, records: int = 300, persons: int = 60) -> pd.DataFrame:
    """Return visits of invented patients: most have few, some have many; age and town may change."""
    draw = np.random.default_rng(seed)
    shares = 1 / np.arange(1, persons + 1)
    who = draw.choice(persons, records, p=shares / shares.sum())
    return pd.DataFrame(
        {
            "id": [f"P{each:04}" for each in who],
            "trace": [f"R{place:05}" for place in range(records)],
            "age": 20 + (who * 7) % 60 + draw.integers(0, 3, records),
            "sex": np.where(who % 2, "f", "m"),
            "zip": [f"{1 + each % 2}{draw.integers(0, 3)}" for each in who],
            "ill": draw.choice(["cold", "flu", "burn"], records, p=[0.5, 0.3, 0.2]),
        }
    )


def fewest(release: shoal.Release, original: pd.DataFrame) -> int:
    """Return the fewest persons among records that share the released quasi-identifiers."""
    released = release.table.to_pandas().merge(original[["trace", "id"]], on="trace", validate="one_to_one")
    return int(released.groupby(KNOWN, dropna=False)["id"].nunique().min())


METHODS = [
    shoal.Generalize(suppression_limit=0.3),
    shoal.Generalize(suppression_limit=0.3, cells=True),
    shoal.methods.Iterate(suppression_limit=0.3),
    shoal.methods.Specialize(suppression_limit=0.3),
    shoal.methods.Mondrian(suppression_limit=0.3, relaxed=True),
    shoal.methods.Subtree(suppression_limit=0.3),
    shoal.methods.Mdav(),
    shoal.methods.VMdav(),
    shoal.methods.TMicroaggregate(),
    shoal.methods.TMicroaggregate(form="generalized"),
    shoal.methods.Suppress(),
]
CROWD, EXCHANGE = shoal.KAnonymity(3), shoal.models.ProbabilisticKAnonymity(3)
#: methods that release quasi-identifiers as they are, several tables, or sets of columns, with what they promise
OTHERS = [
    (shoal.methods.Mdav(groups=[["age", "sex"], ["zip"]]), [CROWD, shoal.DistinctLDiversity("ill", 2)]),
    (shoal.methods.TMicroaggregate(form="anatomy"), [CROWD, shoal.TCloseness("ill", 0.3)]),
    (shoal.methods.Anatomy(), [CROWD, shoal.DistinctLDiversity("ill", 2)]),
    (shoal.methods.Bucketize(), [CROWD, shoal.models.MultiplicativeCloseness("ill", 3)]),
    (shoal.methods.Bucketize(form="permuted"), [CROWD, shoal.models.MultiplicativeCloseness("ill", 3)]),
    (shoal.methods.Swap(), [EXCHANGE, shoal.DistinctLDiversity("ill", 2)]),
    (shoal.methods.IndividualRankingSwap(), [shoal.models.ProbabilisticKAnonymity(4)]),
    (shoal.methods.Slice(groups=[["age", "sex", "ill"], ["zip", "trace"]]), [CROWD]),
    (shoal.methods.Slice(groups=[["age", "sex", "ill"], ["zip", "trace"]], inner="swap"), [EXCHANGE]),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_release_hides_everybody_among_k_persons_and_verifies(method: shoal.Method, tmp_path: Path) -> None:
    frame = visits(1)
    table = shoal.read(frame).with_schema(described())
    release = shoal.anonymize(table, shoal.KAnonymity(5), shoal.DistinctLDiversity("ill", 2), method=method)
    found = fewest(release, frame)
    assert found >= 5
    folder = release.write(tmp_path / "release")
    assert shoal.verify(folder).passed
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    (step,) = (each for each in certificate["steps"] if each["step"] == "counted")
    assert step["fewest"] == found
    assert {promise["unit"] for promise in certificate["promises"]} == {"person"}
    assert f"{certificate['promises'][0]['parameters']['k']} persons" in certificate["promises"][0]["statement"]
    assert release.after.fewest == found
    assert release.after.prosecutor == pytest.approx(1 / found)


def test_the_laboratory_case_warns_without_the_role_and_keeps_k_persons_with_it() -> None:
    frame = visits(3, records=2000, persons=90)
    promise, method = shoal.KAnonymity(5), shoal.Generalize(suppression_limit=0.1)
    rows = shoal.anonymize(shoal.read(frame).with_schema(described(Role.IDENTIFIER)), promise, method=method)
    assert fewest(rows, frame) < 5, "counting records, some crowds are not crowds"
    (warning,) = (event.describe() for event in rows.guarantee.events if event.name == "repeated")
    assert warning.startswith(
        "Column `id` (89 different values) repeats in 2,000 records. If it says whose a record is"
    )
    gaps = shoal.read(frame.assign(id=frame["id"].where(frame.index >= 50)))  # 50 records are left out: not counted
    few = shoal.anonymize(gaps.with_schema(described(Role.IDENTIFIER, missing="drop")), promise, method=method)
    (warning,) = (event.describe() for event in few.guarantee.events if event.name == "repeated")
    assert " repeats in 1,950 records" in warning
    (note,) = shoal.assess(shoal.read(frame).with_schema(described(Role.IDENTIFIER))).notes
    assert note.startswith("Column `id` repeats: 89 different values in 2,000 records. If it says whose a record is")
    persons = shoal.anonymize(shoal.read(frame).with_schema(described()), promise, method=method)
    assert fewest(persons, frame) >= 5
    assert not [event for event in persons.guarantee.events if event.name == "repeated"]


def test_votes_are_one_per_person_in_a_released_class() -> None:
    frame = visits(4)
    table = shoal.read(frame).with_schema(described())
    release = shoal.anonymize(table, shoal.KAnonymity(3), shoal.TCloseness("ill", 0.3), method=METHODS[0])
    released = release.table.to_pandas().merge(frame[["trace", "id"]], on="trace")
    votes = []
    for _, of_class in released.groupby(KNOWN):
        mine = of_class.groupby("id")["ill"].value_counts()
        each = mine.groupby("id").transform("sum")
        votes.append(
            {
                ill: sum(
                    (
                        Fraction(int(count), int(of))
                        for (_, value), count, of in zip(mine.index, mine, each, strict=True)
                        if value == ill
                    ),
                    Fraction(0),
                )
                for ill in ("cold", "flu", "burn")
            }
        )
    everybody = sum((sum(vote.values()) for vote in votes), Fraction(0))
    reference = {ill: sum((vote[ill] for vote in votes), Fraction(0)) / everybody for ill in ("cold", "flu", "burn")}
    for vote in votes:
        distance = sum(abs(vote[ill] / sum(vote.values()) - reference[ill]) for ill in reference) / 2
        assert distance <= Fraction(3, 10)


def test_a_person_column_without_repeats_is_the_same_as_none() -> None:
    frame = visits(5).assign(id=lambda found: found["trace"])
    with_role = shoal.anonymize(shoal.read(frame).with_schema(described()), shoal.KAnonymity(5))
    without = shoal.anonymize(shoal.read(frame).with_schema(described(Role.IDENTIFIER)), shoal.KAnonymity(5))
    assert with_role.table.to_arrow().equals(without.table.to_arrow())
    assert with_role.measures == without.measures
    assert any("each of the" in event.describe() for event in with_role.guarantee.events)


def test_one_person_with_half_of_all_records_is_one_person() -> None:
    frame = visits(6)
    frame.loc[frame.index[::2], ["id", "age", "sex", "zip"]] = ["P9999", 50, "m", "11"]
    table = shoal.read(frame).with_schema(described())
    release = shoal.anonymize(table, shoal.KAnonymity(5), method=shoal.Generalize(suppression_limit=0.9))
    assert fewest(release, frame) >= 5


def test_more_persons_than_there_are_cannot_be_promised() -> None:
    table = shoal.read(visits(7, persons=4)).with_schema(described())
    with pytest.raises(ParameterError, match="requires classes of 5 persons; the table has 4"):
        shoal.anonymize(table, shoal.KAnonymity(5))


def test_what_counts_records_is_refused_where_persons_repeat() -> None:
    table = shoal.read(visits(8)).with_schema(described())
    with pytest.raises((ParameterError, RequirementError), match="persons"):
        shoal.anonymize(table, shoal.models.KMAnonymity(2, 2))
    with pytest.raises(ParameterError, match="counts records"):
        shoal.anonymize(table, shoal.methods.classes.KWildcards(2), method=shoal.methods.Suppress())


@pytest.mark.parametrize(("method", "promises"), OTHERS, ids=repr)
def test_other_forms_of_a_release_count_persons_and_verify(
    method: shoal.Method, promises: list[shoal.Model], tmp_path: Path
) -> None:
    table = shoal.read(visits(8, persons=80)).with_schema(described())
    release = shoal.anonymize(table, *promises, method=method)
    folder = release.write(tmp_path / "release")
    verification = shoal.verify(folder)
    assert verification.passed, str(verification)
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    assert "person" in {promise["unit"] for promise in certificate["promises"]}
    steps = [each for each in certificate["steps"] if each["step"] == "counted"]
    assert min(step.get("hidden", step["fewest"]) for step in steps if step.get("columns") != KNOWN) >= 3
    assert all(("hidden" in step) == method.shows_members for step in steps)


def test_nobody_has_more_than_a_share_of_a_class_that_shows_who_is_in_it() -> None:
    frame = visits(8, persons=80)
    release = shoal.anonymize(shoal.read(frame).with_schema(described()), CROWD, method=shoal.methods.Anatomy())
    people, values = (part.table.to_pandas() for part in release.parts)
    traced = values.merge(frame[["trace", "id"]], on="trace", validate="one_to_one")
    held = traced.groupby(["class", "id"]).size().groupby("class").max()
    sizes = people.groupby("class").size()
    assert (held * 3 <= sizes[held.index]).all()
    assert release.after.prosecutor >= (held / sizes[held.index]).max()


@pytest.mark.parametrize("promise", [shoal.models.KMap(9), shoal.models.DeltaPresence(0, Fraction(2, 3))], ids=repr)
def test_a_population_counts_every_person_once(promise: shoal.Model, tmp_path: Path) -> None:
    """Those of the table, and as many others who look like them, each with several records."""
    frame = visits(5)
    others = visits(6).assign(id=lambda each: "Q" + each["id"])
    everybody = pd.concat([frame, others], ignore_index=True)
    table = shoal.read(frame).with_schema(described())
    plan = shoal.Plan(schema=described(), models=(promise,), method=shoal.Generalize(suppression_limit=0.4))
    release = plan.run(table, population=shoal.read(everybody[["id", *KNOWN]]))
    released = release.table.to_pandas().merge(frame[["trace", "id"]], on="trace", validate="one_to_one")
    width = {int(high) - int(low) for low, high in (label[1:-1].split(", ") for label in set(released["age"]))}
    (years,) = width
    wide = everybody.assign(
        age=[f"[{age // years * years}, {age // years * years + years})" for age in everybody["age"]]
    )
    town = {len(label.rstrip("*")) for label in released["zip"]}
    (digits,) = town
    wide["zip"] = wide["zip"].str[:digits] + "*" * (2 - digits)
    fit = wide.groupby(KNOWN)["id"].nunique()
    own = released.groupby(KNOWN)["id"].nunique()
    records = wide.groupby(KNOWN).size()
    assert (records[own.index] > fit[own.index]).any()
    if isinstance(promise, shoal.models.KMap):
        assert fit[own.index].min() >= 9
    else:
        assert (own * 3 <= fit[own.index] * 2).all()
    assert shoal.verify(release.write(tmp_path / "release")).passed


def test_a_person_with_too_many_records_to_be_hidden_is_told() -> None:
    frame = visits(6)
    frame.loc[frame.index[::2], "id"] = "P9999"
    with pytest.raises(RequirementError, match="one person has 150 of the 300 records, more than one in 3"):
        shoal.anonymize(shoal.read(frame).with_schema(described()), CROWD, method=shoal.methods.Anatomy())


def test_a_pseudonym_that_links_the_records_of_a_person_is_refused() -> None:
    table = shoal.read(visits(9)).with_schema(described(pseudonym=True))
    with pytest.raises(ShoalError, match="would link"):
        shoal.anonymize(table, shoal.KAnonymity(2), pseudonym_key=b"0123456789abcdef")


@pytest.mark.parametrize(
    ("seed", "method"),
    [
        *((seed, shoal.Generalize(links="kept", suppression_limit=0.5)) for seed in (11, 12, 13)),
        (11, shoal.methods.Specialize(links="kept", suppression_limit=0.5)),
        (12, shoal.methods.Mondrian(links="kept", suppression_limit=0.5)),
        (13, shoal.methods.Iterate(links="kept", suppression_limit=0.5)),
        (12, shoal.methods.Subtree(links="kept", suppression_limit=0.5)),
    ],
    ids=repr,
)
def test_kept_links_let_k_persons_share_all_their_records(seed: int, method: shoal.Method, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    lengths = draw.integers(1, 4, 80)
    frame = visits(seed, records=int(lengths.sum()), persons=80).assign(
        id=np.repeat([f"P{i}" for i in range(80)], lengths)
    )
    frame["age"] = np.repeat(draw.integers(20, 60, 80), lengths)
    frame["sex"] = np.repeat(draw.choice(["f", "m"], 80), lengths)
    table = shoal.read(frame).with_schema(described(pseudonym=True))
    release = shoal.anonymize(table, shoal.KAnonymity(3), method=method, pseudonym_key=b"0123456789abcdef")
    released = release.table.to_pandas()
    together = released.groupby("id").apply(lambda own: tuple(sorted(map(tuple, own[KNOWN].to_numpy()))))
    assert together.value_counts().min() >= 3
    whole = frame.merge(released[["trace"]], on="trace").groupby("id").size()
    assert (whole == frame.groupby("id").size()[whole.index]).all(), "suppression removes persons, not records"
    folder = release.write(tmp_path / "release")
    verification = shoal.verify(folder)
    assert verification.passed, str(verification)
    content = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    assert "All records of a person together" in content["promises"][0]["statement"]


def test_kept_links_need_a_pseudonym_and_a_promise_about_crowds() -> None:
    table = shoal.read(visits(9)).with_schema(described())
    with pytest.raises(ShoalError, match="needs a column with role") as raised:
        shoal.anonymize(table, shoal.TCloseness("ill", 0.3), method=shoal.Generalize(links="kept"))
    assert "says nothing about linked records" in str(raised.value)


@pytest.mark.parametrize("method", [shoal.Generalize(suppression_limit=0.3), shoal.methods.Mdav()], ids=repr)
def test_the_risk_of_persons_is_told_before_and_after(method: shoal.Method) -> None:
    frame = visits(14)
    release = shoal.anonymize(shoal.read(frame).with_schema(described()), shoal.KAnonymity(5), method=method)
    released = release.table.to_pandas().merge(frame[["trace", "id"]], on="trace")
    assert release.people is not None
    for found, records in zip(release.people, (frame, released), strict=True):
        records = records.assign(label=records.groupby(KNOWN).ngroup())
        crowds = records.groupby("label")["id"].nunique()
        places = records.drop_duplicates(["label", "id"])
        missed = (1 - 1 / places["label"].map(crowds)).groupby(places["id"]).prod()
        together = records.groupby("id")["label"].agg(lambda own: tuple(sorted(own)))
        assert found.persons.number == records["id"].nunique()
        assert found.persons.highest == pytest.approx((1 - missed).max())
        assert found.persons.mean == pytest.approx((1 - missed).mean())
        assert found.trajectories == (together.value_counts() == 1).sum()
    text = str(release)
    assert "Risk of a person          before      after" in text
    assert "unique if linked" in text
