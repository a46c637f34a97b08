"""Write down what the golden releases are today, or show how they differ from what they were.

Run from the project's folder::

    python tests/golden/regenerate.py                    # rewrite hashes.json
    python tests/golden/regenerate.py --keep before      # the same, and keep the full texts in the folder `before`
    python tests/golden/regenerate.py --diff before      # rewrite nothing; print how today differs from `before`
    python tests/golden/regenerate.py --diff before mdav # only cases whose name contains a word

Texts are kept, never committed: they are long, and git already has what makes them.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).parent
if str(HERE.parent) not in sys.path:
    sys.path.insert(0, str(HERE.parent))
if platform.machine() in ("x86_64", "AMD64"):  # as in tests/conftest.py
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

from golden.artefacts import artefacts  # noqa: E402 - the tests are not installed
from golden.cases import CASES  # noqa: E402

HASHES = HERE / "hashes.json"


def hashed(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the SHA-256 of every artefact."""
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sorted(texts.items())}


def known() -> dict[str, dict[str, str]]:
    """Return the committed hashes, by case and artefact."""
    return json.loads(HASHES.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def folder_of(case: str) -> str:
    """Return the name of the folder that keeps the texts of a case."""
    return case.replace(", ", "--").replace(" ", "-")


def differences(case: str, texts: Mapping[str, str], kept: Path) -> Iterator[str]:
    """Compare the artefacts of a case with those in a folder, line by line."""
    old = {path.relative_to(kept).as_posix(): path for path in kept.rglob("*") if path.is_file()}
    for name in sorted({*old, *texts}):
        before = old[name].read_text(encoding="utf-8").splitlines() if name in old else []
        after = texts.get(name, "").splitlines()
        yield from difflib.unified_diff(before, after, f"{case}: {name}", f"{case}: {name}", lineterm="", n=1)


def main() -> None:
    """Read the command line and do what it asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the full texts to DIR")
    parser.add_argument("--diff", type=Path, metavar="DIR", help="compare with the full texts in DIR; change nothing")
    asked = parser.parse_args()
    chosen = [name for name in CASES if not asked.words or any(word in name for word in asked.words)]
    found = {name: value for name, value in known().items() if name in CASES} if HASHES.exists() else {}
    for case in chosen:
        texts = artefacts(CASES[case])
        found[case] = hashed(texts)
        if asked.diff is not None:
            sys.stdout.writelines(f"{line}\n" for line in differences(case, texts, asked.diff / folder_of(case)))
        for name, text in texts.items() if asked.keep is not None else ():
            path = asked.keep / folder_of(case) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if asked.diff is None:
        ordered = {name: found[name] for name in CASES if name in found}
        HASHES.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
