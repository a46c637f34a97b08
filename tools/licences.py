"""Print a table of all packages that Shoal brings along: what for, their licence and status, as they are installed.

``licences.py > docs/reference/dependencies.md`` writes the page.
"""

from __future__ import annotations

from importlib.metadata import distribution

from constraints import needed
from packaging.requirements import Requirement

EXTRAS = ("spark", "postgres", "learn", "files", "web", "noise", "sign", "accounting", "vault")
HEADER = """\
# Dependencies

Everything that `pip install shoal` and its extras bring along, as installed when this page was made by
`python tools/licences.py`; the extras are not installed unless asked for. Licences and status are what the authors
state. All licences are permissive except those of `python-flint` and `python-stdnum` (LGPL), used as they are.

| package | version | licence | comes with | status |
|---|---|---|---|---|"""
# what the long texts and classifiers of licences are called in short
_SHORT = {
    "apache": "Apache-2.0", "mit": "MIT", "bsd": "BSD", "lgpl": "LGPL", "lesser": "LGPL", "mpl": "MPL-2.0",
    "mozilla": "MPL-2.0", "psf": "PSF-2.0", "python software": "PSF-2.0", "isc": "ISC",
}  # fmt: skip


def licence(name: str) -> str:
    """Return the licence of an installed package, as its metadata state it."""
    about = distribution(name).metadata
    if expression := about.get("License-Expression"):
        return str(expression)
    classified = [each.rpartition(":: ")[2] for each in about.get_all("Classifier") or [] if "License ::" in each]
    for text in (*classified, str(about.get("License") or "").partition("\n")[0]):
        for word, short in _SHORT.items():
            if word in text.lower():
                return short
    files = [str(each) for each in distribution(name).files or [] if "licen" in str(each).lower()]
    return f"see `{files[0]}`" if files else "not stated"


def status(name: str) -> str:
    """Return how far its authors call a package."""
    classified = distribution(name).metadata.get_all("Classifier") or []
    return next((each.rpartition(" - ")[2] for each in classified if each.startswith("Development Status")), "")


def main() -> None:
    """Print the table."""
    extras: dict[str, list[str]] = {}
    versions: dict[str, str] = {}
    for extra in (None, *EXTRAS):
        found: dict[str, str] = {}
        needed(Requirement("shoal" if extra is None else f"shoal[{extra}]"), found)
        versions |= found
        for name in found:
            if extra is None or "shoal" not in extras.get(name, []):
                extras.setdefault(name, []).append("shoal" if extra is None else f"`{extra}`")
    print(HEADER)
    for name in sorted(set(versions) - {"shoal"}):
        where = ", ".join(extras[name])
        print(f"| {name} | {versions[name]} | {licence(name)} | {where} | {status(name)} |")


if __name__ == "__main__":
    main()
