"""Who may talk to the app."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from shoal.web import Access, create_app

from .conftest import HOST, OCTETS, ORIGIN, Browser, people


@pytest.fixture
def access() -> Access:
    return Access(host=HOST)


@pytest.fixture
def stranger(access: Access, tmp_path: Path) -> TestClient:
    return TestClient(create_app(tmp_path, access=access, port=8123), base_url=f"{ORIGIN}:8123")


@pytest.mark.parametrize("path", ["/", "/api/tables", "/api", "/static/app.js", "/verify", "/nothing"])
def test_nobody_gets_in_without_the_token(stranger: TestClient, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 401
    assert "`shoal open`" in answer.json()["hint"]


def test_a_refusal_looks_like_the_app(stranger: TestClient) -> None:
    for path, host in (("/", f"{HOST}:8123"), ("/runs/1", f"{HOST}:8123"), ("/", "127.0.0.1:8123")):
        refused = stranger.get(path, headers={"accept": "text/html", "host": host})
        assert refused.status_code in (401, 421)
        assert "<h1>Shoal cannot be opened from here</h1>" in refused.text
        assert "<bdi>shoal open</bdi>" in refused.text
        for file in ("/static/app.css", "/static/shoal.svg"):
            assert file in refused.text
            assert stranger.get(file, headers={"host": host}).status_code == 200


def test_a_wrong_token_opens_nothing(stranger: TestClient) -> None:
    assert stranger.get("/?token=guess").status_code == 401
    assert not stranger.cookies


def test_the_token_opens_the_app_in_every_window(stranger: TestClient, access: Access) -> None:
    first = stranger.get(f"/?token={access.token}", follow_redirects=False)
    assert first.status_code == 303
    assert "token" not in first.headers["location"]
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert stranger.get("/").status_code == 200
    stranger.cookies.clear()
    assert stranger.get("/").status_code == 401
    assert stranger.get(f"/?token={access.token}").status_code == 200, "a new window has no cookie yet"
    assert stranger.get("/").status_code == 200


def test_the_host_name_is_of_this_app_alone() -> None:
    first, second = Access().host, Access().host
    assert first != second
    assert first.endswith(".localhost")


def test_a_script_shows_its_token_and_no_other(tmp_path: Path) -> None:
    token = "t" * 40
    script = TestClient(create_app(tmp_path, access=Access(api_token=token, host=HOST)), base_url=ORIGIN)
    sent = {"authorization": f"Bearer {token}"}
    assert script.get("/api/tables", headers=sent).status_code == 200
    assert script.post("/api/verifications", headers=sent).status_code == 201, "no page of another site can send it"
    for wrong in ({}, {"authorization": "Bearer"}, {"authorization": f"Bearer {token}x"}, {"authorization": token}):
        assert script.get("/api/tables", headers=wrong).status_code == 401
    assert script.get("/api/tables", headers=sent | {"origin": "https://evil.example"}).status_code == 403
    assert script.get("/api/tables", headers=sent | {"host": "evil.example"}).status_code == 421


def test_without_a_token_file_no_script_gets_in(stranger: TestClient) -> None:
    for shown in ("Bearer ", "Bearer None", "bearer"):
        assert stranger.get("/api/tables", headers={"authorization": shown}).status_code == 401


def test_a_browser_that_a_file_led_here_goes_on_by_itself(stranger: TestClient, access: Access) -> None:
    answer = stranger.get(f"/?token={access.token}", headers={"sec-fetch-site": "cross-site"}, follow_redirects=False)
    assert answer.status_code == 200
    assert "url=/" in answer.text
    assert stranger.get("/").status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", HOST, f"{HOST}:1", f"{HOST}:8123.evil.example", "", "127.0.0.1:8123", "localhost:8123"]
)
def test_another_host_name_is_refused(stranger: TestClient, access: Access, host: str) -> None:
    answer = stranger.get(f"/?token={access.token}", headers={"host": host})
    assert answer.status_code == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_the_other_names_of_the_loopback_are_for_scripts(tmp_path: Path, host: str) -> None:
    access = Access(api_token="t" * 40, host=HOST)
    script = TestClient(create_app(tmp_path, access=access), base_url=f"http://{host}")
    assert script.get("/api/tables", headers={"authorization": f"Bearer {'t' * 40}"}).status_code == 200
    assert script.get(f"/?token={access.token}").status_code == 421
    assert not script.cookies


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://shoal-test.localhost", "http://shoal-test.localhost:9"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_another_origin_is_refused(browser: Browser, table: str, origin: str, method: str) -> None:
    path = f"/api/tables/{table}" if method != "POST" else "/api/tables/example"
    assert browser.request(method, path, headers={"origin": origin}).status_code == 403
    assert browser.get(f"/api/tables/{table}").status_code == 200


def test_a_change_without_an_origin_is_refused(browser: Browser, table: str) -> None:
    request = browser.build_request("DELETE", f"/api/tables/{table}")
    del request.headers["origin"]
    assert browser.send(request).status_code == 403
    assert browser.get(f"/api/tables/{table}").status_code == 200


def test_a_page_of_another_site_cannot_read_the_api(browser: Browser) -> None:
    assert browser.get("/api/tables", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert browser.get("/api/tables", headers={"sec-fetch-site": "same-origin"}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/api/tables", "/static/app.js", "/nothing"])
def test_every_answer_forbids_foreign_scripts_and_frames(browser: Browser, path: str) -> None:
    headers = browser.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_no_page_holds_inline_scripts_or_styles(browser: Browser, table: str, run: str) -> None:
    for path in ("/", f"/tables/{table}", f"/tables/{table}/promise", f"/runs/{run}", "/verify"):
        page = browser.get(path).text
        assert " style=" not in page
        assert " onclick=" not in page
        for script in page.split("<script")[1:]:
            assert 'src="/static/' in script.split(">")[0] or 'type="application/json"' in script.split(">")[0]


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[TestClient]:
    access = Access(host=HOST)
    app = create_app(tmp_path, access=access, upload_limit=1000)
    client = TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN})
    client.get(f"/?token={access.token}")
    yield client
    assert not list((tmp_path / "tables").iterdir()), "nothing is left of what was refused"


def test_an_upload_that_says_it_is_too_large_is_refused(narrow: TestClient) -> None:
    answer = narrow.post("/api/tables?name=a.csv", content=people(100), headers=OCTETS)
    assert answer.status_code == 413


def test_an_upload_that_turns_out_too_large_is_refused(narrow: TestClient) -> None:
    answer = narrow.post("/api/tables?name=a.csv", content=(b"a" * 100 for _ in range(20)), headers=OCTETS)
    assert answer.status_code == 413
    assert "larger" in answer.json()["problems"][0]


def test_a_defect_is_told_by_its_place_alone(browser: Browser, monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    import shoal

    def broken(*_: object, **__: object) -> None:
        raise ValueError("a cell of the data")

    monkeypatch.setattr(shoal, "assess", broken)
    for path in (browser_path(browser, table) / "risk.json",):
        path.unlink(missing_ok=True)
    answer = browser.get(f"/api/tables/{table}/risk")
    assert answer.status_code == 500
    assert "cell" not in answer.text
    assert "ValueError at" in answer.json()["problems"][0]


def browser_path(browser: Browser, table: str) -> Path:
    context = browser.app.state.context  # type: ignore[attr-defined]
    found: Path = context.store.tables.path(table)
    return found
