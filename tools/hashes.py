"""Print requirements with the hashes of their files, for pip's ``--require-hashes``, as the package index states them.

``hashes.py container`` lists what the image of the Containerfile installs, in the versions of constraints.txt, as
wheels for Linux and for any system; ``hashes.py build`` lists what builds a wheel, in the newest versions.
"""

from __future__ import annotations

import os
import re
import sys
import urllib.request
from pathlib import Path

from constraints import needed
from packaging.requirements import Requirement
from packaging.version import Version
from pip._internal.models.index import PyPI  # the index that pip uses by default

HEADER = "# Made by `python tools/hashes.py {what}`: versions and hashes of all that {use}."
USES = {"container": "the image of the Containerfile installs", "build": "builds a wheel"}
EXTRAS = "vault,web,sign,postgres"
BUILD = ("build", "packaging", "pyproject-hooks", "setuptools")
_WHEELS = re.compile(r"-(py2\.)?(py3|cp3\d+)-(none|abi3|cp31[1-4])-(any|.*manylinux.*_(x86_64|aarch64).*)\.whl$")


def files_of(name: str) -> dict[str, str]:
    """Return the SHA-256 of the files of a package that were not withdrawn, by their names."""
    index = os.environ.get("PIP_INDEX_URL", PyPI.simple_url).rstrip("/")
    asked = urllib.request.Request(f"{index}/{name}/", headers={"Accept": "text/html"})  # noqa: S310
    with urllib.request.urlopen(asked) as answer:  # noqa: S310
        links = re.findall(r"<a ([^>]*#sha256=([0-9a-f]{64})[^>]*)>([^<]+)</a>", answer.read().decode())
    return {file: digest for about, digest, file in links if "data-yanked" not in about}


def pinned(name: str, version: str | None) -> str:
    """Return the requirement of one version, the newest by default, with a hash per wheel."""
    hashes: dict[str, list[str]] = {}
    for file, digest in files_of(name).items():
        if _WHEELS.search(file):
            hashes.setdefault(file.split("-")[1], []).append(digest)
    chosen = version or str(max(each for each in map(Version, hashes) if not each.is_prerelease))
    if chosen not in hashes:
        sys.exit(f"the index has no wheel of {name} {chosen}")
    return " \\\n".join([f"{name}=={chosen}", *(f"    --hash=sha256:{each}" for each in sorted(hashes[chosen]))])


def main(what: str) -> None:
    """Print them."""
    print(HEADER.format(what=what, use=USES[what]))
    if what == "build":
        versions: dict[str, str | None] = dict.fromkeys(BUILD)
    else:
        known: dict[str, str] = {}
        needed(Requirement(f"shoal[{EXTRAS}]"), known)
        lines = (Path(__file__).parents[1] / "constraints.txt").read_text("utf-8").splitlines()
        tested = dict(line.split("==") for line in lines if "==" in line)
        versions = {name: tested.get(name, known[name]) for name in sorted(known) if name != "shoal"}
    for name, version in versions.items():
        print(pinned(name, version))


if __name__ == "__main__":
    main(sys.argv[1])
