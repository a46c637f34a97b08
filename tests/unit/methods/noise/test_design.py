from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from shoal.guarantees import budget
from shoal.methods.noise._design import Clustered, ConceptsDrawn, Noised

NOISED = Noised(
    column="age",
    target="original",
    share=Fraction(1, 2),
    clusters=4,
    width=Fraction(100),
    sizes=(5,),
    natural_order=False,
    rounded_to=Fraction(1, 10),
)
DRAWN = ConceptsDrawn(
    column="town",
    target="original",
    share=Fraction(1, 2),
    clusters=4,
    concepts=9,
    missing=True,
    sensitivity=Fraction(3, 4),
    choice=Fraction(1, 8),
)


def test_what_columns_spend_adds_up() -> None:
    assert budget([NOISED, DRAWN]).epsilon == 1
    assert NOISED.to_json()["epsilon_spent"] == "1/2"


def test_a_query_for_one_record_is_no_budget_of_the_release() -> None:
    events = [replace(each, target="record-query") for each in (NOISED, DRAWN)]
    assert budget(events).epsilon == 0
    for event in events:
        assert "epsilon_spent" not in event.to_json()
        assert "for the query of one record" in event.describe()


def test_noise_is_described_with_its_scale_and_domain() -> None:
    # 4 clusters of 5 over epsilon 1/2
    assert NOISED.scale(5) == pytest.approx(4 * 100 / 5 / 0.5, rel=1e-6)
    assert "scale 160 to the means of `age`, whose domain is 100 wide (epsilon 0.5)" in NOISED.describe()
    days = replace(NOISED, unit="days", target="partition", sizes=(5, 8))
    assert "scale 25 to 40 days" in days.describe()


def test_every_size_of_a_public_partition_has_its_own_noise() -> None:
    noise = replace(NOISED, target="partition", sizes=(5, 8)).to_json()["noise"]
    assert [entry["size"] for entry in noise] == [5, 8]
    assert noise[0]["scale"] / noise[1]["scale"] == pytest.approx(8 / 5)


def test_choices_say_whether_missing_is_one_of_them() -> None:
    assert "9 concepts of `town` (missing is one)" in DRAWN.describe()
    assert "missing" not in replace(DRAWN, missing=False).describe()
    assert "0.125 for each" in DRAWN.describe()


def test_clusters_are_described_with_their_variant() -> None:
    event = Clustered(
        target="partition",
        variant="MDAV+DP",
        columns=("age", "town"),
        clustering="mdav",
        records=21,
        k=5,
        sizes=((5, 3), (6, 1)),
        file="data.parquet",
    )
    assert event.describe() == (
        "Grouped the records into 4 clusters of at least 5 by `age`, `town`, by their distance, with `mdav` (MDAV+DP)."
    )
    assert event.to_json()["sizes"] == [[5, 3], [6, 1]]
