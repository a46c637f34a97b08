"""Groups of columns, and what their tables promise together."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import ParameterError
from shoal.guarantees import Strength, syntactic
from shoal.methods.classes import (
    Composition,
    LocalPrivacy,
    Slice,
    ViewPrivacy,
    associations,
    closeness_epsilon,
    group_columns,
)
from shoal.models import DeltaPresence, KAnonymity, KMAnonymity, MultiplicativeCloseness, PSensitive
from shoal.schema import Attribute, Flat, Role, Schema

SCHEMA = Schema(
    attributes=(
        Attribute(name="name", role=Role.IDENTIFIER),
        Attribute(name="age", role=Role.QUASI_IDENTIFIER),
        Attribute(name="zip", role=Role.QUASI_IDENTIFIER),
        Attribute(name="ill", role=Role.SENSITIVE),
        Attribute(name="pay", role=Role.SENSITIVE),
    )
)


def test_columns_that_go_together_are_found() -> None:
    draw = np.random.default_rng(1)
    first, second = draw.normal(size=3000), draw.integers(0, 5, 3000)
    numbers = np.argsort(np.argsort(first))
    codes = np.stack(
        [numbers, second, np.argsort(np.argsort(first + 0.3 * draw.normal(size=3000))), (second + 1) % 5], axis=1
    )
    strengths = associations(codes)
    assert strengths[0, 2] > 0.5
    assert strengths[1, 3] == pytest.approx(1.0, abs=0.01)
    assert strengths[0, 1] < 0.1
    assert group_columns(strengths, 2) == [[0, 2], [1, 3]]


def test_groups_have_at_most_so_many_columns_and_keep_together_what_must_be() -> None:
    strengths = np.full((6, 6), 0.5)
    assert all(len(group) <= 3 for group in group_columns(strengths, 3))
    kept = group_columns(np.eye(4), 2, together=[[0, 3]])
    assert [0, 3] in kept
    assert group_columns(np.eye(3), 3) == [[0], [1], [2]]


def test_a_constant_column_goes_with_none() -> None:
    assert associations(np.array([[0, 1], [0, 2], [0, 3]]))[0, 1] == 0.0


@pytest.mark.parametrize(
    ("groups", "word"),
    [
        ([["age", "ill"], ["zip"]], "leaves out `pay`"),
        ([["age", "ill", "name"], ["zip", "pay"]], "`name`"),
        ([["age", "ill"], ["zip", "ill", "pay"]], "twice"),
    ],
)
def test_groups_must_cover_every_column_once(groups: list[list[str]], word: str) -> None:
    assert any(word in problem for problem in Slice(groups=groups).problems(SCHEMA, (KAnonymity(2),)))


def test_a_promise_must_fit_into_a_group() -> None:
    method = Slice(groups=[["age", "ill"], ["zip", "pay"]])
    assert not method.problems(SCHEMA, (KAnonymity(2), MultiplicativeCloseness("ill", 2)))
    assert method.problems(SCHEMA, (PSensitive(("ill", "pay"), p=2, k=3),))
    assert method.problems(SCHEMA, (DeltaPresence(0, "0.5"),))


def test_slices_are_not_sliced_again() -> None:
    with pytest.raises(ParameterError, match="inner"):
        Slice(inner="slice")


def test_crowds_are_as_large_as_the_smallest_and_factors_multiply() -> None:
    parts = [
        [syntactic(KAnonymity(5)), syntactic(MultiplicativeCloseness("ill", 2))],
        [syntactic(KAnonymity(3)), syntactic(MultiplicativeCloseness("pay", "1.5"))],
    ]
    promise = Composition.of(parts, [["ill"], ["pay"]]).promise()
    assert promise.parameters["k"] == 3
    assert promise.parameters["t"] == 3
    assert promise.parameters["epsilon"] == closeness_epsilon(3)
    assert promise.strength is Strength.CONDITIONAL
    assert "1/3" in promise.statement


def test_a_table_without_a_promise_about_size_takes_it_from_all() -> None:
    parts = [[syntactic(KAnonymity(5))], [syntactic(MultiplicativeCloseness("pay", 2))]]
    assert "k" not in Composition.of(parts, [[], ["pay"]]).parameters()


def test_a_k_that_bounds_no_crowd_is_not_one() -> None:
    parts = [[syntactic(KMAnonymity(4, m=1))], [syntactic(KAnonymity(5))]]
    assert "k" not in Composition.of(parts, [[], []]).parameters()


def test_columns_that_are_close_one_by_one_are_not_close_together() -> None:
    parts = [
        [syntactic(KAnonymity(2)), *(syntactic(MultiplicativeCloseness(name, 2)) for name in ("ill", "pay"))],
        [syntactic(KAnonymity(2)), syntactic(MultiplicativeCloseness("job", 2))],
    ]
    assert "t" not in Composition.of(parts, [["ill", "pay"], ["job"]]).parameters()
    joint = [[*parts[0], ViewPrivacy(columns=("ill", "pay"), t=Fraction(3)).promise()], parts[1]]
    assert Composition.of(joint, [["ill", "pay"], ["job"]]).parameters()["t"] == 6


def test_a_confidential_column_without_a_promise_takes_closeness_from_all() -> None:
    parts = [[syntactic(KAnonymity(2)), syntactic(MultiplicativeCloseness("ill", 2))], [syntactic(KAnonymity(2))]]
    assert "t" not in Composition.of(parts, [["ill"], ["pay"]]).parameters()
    assert Composition.of(parts, [["ill"], []]).parameters()["t"] == 2


def test_epsilons_of_randomised_values_add() -> None:
    parts = [
        [syntactic(KAnonymity(2)), LocalPrivacy(columns=("ill",), epsilon=Fraction(1)).promise()],
        [syntactic(KAnonymity(2)), LocalPrivacy(columns=("pay",), epsilon=Fraction(1, 2)).promise()],
    ]
    assert Composition.of(parts, [["ill"], ["pay"]]).parameters()["local epsilon"] == 1.5


def test_promises_and_checks_say_which_table_they_are_about(tmp_path: Path) -> None:
    table = pa.table({"age": [30, 30, 40, 40], "illness": list("abab"), "zip": ["1", "1", "2", "2"]})
    schema = Schema(
        attributes=(
            Attribute(name="age", role=Role.QUASI_IDENTIFIER, hierarchy=Flat()),
            Attribute(name="illness", role=Role.SENSITIVE),
            Attribute(name="zip", role=Role.QUASI_IDENTIFIER, hierarchy=Flat()),
        )
    )
    method = Slice(groups=[["age", "illness"], ["zip"]])
    release = shoal.anonymize(shoal.read(table, schema=schema), KAnonymity(2), method=method)
    assert [promise.statement.split(":")[0] for promise in release.guarantee.promises[:2]] == [
        "In slice-1.parquet",
        "In slice-2.parquet",
    ]
    assert "Risk of the worst table   before      after" in str(release)
    release.write(tmp_path / "release")
    checked = [check.subject for check in shoal.verify(tmp_path / "release").checks]
    assert {"k-anonymity k = 2 of slice-1.parquet", "k-anonymity k = 2 of slice-2.parquet"} <= set(checked)
