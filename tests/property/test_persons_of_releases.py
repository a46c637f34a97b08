"""Whole releases of small random tables of persons, judged with pandas: slices, and differential privacy.

Records are traced by columns that a test alone would release. The checkers must fail for broken twins.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal import tables
from shoal.errors import RequirementError
from shoal.schema import Attribute, Domain, Groups, Intervals, Schema

KNOWN = "quasi-identifier"
AGE = Attribute(
    name="age", role=KNOWN, kind="numeric", domain=Domain(minimum=0, maximum=39), hierarchy=Intervals(widths=(10, 20))
)
TOWN = Attribute(name="town", role=KNOWN, hierarchy=Groups(levels=((("north", ("a", "b")), ("south", ("c", "d"))),)))


def drawn(seed: int) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    records, people = int(draw.integers(12, 60)), int(draw.integers(4, 16))
    shares = 1 / np.arange(1, people + 1)
    who = draw.choice(people, records, p=shares / shares.sum())
    frame = pd.DataFrame(
        {"who": [f"p{each}" for each in who], "age": (who * 7) % 40, "town": draw.choice(list("abcd"), records)}
    )
    return frame.assign(ill=draw.choice(["flu", "burn"], records), one=range(records), two=range(records))


# -- slices

SLICED = Schema(
    attributes=(
        Attribute(name="who", role="person"),
        AGE,
        TOWN,
        Attribute(name="ill", role="sensitive"),
        Attribute(name="one", role="insensitive", kind="numeric"),
        Attribute(name="two", role="insensitive", kind="numeric"),
    )
)
CUT = (("age", "ill", "one"), ("town", "two"))


def crowds_of_slices(inner: str) -> Iterator[tuple[int, list[int]]]:
    """Yield k and the fewest persons of a class in every slice of one table after the other."""
    for seed in range(8):
        frame, k = drawn(seed), 2 + seed % 3
        method = shoal.methods.Slice(
            groups=CUT, inner=inner, options={"suppression_limit": 1} if inner != "mdav" else {}
        )
        try:
            release = shoal.anonymize(shoal.read(frame).with_schema(SLICED), shoal.KAnonymity(k), method=method)
        except RequirementError:
            continue
        fewest = []
        for part, (known, *_, trace) in zip(release.parts, CUT, strict=True):
            seen = part.table.to_pandas().merge(frame[["who", trace]], on=trace, validate="one_to_one")
            fewest.append(int(seen.groupby(known, dropna=False)["who"].nunique().min()) if len(seen) else k)
        yield k, fewest


@pytest.mark.slow
@pytest.mark.parametrize("inner", ["generalize", "mdav"])
def test_every_slice_hides_everybody_among_k_persons(inner: str) -> None:
    found = [*crowds_of_slices(inner)]
    assert len(found) > 4
    assert all(min(fewest) >= k for k, fewest in found)


def test_the_count_of_slices_finds_slices_that_count_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.methods.classes._slice._whose", lambda schema: ())
    assert any(min(fewest) < k for k, fewest in crowds_of_slices("generalize"))


# -- differential privacy: all records of a person are in one class, so that a release shows how many were used

OPEN = Schema(
    attributes=(
        Attribute(name="who", role="person"),
        Attribute(name="ward", role=KNOWN, domain=Domain(values=("a", "b"))),
        Attribute(name="ill", role="sensitive", domain=Domain(values=("flu",))),
    )
)


def used(seed: int, operator: str) -> tuple[shoal.Release, pd.Series, pd.Series]:
    """Return a release, the most records of every ward that may be used, and those that it shows."""
    draw = np.random.default_rng(seed)
    records, people = int(draw.integers(1, 4)), 1000
    own = draw.integers(1, 12, people)
    frame = pd.DataFrame({"who": np.repeat(np.arange(people), own).astype(str)})
    frame = frame.assign(ward=np.where(np.repeat(np.arange(people) % 2, own), "a", "b"), ill="flu")
    asked = shoal.DifferentialPrivacy(epsilon=4, delta=0.05, records_per_person=records)
    method = shoal.methods.Truthful(operator=operator, levels={"ward": 0, "ill": 0})  # type: ignore[arg-type]
    release = shoal.anonymize(shoal.read(frame).with_schema(OPEN), asked, method=method)
    most = frame.groupby(["ward", "who"]).size().clip(upper=records).groupby("ward").sum()
    return release, most, release.table.to_pandas().groupby("ward").size()


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["trim", "sampling"])
def test_nobody_has_more_records_in_a_private_release_than_was_declared(operator: str) -> None:
    shown = 0
    for seed in range(5):
        release, most, found = used(seed, operator)
        assert release.private is not None
        assert release.private.records == most.sum()
        assert (found <= most[found.index]).all()
        shown += int(found.sum())
    assert shown > 100


def test_the_count_of_a_private_release_finds_one_that_uses_all_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "at_most", lambda table, person, records, secret: table)
    broken = [used(seed, "trim") for seed in range(3)]
    assert all((found > most[found.index]).any() for _, most, found in broken)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_kept_of_a_person_is_drawn_from_that_persons_records_and_the_same_among_others(seed: int) -> None:
    frame, draw = drawn(seed), np.random.default_rng(seed)
    records, secret = int(draw.integers(1, 6)), draw.bytes(32)
    kept = tables.at_most(shoal.read(frame), "who", records, secret).to_pandas()
    own = frame.groupby("who").size()
    assert kept.groupby("who").size().to_dict() == own.clip(upper=records).to_dict()
    assert kept["one"].is_unique
    assert kept.merge(frame, on=["who", "one"], suffixes=("", "_again")).shape[0] == len(kept)
    crowd = pd.concat([frame, drawn(seed + 1000).assign(who=lambda each: "x" + each["who"])], ignore_index=True)
    beside = tables.at_most(shoal.read(crowd), "who", records, secret).to_pandas()
    beside = beside[beside["who"].isin(own.index)]
    assert sorted(zip(beside["who"], beside["one"], strict=True)) == sorted(zip(kept["who"], kept["one"], strict=True))
