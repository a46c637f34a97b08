"""Starting the app from the command line."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from shoal.errors import InputError
from shoal.web import default_folder, serve

pytestmark = pytest.mark.xdist_group("web")


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
    found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stdout.readline())
    assert found
    home = found[0].partition("?")[0]
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(home, headers={"accept": "text/html"}))  # noqa: S310
    assert refused.value.code == 401
    assert "<h1>Shoal cannot be opened from here</h1>" in refused.value.read().decode()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    assert "Open a table" in opener.open(found[0]).read().decode()
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0, "nobody else can look into it"
    process.terminate()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0
    assert errors == ""
