"""Lists of names on one screen say how many names they leave out."""

from __future__ import annotations

import pytest

from shoal.cli._draft import _names


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_names_with_commas_are_counted_once(rows: int) -> None:
    names = [f"2016 vote: somebody, of party {number}" for number in range(29)]
    lines = _names(names, rows)
    assert len(lines) <= rows
    text = " ".join(lines)
    left = int(text.removesuffix(" more").rpartition(" ")[2])
    assert 0 < left < 29
    assert sum(f"party {number}" in text.replace("...", "") for number in range(29 - left)) == 29 - left
    assert f"party {29 - left}" not in text


def test_few_names_are_all_there() -> None:
    assert _names(["a, b", "c"], 1) == ["a, b, c"]
