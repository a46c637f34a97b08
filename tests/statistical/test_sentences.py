"""What promises say of records that are found and of values that stay, beside what was measured on releases."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal import Attribute, Schema

RECORDS, K = 2_000, 5
#: fewer than one in a million of honest shares lie farther from what is expected
DEVIATIONS = 5


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Shares of a release of records whose ages are all different."""

    #: of the values that are those of the record that shows them
    own: float
    #: of the records of which a guess that knows the class, and nothing else, finds the one of a person
    found: float


def _table(values: Sequence[int]) -> shoal.Table:
    rows = {"age": [*range(RECORDS)], "pay": [*values]}
    attributes = (
        Attribute(name="age", role="quasi-identifier", kind="numeric"),
        Attribute(name="pay", role="sensitive", kind="numeric"),
    )
    return shoal.read(pa.table(rows), schema=Schema(attributes=attributes))


def _measure(release: Any, values: Sequence[int]) -> Measured:
    """Compare every released value with the one that the record of that age had."""
    rows = release.table.to_arrow().to_pylist()
    own = sum(int(row["pay"]) == values[int(row["age"])] for row in rows) / len(rows)
    return Measured(own=own, found=float(release.after.prosecutor))


METHODS = {"swap": shoal.methods.Swap(), "ir-swap": shoal.methods.IndividualRankingSwap()}


@pytest.mark.parametrize("method", METHODS)
def test_a_record_is_found_as_rarely_as_the_sentence_says(method: str) -> None:
    """Where all values differ, the share of values that stay is that of records found."""
    values = random.Random(3).sample(range(100_000), RECORDS)
    made = shoal.anonymize(_table(values), shoal.models.ProbabilisticKAnonymity(K), method=METHODS[method])
    said = re.search(r"at most 1/(\d+)", made.guarantee.promises[0].statement)
    assert said is not None
    bound = 1 / int(said[1])
    measured = _measure(made, values)
    assert measured.own <= bound + DEVIATIONS * math.sqrt(bound * (1 - bound) / RECORDS)
    assert measured.found <= bound


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("different", [3, 40, 400])
def test_the_share_of_values_that_stay_is_the_one_printed(method: str, different: int) -> None:
    """The sentence limits where values came from; how many are the person's own stands beside it, and is true."""
    draw = random.Random(different)
    values = [draw.randrange(different) for _ in range(RECORDS)]
    made = shoal.anonymize(_table(values), shoal.models.ProbabilisticKAnonymity(K), method=METHODS[method])
    (printed,) = made.result.own_values
    assert "not whether it is the person's own" in made.guarantee.promises[0].statement
    share = float(printed.mean)
    # records of a cluster keep theirs together: at most as if a cluster were one draw
    assert abs(_measure(made, values).own - share) <= DEVIATIONS * math.sqrt(share * (1 - share) / RECORDS) * K
    assert printed.mean >= Fraction(1, 2 * K - 1)
