"""Kill -9 in the middle of mixed releases and questions: the account is never overspent, and nothing is forgotten."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.schema import Attribute, Domain, Role, Schema

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

#: `make stops` asks for 200
ROUNDS = int(os.environ.get("SHOAL_KILLS", "4"))
SEX = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, domain=Domain(values=("F", "M")))
RELEASE, QUESTION, BUDGET = Fraction(1, 10), Fraction(1, 100), Fraction(3 * ROUNDS, 10)

# a server that forks: every child works until it is killed, and says what appeared before it goes on
WORKERS = """
import os, signal, sys, time
import pyarrow as pa, shoal
from pathlib import Path
from shoal.schema import Attribute, Domain, Role, Schema

home = Path(sys.argv[1])
sex = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, domain=Domain(values=("F", "M")))
schema = Schema(attributes=(sex,))
asked = shoal.DifferentialPrivacy(epsilon="1/10", delta="1e-6")

def work(kind, round_, number, out):
    account = shoal.Account.open(home / "account")
    table = shoal.read(home / "people.parquet", schema=schema)
    session = None if kind == "release" else shoal.Session(table, 1000, delta="0.1", ledger=account.ledger())
    for i in range(10**6):
        try:
            if kind == "release":
                shoal.anonymize(table, asked, account=account).write(home / "made" / f"{round_}-{number}-{i}")
                os.write(out, b"release 0\\n")
            else:
                os.write(out, f"question {session.count(epsilon='0.01').entry}\\n".encode())
        except shoal.queries.BudgetSpent:
            os.write(out, f"{kind} spent\\n".encode())
            time.sleep(0.01)

for name in shoal.__all__:
    getattr(shoal, name)
for line in sys.stdin:
    round_, awaited, times, more = line.split()
    heard, out = os.pipe()
    children = []
    for number, kind in enumerate(("release", "question", "release")):
        child = os.fork()
        if not child:
            try:
                work(kind, round_, number, out)
            finally:
                os._exit(1)
        children.append(child)
    os.close(out)
    told = b""
    while told.count(awaited.encode()) < int(times):
        told += os.read(heard, 1 << 16) or sys.exit(1)
    time.sleep(float(more))
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    while more := os.read(heard, 1 << 16):
        told += more
    os.close(heard)
    os.write(1, told + b"done\\n")
"""


@pytest.mark.deep
def test_an_account_under_fire_is_never_overspent_and_forgets_nothing(tmp_path: Path) -> None:
    people = pa.table({"sex": ["F", "M"] * 2000})
    table = shoal.read(people, schema=Schema(attributes=(SEX,)))
    pa.parquet.write_table(people, tmp_path / "people.parquet")
    (tmp_path / "made").mkdir()
    account = shoal.Account.create(tmp_path / "account", table, epsilon=BUDGET, delta="0.1")
    ledger = account.ledger()
    ledger.set_budget("analyst", shoal.queries.Loss.of(1000, "0.1"))
    ledger.close()
    chosen, answered = random.Random(5), set()
    with subprocess.Popen(
        [sys.executable, "-c", WORKERS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number in range(ROUNDS):
            awaited, times = (("release", 1), ("question", chosen.randrange(1, 40)))[number % 2]
            server.stdin.write(f"{number} {awaited} {times} {chosen.uniform(0, 0.3)}\n")
            server.stdin.flush()
            while (line := server.stdout.readline().strip()) != "done":
                assert line, "the workers have ended"
                answered |= {int(line.split()[1])} if line.startswith("question") and line[-1].isdigit() else set()
            _check(account, tmp_path / "made", answered)
        server.stdin.close()
    assert server.returncode == 0
    assert answered
    assert any((tmp_path / "made").iterdir())


def _check(account: shoal.Account, made: Path, answered: set[int]) -> None:
    """Add up the entries by hand, and look for what appeared without one."""
    spent = {
        entry.number: (entry.content["query"], Fraction(entry.content["epsilon"], 10**12))
        for entry in account.history()
        if entry.content["event"] == "spend"
    }
    total = sum(amount for _, amount in spent.values())
    assert total <= BUDGET
    assert account.standing.spent.epsilon == total
    releases = [path for path in made.iterdir() if not path.name.startswith(".")]
    paid = [json.loads((path / "certificate.json").read_text())["account"]["entry"] for path in releases]
    assert len(set(paid)) == len(paid)
    assert all(spent[number] == ("release by truthful", RELEASE) for number in paid)
    assert all(spent[number] == ("count", QUESTION) for number in answered)
