"""A small vault, and its server on this machine."""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from shoal.queries import Loss, Vault
from shoal.queries.server import ConnectionLimits, Connections, RateLimits, VaultServer, create_app

SCHEMA = """
shoal = 1

[columns.name]
role = "identifier"

[columns.age]
role = "quasi-identifier"
kind = "numeric"
minimum = 0
maximum = 100

[columns.sex]
role = "quasi-identifier"
values = ["F", "M"]

[columns.admitted]
role = "insensitive"
kind = "date"
minimum = 2024-01-01
maximum = 2024-12-31

[columns.note]
role = "sensitive"
"""
CANARY = "canary-17f3"


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table whose texts no response may repeat, and its schema."""
    folder, chosen = tmp_path_factory.mktemp("files"), random.Random(5)
    rows = [
        f"{CANARY}-{i},{chosen.randint(0, 100)},{chosen.choice('FM')},2024-{chosen.randint(1, 12):02}-11,{CANARY}"
        for i in range(500)
    ]
    (folder / "people.csv").write_text("\n".join(["name,age,sex,admitted,note", *rows]) + "\n")
    (folder / "people.schema.toml").write_text(SCHEMA)
    return folder


@pytest.fixture
def vault(files: Path, tmp_path: Path) -> Vault:
    return Vault.create(
        tmp_path / "clinic.vault",
        str(files / "people.csv"),
        schema=files / "people.schema.toml",
        budget=Loss.of(100, "1e-3"),
    )


Serve = Callable[..., str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that serves a vault and returns its address."""
    stops: list[Callable[[], None]] = []

    def start(
        vault: Vault,
        *,
        certificate: tuple[Path, Path] | None = None,
        connections: ConnectionLimits | None = None,
        names: Sequence[str] = (),
        behind_proxy: bool = False,
        **limits: float,
    ) -> str:
        ledger = vault.ledger()
        chosen: dict[str, Any] = {"share": 1e6, "burst": 1e6, "pace": 0, **limits}
        admitted, address = Connections(connections or ConnectionLimits()), queue.Queue[str]()
        app = create_app(
            vault.desk(ledger),
            ledger,
            limits=RateLimits(**chosen),
            connections=admitted,
            names=names,
            behind_proxy=behind_proxy,
        )
        made, key = certificate or (None, None)
        server = VaultServer(
            app, admitted, host="127.0.0.1", port=0, certificate=made, private_key=key, started=address.put
        )
        server.load()
        thread = threading.Thread(target=server.run, args=([server.listen()],))
        thread.start()

        def stop() -> None:
            server.should_exit = True
            thread.join()
            ledger.close()

        stops.append(stop)
        return address.get(timeout=60)

    yield start
    for stop in stops:
        stop()
