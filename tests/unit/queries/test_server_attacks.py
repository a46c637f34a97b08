"""Strangers and analysts who want the server's time, memory and connections for themselves."""

from __future__ import annotations

import http.client
import json
import queue
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shoal.queries import Client, Loss, Vault
from shoal.queries.server import ConnectionLimits, Connections, VaultServer, create_app

from .conftest import Serve

COUNT = b'{"query": "count", "epsilon": "0.01"}'


@pytest.fixture
def token(vault: Vault) -> str:
    return vault.admit("alice", Loss.of(50, "1e-4"))


def place(address: str) -> tuple[str, int]:
    host, _, port = address.partition("//")[2].rpartition(":")
    return host, int(port)


@contextmanager
def connected(address: str) -> Iterator[socket.socket]:
    with socket.create_connection(place(address), timeout=30) as own:
        yield own


def exchange(address: str, *lines: str, body: bytes = b"") -> tuple[int, dict[str, Any]]:
    """Send a request as it is written here; return the response to it."""
    with connected(address) as own:
        own.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        response = http.client.HTTPResponse(own)
        response.begin()
        body = response.read()
        return response.status, json.loads(body) if body[:1] == b"{" else {}


def ask(address: str, token: str, message: object, path: str = "/v1/estimate") -> tuple[int, dict[str, Any]]:
    body = json.dumps(message).encode()
    length, key = f"Content-Length: {len(body)}", f"Authorization: Bearer {token}"
    return exchange(address, f"POST {path} HTTP/1.1", "Host: localhost", key, length, body=body)


def refined(masses: list[object]) -> dict[str, object]:
    return {"query": "count", "epsilon": "1", "prior": {"kind": "numbers", "start": 0, "step": 1, "masses": masses}}


@pytest.mark.parametrize(
    "masses",
    [
        [f"1/{2**127 - 2 * i - 1}" for i in range(1000)],
        [1] * 5000,
        ["1", "1e-9989"],
        ["1", "1e9989"],
    ],
    ids=["denominators", "many", "tiny", "huge"],
)
def test_a_prior_that_costs_much_to_compute_is_refused(
    vault: Vault, token: str, serve: Serve, masses: list[object]
) -> None:
    address = serve(vault)
    for path in ("/v1/estimate", "/v1/ask"):
        status, said = ask(address, token, refined(masses), path)
        assert (status, said["code"]) == (422, "invalid")
    texts = {"query": "look-up", "identifier": "name", "person": "x", "columns": ["sex"], "epsilon": 1}
    prior = {"kind": "texts", "masses": dict(zip("FM", masses[-2:], strict=True))}
    if len(masses) == 2:
        assert ask(address, token, texts | {"priors": {"sex": prior}})[0] == 422
    assert Client(address, token).standing.spent == Loss()


def test_strangers_are_refused_before_their_body_is_read(vault: Vault, serve: Serve) -> None:
    started = time.monotonic()
    status, said = exchange(serve(vault), "POST /v1/ask HTTP/1.1", "Host: localhost", "Content-Length: 60000")
    assert (status, said["code"]) == (401, "unknown")
    assert time.monotonic() - started < 5


def test_broken_requests_of_strangers_count_as_guesses(vault: Vault, serve: Serve) -> None:
    address, found = serve(vault), []
    for _ in range(40):
        head = ("POST /v1/ask HTTP/1.1", "Host: localhost", "Authorization: Bearer x", "Content-Length: 1")
        found.append(exchange(address, *head, body=b"{")[0])
    assert set(found[:20]) == {401}
    assert found.count(429) >= 15


@pytest.mark.parametrize(
    "headers",
    [
        ["Authorization: Bearer {}", "Authorization: Bearer x"],
        ["Authorization: Bearer {}", "Content-Length: 37", "Transfer-Encoding: chunked"],
        ["Authorization: Bearer {}", "Content-Length: 37", "Host: evil.example"],
    ],
)
def test_requests_that_may_be_read_in_two_ways_are_refused(
    vault: Vault, token: str, serve: Serve, headers: list[str]
) -> None:
    said = [header.format(token) for header in headers]
    address = serve(vault)
    assert exchange(address, "POST /v1/ask HTTP/1.1", "Host: localhost", *said, body=COUNT)[0] == 400
    assert Client(address, token).standing.spent == Loss()


