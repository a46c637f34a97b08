"""Signatures: who made a release, and nothing that anybody else could have made passes for it."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import InputError, MissingExtraError, OutputError, VerificationError
from shoal.guarantees import Check
from shoal.verification import _files, _verify, new_key
from shoal.verification._signature import _text

Keys = tuple[Path, Path]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return new_key(tmp_path_factory.mktemp("keys") / "agency")


@pytest.fixture(scope="module")
def made() -> shoal.Release:
    people = pa.table({"age": [31, 31, 38, 38], "illness": ["flu", "cold", "flu", "cold"]})
    age = shoal.Attribute(name="age", role="quasi-identifier", kind="numeric")
    schema = shoal.Schema(attributes=(age, shoal.Attribute(name="illness", role="sensitive")))
    plan = shoal.Plan(schema=schema, models=(shoal.KAnonymity(k=2),), method=shoal.Generalize())
    return plan.run(shoal.read(people).with_schema(schema))


@pytest.fixture(scope="module")
def plain(made: shoal.Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.write(tmp_path_factory.mktemp("plain") / "release")


@pytest.fixture
def signed(plain: Path, keys: Keys, tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(plain, tmp_path / "release"))
    shoal.sign(folder, keys[0])
    return folder


def _signature(folder: Path, signer: Path | None = None) -> Check:
    (check,) = (each for each in shoal.verify(folder, signer=signer).checks if each.subject == "signature")
    return check


def test_new_keys_are_a_secret_and_a_public_file(keys: Keys) -> None:
    private, public = keys
    assert (private.name, public.name) == ("agency.pem", "agency.pub.pem")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert private.read_text().startswith("-----BEGIN PRIVATE KEY-----")
    assert public.read_text().startswith("-----BEGIN PUBLIC KEY-----")


def test_a_key_with_a_passphrase_signs_with_it_alone(plain: Path, tmp_path: Path) -> None:
    right = "four words of mine"
    private, public = new_key(tmp_path / "one", passphrase=right)
    assert private.read_text().startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----")
    folder = Path(shutil.copytree(plain, tmp_path / "release"))
    for wrong, words in ((None, "needs its passphrase"), ("", "is not that of"), ("four words", "is not that of")):
        with pytest.raises(InputError, match=words):
            shoal.sign(folder, private, passphrase=wrong)
    assert not (folder / "signature.json").exists()
    shoal.sign(folder, private, passphrase=lambda: right)
    assert _signature(folder, public).shown


def test_a_passphrase_is_not_asked_for_a_key_without_one(plain: Path, keys: Keys, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(plain, tmp_path / "release"))
    shoal.sign(folder, keys[0], passphrase=lambda: pytest.fail("it was asked for"))


@pytest.mark.skipif(sys.platform == "win32", reason="has no such permissions")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_key_that_others_may_use_is_refused(plain: Path, keys: Keys, tmp_path: Path, mode: int) -> None:
    private = Path(shutil.copy(keys[0], tmp_path))
    private.chmod(mode)
    with pytest.raises(InputError, match=r"others can read or change the private key `agency.pem`"):
        shoal.sign(plain, private)


@pytest.mark.parametrize("there", ["one.pem", "one.pub.pem"])
def test_keys_are_never_written_over_other_files(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("precious")
    with pytest.raises(OutputError, match="already exists"):
        new_key(tmp_path / "one")
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "precious"


def test_without_a_signature_anybody_could_have_made_the_folder(plain: Path) -> None:
    check = _signature(plain)
    assert check.passed
    assert not check.shown
    assert "anybody could have made this folder" in check.detail


def test_a_signed_release_verifies_with_the_key_of_its_signer(signed: Path, keys: Keys) -> None:
    found = shoal.verify(signed, signer=keys[1])
    assert found.passed, str(found)
    assert _signature(signed, keys[1]).shown


def test_without_a_signer_nobody_vouches_for_the_key(signed: Path, keys: Keys) -> None:
    check = _signature(signed)
    assert check.passed
    assert not check.shown
    assert shoal.sign(signed, keys[0]) in check.detail
    assert "nobody vouches" in check.detail


def test_a_signature_says_three_things(signed: Path) -> None:
    content = json.loads((signed / "signature.json").read_text())
    assert list(content) == ["algorithm", "public_key", "signature"]
    assert content["algorithm"] == "Ed25519"


@pytest.mark.slow
def test_a_release_is_signed_as_it_is_written(made: shoal.Release, keys: Keys, tmp_path: Path) -> None:
    folder = made.write(tmp_path / "release", sign=keys[0])
    assert _signature(folder, keys[1]).passed
    assert shoal.verify(folder).passed


def test_a_release_without_a_signature_fails_where_a_signer_is_asked_for(plain: Path, keys: Keys) -> None:
    check = _signature(plain, keys[1])
    assert not check.passed
    assert "not signed" in check.detail


@pytest.mark.slow
def test_another_key_fails(signed: Path, tmp_path: Path) -> None:
    private, public = new_key(tmp_path / "other")
    assert not _signature(signed, public).passed
    shoal.sign(signed, private)
    assert _signature(signed, public).passed, "signing again replaces the signature"


@pytest.mark.slow
def test_a_key_swapped_in_the_signature_fails(signed: Path, plain: Path, keys: Keys, tmp_path: Path) -> None:
    other = Path(shutil.copytree(plain, tmp_path / "other"))
    shoal.sign(other, new_key(tmp_path / "mallory")[0])
    mine, theirs = (json.loads((folder / "signature.json").read_text()) for folder in (signed, other))
    mixed = theirs | {"public_key": mine["public_key"]}
    (signed / "signature.json").write_text(json.dumps(mixed, indent=2) + "\n")
    assert not _signature(signed, keys[1]).passed
    assert not _signature(signed).passed


def test_an_edited_certificate_fails(signed: Path, keys: Keys) -> None:
    path = signed / "certificate.json"
    path.write_bytes(path.read_bytes() + b"\n")
    assert not _signature(signed, keys[1]).passed
    assert not _signature(signed).passed, "a wrong signature fails whoever asks"


EDITS: dict[str, Callable[[str], str]] = {
    "one thing more": lambda text: text.replace("{", '{\n  "note": "alice has flu",', 1),
    "spaces": lambda text: text + " " * 10,
    "too long": lambda text: text + " " * 5_000,
    "another algorithm": lambda text: text.replace("Ed25519", "none"),
    "a short signature": lambda text: text.replace('=="', '"'),
    "no object": lambda _: "[]",
    "no JSON": lambda _: "signed",
    "numbers": lambda _: '{"algorithm": 1, "public_key": 2, "signature": 3}',
    "not ASCII": lambda text: text.replace("Ed25519", "Ed25519é"),
    "nothing": lambda _: "",
}


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_signature_fails(edit: str, signed: Path, keys: Keys) -> None:
    path = signed / "signature.json"
    changed = EDITS[edit](path.read_text())
    assert changed != path.read_text()
    path.write_text(changed)
    assert not _signature(signed, keys[1]).passed
    assert not _signature(signed).passed


@pytest.mark.slow
def test_every_bit_of_a_signature_counts(signed: Path, keys: Keys) -> None:
    import base64

    path = signed / "signature.json"
    content = json.loads(path.read_text())
    whole = base64.b64decode(content["signature"])
    for position in range(0, 64, 9):
        bent = bytearray(whole)
        bent[position] ^= 1
        path.write_text(json.dumps(content | {"signature": base64.b64encode(bent).decode()}, indent=2) + "\n")
        assert not _signature(signed, keys[1]).passed


@pytest.mark.parametrize("y", [0, 1, 2**255 - 20, 2**255 - 19, 2**255 - 18, 2**255 | 1])
def test_a_key_that_signs_every_message_is_refused(plain: Path, tmp_path: Path, y: int) -> None:
    folder = Path(shutil.copytree(plain, tmp_path / "release"))
    public = bytes.fromhex("302a300506032b6570032100") + y.to_bytes(32, "little")
    for first in (1, 0, 2**255 - 20):  # R = h A for one of its few multiples, and S = 0
        signature = first.to_bytes(32, "little") + bytes(32)
        (folder / "signature.json").write_text(_text(public, signature), encoding="utf-8")
        assert not _signature(folder).passed
    key = Path(tmp_path / "small.pub.pem")
    key.write_text(f"-----BEGIN PUBLIC KEY-----\n{base64.b64encode(public).decode()}\n-----END PUBLIC KEY-----\n")
    with pytest.raises(InputError, match="anybody can sign"):
        shoal.verify(folder, signer=key)


def test_what_is_changed_between_check_and_signature_is_not_signed(
    made: shoal.Release, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made.write(tmp_path / "release")
    checked = _verify._checks

    def changed_afterwards(*arguments: Any, **options: Any) -> list[Check]:
        found = checked(*arguments, **options)
        path = folder / "certificate.json"
        path.write_text(path.read_text(encoding="utf-8").replace('"k": 2', '"k": 5'), encoding="utf-8")
        return found

    monkeypatch.setattr(_verify, "_checks", changed_afterwards)
    with pytest.raises(VerificationError, match="changed while it was checked"):
        shoal.sign(folder, keys[0])
    assert not (folder / "signature.json").exists()


def test_every_look_of_a_check_is_at_the_same_bytes(
    plain: Path, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that fit their fingerprints when they are read first, and are others when they are counted."""
    folder = Path(shutil.copytree(plain, tmp_path / "release"))
    (folder / "data.parquet").rename(tmp_path / "good.parquet")
    pq.write_table(pq.read_table(tmp_path / "good.parquet").slice(1), folder / "data.parquet", store_schema=False)
    bad = (folder / "data.parquet").read_bytes()
    looked_at = _files.looked_at

    def exchanged(name: str) -> dict[str, Any]:
        found = looked_at(name)
        (folder / "data.parquet").write_bytes((tmp_path / "good.parquet").read_bytes())
        return found

    monkeypatch.setattr(_files, "looked_at", exchanged)
    content = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    for entry in content["files"]:
        if entry["name"] == "data.parquet":
            entry |= {"sha256": hashlib.sha256(bad).hexdigest(), "bytes": len(bad)}
    (folder / "certificate.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    with pytest.raises(VerificationError):
        shoal.sign(folder, keys[0])


def test_a_release_that_does_not_verify_is_not_signed(plain: Path, keys: Keys, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(plain, tmp_path / "release"))
    (folder / "summary.txt").write_text("nothing is promised")
    with pytest.raises(VerificationError, match="not signed"):
        shoal.sign(folder, keys[0])
    assert not (folder / "signature.json").exists()


def test_the_private_key_stays_out_of_the_release(plain: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(plain, tmp_path / "release"))
    private, _ = new_key(folder / "agency")
    with pytest.raises(InputError, match="inside the release folder"):
        shoal.sign(folder, private)


def test_files_that_are_no_keys_are_refused_by_name_alone(plain: Path, keys: Keys, tmp_path: Path) -> None:
    (tmp_path / "bad.pem").write_text("secret words")
    for problem in (tmp_path / "bad.pem", tmp_path / "none.pem", keys[1]):
        with pytest.raises(InputError, match=problem.name) as refused:
            shoal.sign(plain, problem)
        assert "secret words" not in str(refused.value)
    for problem in (tmp_path / "bad.pem", keys[0]):
        with pytest.raises(InputError, match="not a public Ed25519 key"):
            shoal.verify(plain, signer=problem)


def test_keys_of_other_kinds_are_refused(plain: Path, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    path = tmp_path / "x25519.pem"
    path.write_bytes(
        X25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    with pytest.raises(InputError, match="not a private Ed25519 key"):
        shoal.sign(plain, path)


def test_without_the_library_the_message_says_what_to_install(
    signed: Path, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for act in (
        lambda: shoal.sign(signed, keys[0]),
        lambda: shoal.verify(signed, signer=keys[1]),
        lambda: new_key(tmp_path / "new"),
    ):
        with pytest.raises(MissingExtraError, match=r"shoal\[sign\]"):
            act()
    check = _signature(signed)
    assert check.passed
    assert not check.shown
    assert "not checked" in check.detail
