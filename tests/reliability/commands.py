"""Every command of the program in ways that do work, for the suites that disturb it."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import typer.main

from shoal.cli._main import app

from .conftest import Done

SERVERS = ("serve", "vault serve")
TRUTHFUL = ("--epsilon", "2", "--delta", "1e-4")
COUNTS = ("--account", "account", "--count", "all", "--periods", "4", "--epsilon", "1")

TOWNS = """shoal = 1
[columns.town]
role = "quasi-identifier"
values = ["Ulm", "Bonn"]
[columns.ill]
role = "sensitive"
values = ["yes", "no"]
"""

#: what each does, with the command's own name first; what they make is called ``made``
RUNS: dict[str, tuple[str, ...]] = {
    "draft": ("draft", "people.csv", "--output", "made.toml"),
    "assess": ("assess", "people.csv", "--attacks", "--output", "made.html"),
    "relations": ("relations", "people.csv"),
    "anonymize": ("anonymize", "people.csv", "--k", "5", "--csv", "--output", "made"),
    "anonymize by mondrian": ("anonymize", "people.csv", "--k", "5", "--method", "mondrian", "--output", "made"),
    "anonymize truthfully": (
        *("anonymize", "people.csv", *TRUTHFUL, "--private-report", "made.json", "--output", "made"),
    ),
    "anonymize from an account": (*("anonymize", "people.csv", *TRUTHFUL, "--account", "account", "--output", "made"),),
    "mask": ("mask", "people.csv", "--top", "age=80", "--pram", "sex=0.8", "--output", "made.csv"),
    "compare": ("compare", "people.csv", "--k", "5,10", "--methods", "generalize", "--folder", "made"),
    "compare to a plan": (
        *("compare", "people.csv", "--k", "5", "--methods", "generalize", "--export", "1", "made.toml"),
        *("--picture", "made.svg"),
    ),
    "report": ("report", "release", "--output", "made.html"),
    "report on the original": ("report", "release", "--original", "people.csv", "--output", "made.html"),
    "export": ("export", "release", "made.xlsx"),
    "estimate": ("estimate", "tables", "--pool", "made.parquet"),
    "verify": ("verify", "release"),
    "sign": ("sign", "release", "--key", "agency.pem"),
    "sign with a new key": ("sign", "--new-key", "made"),
    "series create": ("series", "create", "made", "--key", "patient_id"),
    "anonymize in a series": ("anonymize", "people.csv", "--k", "5", "--series", "study", "--output", "made"),
    "series show": ("series", "show", "study"),
    "series check": ("series", "check", "study"),
    "series forecast": ("series", "forecast", "people.csv", "--key", "patient_id", "--k", "5", "--releases", "2"),
    "series risk": ("series", "risk", "release", "release", "--original", "people.csv"),
    "series restore": ("series", "restore", "study", "1", "--output", "made"),
    "counts create": ("counts", "create", "made", "people.csv", *COUNTS),
    "counts publish": ("counts", "publish", "counts", "people.csv"),
    "counts show": ("counts", "show", "counts"),
    "open": ("open", "--no-browser", "--state", "made"),
    "import": ("import", "study.deid", "--output", "made"),
    "parameters": ("parameters", "--table"),
    "account create": ("account", "create", "made", "people.csv", "--epsilon", "3"),
    "account show": ("account", "show", "account"),
    "account budget": ("account", "budget", "account", "--epsilon", "2000"),
    "account follow": ("account", "follow", "account", "later.csv", "--schema", "people.schema.toml"),
    "vault create": ("vault", "create", "made", "people.csv", "--epsilon", "10"),
    "vault version": ("vault", "version", "vault", "later.csv"),
    "vault analyst": ("vault", "analyst", "vault", "alice", "--epsilon", "1"),
    "vault budget": ("vault", "budget", "vault", "--all", "--epsilon", "20"),
    "vault ledger": ("vault", "ledger", "vault"),
    "vault ask": ("vault", "ask", "count", "--epsilon", "1", "--address", "http://127.0.0.1:9"),
    "vault cost": ("vault", "cost", "--epsilon", "1", "--delta", "1e-6"),
}
#: there is nobody who answers
REFUSED = {"vault ask": 2, "open": 2}
#: what a run may change besides making something new
CHANGED = ("release", "vault", "account", "study", "counts")


def names(command: click.Command | None = None, above: str = "") -> Iterator[str]:
    """Yield the name of every command of the program."""
    command = command or typer.main.get_command(app)
    below = getattr(command, "commands", None)
    if below is None:
        yield above
    for name, each in (below or {}).items():
        yield from names(each, f"{above} {name}".strip())


def furnish(folder: Path, hospital: Path, run: Callable[..., Done]) -> None:
    """Put all that the commands need into a folder, and copies of what they may change into ``kept``."""
    lines = (hospital / "discharges.csv").read_text().splitlines(keepends=True)
    (folder / "people.csv").write_text("".join(lines[:1500]))
    (folder / "later.csv").write_text("".join(lines[:1501]))
    for path in hospital.iterdir():
        if path.name not in ("discharges.csv", "release") and path.suffix != ".sh":  # a release: of `make demo`
            target = folder / path.name.replace("discharges", "people")
            shutil.copytree(path, target) if path.is_dir() else shutil.copy(path, target)
    (folder / "towns.csv").write_text("town,ill\n" + "Ulm,yes\nBonn,no\nUlm,no\n" * 500)
    (folder / "towns.schema.toml").write_text(TOWNS)
    project(folder / "study.deid")
    for arguments in (
        ("anonymize", "people.csv", "--k", "5", "--output", "release"),
        ("anonymize", "towns.csv", "--method", "truthful-tables", *TRUTHFUL, "--output", "tables"),
        ("account", "create", "account", "people.csv", "--epsilon", "1000", "--delta", "0.5"),
        ("vault", "create", "vault", "people.csv", "--epsilon", "1000"),
        ("sign", "--new-key", "agency"),
        ("series", "create", "study", "--key", "patient_id"),
        ("anonymize", "people.csv", "--k", "5", "--series", "study", "--output", "first"),
        ("counts", "create", "counts", "people.csv", *COUNTS),
    ):
        done = run(*arguments, cwd=folder)
        assert done.code == 0, done.errors
    for name in CHANGED:
        shutil.copytree(folder / name, folder / "kept" / name)


def restore(folder: Path) -> None:
    """Remove what a run has made, and undo what it has changed."""
    for path in made(folder):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in CHANGED:
        shutil.rmtree(folder / name)
        shutil.copytree(folder / "kept" / name, folder / name)


def made(folder: Path) -> list[Path]:
    """Return what a run has made, hidden or not."""
    return sorted(path for path in folder.iterdir() if path.name.lstrip(".").startswith("made"))


def changed(folder: Path) -> list[str]:
    """Return which of the things that were there say something else now."""
    return [name for name in CHANGED if _said(folder / name) != _said(folder / "kept" / name)]


def _said(folder: Path) -> object:
    if not (folder / "ledger.sqlite").exists():
        return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with contextlib.closing(sqlite3.connect(folder / "ledger.sqlite")) as opened:
        return opened.execute("SELECT body FROM entries").fetchall()


def project(path: Path) -> None:
    """Write a small project of ARX."""
    quasi = "<type>QUASI_IDENTIFYING_ATTRIBUTE</type><datatype>String</datatype>"
    parts = {
        "metadata.xml": "<metadata><version>3.9.1</version><vocabulary>2.0</vocabulary></metadata>",
        "project.xml": "<project><name>A study</name><separator>,</separator></project>",
        "input/config.xml": "<config><criteria><criterion>2-anonymity</criterion></criteria></config>",
        "input/definition.xml": "<definition><assigment><name>town</name>"
        f"{quasi}<ref>hierarchies/town.csv</ref></assigment></definition>",
        "input/hierarchies/town.csv": "Ulm,*\nBonn,*\n",
    }
    with zipfile.ZipFile(path, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
