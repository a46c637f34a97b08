"""The API under arbitrary requests: it never fails, and never gives away a cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .conftest import CANARY, COLUMNS, OCTETS, ORIGIN, Browser

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis")
pytestmark = [pytest.mark.slow]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
words = st.sampled_from(
    ["role", "kind", "hierarchy", "intervals", "cuts", "mask", "length", "groups", "dates", "values", "minimum", "file"]
) | st.sampled_from(["sensitive", "quasi-identifier", "numeric", "date", "ordinal", "month", "weight", "taxonomy"])
columns = st.dictionaries(
    words, values | words | st.dictionaries(words, values | st.lists(values), max_size=2), max_size=4
)
parameters = st.dictionaries(st.sampled_from(["k", "l", "t", "attribute", "p", "m", "epsilon", "delta"]), values)
names = (
    st.sampled_from(["k-anonymity", "t-closeness", "p-sensitive", "km-anonymity", "differential-privacy"]) | st.text()
)
promises = st.lists(st.fixed_dictionaries({"model": names, "parameters": parameters}), max_size=3)
methods = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["generalize", "mondrian", "truthful", "?"]),
        "parameters": st.dictionaries(
            st.sampled_from(["suppression_limit", "quality", "weights", "effort", "time_limit", "steps", "score"]),
            values,
            max_size=2,
        ),
    }
)
patient = settings(max_examples=60, suppress_health_check=list(HealthCheck))


_answers: Counter[bool] = Counter()


@pytest.fixture(scope="module", autouse=True)
def counted() -> Iterator[None]:
    """Print how many requests were accepted."""
    yield
    print(f"HTTP of the app: {_answers.total():,} requests, {_answers[True]:,} accepted")  # noqa: T201


def refused_politely(answer: Any) -> None:
    _answers[answer.status_code < 400] += 1
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert answer.json()["problems"]
        assert CANARY not in answer.text
        assert "Bergen" not in answer.text


@given(column=columns)
@patient
def test_any_column_is_previewed_or_refused(browser: Browser, table: str, column: dict[str, Any]) -> None:
    refused_politely(browser.post(f"/api/tables/{table}/columns/1/preview", json=column))


@given(column=columns, number=st.integers(0, 3))
@patient
def test_any_schema_is_saved_or_refused(browser: Browser, number: int, column: dict[str, Any]) -> None:
    table = _scratch(browser)
    changed = [column if j == number else each for j, each in enumerate(COLUMNS)]
    refused_politely(browser.put(f"/api/tables/{table}/schema", json={"columns": changed}))
    assert browser.get(f"/tables/{table}").status_code == 200


@given(body=st.fixed_dictionaries({"promises": promises, "method": methods}) | values)
@patient
def test_any_choice_gives_a_plan_or_is_refused(browser: Browser, table: str, body: Any) -> None:
    refused_politely(browser.post(f"/api/tables/{table}/plan", json=body))


@given(content=st.binary(max_size=200) | st.text(alphabet='a1,;"\n\t', max_size=80).map(str.encode))
@patient
def test_any_file_is_opened_or_refused(browser: Browser, content: bytes) -> None:
    answer = browser.post("/api/tables?name=x.csv", content=content, headers=OCTETS)
    refused_politely(answer)
    if answer.status_code == 201:
        assert browser.get(f"/tables/{answer.json()['id']}").status_code == 200
        browser.delete(f"/api/tables/{answer.json()['id']}")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/tables/{table}"),
        ("GET", "/api/tables/{table}/records"),
        ("GET", "/api/runs/{run}/files/{name}"),
        ("POST", "/api/tables/{table}/comparisons"),
        ("PUT", "/api/verifications/{verification}/files"),
        ("DELETE", "/api/runs/{run}"),
    ],
)
def test_the_api_keeps_its_own_description(browser: Browser, method: str, path: str) -> None:
    operation = schemathesis.openapi.from_dict(browser.get("/api").json())[path][method]

    @given(case=operation.as_strategy())
    @settings(parent=patient, max_examples=25)
    def run(case: Any) -> None:
        kwargs = case.as_transport_kwargs(base_url=str(browser.base_url))
        headers = {name: value for name, value in kwargs.get("headers", {}).items() if value.isascii()}
        answer = browser.request(
            method,
            kwargs["url"],
            params=kwargs.get("params"),
            json=kwargs.get("json"),
            headers=headers | {"origin": ORIGIN},
        )
        refused_politely(answer)

    run()


_opened: list[str] = []


def _scratch(browser: Browser) -> str:
    """Return a table that a test may spoil."""
    if not _opened:
        _opened.append(browser.open())
    return _opened[0]