@pytest.mark.parametrize(
    "body",
    [
        b'{"query": "count", "epsilon": "1", "epsilon": "2"}',
        b'{"query": "count", "epsilon": "1", "\\u0065psilon": "2"}',
        b'{"query": "count", "epsilon": "1", "prior": {"start": 0, "start": 1, "step": 1, "masses": [1]}}',
    ],
    ids=["plain", "escaped", "inside"],
)
def test_a_key_that_is_given_twice_is_refused(vault: Vault, token: str, serve: Serve, body: bytes) -> None:
    address = serve(vault)
    before = Client(address, token).standing.spent
    head = ["Host: localhost", f"Authorization: Bearer {token}", f"Content-Length: {len(body)}"]
    for path in ("/v1/ask", "/v1/estimate"):
        status, said = exchange(address, f"POST {path} HTTP/1.1", *head, body=body)
        assert (status, said["problems"]) == (422, ["an object of the request has a key twice."])
    assert Client(address, token).standing.spent == before


@pytest.mark.parametrize("length", ["65537", "9" * 17, "9" * 19])
def test_a_body_that_is_stated_to_be_large_is_not_waited_for(
    vault: Vault, token: str, serve: Serve, length: str
) -> None:
    started = time.monotonic()
    head = ["Host: localhost", f"Authorization: Bearer {token}", f"Content-Length: {length}"]
    assert exchange(serve(vault), "POST /v1/ask HTTP/1.1", *head)[0] == 413
    assert time.monotonic() - started < 5


def test_a_page_elsewhere_that_borrows_the_address_is_refused(vault: Vault, token: str, serve: Serve) -> None:
    address = serve(vault, names=["vault.example.org"])
    key = f"Authorization: Bearer {token}"
    for host, status in (
        ("localhost:8470", 200),
        ("127.0.0.1", 200),
        ("[::1]:1", 200),
        ("Vault.Example.org:443", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("", 421),
    ):
        assert exchange(address, "GET /v1/budget HTTP/1.1", f"Host: {host}", key)[0] == status, host
        assert exchange(address, "GET /health HTTP/1.1", f"Host: {host}")[0] == status, host


def test_the_description_of_the_interface_is_for_analysts(vault: Vault, token: str, serve: Serve) -> None:
    address = serve(vault)
    assert exchange(address, "GET /openapi.json HTTP/1.1", "Host: localhost")[0] == 401
    status, said = exchange(address, "GET /openapi.json HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}")
    assert status == 200
    assert {"CountMessage", "AnswerMessage"} <= set(said["components"]["schemas"])


def is_closed(own: socket.socket, seconds: float) -> bool:
    own.settimeout(seconds)
    try:
        while own.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET /health HTTP/1.1\r\nHost: local",
        b"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\nContent-Length: 40\r\n\r\n{",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=["nothing", "headers", "body", "pause"],
)
def test_who_is_slow_is_closed(vault: Vault, token: str, serve: Serve, said: bytes) -> None:
    address = serve(vault, connections=ConnectionLimits(patience=1))
    with connected(address) as own:
        own.sendall(said.replace(b"%b", token.encode()))
        assert is_closed(own, 10)


@pytest.mark.slow
def test_who_never_finishes_a_handshake_is_closed(vault: Vault, serve: Serve, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    made, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(made)]
    subprocess.run([*command, "-days", "1", "-subj", "/CN=localhost"], check=True, capture_output=True)
    address = serve(vault, certificate=(made, key), connections=ConnectionLimits(patience=1))
    with connected(address) as own:
        assert is_closed(own, 10)


@pytest.mark.slow
def test_idle_strangers_make_room_and_analysts_stay(vault: Vault, token: str, serve: Serve) -> None:
    address = serve(vault, connections=ConnectionLimits(per_address=8, in_all=16))
    client = Client(address, token)
    client.count(epsilon="0.01")
    strangers = [socket.create_connection(place(address), timeout=30) for _ in range(40)]
    # an analyst who comes now is answered, too
    assert Client(address, token).count(epsilon="0.01").entry
    first = client._connection.sock
    client.count(epsilon="0.01")
    assert client._connection.sock is first
    assert sum(is_closed(own, 0.2) for own in strangers) >= 32
    for own in strangers:
        own.close()


