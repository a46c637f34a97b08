"""The program in process: its help fits a terminal, and a table is checked once."""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
import typer.testing

import shoal
from shoal.cli import _output
from shoal.cli._main import app
from shoal.tables import _table

COMMANDS = (
    *("draft", "assess", "relations", "anonymize", "mask", "compare", "report", "export", "estimate"),
    *("verify", "sign", "import", "parameters", "serve", "open"),
)
GROUPS = {
    "account": ("create", "show", "budget", "follow"),
    "counts": ("create", "publish", "show"),
    "series": ("create", "show", "check", "forecast", "risk", "restore"),
    "vault": ("create", "version", "analyst", "budget", "ledger", "serve", "ask", "cost"),
}


def _help(*command: str) -> list[str]:
    done = typer.testing.CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "80"}, terminal_width=80)
    assert done.exit_code == 0
    return done.stdout.splitlines()


def test_what_fails_in_a_finalizer_of_a_library_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("stdout", "stderr", "unraisablehook"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    monkeypatch.delenv("SHOAL_DEBUG", raising=False)
    with warnings.catch_warnings(), _output.streams():
        torn = (_ for _ in _Torn())
        next(torn)
        del torn
    assert capfd.readouterr() == ("", "")


class _Torn:
    """What a file of a spreadsheet does on a full disk: it fails when nobody waits for it any more."""

    def __iter__(self) -> Iterator[int]:
        try:
            yield 1
        finally:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("group", ["", *GROUPS])
def test_summaries_of_commands_are_whole(group: str) -> None:
    lines = _help(*filter(None, [group]))
    summaries = [line for line in lines[lines.index("Commands:") + 1 :] if line.startswith("  ")]
    names = GROUPS[group] if group else (*COMMANDS, *GROUPS)
    assert [line.split()[0] for line in summaries[: len(names)]] == list(names)
    assert all(line.endswith(".") and not line.endswith("...") for line in summaries[: len(names)])


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [*((name,) for name in COMMANDS), *((group, name) for group, names in GROUPS.items() for name in names)],
    ids=" ".join,
)
def test_help_fits_a_terminal_of_eighty_columns(command: tuple[str, ...]) -> None:
    assert [line for line in _help(*command) if len(line) > 80] == []


def test_a_table_is_checked_against_its_schema_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people.csv").write_text("age,town\n" + "30,Oslo\n" * 4)
    (tmp_path / "people.schema.toml").write_text(
        'shoal = 1\n[columns.age]\nrole = "quasi-identifier"\nkind = "numeric"\n'
        '[columns.town]\nrole = "quasi-identifier"\n'
    )
    checked: list[str] = []
    real = _table.conform

    def counting(table: shoal.Table, *arguments: object, **options: object) -> shoal.Table:
        checked.append(table.source.name)
        return real(table, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(_table, "conform", counting)
    arguments = ["anonymize", str(tmp_path / "people.csv"), "--k", "2", "--output", str(tmp_path / "release")]
    done = typer.testing.CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert checked.count("people.csv") == 1


def test_the_help_has_one_line_about_every_method() -> None:
    lines = _help("anonymize")
    assert [line.split()[0] for line in lines[lines.index("  Methods:") + 1 :]] == list(shoal.methods.names())
    assert max(map(len, lines)) <= 80


def test_the_name_of_a_column_cannot_pass_for_a_further_check(tmp_path: Path) -> None:
    attribute = shoal.Attribute(name="town\nok   signature: signed", role=shoal.Role.QUASI_IDENTIFIER)
    rows = pa.table({attribute.name: ["Ulm", "Ulm", "Bonn", "Bonn"]})
    table = shoal.read(rows, schema=shoal.Schema(attributes=(attribute,)))
    folder = shoal.anonymize(table, shoal.KAnonymity(k=2)).write(tmp_path / "release")
    shown = typer.testing.CliRunner().invoke(app, ["verify", str(folder)]).output
    assert "ok   k-anonymity" in shown
    assert "\nok   signature: signed" not in shown
