"""A served vault that is killed again and again while clients ask, and what must hold after every kill."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from shoal.errors import ShoalError
from shoal.queries import Answer, BudgetSpent, Client, Ledger, Loss, Vault

CLIENTS = 8
COST = Loss.of("0.001")
# a server that was killed is started again quickly: the modules are loaded once
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["shoal.queries.server", "shoal.queries._records", "uvicorn", "opendp.prelude"])


@dataclass(slots=True)
class Record:
    """What the clients saw, kept where no kill reaches it."""

    answers: list[Answer] = field(default_factory=list)
    refused: int = 0
    lost: int = 0
    kills: int = 0


@contextmanager
def listening() -> Iterator[tuple[str, Callable[[Vault], BaseProcess]]]:
    """Give an address, and a function that starts a server of a vault there."""
    # asyncio sends small pieces at once only where the protocol is named; else each answer waits 40 milliseconds
    with socket.socket(proto=socket.IPPROTO_TCP) as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind(("127.0.0.1", 0))
        own.listen(128)

        def start(vault: Vault) -> BaseProcess:
            server = _context.Process(target=_serve, args=(vault, own))
            server.start()
            return server

        yield f"http://127.0.0.1:{own.getsockname()[1]}", start


def run(vault: Vault, token: str, *, rounds: int, seed: int) -> Record:
    """Serve the vault, kill it at random moments, and check the ledger after every kill."""
    record, chosen = Record(), random.Random(seed)
    with listening() as (address, start):
        for _ in range(rounds):
            server, stop = start(vault), threading.Event()
            threads = [threading.Thread(target=_ask, args=(address, token, record, stop)) for _ in range(CLIENTS)]
            for thread in threads:
                thread.start()
            try:
                _let_some_answers_come(record, server)
                time.sleep(chosen.uniform(0, 0.15))
                assert server.pid is not None
                os.kill(server.pid, signal.SIGKILL)
                server.join()
                record.kills += 1
            finally:
                # also where the server never answered: nobody may go on asking
                stop.set()
                for thread in threads:
                    thread.join()
            check(vault, record)
    return record


def check(vault: Vault, record: Record) -> None:
    """Assert that nothing was overspent and no answer is missing from the ledger."""
    ledger = vault.ledger()
    spent = {entry.number: entry for entry in ledger.entries() if entry.content["event"] == "spend"}
    standing = ledger.standing("fire")
    ledger.close()
    assert standing.spent.within(standing.budget)
    total = sum(entry.content["epsilon"] for entry in spent.values())
    assert total == standing.spent.epsilon_units
    numbers = [answer.entry for answer in record.answers]
    assert len(set(numbers)) == len(numbers)
    for answer in record.answers:
        assert answer.entry in spent
        assert spent[answer.entry].content["query"] == answer.query


def _serve(vault: Vault, listening: socket.socket) -> None:
    import uvicorn

    from shoal.queries.server import RateLimits, create_app

    ledger = vault.ledger()
    app = create_app(vault.desk(ledger), ledger, limits=RateLimits(share=1e6, burst=1e6, pace=0))
    config = uvicorn.Config(app, log_level="critical")
    uvicorn.Server(config).run(sockets=[listening])


def _ask(address: str, token: str, record: Record, stop: threading.Event) -> None:
    client = Client(address, token, timeout=5)
    while not stop.is_set():
        try:
            record.answers.append(client.count("age >= 0", epsilon=COST.epsilon))
        except BudgetSpent:
            record.refused += 1
            stop.wait(0.01)
        except ShoalError:
            record.lost += 1
            stop.wait(0.01)
    with suppress(OSError):
        client.close()


def _let_some_answers_come(record: Record, server: BaseProcess) -> None:
    before, end = len(record.answers) + record.refused, time.monotonic() + 60
    while len(record.answers) + record.refused == before:
        assert server.is_alive(), "the server stopped by itself"
        assert time.monotonic() < end, "the server never answered"
        time.sleep(0.002)


def spend_the_rest(path: Path, account: str) -> Loss:
    """Spend exactly what is left, see the next unit refused, and return what was left."""
    ledger = Ledger.open(path)
    left = ledger.standing(account).left
    if left.epsilon_units:
        ledger.spend(account, left)
    try:
        ledger.spend(account, Loss(1))
    except BudgetSpent:
        return left
    finally:
        ledger.close()
    raise AssertionError("more than the budget was spent")