def test_connections_of_a_proxy_are_counted_in_all_only(vault: Vault, token: str, serve: Serve) -> None:
    """Behind a proxy each stranger has guesses of an own, by the address that the proxy saw."""
    address, found = serve(vault, connections=ConnectionLimits(per_address=None), behind_proxy=True), []
    for number in range(40):
        forged = f"X-Forwarded-For: 10.1.1.{number}, 10.0.0.1"
        found.append(exchange(address, "GET /v1/budget HTTP/1.1", "Host: localhost", forged)[0])
    assert found[:20] == [401] * 20
    assert found.count(429) >= 15
    assert exchange(address, "GET /v1/budget HTTP/1.1", "Host: localhost", "X-Forwarded-For: 10.0.0.9")[0] == 401


def test_the_log_of_refusals_is_bounded(vault: Vault, serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    address = serve(vault)
    for _ in range(120):
        exchange(address, "GET /v1/budget HTTP/1.1", "Host: localhost")
    assert len([line for line in caplog.messages if line.startswith("refused")]) < 70


def slow_count(monkeypatch: pytest.MonkeyPatch, seconds: float) -> list[float]:
    """Let counts take long; return the list of the times at which they begin."""
    from shoal.queries._records import MemoryRecords

    begun: list[float] = []

    def count(*_: object) -> int:
        begun.append(time.monotonic())
        time.sleep(seconds)
        return 0

    monkeypatch.setattr(MemoryRecords, "count", count)
    return begun


@pytest.mark.slow
def test_questions_of_clients_that_are_gone_are_not_worked_on(
    vault: Vault, token: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, address = slow_count(monkeypatch, 1.5), serve(vault)
    head = f"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 37\r\n\r\n"
    for _ in range(20):
        with connected(address) as own:
            own.sendall(head.encode() + COUNT)
            time.sleep(0.02)
    time.sleep(3)
    # those that ran at once went on; the others waited for their turn, and nobody waited for them
    assert len(begun) <= 4
    assert Client(address, token).standing.spent == Loss.of(str(len(begun) * 0.01))


@pytest.mark.slow
def test_one_analyst_does_not_take_all_threads(
    vault: Vault, token: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, begun = vault.admit("bob", Loss.of(1)), slow_count(monkeypatch, 1.0)
    address = serve(vault)
    threads = [threading.Thread(target=Client(address, token).count, kwargs={"epsilon": "0.01"}) for _ in range(12)]
    for thread in threads:
        thread.start()
    while not begun:
        time.sleep(0.01)
    started = time.monotonic()
    Client(address, other).count(epsilon="0.01")
    assert time.monotonic() - started < 2
    for thread in threads:
        thread.join()


@pytest.mark.slow
def test_a_server_stops_within_seconds_whatever_it_works_on(
    vault: Vault, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ledger, address = slow_count(monkeypatch, 8), vault.ledger(), queue.Queue[str]()
    connections = Connections()
    server = VaultServer(
        create_app(vault.desk(ledger), ledger, connections=connections),
        connections,
        host="127.0.0.1",
        port=0,
        started=address.put,
    )
    server.load()
    serving = threading.Thread(target=server.run, args=([server.listen()],))
    serving.start()
    where = address.get(timeout=60)
    head = f"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 37\r\n\r\n"
    with connected(where) as asking, connected(where):
        asking.sendall(head.encode() + COUNT)
        while not begun:
            time.sleep(0.01)
        started, server.should_exit = time.monotonic(), True
        serving.join(6)
        assert not serving.is_alive()
        ledger.close()
        assert time.monotonic() - started < 4


def test_processor_time_is_what_an_analyst_pays_for(
    vault: Vault, token: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.queries._records import MemoryRecords

    def busy(*_: object) -> int:
        end = time.thread_time() + 0.3
        while time.thread_time() < end:
            pass
        return 0

    address = serve(vault, share=0.01, burst=0.25)
    for _ in range(5):
        assert ask(address, token, json.loads(COUNT))[0] == 200
    monkeypatch.setattr(MemoryRecords, "count", busy)
    assert ask(address, token, json.loads(COUNT), "/v1/ask")[0] == 200
    status, said = ask(address, token, json.loads(COUNT))
    assert (status, said["code"]) == (429, "too-often")
    other = vault.admit("bob", Loss.of(1))
    time.sleep(1.1)
    assert ask(address, other, json.loads(COUNT))[0] == 200
