"""Print a CycloneDX list of what an installed Shoal is made of: its dependencies, their versions and licences.

Run it in the environment that it is to describe.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

#: what the wheel itself holds that others wrote
BUNDLED: list[dict[str, Any]] = []


def needed(name: str, found: dict[str, Distribution]) -> None:
    """Collect a package and all that it needs, as far as it is installed."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in found:
        return
    try:
        found[key] = distribution(name)
    except PackageNotFoundError:  # an extra that is not installed
        return
    for requirement in found[key].requires or ():
        if "extra ==" not in requirement or key == "shoal":
            needed(re.split(r"[^\w.-]", requirement, maxsplit=1)[0], found)


def component(package: Distribution) -> dict[str, Any]:
    """Return one entry of the list."""
    about = package.metadata
    classified = [each.rpartition(" :: ")[2] for each in about.get_all("Classifier") or () if "License ::" in each]
    licence = about.get("License-Expression") or "; ".join(classified) or (about.get("License") or "")[:80] or "unknown"
    return {
        "type": "library",
        "name": about["Name"],
        "version": package.version,
        "purl": f"pkg:pypi/{about['Name'].lower()}@{package.version}",
        "licenses": [{"license": {"name": licence.splitlines()[0]}}],
    }


def main() -> None:
    """Print the list."""
    found: dict[str, Distribution] = {}
    needed("shoal", found)
    this = found.pop("shoal")
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(this)},
        "components": [*(component(found[name]) for name in sorted(found)), *BUNDLED],
    }
    print(json.dumps(content, indent=2))


if __name__ == "__main__":
    main()
