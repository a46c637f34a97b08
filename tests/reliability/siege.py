"""A vault under siege: how long does an honest analyst wait, and does the ledger hold?

Two server processes of one vault; 48 threads of two analysts and of strangers with wrong tokens or none ask what costs
most, send broken requests and hold connections; the servers are killed three times and started again. An honest
analyst, in a process of her own, asks beside them, and before them while nobody else does. Run it by hand: ``python
tests/reliability/siege.py [seconds]``. It prints what came of it and ends with 1 if an answer is missing from the
ledger, if more was spent than a budget allows, or if the honest analyst waited for a second or more for an answer of a
server that was not being killed.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import multiprocessing
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from pathlib import Path

from shoal.errors import ShoalError
from shoal.queries import Client, Loss, Vault

CONTEXT = multiprocessing.get_context("spawn")
THREADS, SERVERS, KILLS, BUDGET = 48, 2, 3, Loss.of(50)
SCHEMA = """
shoal = 1
[columns.age]
role = "quasi-identifier"
kind = "numeric"
minimum = 0
maximum = 100
[columns.sex]
role = "quasi-identifier"
values = ["F", "M"]
"""
HEAVY = {
    "query": "count",
    "epsilon": "0.001",
    "prior": {"kind": "numbers", "start": 0, "step": 1, "masses": [f"1/{2**61 - 2 * i - 1}" for i in range(1000)]},
}
MANY = HEAVY | {"prior": {"kind": "numbers", "start": 0, "step": 1, "masses": [i % 97 + 1 for i in range(4096)]}}
COUNT = {"query": "count", "epsilon": "0.001", "where": "age >= 40"}
QUANTILE = {"query": "quantile", "column": "age", "epsilon": "0.001", "grid": "0.01"}


@dataclass(slots=True)
class Seen:
    """What the attackers saw."""

    statuses: Counter[int] = field(default_factory=Counter)
    entries: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Honest:
    """The answers that an honest analyst got, how long each took, and how many requests came to nothing."""

    entries: list[int] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    lost: int = 0


class Servers:
    """The processes that serve one vault, each on a port of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.ports = [_free_port() for _ in range(SERVERS)]
        self._running = [self._start(port) for port in self.ports]
        #: Set while a server is killed and started again.
        self.killing = CONTEXT.Event()

    def kill(self, number: int) -> None:
        """Kill a server and start it again."""
        self.killing.set()
        self._running[number].kill()
        self._running[number].wait()
        self._running[number] = self._start(self.ports[number])
        self.killing.clear()

    def stop(self) -> float:
        """Tell all servers to stop; return how long the last one took."""
        started = time.monotonic()
        for process in self._running:
            process.send_signal(signal.SIGTERM)
        for process in self._running:
            process.wait()
        return time.monotonic() - started

    def _start(self, port: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "shoal", "vault", "serve", str(self._folder), "--port", str(port)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        next(line for line in process.stderr if "answers at" in line)
        threading.Thread(target=process.stderr.read, daemon=True).start()
        return process


def _free_port() -> int:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return int(own.getsockname()[1])


def attack(number: int, tokens: list[str], servers: Servers, seen: Seen, stop: threading.Event) -> None:
    """Do what hurts, again and again."""
    chosen = random.Random(number)
    held: list[socket.socket] = []
    while not stop.is_set():
        port = chosen.choice(servers.ports)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        with contextlib.suppress(OSError, http.client.HTTPException):
            if number % 4 == 3 and len(held) < 40:
                held.append(socket.create_connection(("127.0.0.1", port), timeout=5))
                continue
            token = tokens[number % 2] if number % 4 < 2 else chosen.choice(["", "wrong", "x" * 2000])
            broken = number % 4 >= 2 and chosen.random() < 0.5
            body = b"[" * 60_000 if broken else json.dumps(chosen.choice([HEAVY, MANY, COUNT, QUANTILE])).encode()
            path = chosen.choice(["/v1/ask", "/v1/estimate"])
            connection.request("POST", path, body=body, headers={"Authorization": f"Bearer {token}"})
            response = connection.getresponse()
            said = json.loads(response.read())
            seen.statuses[response.status] += 1
            if response.status == 200 and path == "/v1/ask":
                seen.entries.append(said["entry"])
        connection.close()
    for one in held:
        one.close()


def ask_honestly(token: str, ports: Sequence[int], stop: Event, killing: Event, told: Queue[Honest]) -> None:
    """Ask small questions until told to stop, and tell how long each answer took."""
    seen = Honest()
    while not stop.is_set():
        for port in ports:
            started, was_killing = time.monotonic(), killing.is_set()
            try:
                with closing(Client(f"http://127.0.0.1:{port}", token, timeout=30)) as client:
                    seen.entries.append(client.count("age < 40", epsilon="0.001").entry or 0)
            except ShoalError:
                seen.lost += 1
            if not was_killing and not killing.is_set():
                seen.waits.append(time.monotonic() - started)
        stop.wait(0.1)
    told.put(seen)


@contextlib.contextmanager
def honest_analyst(token: str, servers: Servers, seen: list[Honest]) -> Iterator[None]:
    """Let an honest analyst ask meanwhile, in a process of her own: attackers share their interpreter with nobody."""
    stop, told = CONTEXT.Event(), CONTEXT.Queue()
    asking = CONTEXT.Process(target=ask_honestly, args=(token, servers.ports, stop, servers.killing, told))
    asking.start()
    yield
    stop.set()
    seen.append(told.get())
    asking.join()


def main(seconds: float) -> int:
    """Besiege a vault and print what came of it."""
    with tempfile.TemporaryDirectory() as place:
        folder, seen, stop = Path(place), Seen(), threading.Event()
        chosen = random.Random(1)
        rows = [f"{chosen.randint(0, 100)},{chosen.choice('FM')}" for _ in range(100_000)]
        (folder / "people.csv").write_text("\n".join(["age,sex", *rows]) + "\n")
        (folder / "people.schema.toml").write_text(SCHEMA)
        vault = Vault.create(
            folder / "vault", str(folder / "people.csv"), schema=folder / "people.schema.toml", budget=BUDGET
        )
        attackers = [vault.admit(name, Loss.of(10)) for name in ("eve", "mallory")]
        honest = vault.admit("alice", BUDGET)
        servers, waits = Servers(vault.folder), list[Honest]()
        with honest_analyst(honest, servers, waits):
            time.sleep(seconds / 4)
        threads = [
            threading.Thread(target=attack, args=(number, attackers, servers, seen, stop)) for number in range(THREADS)
        ]
        with honest_analyst(honest, servers, waits):
            for thread in threads:
                thread.start()
            for number in range(KILLS):
                time.sleep(seconds / (KILLS + 1))
                servers.kill(number % SERVERS)
            time.sleep(seconds / (KILLS + 1))
        stop.set()
        for thread in threads:
            thread.join()
        stopped = servers.stop()
        return report(vault, seen, waits, stopped)


def report(vault: Vault, seen: Seen, honest: Sequence[Honest], stopped: float) -> int:
    """Print figures; return 0 where all is as promised."""
    with closing(vault.ledger()) as ledger:
        ledger.check()
        spent = {entry.number for entry in ledger.entries() if entry.content["event"] == "spend"}
        standings = ledger.standings()
    answered = [*seen.entries, *(entry for one in honest for entry in one.entries)]
    missing = len(set(answered) - spent) + len(answered) - len(set(answered))
    overspent = [name for name, one in standings.items() if not one.spent.within(one.budget)]
    lost = sum(one.lost for one in honest)
    print(f"answers {len(answered):,}, ledger entries {len(spent):,}, missing {missing}, lost {lost}")  # noqa: T201
    print(f"responses to attackers by status: {dict(sorted(seen.statuses.items()))}")  # noqa: T201
    print(f"spent {standings['*'].spent} of {standings['*'].budget}, overspent by: {overspent or 'nobody'}")  # noqa: T201
    for when, one in zip(("before", "beside"), honest, strict=True):
        print(  # noqa: T201
            f"{when} the attack an honest analyst waited {statistics.median(one.waits):.3f} s in the median of "
            f"{len(one.waits):,} answers, {max(one.waits):.3f} s at most"
        )
    print(f"load of the machine {os.getloadavg()[0]:.0f}; the servers stopped after {stopped:.1f} s")  # noqa: T201
    return int(bool(missing or overspent or max(honest[-1].waits) >= 1))


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if sys.argv[1:] else 60.0))
