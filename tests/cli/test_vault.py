"""The steward's and the analyst's journey with a vault."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import Run


@pytest.fixture
def vault(shoal: Run, hospital: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "clinic.vault"
    done = shoal("vault", "create", folder, hospital / "discharges.csv", "--epsilon", 10)
    assert done.returncode == 0, done.stderr
    return folder


def token_of(shoal: Run, vault: Path, name: str, epsilon: object) -> str:
    done = shoal("vault", "analyst", vault, name, "--epsilon", epsilon, "--json")
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["token"])


@pytest.mark.slow
def test_an_analyst_asks_a_served_vault(shoal: Run, vault: Path) -> None:
    token = token_of(shoal, vault, "alice", 2)
    server = subprocess.Popen(
        [sys.executable, "-m", "shoal", "vault", "serve", str(vault), "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    try:
        said = next(line for line in server.stderr if "answers at" in line)
        address = said.split("; ")[0].rsplit(" ", 1)[1]
        port = address.rsplit(":", 1)[1]
        second = shoal("vault", "serve", vault, "--port", port)
        assert second.returncode == 2
        assert "choose another --port" in second.stderr
        ask = ("--address", address, "--epsilon", "0.5")
        done = shoal("vault", "ask", "count where age >= 65", *ask, SHOAL_TOKEN=token)
        assert done.returncode == 0, done.stderr
        assert "left epsilon 1.5" in done.stdout
        done = shoal("vault", "ask", 'mean of length_of_stay where sex = "F"', *ask, "--json", SHOAL_TOKEN=token)
        assert 0 < json.loads(done.stdout)["value"] < 120
        assert shoal("vault", "ask", "count where age >", *ask, SHOAL_TOKEN=token).returncode == 2
        assert shoal("vault", "ask", "count", *ask, SHOAL_TOKEN=token[1:]).returncode == 2
        done = shoal("vault", "ask", "count", "--address", address, "--epsilon", 5, SHOAL_TOKEN=token)
        assert done.returncode == 1
        assert "is not enough for this answer" in done.stderr
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)
    assert "its ledger holds what was spent" in server.stderr.read()
    assert server.returncode == 0
    shown = shoal("vault", "budget", vault, "alice", "--json")
    assert json.loads(shown.stdout)["alice"]["spent"] == "epsilon 1"


#: a signal at moments of start-up; at two of them somebody swallows what it raises
MOMENTS = {
    "records": """
from shoal.queries import Vault
real = Vault.desk
def desk(*a, **k):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)
    except BaseException:
        pass
    return real(*a, **k)
Vault.desk = desk
""",
    "configuration": """
import uvicorn
real = uvicorn.Config.__init__
def init(*a, **k):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
    except BaseException:
        pass
    real(*a, **k)
uvicorn.Config.__init__ = init
""",
    "server": """
import uvicorn
real = uvicorn.Server.run
def run(*a, **k):
    os.kill(os.getpid(), signal.SIGTERM)
    return real(*a, **k)
uvicorn.Server.run = run
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_vault_that_is_stopped_while_it_starts_is_gone(moment: str, vault: Path) -> None:
    program = f"import os, signal, sys, time\n{MOMENTS[moment]}\nfrom shoal.cli import main\nmain()\n"
    server = subprocess.Popen([sys.executable, "-c", program, "vault", "serve", str(vault), "--port", "0"])
    try:
        assert server.wait(300) in (0, 130)
    finally:
        server.kill()


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.5, 1.5, *(pytest.param(each, marks=pytest.mark.deep) for each in (3.0, 6.0))])
def test_a_vault_stops_at_any_time(seconds: float, vault: Path) -> None:
    server = subprocess.Popen([sys.executable, "-m", "shoal", "vault", "serve", str(vault), "--port", "0"])
    time.sleep(seconds)
    server.send_signal(signal.SIGTERM)
    try:
        assert server.wait(120) in (0, 130, -signal.SIGTERM)
    finally:
        server.kill()


