"""The HTTP interface under arbitrary requests: it keeps its own description, and never fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

pytestmark = pytest.mark.slow

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis")

from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402

from shoal.queries import Ledger, Loss, Vault  # noqa: E402
from shoal.queries.server import RateLimits, create_app  # noqa: E402

from .conftest import CANARY  # noqa: E402


@pytest.fixture(scope="module")
def served(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str, Ledger]]:
    vault = Vault.create(
        tmp_path_factory.mktemp("fuzz") / "vault",
        str(files / "people.csv"),
        schema=files / "people.schema.toml",
        budget=Loss.of(10**6, "0.9"),
    )
    token = vault.admit("fuzz", Loss.of(10**6, "0.9"))
    ledger = vault.ledger()
    yield create_app(vault.desk(ledger), ledger, limits=RateLimits(rate=1e6, burst=10**6)), token, ledger
    ledger.close()


@pytest.fixture(scope="module")
def described(served: tuple[Any, str, Ledger]) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", served[0])


@pytest.mark.parametrize(
    ("path", "method", "mode"),
    [
        ("/v1/ask", "POST", "POSITIVE"),
        ("/v1/ask", "POST", "NEGATIVE"),
        ("/v1/budget", "GET", "POSITIVE"),
        ("/v1/schema", "GET", "POSITIVE"),
        ("/health", "GET", "POSITIVE"),
    ],
)
def test_every_response_is_one_that_the_description_knows(
    described: Any, served: tuple[Any, str, Ledger], path: str, method: str, mode: str
) -> None:
    operation = described[path][method]
    requests = operation.as_strategy(generation_mode=schemathesis.GenerationMode[mode])

    @given(case=requests)
    @settings(max_examples=100, suppress_health_check=list(HealthCheck))
    def run(case: Any) -> None:
        # what a filter may say, and which columns there are, no JSON schema can tell
        response = case.call_and_validate(
            headers={"Authorization": f"Bearer {served[1]}"}, excluded_checks=[positive_data_acceptance]
        )
        assert response.status_code != 500
        assert CANARY not in response.text

    run()


def test_what_was_answered_is_in_the_ledger(served: tuple[Any, str, Ledger]) -> None:
    served[2].check()
    spent = [entry for entry in served[2].entries() if entry.content["event"] == "spend"]
    assert all(entry.content["epsilon"] > 0 for entry in spent)
    assert CANARY not in json.dumps([entry.content["query"] for entry in spent])
