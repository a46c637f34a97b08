"""The program: make keys, sign, and check who signed."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest

from cli.conftest import Run


@pytest.fixture(scope="module")
def keys(shoal: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    for name in ("agency", "other"):
        done = shoal("sign", "--new-key", name, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert f"{name}.pub.pem" in done.stdout
    return folder


@pytest.fixture(scope="module")
def signed(shoal: Run, release: Path, keys: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(release, tmp_path_factory.mktemp("signed") / "release"))
    done = shoal("sign", folder, "--key", keys / "agency.pem")
    assert done.returncode == 0, done.stderr
    assert "SHA256:" in done.stdout
    return folder


def test_only_the_owner_reads_a_new_key(keys: Path) -> None:
    assert stat.S_IMODE((keys / "agency.pem").stat().st_mode) == 0o600


def test_a_key_is_not_made_twice(shoal: Run, keys: Path) -> None:
    done = shoal("sign", "--new-key", "agency", cwd=keys)
    assert done.returncode == 2
    assert "already exists" in done.stderr


def test_the_signer_is_checked(shoal: Run, signed: Path, keys: Path) -> None:
    right = shoal("verify", signed, "--signer", keys / "agency.pub.pem")
    assert right.returncode == 0, right.stdout
    assert "ok   signature: by the key given" in right.stdout
    wrong = shoal("verify", signed, "--signer", keys / "other.pub.pem", "--json")
    assert wrong.returncode == 1
    assert [each["subject"] for each in json.loads(wrong.stdout)["checks"] if not each["passed"]] == ["signature"]


def test_without_a_signer_the_line_says_what_is_not_known(shoal: Run, signed: Path, release: Path) -> None:
    assert "nobody vouches" in shoal("verify", signed).stdout
    assert "anybody could have made this folder" in shoal("verify", release).stdout


def test_a_release_without_a_signature_fails_with_a_signer(shoal: Run, release: Path, keys: Path) -> None:
    done = shoal("verify", release, "--signer", keys / "agency.pub.pem")
    assert done.returncode == 1
    assert "FAIL signature: the release is not signed" in done.stdout


def test_a_release_is_made_and_signed_at_once(shoal: Run, hospital: Path, keys: Path, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    data = hospital / "discharges.csv"
    made = shoal("anonymize", data, "--k", 5, "--output", folder, "--sign", keys / "agency.pem")
    assert made.returncode == 0, made.stderr
    assert shoal("verify", folder, "--signer", keys / "agency.pub.pem").returncode == 0


def test_a_wrong_key_stops_before_the_work(shoal: Run, hospital: Path, keys: Path, tmp_path: Path) -> None:
    data = hospital / "discharges.csv"
    done = shoal("anonymize", data, "--k", 5, "--output", tmp_path / "release", "--sign", keys / "agency.pub.pem")
    assert done.returncode == 2
    assert "not a private Ed25519 key" in done.stderr
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize("arguments", [(), ("release",), ("--key", "agency.pem"), ("release", "--new-key", "more")])
def test_what_is_missing_is_said(shoal: Run, keys: Path, arguments: tuple[str, ...]) -> None:
    done = shoal("sign", *arguments, cwd=keys)
    assert done.returncode == 2
    assert "--new-key" in done.stderr


def test_without_the_library_the_program_says_what_to_install(shoal: Run, keys: Path, tmp_path: Path) -> None:
    import os

    (tmp_path / "cryptography.py").write_text("raise ImportError\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = shoal("sign", "--new-key", "more", cwd=keys, PYTHONPATH=path)
    assert done.returncode == 2
    assert "pip install 'shoal[sign]'" in done.stderr


def test_a_passphrase_comes_from_the_environment_or_a_terminal(shoal: Run, release: Path, tmp_path: Path) -> None:
    none = shoal("sign", "--new-key", "safe", "--passphrase", cwd=tmp_path)
    assert (none.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "needs a terminal" in none.stderr
    secret = {"SHOAL_KEY_PASSPHRASE": "four words of mine"}
    assert shoal("sign", "--new-key", "safe", "--passphrase", cwd=tmp_path, **secret).returncode == 0
    folder = Path(shutil.copytree(release, tmp_path / "release"))
    without = shoal("sign", folder, "--key", tmp_path / "safe.pem")
    assert without.returncode == 2
    assert "set the variable SHOAL_KEY_PASSPHRASE" in without.stderr
    assert shoal("sign", folder, "--key", tmp_path / "safe.pem", **secret).returncode == 0
    assert shoal("verify", folder, "--signer", tmp_path / "safe.pub.pem").returncode == 0
