"""Bad input: one clear message, exit code 2, nothing written, no cell value shown."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.conftest import Run

SECRET = "canary-7f3a"
SCHEMA = '[columns.age]\nrole = "quasi-identifier"\nkind = "numeric"\n\n[columns.city]\nrole = "sensitive"\n'
GOOD = "age,city\n" + "".join(f"{20 + i % 3},{SECRET}\n" for i in range(12))


def _write(folder: Path, data: str | bytes = GOOD, schema: str | None = SCHEMA) -> Path:
    path = folder / "people.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    if schema is not None:
        (folder / "people.schema.toml").write_text(schema)
    return path


def _refused(shoal: Run, folder: Path, *arguments: object, says: tuple[str, ...]) -> None:
    before = sorted(path.name for path in folder.iterdir())
    done = shoal("anonymize", *arguments, "--output", folder / "release")
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    for word in says:
        assert word in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert SECRET not in done.stderr + done.stdout
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("", ("people.csv", "empty")),
        ("age,city\n", ("no records",)),
        (GOOD + f"30,{SECRET},{SECRET}\n", ("people.csv",)),
        (f"age,age\n1,{SECRET}\n", ("age",)),
        (GOOD.replace("20,", f"{SECRET},"), ("age", "number")),
        (GOOD.replace("20,", "inf,"), ("age", "finite")),
        (GOOD.replace("20,", "nan,"), ("age",)),
        ("age,city\n" + f",{SECRET}\n" * 12, ("age",)),
        ("age,town\n" + f"1,{SECRET}\n" * 12, ("city", "town")),
        (GOOD.encode("utf-16")[:-1], ("people.csv",)),
        (b"age,city\n20," + b"\x00" * 5 + b"\n", ("people.csv",)),
    ],
    ids=[
        "empty",
        "header only",
        "ragged",
        "duplicate column names",
        "text in a numeric column",
        "infinite number",
        "not a number",
        "all-null column",
        "unknown and absent columns",
        "wrong encoding",
        "NUL bytes",
    ],
)
def test_a_bad_file_is_refused(shoal: Run, tmp_path: Path, data: str | bytes, says: tuple[str, ...]) -> None:
    _refused(shoal, tmp_path, _write(tmp_path, data), "--k", 2, says=says)


def test_an_absent_file_is_refused(shoal: Run, tmp_path: Path) -> None:
    _refused(shoal, tmp_path, tmp_path / "absent.csv", "--k", 2, says=("absent.csv",))


def test_a_folder_is_refused(shoal: Run, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    _refused(shoal, tmp_path, tmp_path / "folder.csv", "--k", 2, says=("folder.csv",))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--k", 0), ("`k`", "[1, inf)")),
        (("--k", -3), ("`k`",)),
        (("--k", 13), ("13", "12")),
        (("--k", "many"), ("--k", "integer")),
        ((), ("--k",)),
        (("--k", 2, "--suppression-limit", 2), ("suppression_limit", "[0, 1]")),
        (("--k", 2, "--method", "magic"), ("magic",)),
        (("--k", 2, "--t", "diagnosis=0.2"), ("diagnosis",)),
        (("--k", 2, "--t", "0.2"), ("COLUMN",)),
        (("--k", 2, "--option", "colour=red"), ("colour",)),
        (("--k", 2, "--promise", "x-anonymity k=2"), ("x-anonymity",)),
        (("--k", 2, "--schema", "absent.toml"), ("absent.toml",)),
        (("--plan", "absent.toml"), ("absent.toml",)),
    ],
)
def test_bad_options_are_refused(
    shoal: Run, tmp_path: Path, arguments: tuple[object, ...], says: tuple[str, ...]
) -> None:
    _refused(shoal, tmp_path, _write(tmp_path), *arguments, says=says)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ("[columns.age\n", ("TOML",)),
        (SCHEMA + "\n[columns.height]\n", ("height",)),
        (SCHEMA.replace("quasi-identifier", "quasi"), ("age", "role")),
        (SCHEMA.replace("kind", "king"), ("age", "king")),
        (SCHEMA.replace("quasi-identifier", "insensitive"), ("quasi-identifier",)),
        (SCHEMA.replace('"numeric"', '"numeric"\nhierarchy = { file = "absent.csv" }'), ("age", "absent.csv")),
        (SCHEMA.replace('"numeric"', '"numeric"\nhierarchy = { file = "gaps.csv" }'), ("age", "gaps.csv", "4 records")),
        (SCHEMA.replace('"numeric"', '"numeric"\nhierarchy = { file = "crossed.csv" }'), ("age", "nested")),
        (SCHEMA.replace('"numeric"', '"numeric"\nmaximum = 21'), ("age", "4 ")),
    ],
    ids=[
        "not TOML",
        "absent column",
        "unknown role",
        "unknown key",
        "no quasi-identifier",
        "absent hierarchy",
        "value outside hierarchy",
        "hierarchy not nested",
        "value outside domain",
    ],
)
def test_a_bad_schema_is_refused(shoal: Run, tmp_path: Path, schema: str, says: tuple[str, ...]) -> None:
    (tmp_path / "gaps.csv").write_text("20;*\n21;*\n")
    (tmp_path / "crossed.csv").write_text("20;a;x;*\n21;a;y;*\n22;b;y;*\n")
    _refused(shoal, tmp_path, _write(tmp_path, schema=schema), "--k", 2, says=says)


def test_all_problems_are_reported_at_once(shoal: Run, tmp_path: Path) -> None:
    schema = SCHEMA.replace("quasi-identifier", "quasi").replace('"sensitive"', '"secret"')
    _refused(shoal, tmp_path, _write(tmp_path, schema=schema), "--k", 2, says=("2 problems", "age", "city"))


def test_an_existing_folder_is_left_alone(shoal: Run, tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "mine.txt").write_text("mine")
    _refused(shoal, tmp_path, _write(tmp_path), "--k", 2, says=("release", "already exists"))
    assert [path.name for path in (tmp_path / "release").iterdir()] == ["mine.txt"]


def test_an_absent_parent_folder_is_refused(shoal: Run, tmp_path: Path) -> None:
    done = shoal("anonymize", _write(tmp_path), "--k", 2, "--output", tmp_path / "no" / "release")
    assert done.returncode == 2
    assert "does not exist" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused(shoal: Run, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    done = shoal("anonymize", _write(tmp_path), "--k", 2, "--output", locked / "release")
    assert done.returncode == 2
    assert "permission" in done.stderr


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    data = _write(tmp_path)
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))\n"
        f"sys.argv = ['shoal', 'anonymize', {str(data)!r}, '--k', '2', '--output', {str(tmp_path / 'release')!r}]\n"
        "from shoal.cli import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv", "people.schema.toml"]


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_writing_leaves_nothing_behind(tmp_path: Path, name: signal.Signals) -> None:
    data = _write(tmp_path)
    code = (
        "import sys, time\n"
        "import shoal.tables._sites as sites\n"
        "write = sites.write\n"
        "def slow(*arguments, **options):\n"
        "    write(*arguments, **options); print('writing', flush=True); time.sleep(60)\n"
        "sites.write = slow\n"
        f"sys.argv = ['shoal', 'anonymize', {str(data)!r}, '--k', '2', '--output', {str(tmp_path / 'release')!r}]\n"
        "from shoal.cli import main\nmain()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "writing\n"
        time.sleep(0.2)
        run.send_signal(name)
        _, errors = run.communicate(timeout=120)
    assert run.returncode == 130
    assert "nothing was written" in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv", "people.schema.toml"]


def test_a_promise_that_cannot_be_kept_exits_1_and_says_what_could(shoal: Run, tmp_path: Path) -> None:
    data = _write(tmp_path)
    done = shoal("anonymize", data, "--k", 2, "--l", "city=2", "--output", tmp_path / "release")
    assert done.returncode == 1, done.stderr
    assert "DistinctLDiversity" in done.stderr
    assert "l = 1" in done.stderr
    assert SECRET not in done.stderr
    assert not (tmp_path / "release").exists()


def test_names_in_json_give_a_terminal_no_orders(shoal: Run, tmp_path: Path) -> None:
    name = "a\u202e\u2066\x9b31m\x1b[2J\u200b"
    rows = "".join(f"{number},{number % 7}\n" for number in range(100))
    (tmp_path / "t.csv").write_text(f'"{name}",b\n{rows}', encoding="utf-8")
    done = shoal("draft", tmp_path / "t.csv", "--json")
    assert done.returncode == 0, done.stderr
    assert all(line.isprintable() for line in done.stdout.splitlines())
    assert json.loads(done.stdout)["columns"][0]["column"] == name


@pytest.mark.parametrize(
    "arguments",
    [
        ("{}",),
        ("draft", "{}.csv"),
        ("draft", "--{}"),
        ("draft", "a.csv", "{}"),
        ("export", "a", "b", "--{}=1"),
    ],
    ids=["command", "file", "option", "argument", "assigned"],
)
def test_arguments_cannot_give_a_terminal_orders(shoal: Run, arguments: tuple[str, ...]) -> None:
    done = shoal(*(each.format("x\x1b[2J\u202ey\x07") for each in arguments))
    assert done.returncode == 2
    assert all(sign.isprintable() or sign == "\n" for sign in done.stdout + done.stderr)
    assert "Error: " in done.stderr
    assert "202e" in done.stderr.lower()
