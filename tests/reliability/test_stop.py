"""Signals at random moments of every command: it ends at once, leaves nothing half-done, and says what is there."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import shoal
from shoal.queries.ledger import Ledger

from . import commands
from .conftest import Disturbed, Done

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

ROUNDS = int(os.environ.get("SHOAL_STOPS", "1"))
#: seconds from the signal to the end of the process, on a very busy machine
AT_ONCE = 30.0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, hospital: Path, disturbed: Disturbed) -> Path:
    """Return a folder with all that the commands need."""
    folder = tmp_path_factory.mktemp("home")
    commands.furnish(folder, hospital, disturbed)
    return folder


@pytest.fixture(autouse=True)
def clean(home: Path) -> Iterator[None]:
    yield
    commands.restore(home)


def test_no_command_is_forgotten() -> None:
    tried = {name for name in commands.names() for run in commands.RUNS.values() if " ".join(run).startswith(name)}
    assert set(commands.names()) - tried == set(commands.SERVERS)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.deep] if "compare" in name else []) for name in commands.RUNS]
)
def test_a_command_stops_at_any_moment_and_says_what_is_there(name: str, home: Path, disturbed: Disturbed) -> None:
    arguments, chosen = commands.RUNS[name], random.Random(name)
    whole = disturbed(*arguments, cwd=home)
    assert whole.code == commands.REFUSED.get(name, 0), whole.errors
    stopped = 0
    for _ in range(ROUNDS):
        commands.restore(home)
        number = chosen.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        done = disturbed(*arguments, cwd=home, signal=number, after=chosen.uniform(0.02, whole.seconds * 1.05))
        check(done, home, whole.code)
        stopped += done.code == 130
    print(f"{name}: {stopped} of {ROUNDS} rounds stopped, whole run {whole.seconds:.2f} s")  # noqa: T201


def check(done: Done, home: Path, whole: int) -> None:
    assert done.code in (whole, 130, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP), done.errors
    assert "Traceback" not in done.errors
    assert "ignored" not in done.errors
    assert done.seconds < AT_ONCE
    left, changed = commands.made(home), commands.changed(home)
    assert [path for path in left if path.name.startswith(".")] == []
    if "nothing was written" in done.errors:
        assert left == []
        assert changed == []
    elif done.code == 130:
        assert all(path.name in done.errors for path in left), (left, done.errors)
    if (home / "made" / "certificate.json").exists():
        assert shoal.verify(home / "made").passed
    for place in ("made", "vault", "account"):
        if (home / place / "ledger.sqlite").exists():
            Ledger.open(home / place / "ledger.sqlite").close()


def program(prelude: str, *arguments: str) -> list[str]:
    code = f"import os, signal, sys, time\n{prelude}\nfrom shoal.cli import main\nmain()"
    return [sys.executable, "-c", code, *arguments]


AFTER_THE_FOLDER_APPEARS = """
import shoal.release
write = shoal.release.Release.write
def slow(self, *a, **k):
    path = write(self, *a, **k)
    os.kill(os.getpid(), signal.SIGTERM)
    {wait}
    return path
shoal.release.Release.write = slow
"""


@pytest.mark.parametrize(("wait", "code"), [("", 0), ("time.sleep(900)", 130)])
def test_a_stop_after_the_release_is_there_never_says_that_it_is_not(
    home: Path, hospital: Path, wait: str, code: int
) -> None:
    prelude = AFTER_THE_FOLDER_APPEARS.format(wait=wait)
    command = program(prelude, *commands.RUNS["anonymize"])
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False, timeout=300)
    assert (home / "made" / "certificate.json").exists()
    assert "nothing was written" not in done.stderr
    assert done.returncode in (code, 130)
    if done.returncode == 130:
        assert "`made` is complete" in done.stderr


IN_A_FINALIZER = """
import shoal.release
class Slow:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.2)
plan = shoal.Plan.run
def run(*a, **k):
    Slow()
    time.sleep(900)
    return plan(*a, **k)
shoal.Plan.run = run
"""

IN_THE_ENGINE = """
from shoal.tables._duckdb import DuckDBEngine
run = DuckDBEngine.fetch
def fetch(self, expression):
    import threading
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    self._execute("CREATE TABLE t AS SELECT sum(a.range * b.range) AS s FROM range(1000000) a, range(1000000) b")
DuckDBEngine.fetch = fetch
"""

IN_AN_EXCEPT = """
import shoal
def run(*a, **k):
    for _ in range(900):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)
        except BaseException:
            pass
