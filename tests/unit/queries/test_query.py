"""What an answer looks like on a screen."""

from __future__ import annotations

import pytest

from shoal.queries import Accuracy, Answer, Loss


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3574, "3,574"),
        (4.6979435897435895, "4.69794"),
        (1234567.89, "1,234,568"),
        ("M", "M"),
        ({"F": 1200, "M": 3.25}, "F: 1,200, M: 3.25"),
    ],
)
def test_numbers_are_shown_with_six_digits_and_kept_whole(value: object, shown: str) -> None:
    answer = Answer(
        value=value,  # type: ignore[arg-type]
        accuracy=Accuracy(statement="within 3 of the true value (95% confidence)"),
        cost=Loss.of(1),
        spent=Loss.of(1),
        left=Loss.of(2),
        query="count",
        entry=1,
    )
    lines = str(answer).splitlines()
    assert lines[1].strip() == shown
    assert lines[3].strip() == "cost epsilon 1; spent epsilon 1; left epsilon 2"
    assert answer.to_json()["value"] == value
