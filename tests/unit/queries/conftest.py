"""A small vault, and its server on this machine."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.queries import Loss, Vault
from shoal.queries.server import RateLimits, create_app

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
    import uvicorn

    stops: list[Callable[[], None]] = []

    def start(vault: Vault, *, certificate: tuple[Path, Path] | None = None, **limits: float) -> str:
        ledger = vault.ledger()
        chosen: dict[str, Any] = {"rate": 1e6, "burst": 10**6, **limits}
        app = create_app(vault.desk(ledger), ledger, limits=RateLimits(**chosen))
        made, key = certificate or (None, None)
        config = uvicorn.Config(app, port=0, log_level="critical", ssl_certfile=made, ssl_keyfile=key)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)

        def stop() -> None:
            server.should_exit = True
            thread.join()
            ledger.close()

        stops.append(stop)
        port = server.servers[0].sockets[0].getsockname()[1]
        return f"{'http' if certificate is None else 'https'}://127.0.0.1:{port}"

    yield start
    for stop in stops:
        stop()