shoal.Plan.run = run
"""


@pytest.mark.parametrize("moment", [IN_A_FINALIZER, IN_THE_ENGINE, IN_AN_EXCEPT])
def test_a_signal_is_lost_nowhere(home: Path, moment: str) -> None:
    # the work would take a quarter of an hour
    command = program(f"import shoal\n{moment}", *commands.RUNS["anonymize"])
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 130, done.stderr
    assert "nothing was written" in done.stderr
    assert "Traceback" not in done.stderr
    assert commands.made(home) == []


WHILE_IMPORTING = """
import threading
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "{name}" and threading.current_thread() is threading.main_thread():
            raise MemoryError
        if name == "{name}":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(900)
sys.meta_path.insert(0, Slow())
"""


@pytest.mark.parametrize("name", ["shoal.cli._main", "shoal.cli._output", "shoal.verification"])
def test_a_stop_while_modules_are_imported_is_no_verdict(home: Path, name: str) -> None:
    command = program(WHILE_IMPORTING.format(name=name), "verify", "release")
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (130, "Error: Stopped; nothing was written.\n")


BEFORE_IT_LISTENS = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "shoal.stopping":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from shoal.__main__ import main
main()
"""


def test_an_interrupt_before_the_program_listens_ends_it_without_a_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", BEFORE_IT_LISTENS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_a_terminal_that_is_gone_is_an_output_that_cannot_be_printed(home: Path) -> None:
    master, terminal = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "shoal", "verify", "release"], cwd=home, stdout=terminal, stderr=terminal
    ) as process:
        os.close(terminal)
        os.close(master)
    assert process.returncode == 2


@pytest.mark.parametrize("output", ["/dev/full", "closed"])
def test_an_output_that_cannot_be_printed_is_told_with_what_is_there(
    home: Path, output: str, disturbed: Disturbed
) -> None:
    done = disturbed(*commands.RUNS["anonymize"], cwd=home, output=output)
    assert done.code == 2
    assert "could not be printed" in done.errors
    assert "`made` is complete" in done.errors
    assert "nothing was written" not in done.errors
    assert shoal.verify(home / "made").passed


def test_a_reader_who_has_enough_does_not_change_the_exit_code(home: Path) -> None:
    shutil.copytree(home / "release", home / "made")
    (home / "made" / "summary.txt").write_text("changed")
    for release, code in (("release", 0), ("made", 1)):
        shell = f"set -o pipefail; {sys.executable} -m shoal verify {release} | true"
        done = subprocess.run(["bash", "-c", shell], cwd=home, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (code, "")


BROWSER = """#!/bin/sh
mkdir -p "$TMPDIR/about-somebody"
sleep 300 &
echo "$$ $!" > {started}
wait
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_browser_that_prints_a_report_ends_with_it(home: Path, tmp_path: Path, number: int) -> None:
    if number == signal.SIGKILL and shutil.which("setpriv") is None:
        pytest.skip("needs setpriv")
    place, started = tmp_path / "t", tmp_path / "started"
    place.mkdir()
    (tmp_path / "chromium").write_text(BROWSER.format(started=started))
    (tmp_path / "chromium").chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal", "report", "release", "--output", str(tmp_path / "x.pdf")],
        cwd=home,
        env=os.environ | {"TMPDIR": str(place), "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    until = time.monotonic() + AT_ONCE
    while not started.exists() or not started.read_text().endswith("\n"):
        assert time.monotonic() < until
        time.sleep(0.05)
    browser = int(started.read_text().split()[0])
    process.send_signal(number)
    assert process.wait(AT_ONCE) == (130 if number != signal.SIGKILL else -number)
    while is_running(browser):
        assert time.monotonic() < until
        time.sleep(0.05)
    if number == signal.SIGKILL:  # the next run finds what it left
        subprocess.run(
            [sys.executable, "-m", "shoal", "verify", "release"], cwd=home, env=os.environ | {"TMPDIR": str(place)}
        )
    else:
        assert not is_running(int(started.read_text().split()[1]))
    assert list(place.iterdir()) == []


def is_running(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


BUSY = """
import threading
from shoal import stopping
from shoal.tables._duckdb import DuckDBEngine

engine, over = DuckDBEngine(), threading.Event()
question = "SELECT sum(sin(a.range + b.range)) FROM range(1000000) a, range(1000000) b"

def work():
    threading.Thread(target=engine.connection.execute, args=(question,), daemon=True).start()
    with stopping.gently(over.set):
        print("ready", flush=True)
        over.wait()
    return 0

stopping.run(work, say=print)
"""


def test_a_server_ends_without_a_word_while_an_engine_is_still_busy_with_a_question(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", BUSY],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"
    server.send_signal(signal.SIGTERM)
    _, words = server.communicate(timeout=AT_ONCE)
    assert (server.returncode, words, list(tmp_path.iterdir())) == (0, "", [])
