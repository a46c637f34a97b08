"""The API describes itself: names, types, and how one gets in."""

from __future__ import annotations

import pytest

from .conftest import Browser


def test_operations_have_short_names_of_their_own(browser: Browser) -> None:
    paths = browser.get("/api").json()["paths"]
    names = [operation["operationId"] for of in paths.values() for operation in of.values()]
    assert len(names) == len(set(names))
    assert {"tables_upload", "runs_start", "schema_change"} <= set(names)
    assert all(len(name) < 30 for name in names)


def test_it_says_how_scripts_and_browsers_get_in(browser: Browser) -> None:
    found = browser.get("/api").json()
    schemes = found["components"]["securitySchemes"]
    assert schemes["script"]["scheme"] == "bearer"
    assert schemes["browser"]["in"] == "cookie"
    assert found["security"] == [{"script": []}, {"browser": []}]


@pytest.mark.parametrize(
    ("path", "method", "status", "name"),
    [
        ("/api/tables", "post", "201", "TableAnswer"),
        ("/api/tables/{table}/schema", "patch", "200", "SavedSchemaAnswer"),
        ("/api/tables/{table}/runs", "post", "201", "RunAnswer"),
        ("/api/runs/{run}/verification", "get", "200", "VerificationAnswer"),
    ],
)
def test_answers_are_typed(browser: Browser, path: str, method: str, status: str, name: str) -> None:
    answer = browser.get("/api").json()["paths"][path][method]["responses"][status]
    assert answer["content"]["application/json"]["schema"]["$ref"].endswith(f"/{name}")
