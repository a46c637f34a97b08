"""Print the versions of all that Shoal needs, with the extras that are tested, in this environment, for pip."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HEADER = """\
# The versions with which the tests were run (Python {python}, {platform}), of Shoal with {extras}:
#   pip install --constraint constraints.txt shoal
# `make constraints` runs all tests and writes them again."""


def needed(requirement: Requirement, found: dict[str, str]) -> None:
    """Collect the version of a package and of all that it needs here, as far as it is installed."""
    name = canonicalize_name(requirement.name)
    try:
        package = distribution(requirement.name)
    except PackageNotFoundError:
        print(f"{name} is not installed", file=sys.stderr)
        return
    known = found.get(name) is not None
    found[name] = package.version
    for each in map(Requirement, package.requires or ()):
        wanted = [extra for extra in ("", *requirement.extras) if each.marker is None or _holds(each, extra)]
        if any(extra or not known for extra in wanted):
            needed(each, found)


def _holds(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def main() -> None:
    """Print them."""
    tested = [each for each in map(Requirement, distribution("shoal").requires or ()) if each.name == "shoal"]
    extras = sorted({extra for each in tested if _holds(each, "test") for extra in each.extras})
    found: dict[str, str] = {}
    needed(Requirement(f"shoal[{','.join(extras)}]"), found)
    del found["shoal"]
    version = ".".join(map(str, sys.version_info[:2]))
    print(HEADER.format(python=version, platform=sys.platform, extras=", ".join(extras)))
    for name, each in sorted(found.items()):
        print(f"{name}=={each}")


if __name__ == "__main__":
    main()
