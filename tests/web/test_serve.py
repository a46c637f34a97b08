"""Starting the app from the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import webbrowser
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import InputError
from shoal.web import default_folder, open_again, serve
from shoal.web._app import api_token
from shoal.web._doorway import doorway
from shoal.writing import Scratch

ADDRESS = r"http://shoal-[0-9a-f]{16}\.localhost:\d+/\?token=\S+"


class Opener:
    """A browser: it finds names below localhost on this machine, and keeps cookies by their name."""

    def __init__(self, address: str) -> None:
        host = urllib.parse.urlsplit(address)
        self.host, self.home = host.netloc, f"http://127.0.0.1:{host.port}/"
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(), SameHost())

    def open(self, path: str = "", **headers: str) -> str:
        asked = urllib.request.Request(self.home + path, headers={"host": self.host, **headers})  # noqa: S310
        return str(self._opener.open(asked).read().decode())


class SameHost(urllib.request.HTTPRedirectHandler):
    """Goes on at the name that was asked for."""

    def redirect_request(self, request: Any, *arguments: Any) -> Any:
        onward = super().redirect_request(request, *arguments)
        if onward is not None:
            onward.add_header("host", request.get_header("Host"))
        return onward


def test_a_port_in_use_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="cannot be used"):
            serve(port=taken.getsockname()[1], ephemeral=True, browser=False)


def test_the_folder_is_where_the_system_keeps_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    if sys.platform != "win32":
        assert default_folder() == tmp_path / "shoal"


@pytest.mark.slow
def test_the_printed_address_opens_the_app_and_a_signal_closes_it_cleanly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "shoal", "serve", "--no-browser", "--state", str(tmp_path / "state")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(ADDRESS, process.stdout.readline())
    assert found
    window, other = Opener(found[0]), Opener(found[0])
    with pytest.raises(urllib.error.HTTPError) as refused:
        window.open(accept="text/html")
    assert refused.value.code == 401
    assert "<h1>Shoal cannot be opened from here</h1>" in refused.value.read().decode()
    assert "Open a table" in window.open(f"?{urllib.parse.urlsplit(found[0]).query}")
    again = [sys.executable, "-m", "shoal", "open", "--no-browser", "--state", str(tmp_path / "state")]
    printed = re.search(ADDRESS, subprocess.run(again, capture_output=True, text=True, check=True).stdout)
    assert printed
    assert "Open a table" in other.open(f"?{urllib.parse.urlsplit(printed[0]).query}")
    with pytest.raises(InputError, match="open already") as second:
        serve(folder=tmp_path / "state", browser=False)
    assert "shoal open" in str(second.value.hint)
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0, "nobody else can look into it"
    process.terminate()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0
    assert errors == ""
    assert subprocess.run(again, capture_output=True, text=True, check=False).returncode == 2
    assert not [path for path in (tmp_path / "state").iterdir() if path.suffix in (".html", ".json")]


def started(*options: str, **process: Any) -> tuple[subprocess.Popen[str], str]:
    """Start `shoal serve` and return it with its address."""
    command = [sys.executable, "-m", "shoal", "serve", *options]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **process)
    assert running.stdout is not None
    found = re.search(ADDRESS, running.stdout.readline())
    assert found
    return running, found[0]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("how", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_an_ephemeral_app_leaves_nothing_however_it_is_stopped(tmp_path: Path, how: signal.Signals) -> None:
    app, address = started("--no-browser", "--ephemeral", env=os.environ | {"TMPDIR": str(tmp_path)})
    Opener(address).open(f"?{urllib.parse.urlsplit(address).query}")
    assert list(tmp_path.glob("shoal-*"))
    app.send_signal(how)
    _, errors = app.communicate(timeout=120)
    assert (app.returncode, errors) == (0, "")
    assert not list(tmp_path.glob("shoal-*"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_killed_app_takes_its_workers_along_and_the_next_one_tidies_up(tmp_path: Path) -> None:
    app, _ = started("--no-browser", "--ephemeral", env=os.environ | {"TMPDIR": str(tmp_path)})
    children = subprocess.run(["pgrep", "-P", str(app.pid)], capture_output=True, text=True, check=False).stdout.split()
    app.kill()
    app.communicate(timeout=60)
    until = time.monotonic() + 60
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < until:
        time.sleep(0.2)
    assert not [child for child in children if Path(f"/proc/{child}").exists()]
    left = list(tmp_path.glob("shoal-*"))
    assert left
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path))
        Scratch().remove()
    assert not any(folder.exists() for folder in left)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs file modes")
def test_files_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    token = tmp_path / "token"
    options = ("--no-browser", "--state", str(tmp_path / "state"), "--api-token-file", str(token))
    app, address = started(*options, preexec_fn=lambda: os.umask(0))
    home = Opener(address).home
    sent = {"authorization": f"Bearer {token.read_text().strip()}"}
    request = urllib.request.Request(f"{home}api/tables/example", method="POST", headers=sent)  # noqa: S310
    assert urllib.request.urlopen(request).status == 201  # noqa: S310
    app.terminate()
    app.communicate(timeout=120)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [path for path in files if path.stat().st_mode & 0o077]


def test_the_browser_is_led_in_by_a_private_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://shoal-1.localhost:{server.getsockname()[1]}/?token=secret"
        with doorway(tmp_path, address) as way:
            assert "secret" not in way.page.as_uri()
            assert f"url={address}" in way.page.read_text()
            assert not [path for path in tmp_path.iterdir() if path.stat().st_mode & 0o077]
            assert open_again(tmp_path) == address
            assert opened == [way.page.as_uri()]
    assert not way.page.exists()
    with pytest.raises(InputError, match="no app is open"):
        open_again(tmp_path)


def test_what_a_killed_app_left_opens_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    (tmp_path / "running.json").write_text(json.dumps({"address": f"http://shoal-1.localhost:{port}/?token=x"}))
    with pytest.raises(InputError, match="no app is open"):
        open_again(tmp_path)


@pytest.mark.parametrize(("content", "words"), [("short", "32 to 512"), ("x" * 40 + "\n" + "y" * 40, "32 to 512")])
def test_a_token_file_that_is_no_good_is_told(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(InputError, match=words):
        api_token(path)


@pytest.mark.skipif(sys.platform == "win32", reason="needs file modes")
def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    assert api_token(path) == api_token(path) == path.read_text().strip()
    path.chmod(0o644)
    with pytest.raises(InputError, match="others can read"):
        api_token(path)
