from __future__ import annotations

import http.client
import json
import shutil
import socketserver
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import FilterError, InputError, ParameterError, SchemaError, ShoalError
from shoal.mechanisms import CategoricalPrior, NumericPrior
from shoal.queries import AccessError, BudgetSpent, Client, LedgerError, LookUp, Loss, NotAnswered, Vault, server
from shoal.queries._gate import LARGEST_BODY
from shoal.queries.server import create_app

from .conftest import CANARY, Serve


@pytest.fixture
def token(vault: Vault) -> str:
    return vault.admit("alice", Loss.of(5, "1e-4"))


@pytest.fixture
def client(vault: Vault, token: str, serve: Serve) -> Client:
    return Client(serve(vault), token)


def raw(client: Client, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(client._connection.host, client._connection.port)
    connection.request(method, path, body=body, headers={"Content-Type": "application/json", **headers})
    response = connection.getresponse()
    return response.status, json.loads(response.read() or b"null")


class TestAnswers:
    def test_a_client_asks_as_a_session_does(self, client: Client) -> None:
        assert abs(client.count(epsilon="0.5").value - 500) < 100  # type: ignore[operator]
        assert 30 < client.mean("age", 'sex = "F"', epsilon="0.5").value < 70  # type: ignore[operator]
        assert set(client.histogram("sex", epsilon="0.5").value) == {"F", "M", "(missing)"}  # type: ignore[arg-type]
        assert 0 <= client.quantile("age", 0.9, epsilon="0.5").value <= 100  # type: ignore[operator]
        assert client.sum("age", "age >= 50", epsilon="0.5", noise="optimal").cost == Loss.of("0.5")
        answer = client.look_up(
            "name", f"{CANARY}-3", "age", "sex", epsilon=1, delta="1e-5",
            priors={"sex": CategoricalPrior({"F": "0.25", "M": "0.75"}), "age": NumericPrior.uniform(0, 100, step=5)},
        )  # fmt: skip
        assert set(answer.value) == {"age", "sex"}  # type: ignore[arg-type]
        assert client.count(epsilon="0.25", prior=NumericPrior.normal(480, 50, 0, 1000, step=1)).entry == 11
        assert client.standing.spent == Loss.of("3.75", "1e-5")
        assert client.standing.left == Loss.of("1.25", "0.00009")
        assert answer.cost == Loss.of(1, "1e-5")
        assert not answer.test_only

    def test_a_look_up_with_a_filter_is_refused_as_by_a_session(self, client: Client) -> None:
        with pytest.raises(FilterError, match="where"):
            client.ask(LookUp(identifier="name", person="x", columns=("sex",), where="age = 3", epsilon=1))
        assert client.standing.spent == Loss()

    def test_an_estimate_costs_nothing_and_says_what_the_answer_will(self, client: Client, token: str) -> None:
        key = {"Authorization": f"Bearer {token}"}
        for kind in ("count", "histogram", "sum", "quantile", "mean"):
            asked = {"query": kind, "epsilon": "0.5"} | ({} if kind == "count" else {"column": "age"})
            asked |= {"edges": [0, 50, 100]} if kind == "histogram" else {}
            body, before = json.dumps(asked).encode(), client.standing
            status, found = raw(client, "POST", "/v1/estimate", body, **key)
            assert status == 200, found
            assert found["cost"] == {"epsilon": "0.5", "delta": "0"}
            assert "95%" in found["accuracy"]
            assert client.standing == before
            answer = raw(client, "POST", "/v1/ask", body, **key)[1]
            assert answer["query"] == found["query"]
            assert kind == "mean" or answer["accuracy"]["statement"] == found["accuracy"]
        assert raw(client, "POST", "/v1/estimate", b'{"query": "count", "epsilon": "0.5"}')[0] == 401

    def test_the_page_for_analysts_holds_nothing_of_the_vault(self, client: Client, token: str) -> None:
        for path in ("/", "/ask.js", "/ask.css"):
            connection = http.client.HTTPConnection(client._connection.host, client._connection.port)
            connection.request("GET", path)
            response = connection.getresponse()
            text = response.read().decode()
            assert response.status == 200
            assert "default-src 'none'" in (response.getheader("content-security-policy") or "")
            assert CANARY not in text
            assert token not in text

    def test_the_schema_tells_what_is_declared(self, client: Client) -> None:
        columns = {column["name"]: column for column in client.columns}
        assert columns["sex"]["values"] == ["F", "M"]
        assert (columns["age"]["minimum"], columns["age"]["maximum"]) == (0, 100)
        assert columns["admitted"]["minimum"] == "2024-01-01"
        assert "values" not in columns["note"]

    def test_many_threads_are_answered_and_never_overspend(self, vault: Vault, serve: Serve) -> None:
        token, address, answered = vault.admit("bob", Loss.of(1)), serve(vault), []

        def work() -> None:
            own = Client(address, token)
            for _ in range(10):
                with suppress(BudgetSpent):
                    answered.append(own.count("age >= 40", epsilon="0.02"))
            own.close()

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(answered) == 50
        assert len({answer.entry for answer in answered}) == 50

    def test_an_epsilon_may_be_a_number_or_a_text(self, client: Client, token: str) -> None:
        for epsilon in (0.1, "0.1"):
            status, data = raw(
                client, "POST", "/v1/ask", json.dumps({"query": "count", "epsilon": epsilon}).encode(),
                Authorization=f"Bearer {token}",
            )  # fmt: skip
            assert status == 200
            assert data["cost"]["epsilon"] == "0.1"


class TestRefusals:
    def test_no_token_or_a_wrong_one_is_refused(self, client: Client, token: str) -> None:
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {token}"}, {"Authorization": ""}):
            for method, path in (("POST", "/v1/ask"), ("GET", "/v1/budget"), ("GET", "/v1/schema")):
                body = json.dumps({"query": "count", "epsilon": 1}).encode() if method == "POST" else None
                status, data = raw(client, method, path, body, **headers)
                assert (status, data["code"]) == (401, "unknown")

    def test_who_tries_tokens_is_slowed_down_and_nobody_else(self, client: Client, token: str) -> None:
        found = [raw(client, "GET", "/v1/budget", Authorization=f"Bearer wrong{number}")[0] for number in range(40)]
        assert found[:20] == [401] * 20
        assert found.count(429) >= 15
        assert raw(client, "GET", "/v1/budget", Authorization=f"Bearer {token}")[0] == 200

    def test_refusals_are_logged_without_content(
        self, client: Client, token: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        ask = {"Authorization": f"Bearer {token}"}
        raw(client, "GET", "/v1/budget", Authorization="Bearer wrong")
        raw(client, "POST", "/v1/ask", json.dumps({"secret": CANARY}).encode(), **ask)
        with suppress(BudgetSpent):
            client.count('sex = "F"', epsilon=50)
        assert [line for line in caplog.messages if "refused" in line] == [
            "refused 401 unknown -",
            "refused 422 invalid alice",
            "refused 403 budget-spent alice",
        ]
        assert CANARY not in caplog.text
        assert token not in caplog.text

    def test_tokens_are_stored_as_digests_only(self, vault: Vault, token: str) -> None:
        vault.ledger().close()
        for file in vault.folder.iterdir():
            assert token.encode() not in file.read_bytes()

    @pytest.mark.slow
    def test_a_dismissed_analyst_is_refused(self, vault: Vault, client: Client) -> None:
        client.count(epsilon="0.1")
        vault.dismiss("alice")
        time.sleep(1.1)
        with pytest.raises(AccessError, match="unknown"):
            client.count(epsilon="0.1")

    def test_a_new_token_replaces_the_old_one(self, vault: Vault, token: str, serve: Serve) -> None:
        fresh = vault.admit("alice", Loss.of(5))
        address = serve(vault)
        with pytest.raises(AccessError):
            Client(address, token).count(epsilon=1)
        assert Client(address, fresh).count(epsilon=1).left == Loss.of(4)

    def test_a_spent_budget_is_refused(self, client: Client) -> None:
        client.count(epsilon=5)
        with pytest.raises(BudgetSpent, match=r"epsilon 0, delta 0\.0001 is left"):
            client.count(epsilon="0.1")

    def test_one_analyst_cannot_spend_what_all_together_may_not(self, vault: Vault, serve: Serve) -> None:
        rich = vault.admit("rich", Loss.of(1000))
        client = Client(serve(vault), rich)
        client.count(epsilon=99)
        with pytest.raises(BudgetSpent, match="the budget of the table"):
            client.count(epsilon=2)

    def test_who_asks_too_often_waits(self, vault: Vault, token: str, serve: Serve) -> None:
        client, answered = Client(serve(vault, share=0.001, burst=0.02), token), 0
        with pytest.raises(AccessError, match="too many questions"):
            for _ in range(100):
                answered += bool(client.count(epsilon="0.01").entry)
        assert 0 < answered < 20

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "body",
        [
            b"", b"null", b"[]", b"{", b'{"query": "drop"}', b'{"query": "count"}', b'{"query": "count", "epsilon": 0}',
            b'{"query": "count", "epsilon": 1, "more": 2}', b'{"query": "count", "epsilon": NaN}',
            b'{"query": "count", "epsilon": true}', b'{"query": "count", "epsilon": "1e999999999"}',
            b'{"query": "count", "epsilon": 1, "where": "age >"}', b'{"query": "count", "epsilon": 1, "where": 3}',
            b'{"query": "sum", "column": "note", "epsilon": 1}',
            b'{"query": "histogram", "column": "note", "epsilon": 1}',
            b'{"query": "histogram", "column": "age", "edges": [1, 1e400], "epsilon": 1}',
            b'{"query": "look-up", "identifier": "name", "person": "x", "columns": [], "epsilon": 1}',
            b'{"query": "count", "epsilon": 1, "prior": {"start": 0, "step": 0, "masses": [1]}}',
            b'{"query": "count", "epsilon": 1, "prior": {"start": 0, "step": 1, "masses": [-1]}}',
            b'{"query": "count", "epsilon": 1, "prior": {"start": "1e99999999", "step": 1, "masses": [1]}}',
            b"\xff\xfe", b'{"query": "count", "epsilon": "\\ud800"}',
            b'{"query": "count", "scale": "1000000000000/9223372036854775807"}', b'{"query": "count", "scale": 1e-50}',
            b'{"query": "sum", "column": "age", "scale": "1e-9"}',
        ],
    )  # fmt: skip
    def test_bad_requests_are_refused_in_one_shape_and_cost_nothing(
        self, client: Client, token: str, body: bytes
    ) -> None:
        status, data = raw(client, "POST", "/v1/ask", body, Authorization=f"Bearer {token}")
        assert status == 422
        assert set(data) == {"code", "problems", "hint"}
        assert client.standing.spent == Loss()

    def test_a_body_that_is_too_large_is_refused(self, client: Client, token: str) -> None:
        body = b'{"query": "count", "epsilon": 1, "where": "' + b" " * LARGEST_BODY + b'"}'
        status, data = raw(client, "POST", "/v1/ask", body, Authorization=f"Bearer {token}")
        assert (status, data["code"]) == (413, "refused")

    @pytest.mark.slow
    @pytest.mark.parametrize(("method", "path"), [("GET", "/nothing"), ("DELETE", "/v1/ask"), ("GET", "/docs")])
    def test_other_places_do_not_exist(self, client: Client, token: str, method: str, path: str) -> None:
        assert raw(client, method, path)[0] == 401
        status, data = raw(client, method, path, Authorization=f"Bearer {token}")
        assert status in (404, 405)
        assert data["code"] == "refused"

    def test_a_damaged_ledger_answers_nothing(self, vault: Vault, client: Client) -> None:
        client.count(epsilon="0.1")
        connection = sqlite3.connect(vault.folder / "ledger.sqlite")
        connection.execute("DROP TRIGGER entries_last")
        connection.execute("DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)")
        connection.commit()
        connection.close()
        with pytest.raises(LedgerError):
            client.count(epsilon="0.1")

    def test_a_failing_computation_says_nothing_and_stays_spent(
        self, vault: Vault, token: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from shoal.queries._records import MemoryRecords

        def fail(*_: object) -> int:
            raise ValueError(CANARY)

        monkeypatch.setattr(MemoryRecords, "count", fail)
        client = Client(serve(vault), token)
        with pytest.raises(NotAnswered) as failed:
            client.count(epsilon="0.5")
        assert CANARY not in str(failed.value)
        assert client.standing.spent == Loss.of("0.5")

    def test_a_defect_says_nothing_either(
        self, vault: Vault, token: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from shoal.queries.session import Desk

        def fail(*_: object) -> None:
            raise RuntimeError(CANARY)

        monkeypatch.setattr(Desk, "ask", fail)
        client = Client(serve(vault), token)
        body = json.dumps({"query": "count", "epsilon": 1}).encode()
        status, data = raw(client, "POST", "/v1/ask", body, Authorization=f"Bearer {token}")
        assert (status, data["code"]) == (500, "failed")
        assert CANARY not in json.dumps(data)

    def test_it_is_healthy_while_it_can_draw_noise(
        self, vault: Vault, token: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from shoal.mechanisms import Laplace

        def fail(*_: object, **__: object) -> None:
            raise RuntimeError(CANARY)

        monkeypatch.setattr(server, "_FRESH", 0)
        client = Client(serve(vault), token)
        assert raw(client, "GET", "/health") == (200, {"status": "up"})
        monkeypatch.setattr(Laplace, "release_all", fail)
        status, data = raw(client, "GET", "/health")
        assert (status, data["code"]) == (503, "not-ready")
        assert CANARY not in json.dumps(data)
        assert str(client.standing.spent) == "epsilon 0"

    def test_a_desk_that_cannot_answer_says_so_before_anybody_pays(
        self, vault: Vault, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from shoal.mechanisms import Laplace

        def fail(*_: object, **__: object) -> None:
            raise RuntimeError(CANARY)

        ledger = vault.ledger()
        desk = vault.desk(ledger)
        desk.rehearse()
        monkeypatch.setattr(Laplace, "release_all", fail)
        with pytest.raises(ShoalError, match="nothing was spent") as refused:
            desk.rehearse()
        assert CANARY not in str(refused.value)
        ledger.close()

    def test_no_response_repeats_a_text_of_the_records(self, client: Client, token: str) -> None:
        said = []
        for where in (None, "age >= 0", f"note = '{CANARY[:3]}'", "note is missing", "age = 'x'", "nothing = 3"):
            body = json.dumps({"query": "count", "epsilon": "0.01", "where": where}).encode()
            said.append(raw(client, "POST", "/v1/ask", body, Authorization=f"Bearer {token}"))
        for path in ("/v1/schema", "/v1/budget", "/openapi.json", "/health"):
            said.append(raw(client, "GET", path, Authorization=f"Bearer {token}"))
        assert CANARY not in json.dumps(said)

    def test_answers_leave_at_the_pace(self, vault: Vault, token: str, serve: Serve) -> None:
        client = Client(serve(vault, pace=0.3), token)
        started = time.monotonic()
        client.count(epsilon="0.1")
        assert time.monotonic() - started >= 0.3


@contextmanager
def _saying(said: bytes) -> Iterator[str]:
    """Serve something that is no vault: it takes a request and says the same each time."""

    class Same(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.request.recv(1 << 16)
            self.wfile.write(said)

    with socketserver.TCPServer(("127.0.0.1", 0), Same) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class TestClient:
    @pytest.mark.parametrize(
        "address", ["http://example.org", "ftp://localhost", "localhost:80", "http://", "http://10.0.0.1"]
    )
    def test_tokens_do_not_travel_in_clear_text(self, address: str) -> None:
        with pytest.raises(ParameterError, match="`address` of `Client`"):
            Client(address, "token")

    def test_this_machine_may_be_asked_in_clear_text(self) -> None:
        for address in ("http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1", "https://example.org"):
            Client(address, "token")

    def test_where_nothing_was_sent_nothing_is_spent(self) -> None:
        with pytest.raises(InputError, match="nothing was sent, so nothing is spent"):
            Client("http://127.0.0.1:9", "token").count(epsilon=1)

    @pytest.mark.parametrize(
        "said",
        [
            b"",
            b"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 4\r\n\r\nlate",
            b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\n{}",
            b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 34\r\n\r\n" + b'{"code":"failed","problems":["x"]}',
            b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"value":1}',
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
            b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n{",
        ],
        ids=["cut", "gateway", "shapeless", "defect", "no-answer", "list", "half"],
    )
    def test_after_a_lost_answer_the_cost_may_have_been_spent(self, said: bytes) -> None:
        with _saying(said) as address:
            with pytest.raises(InputError) as lost:
                Client(address, "token").count(epsilon=1)
            assert "may have been spent: ask the ledger" in str(lost.value)
            assert "is spent" not in str(lost.value)
            for name in ("columns", "standing"):
                with pytest.raises(InputError) as free:
                    getattr(Client(address, "token"), name)
                assert "spent" not in str(free.value)

    def test_after_a_refusal_no_cost_is_claimed(self, client: Client) -> None:
        for epsilon, words in ((100, "budget"), ("1e-9989", "epsilon")):
            with pytest.raises(ShoalError, match=words) as refused:
                client.count(epsilon=epsilon)
            assert "may have been spent" not in str(refused.value)
        assert client.standing.spent == Loss()

    def test_errors_arrive_as_they_were_raised(self, client: Client) -> None:
        with pytest.raises(FilterError, match="an unknown column at character 1"):
            client.count("height > 3", epsilon=1)
        with pytest.raises(ShoalError, match="`epsilon` must be in"):
            client.count(epsilon=-1)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a certificate for this machine, signed by itself, and its private key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    folder = tmp_path_factory.mktemp("tls")
    made, key = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(made)]
    names = ["-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*command, *names], check=True, capture_output=True)
    return made, key


class TestTLS:
    @pytest.mark.slow
    def test_a_client_that_knows_the_authority_asks_over_tls(
        self, vault: Vault, token: str, serve: Serve, certificate: tuple[Path, Path]
    ) -> None:
        address = serve(vault, certificate=certificate)
        assert address.startswith("https://")
        answer = Client(address, token, certificate=certificate[0]).count(epsilon="0.5")
        assert answer.cost == Loss.of("0.5")

    @pytest.mark.slow
    def test_a_client_that_does_not_know_it_sends_nothing(
        self, vault: Vault, token: str, serve: Serve, certificate: tuple[Path, Path]
    ) -> None:
        client = Client(serve(vault, certificate=certificate), token)
        with pytest.raises(InputError, match="could not be reached"):
            client.count(epsilon="0.5")
        assert vault.ledger().standing("alice").spent == Loss()


class TestVault:
    def test_a_drafted_schema_is_refused(self, files: Path, tmp_path: Path) -> None:
        schema = tmp_path / "drafted.toml"
        schema.write_text("guessed = true\n" + (files / "people.schema.toml").read_text())
        with pytest.raises(SchemaError, match="a person has confirmed"):
            Vault.create(tmp_path / "v", str(files / "people.csv"), schema=schema, budget=Loss.of(1))
        assert not (tmp_path / "v").exists()

    def test_a_changed_schema_is_noticed(self, files: Path, tmp_path: Path) -> None:
        schema = tmp_path / "people.schema.toml"
        text = (files / "people.schema.toml").read_text()
        schema.write_text(text)
        vault = Vault.create(tmp_path / "v", str(files / "people.csv"), schema=schema, budget=Loss.of(1))
        schema.write_text(text.replace("maximum = 100", "maximum = 101"))
        with pytest.raises(SchemaError, match="has changed since the vault was made"):
            vault.desk(vault.ledger())

    def test_a_vault_is_readable_by_its_owner_only(self, vault: Vault) -> None:
        assert vault.folder.stat().st_mode & 0o077 == 0

    def test_a_folder_that_is_no_vault_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="is not a vault"):
            Vault.open(tmp_path)
        (tmp_path / "vault.toml").write_text("source = 1 = 2")
        with pytest.raises(InputError, match="cannot be read"):
            Vault.open(tmp_path)

    def test_an_existing_folder_is_not_overwritten(self, vault: Vault, files: Path) -> None:
        with pytest.raises(InputError, match="already exists"):
            Vault.create(
                vault.folder, str(files / "people.csv"), schema=files / "people.schema.toml", budget=Loss.of(1)
            )

    @pytest.mark.parametrize("name", ["", "*", "a\nb", "x" * 101])
    def test_names_of_analysts_are_plain(self, vault: Vault, name: str) -> None:
        with pytest.raises(ParameterError, match="the name of an analyst"):
            vault.admit(name, Loss.of(1))

    def test_an_app_can_be_made_without_a_vault_folder(self, vault: Vault) -> None:
        ledger = vault.ledger()
        assert create_app(vault.desk(ledger), ledger).title == "Shoal vault"
