"""README and the first page of the documentation list the extras that an installation offers, and the same ones."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOR_DEVELOPERS = {"check", "docs", "test"}


def _listed(page: str) -> dict[str, str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    table = text[text.index("| extra | adds |") :].partition("\n\n")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE))


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_every_extra_for_users_is_listed(page: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(_listed(page)) == set(project["optional-dependencies"]) - FOR_DEVELOPERS


def test_both_pages_describe_extras_in_the_same_words() -> None:
    assert _listed("README.md") == _listed("docs/index.md")
