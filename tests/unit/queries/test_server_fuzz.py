"""The HTTP interface under arbitrary requests: it keeps its own description, and never fails."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

pytestmark = pytest.mark.slow

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis")

from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402

from shoal.queries import Ledger, Loss, Vault, _gate  # noqa: E402
from shoal.queries.server import RateLimits, create_app  # noqa: E402

from .conftest import CANARY  # noqa: E402

_answers: Counter[bool] = Counter()


@pytest.fixture(scope="module", autouse=True)
def counted() -> Iterator[None]:
    """Print how many requests were accepted."""
    yield
    print(f"HTTP of a vault: {_answers.total():,} requests, {_answers[True]:,} accepted")  # noqa: T201


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
    generous = RateLimits(share=1e6, burst=1e6, pace=0)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STRANGERS", "ALL_STRANGERS", "VISITS", "ALL_VISITS"):
            patch.setattr(_gate, name, (1e6, 1e6))
        yield create_app(vault.desk(ledger), ledger, limits=generous, names=["testserver"]), token, ledger
    ledger.close()


@pytest.fixture(scope="module")
def described(served: tuple[Any, str, Ledger]) -> Any:
    headers = {"Authorization": f"Bearer {served[1]}"}
    return schemathesis.openapi.from_asgi("/openapi.json", served[0], headers=headers)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_every_response_is_one_that_the_description_knows(
    described: Any, served: tuple[Any, str, Ledger], mode: str
) -> None:
    requests = described["/v1/ask"]["POST"].as_strategy(generation_mode=schemathesis.GenerationMode[mode])

    @given(case=requests)
    @settings(max_examples=100, suppress_health_check=list(HealthCheck))
    def run(case: Any) -> None:
        _call(case, served[1])

    run()


@pytest.mark.parametrize("path", ["/v1/budget", "/v1/schema", "/health"])
def test_what_takes_no_input_answers_as_described(described: Any, served: tuple[Any, str, Ledger], path: str) -> None:
    _call(described[path]["GET"].Case(), served[1])


def _call(case: Any, token: str) -> None:
    # what a filter may say, and which columns there are, no JSON schema can tell
    response = case.call_and_validate(
        headers={"Authorization": f"Bearer {token}"}, excluded_checks=[positive_data_acceptance]
    )
    _answers[response.status_code < 400] += 1
    assert response.status_code != 500
    assert CANARY not in response.text


def test_what_was_answered_is_in_the_ledger(served: tuple[Any, str, Ledger]) -> None:
    served[2].check()
    spent = [entry for entry in served[2].entries() if entry.content["event"] == "spend"]
    assert all(entry.content["epsilon"] > 0 for entry in spent)
    assert CANARY not in json.dumps([entry.content["query"] for entry in spent])
