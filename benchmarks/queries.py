"""How fast a session answers, what a spending costs on the disk, and whether a vault survives being killed.

``python benchmarks/queries.py [ROUNDS]``: kills the served vault ROUNDS times, 200 by default; 0 leaves that out.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa

import shoal
from shoal.mechanisms import CategoricalPrior, Laplace, OptimalBoxNoise, OptimalNoise, Refinement
from shoal.queries import Client, Ledger, Loss, Session, Vault
from shoal.schema import Attribute, Domain, Kind, Schema, dumps
from shoal.tables import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

RECORDS = 1_200_000
SECONDS = 4.0
SCHEMA = Schema(
    attributes=(
        Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=100)),
        Attribute(name="sex", domain=Domain(values=("F", "M"))),
        Attribute(name="income", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=1_000_000)),
        Attribute(name="region", domain=Domain(values=tuple(f"region {i}" for i in range(30)))),
    )
)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mechanisms()
        spendings(folder)
        opened(folder)
        sessions(folder)
        served(folder)
        if rounds:
            killed(folder, rounds)


def mechanisms() -> None:
    print("microseconds per release of one number")
    laplace = Laplace(sensitivity=1, epsilon=1)
    optimal = OptimalNoise.minimal_variance(sensitivity=1000, epsilon=1)
    box = OptimalBoxNoise(sensitivities=(1000, 1), epsilon=1)
    refinement = Refinement(CategoricalPrior.uniform(tuple("abcdefgh")), epsilon=1, query="individual")
    for title, release in (
        ("Laplace, one by one", lambda: laplace.release(0)),
        ("optimal noise", lambda: optimal.release(0)),
        ("optimal box noise, two numbers", lambda: box.release((0, 0))),
        ("refinement, eight values", lambda: refinement.release("a")),
    ):
        print(f"  {title:<34}{per_second(release) ** -1 * 1e6:>10.0f}")
    started = time.perf_counter()
    laplace.release_all([0] * 20_000)
    print(f"  {'Laplace, 20,000 at once':<34}{(time.perf_counter() - started) / 20_000 * 1e6:>10.1f}")


def spendings(folder: Path) -> None:
    print("\ndurable spendings per second (each synced twice; threads that wait share a commit)")
    print(f"  a sync of the disk takes {sync_time(folder) * 1e3:.2f} ms now")
    ledger = Ledger.create(folder / "bare.ledger", budget=Loss.of(10**6))
    ledger.set_budget("a", Loss.of(10**6))
    for threads in (1, 8, 32):
        print(f"  {threads:>3} threads{per_second(lambda: ledger.spend('a', Loss.of('0.0001')), threads):>10,.0f}")
    started = time.perf_counter()
    ledger.check()
    entries = len(ledger.entries())
    print(f"  checking {entries:,} entries takes {time.perf_counter() - started:.2f} s")
    ledger.close()


def opened(folder: Path, entries: int = 100_000) -> None:
    """Open a ledger with many entries: from its checkpoint, and without one; then read its last page."""
    from shoal.queries._accounts import spend_entry
    from shoal.schema.conditions import EVERYBODY

    print(f"\na ledger of {entries:,} spendings, seconds")
    with closing(Ledger.create(folder / "long.ledger", budget=Loss.of(10**6))) as ledger:
        ledger.set_budget("a", Loss.of(10**6))
        with ledger._lock, ledger._writing() as append:
            for number in range(entries):
                append(spend_entry("a", Loss.of("0.0001"), EVERYBODY, f"count of age >= {number % 90}"))
        ledger._anchor.sync()
    for title in ("adding everything up", "from its checkpoint"):
        started = time.process_time()
        with closing(Ledger.open(folder / "long.ledger")) as ledger:
            seconds = time.process_time() - started
            started = time.process_time()
            ledger.entries(last=100)
            print(f"  {title:<34}{seconds:>10.2f}, its last page of 100 {time.process_time() - started:.3f}")


def sync_time(folder: Path) -> float:
    """Return how long the disk takes for one small write that survives a power failure."""
    with (folder / "synced").open("wb", buffering=0) as file:
        file.write(bytes(4096))
        os.fsync(file.fileno())
        started = time.perf_counter()
        for _ in range(50):
            file.seek(0)
            file.write(bytes(256))
            os.fsync(file.fileno())
        return (time.perf_counter() - started) / 50


def sessions(folder: Path) -> None:
    print(f"\nanswers per second, {RECORDS:,} records, one analyst, ledger included")
    people = table()
    for title, in_memory in (("in memory", True), ("on DuckDB", False)):
        session = Session(people, 10**6, ledger=folder / f"{in_memory}.ledger", in_memory=in_memory)
        numbers = np.random.default_rng(2)

        def random_count(session: Session = session, numbers: np.random.Generator = numbers) -> object:
            low = int(numbers.integers(0, 90))
            sex = "FM"[int(numbers.integers(0, 2))]
            return session.count(f'age >= {low} and sex = "{sex}"', epsilon="0.0001")

        def count_by_income(session: Session = session, numbers: np.random.Generator = numbers) -> object:
            return session.count(f"income >= {int(numbers.integers(0, 90_000))}", epsilon="0.0001")

        for name, ask in (
            ("count, another filter each time", random_count),
            ("count by a number without limit", count_by_income),
            ("count of everybody", lambda session=session: session.count(epsilon="0.0001")),
            ("mean", lambda session=session: session.mean("income", 'sex = "F"', epsilon="0.0001")),
            ("histogram of 30 regions", lambda session=session: session.histogram("region", epsilon="0.0001")),
        ):
            rates = "".join(f"{per_second(ask, threads):>10,.0f}" for threads in (1, 8))  # type: ignore[arg-type]
            print(f"  {title:<12}{name:<34}{rates}   (1 and 8 threads)")


def served(folder: Path) -> None:
    print("\nanswers per second over HTTP, 20,000 records; clients are threads of another process on the same machine")
    from reference import vault_under_fire as fire

    vault, token = small_vault(folder / "served", 20_000, Loss.of(10**6))
    with fire.listening() as (address, start):
        server = start(vault)
        clients = threading.local()

        def ask() -> object:
            if not hasattr(clients, "own"):
                clients.own = Client(address, token)
            return clients.own.count("age >= 40", epsilon="0.0001")

        ask()
        for threads in (1, 8, 16):
            print(f"  {threads:>3} clients{per_second(ask, threads):>10,.0f}")
        server.kill()
        server.join()


def killed(folder: Path, rounds: int) -> None:
    from reference import vault_under_fire as fire

    budget = Loss.of(50)
    vault, token = small_vault(folder / "killed", 200, budget)
    started = time.perf_counter()
    record = fire.run(vault, token, rounds=rounds, seed=1)
    spent = [each for each in vault.ledger().entries() if each.content["event"] == "spend"]
    left = fire.spend_the_rest(vault.folder / "ledger.sqlite", "fire")
    print(f"\n{record.kills} kills (SIGKILL) under {fire.CLIENTS} clients in {time.perf_counter() - started:.0f} s")
    print(f"  {len(record.answers):,} answers received, each found in the ledger; {record.lost:,} requests lost")
    print(f"  {len(spent) - len(record.answers):,} spendings recorded whose answer was lost with the process")
    print(f"  {left} of {budget} was left, was spent to the last unit, and one unit more was refused")


def table() -> Table:
    numbers = np.random.default_rng(1)
    columns = {
        "age": numbers.integers(0, 100, RECORDS),
        "sex": np.array(["F", "M"])[numbers.integers(0, 2, RECORDS)],
        "income": np.minimum(numbers.gamma(2, 20_000, RECORDS), 1e6),
        "region": np.array([f"region {i}" for i in range(30)])[numbers.integers(0, 30, RECORDS)],
    }
    return shoal.read(pa.table(columns), schema=SCHEMA)


def small_vault(folder: Path, records: int, budget: Loss) -> tuple[Vault, str]:
    folder.mkdir()
    (folder / "people.csv").write_text("age\n" + "\n".join(str(i % 100) for i in range(records)) + "\n")
    (folder / "people.schema.toml").write_text(dumps(Schema(attributes=SCHEMA.attributes[:1])))
    vault = Vault.create(
        folder / "vault", str(folder / "people.csv"), schema=folder / "people.schema.toml", budget=budget
    )
    return vault, vault.admit("fire", budget)


def per_second(work: Callable[[], object], threads: int = 1) -> float:
    """Return how often a piece of work is done per second, by so many threads together."""
    work()
    done = [0] * threads
    end = time.perf_counter() + SECONDS

    def loop(own: int) -> None:
        while time.perf_counter() < end:
            work()
            done[own] += 1

    started = time.perf_counter()
    running = [threading.Thread(target=loop, args=(own,)) for own in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return sum(done) / (time.perf_counter() - started)


if __name__ == "__main__":
    main()
