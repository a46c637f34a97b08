"""Kill -9 under eight concurrent clients: nothing is overspent, and no answer is missing from the ledger."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reference import vault_under_fire as fire
from shoal.queries import Loss, Vault
from shoal.queries.ledger import Ledger

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

#: `make stops` asks for 200
ROUNDS = int(os.environ.get("SHOAL_KILLS", "4"))
SCHEMA = """
[columns.age]
role = "quasi-identifier"
kind = "numeric"
minimum = 0
maximum = 100
"""


@pytest.mark.slow
def test_a_vault_that_is_killed_never_overspends_and_forgets_no_answer(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(str(i % 100) for i in range(200)) + "\n")
    (tmp_path / "people.schema.toml").write_text(SCHEMA)
    vault = Vault.create(
        tmp_path / "vault",
        str(tmp_path / "people.csv"),
        schema=tmp_path / "people.schema.toml",
        budget=Loss.of("0.4"),
    )
    token = vault.admit("fire", Loss.of("0.4"))
    record = fire.run(vault, token, rounds=ROUNDS, seed=3)
    assert record.kills == ROUNDS
    assert len(record.answers) > ROUNDS
    left = fire.spend_the_rest(vault.folder / "ledger.sqlite", "fire")
    spent = [entry.content["epsilon"] for entry in vault.ledger().entries() if entry.content["event"] == "spend"]
    assert sum(spent) == Loss.of("0.4").epsilon_units
    assert len(record.answers) * fire.COST.epsilon_units <= sum(spent) - left.epsilon_units


def test_a_ledger_whose_writers_are_killed_is_always_whole(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    Ledger.create(path, budget=Loss.of(10**6)).close()
    opened = Ledger.open(path)
    opened.set_budget("fire", Loss.of(10**6))
    opened.close()
    code = (
        "import sys; from shoal.queries.ledger import Ledger, Loss\n"
        "ledger = Ledger.open(sys.argv[1])\n"
        "while True: print(ledger.spend('fire', Loss.of(1)).number, flush=True)"
    )
    chosen, acknowledged = random.Random(4), set()
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(chosen.randrange(1, 60)):
                acknowledged.add(int(writer.stdout.readline()))
            writer.send_signal(signal.SIGKILL)
            acknowledged |= {int(line) for line in writer.stdout.read().split("\n")[:-1] if line}
        again = Ledger.open(path)
        recorded = {entry.number for entry in again.entries() if entry.content["event"] == "spend"}
        assert acknowledged <= recorded
        assert len(recorded) <= len(acknowledged) + 5
        again.close()