@pytest.mark.slow
def test_budgets_are_shown_and_set(shoal: Run, vault: Path) -> None:
    token_of(shoal, vault, "alice", 2)
    assert shoal("vault", "budget", vault, "alice", "--epsilon", 3).returncode == 0
    assert shoal("vault", "budget", vault, "--all", "--epsilon", "7.5").returncode == 0
    done = shoal("vault", "budget", vault)
    assert re.search(r"alice +epsilon 3 +epsilon 0 +epsilon 3", done.stdout)
    assert re.search(r"all together +epsilon 7\.5", done.stdout)
    assert shoal("vault", "budget", vault, "--epsilon", 3).returncode == 2
    assert shoal("vault", "budget", vault, "nobody", "--epsilon", 3).returncode == 2


@pytest.mark.slow
def test_a_new_version_takes_another_snapshot(shoal: Run, vault: Path, hospital: Path, tmp_path: Path) -> None:
    done = shoal("vault", "version", vault)
    assert done.returncode == 0, done.stderr
    assert "Version 2 of the table began" in done.stdout
    said = json.loads(shoal("vault", "version", vault, hospital / "discharges.csv", "--json").stdout)
    assert (said["version"], said["spent"]) == (3, "epsilon 0")
    (tmp_path / "other.csv").write_text("age\n5\n")
    assert shoal("vault", "version", vault, tmp_path / "other.csv").returncode == 2
    assert shoal("vault", "version", vault, "-").returncode == 2
    assert [each.name for each in vault.glob("snapshot-*")] == ["snapshot-3.parquet"]


@pytest.mark.slow
def test_the_ledger_is_checked(shoal: Run, vault: Path) -> None:
    first = json.loads(shoal("vault", "ledger", vault, "--json").stdout)["head"]
    token_of(shoal, vault, "alice", 2)
    done = shoal("vault", "ledger", vault, "--expect", first)
    assert done.returncode == 0
    assert "no entry was changed" in done.stdout
    assert "budget of alice: epsilon 2" in done.stdout
    page = shoal("vault", "ledger", vault, "--full", "--last", 1, "--before", 4).stdout
    assert "Entries 3 to 3 of 4" in page
    assert "budget of alice: epsilon 2" in page
    assert shoal("vault", "ledger", vault, "--expect", "1:" + "00" * 32).returncode == 1
    anchor = vault / "ledger.sqlite.head"
    kept = anchor.read_bytes()
    anchor.unlink()
    assert shoal("vault", "ledger", vault).returncode == 1
    done = shoal("vault", "ledger", vault, "--restore-anchor")
    assert done.returncode == 0
    assert "a new anchor was made" in done.stdout
    anchor.write_bytes(kept)
    assert shoal("vault", "ledger", vault).returncode == 0
    anchor.write_bytes(kept.replace(b"1", b"2"))
    assert shoal("vault", "ledger", vault).returncode == 1


def test_an_analyst_can_be_dismissed(shoal: Run, vault: Path) -> None:
    token_of(shoal, vault, "alice", 2)
    assert shoal("vault", "analyst", vault, "alice", "--dismiss").returncode == 0
    assert shoal("vault", "analyst", vault, "alice").returncode == 2
    assert shoal("vault", "analyst", vault, "nobody", "--dismiss").returncode == 2


def test_other_machines_are_served_with_tls_only(shoal: Run, vault: Path) -> None:
    done = shoal("vault", "serve", vault, "--host", "0.0.0.0")  # noqa: S104
    assert done.returncode == 2
    assert "clear text" in done.stderr


def test_a_question_needs_a_token(shoal: Run) -> None:
    environment = {"SHOAL_TOKEN": ""}
    done = shoal("vault", "ask", "count", "--epsilon", 1, **environment)
    assert done.returncode == 2
    assert "SHOAL_TOKEN" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX modes")
def test_the_vault_is_private(vault: Path) -> None:
    assert vault.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_a_vault_for_other_machines_needs_a_certificate(shoal: Run, vault: Path, tmp_path: Path) -> None:
    done = shoal("vault", "serve", vault, "--host", "0.0.0.0")  # noqa: S104 - refused
    assert done.returncode == 2
    assert "clear text" in done.stderr
    (tmp_path / "not.pem").write_text("no certificate")
    for file in (tmp_path / "nothing.pem", tmp_path / "not.pem"):
        done = shoal("vault", "serve", vault, "--port", 0, "--certificate", file, "--private-key", file)
        assert done.returncode == 2, done.stderr
        assert "PEM" in done.stderr
