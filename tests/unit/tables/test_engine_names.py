from __future__ import annotations

import pytest

from shoal.errors import DataError
from shoal.tables._engine import check_names


def test_usual_names_pass() -> None:
    check_names(["age", "Größe", "a b", "select", 'with "quotes"'], "a.csv")


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(DataError) as caught:
        check_names(["a", "a", "B", "b", "b"], "x")
    assert caught.value.problems == (
        "x: column `a` appears 2 times",
        "x: column `b` appears 2 times",
        "x: columns `B` and `b` differ only in case",
    )


def test_a_very_long_name_is_not_shown() -> None:
    with pytest.raises(DataError) as caught:
        check_names(["a", "secret" * 100, "a"], "x")
    assert caught.value.problems == ("x: the name of column 2 is longer than 200 characters",)
