"""Folders of strangers: real releases with files changed, added, exchanged and turned into other things.

The certificate is made to fit most of the changes, so that what lies behind the fingerprints is reached. Whatever the
folder, verification ends in a verdict within its time and memory, and shows nothing that lies outside.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from forgeries import forger
from golden import artefacts
from golden.cases import CASES
from reference import releases_of_others
from reference.limited import MEMORY, limited_verifier
from shoal.errors import ShoalError

from . import mutations
from .test_fuzz import CANARY, SEED, fuzz

#: cases whose releases have different files
SEEDS = ["generalize, files", "anatomy", "truthful, trim", "slice", "ir-swap"]
NAMES = [
    "data.parquet",
    "data.csv",
    "a\x1b[2Jb",
    "\u202egnp.exe",
    "x" * 255,
    "-rf",
    "a\nok   data: fine",
    "..data",
    "%00",
]


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("releases")
    (place / "series").mkdir()
    found = [releases_of_others.dataset(place / "dataset"), releases_of_others.series(place / "series")[-1]]
    for number, name in enumerate(SEEDS):
        (place / str(number)).mkdir()
        release, _ = artefacts.release(CASES[name], place / str(number))
        found.append(release.write(place / str(number) / "release", csv=CASES[name].csv))
    return found


def _text_file(chosen: random.Random, folder: Path) -> None:
    path = _any_file(chosen, folder, ".toml", ".csv", ".txt", ".html")
    path.write_text(mutations.text(chosen, path.read_text("utf-8")), "utf-8")


def _octets(chosen: random.Random, folder: Path) -> None:
    path = _any_file(chosen, folder)
    path.write_bytes(mutations.octets(chosen, path.read_bytes()))


def _certificate(chosen: random.Random, folder: Path) -> None:
    path = folder / "certificate.json"
    path.write_text(mutations.document(chosen, path.read_text("utf-8")), "utf-8")


def _bomb(chosen: random.Random, folder: Path) -> None:
    path = _any_file(chosen, folder)
    path.write_bytes(
        chosen.choice([b"[", b"a=[", b";", b"\n", b"9", b"\0", b"a.", b'"']) * chosen.choice([10, 10_000, 500_000])
    )


def _special(chosen: random.Random, folder: Path) -> None:
    path = folder / chosen.choice([*NAMES, "signature.json", _any_file(chosen, folder).name])
    with suppress(OSError):
        path.unlink(missing_ok=True)
        make: Callable[[], object] = chosen.choice(
            [
                lambda: os.mkfifo(path),
                lambda: path.symlink_to("/dev/zero"),
                lambda: path.symlink_to(folder.parent / "secret"),
                lambda: path.symlink_to(folder),
                lambda: path.mkdir(),
                lambda: path.write_bytes(b"x"),
                lambda: os.truncate(path.open("wb").fileno(), 1 << 42),
            ]
        )
        make()


def _exchange(chosen: random.Random, folder: Path) -> None:
    one, other = _any_file(chosen, folder), _any_file(chosen, folder)
    content = one.read_bytes()
    shutil.copyfile(other, one) if one != other else None
    other.write_bytes(content)


def _path(chosen: random.Random, folder: Path) -> None:
    path = folder / chosen.choice(["plan.toml", "certificate.json"])
    text = path.read_text("utf-8")
    for name in ("hierarchies/", "data.parquet", ".csv"):
        text = text.replace(
            name, chosen.choice([name, "../secret", "/dev/zero", "hierarchies/../../secret", "a\\u0000"]), 1
        )
    path.write_text(text, "utf-8")


def _any_file(chosen: random.Random, folder: Path, *endings: str) -> Path:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return chosen.choice([path for path in paths if path.name.endswith(endings or ("",))] or [folder / "plan.toml"])


@pytest.mark.deep
def test_folders(releases: list[Path], tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{CANARY};{CANARY}\n")
    codes: Counter[int] = Counter()
    changes = [_text_file, _octets, _certificate, _bomb, _special, _exchange, _path]

    def make(chosen: random.Random) -> str:
        folder = tmp_path / "release"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(tmp_path / "before", ignore_errors=True)
        release = chosen.choice(releases)
        shutil.copytree(release, folder)
        if release.name == "r2":
            shutil.copytree(release.with_name("r1"), tmp_path / "before")
            if chosen.random() < 0.3:
                folder = tmp_path / "before"
        done = []
        for _ in range(chosen.choice([0, 1, 1, 1, 2])):
            change = chosen.choice(changes)
            with suppress(OSError, ValueError, LookupError):
                change(chosen, folder)
            done.append(change.__name__)
            if chosen.random() < 0.8:
                with suppress(Exception):  # what cannot be read cannot be made to fit
                    forger.edit(folder, lambda c: None, pages=False)
        return ", ".join(done)

    with limited_verifier(tmp_path) as verify:

        def use(_: str) -> None:
            before = [tmp_path / "before"] if (tmp_path / "before").exists() else []
            outcome = verify(tmp_path / "release", *before)
            codes[outcome.code] += 1
            assert "Traceback" not in outcome.words, outcome.words
            assert outcome.code in (0, 1, 4, 5), outcome
            assert outcome.peak < MEMORY
            if outcome.code:
                raise ShoalError(outcome.words)

        fuzz("folders", make, use)
    print(f"folders: exit codes {dict(codes)}, seed {SEED}")  # noqa: T201
