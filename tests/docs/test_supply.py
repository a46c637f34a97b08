"""What builds, publishes and installs Shoal is pinned: by digests of actions and by hashes of packages."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PINNED = sorted((ROOT / "tools").glob("hashed-*.txt"))


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_actions_are_pinned_by_digest(path: Path) -> None:
    used = re.findall(r"uses: *(\S+)", path.read_text("utf-8"))
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []


@pytest.mark.parametrize("path", PINNED, ids=lambda path: path.name)
def test_packages_are_pinned_by_hash(path: Path) -> None:
    listed = path.read_text("utf-8").replace("\\\n", "").splitlines()[1:]
    assert [line for line in listed if not re.fullmatch(r"[a-z0-9-]+==\S+( +--hash=sha256:[0-9a-f]{64})+", line)] == []


def test_the_container_installs_the_tested_versions_of_all_that_is_needed() -> None:
    tested = set(re.findall(r"^[a-z0-9-]+==\S+", (ROOT / "constraints.txt").read_text("utf-8"), re.M))
    listed = re.findall(r"^[a-z0-9-]+==\S+", (ROOT / "tools" / "hashed-container.txt").read_text("utf-8"), re.M)
    assert set(listed) <= tested
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    names = {re.split("[<>=]", each)[0] for each in needed}
    assert names <= {each.partition("==")[0] for each in listed}


def test_the_container_names_no_registry() -> None:
    images = re.findall(r"^FROM (\S+)", (ROOT / "Containerfile").read_text("utf-8"), re.M)
    assert images == ["python:3.13-slim"] * 2
