"""Handing over: every format, signatures, and the zips of strangers."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

import shoal

from .conftest import OCTETS, Browser

pytest.importorskip("cryptography", reason="needs the extra `sign`")


def check(browser: Browser, archive: bytes, signer: bytes | None = None) -> Any:
    verification = browser.post("/api/verifications").json()["id"]
    address = f"/api/verifications/{verification}"
    answer = browser.put(f"{address}/archive", content=archive, headers=OCTETS)
    if answer.status_code == 204 and signer is not None:
        assert browser.put(f"{address}/signer", content=signer, headers=OCTETS).status_code == 204
    if answer.status_code == 204:
        answer = browser.post(f"{address}/check")
    browser.delete(address)
    return answer


def packed(files: dict[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return archive.getvalue()


def unpacked(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture(scope="module")
def signed(browser: Browser, run: str) -> tuple[bytes, bytes]:
    """A release that was signed in the app, as a zip, and the public key."""
    assert browser.post("/api/keys", json={"name": "our agency", "passphrase": "correct horse"}).status_code == 201
    wrong = browser.post(f"/api/runs/{run}/signature", json={"key": "our agency", "passphrase": "wrong"})
    assert wrong.status_code == 422
    assert "passphrase" in wrong.text
    done = browser.post(f"/api/runs/{run}/signature", json={"key": "our agency", "passphrase": "correct horse"})
    assert done.status_code == 200, done.text
    return browser.get(f"/api/runs/{run}/release.zip").content, browser.get("/api/keys/our agency.pub.pem").content


def test_a_signed_zip_verifies_with_the_key_of_its_publisher(browser: Browser, signed: tuple[bytes, bytes]) -> None:
    archive, key = signed
    found = check(browser, archive, key).json()
    assert found["passed"]
    assert any(each["subject"] == "signature" and each["passed"] for each in found["checks"])
    assert "release/signature.json" in unpacked(archive)


def test_a_zip_whose_data_was_changed_fails(browser: Browser, signed: tuple[bytes, bytes]) -> None:
    files = unpacked(signed[0])
    certificate = files["release/certificate.json"]
    files["release/certificate.json"] = certificate.replace(b'"k": 2', b'"k": 3')
    assert files["release/certificate.json"] != certificate
    found = check(browser, packed(files), signed[1]).json()
    assert not found["passed"]


def test_a_zip_that_another_key_signed_fails(browser: Browser, signed: tuple[bytes, bytes], tmp_path: Path) -> None:
    from shoal import verification

    _, public = verification.new_key(tmp_path / "other")
    assert not check(browser, signed[0], public.read_bytes()).json()["passed"]
    files = {name: content for name, content in unpacked(signed[0]).items() if "signature" not in name}
    assert not check(browser, packed(files), signed[1]).json()["passed"]
    assert check(browser, packed(files)).json()["passed"]


def test_a_zip_without_its_folder_or_with_litter_is_taken(browser: Browser, signed: tuple[bytes, bytes]) -> None:
    bare = {name.removeprefix("release/"): content for name, content in unpacked(signed[0]).items()}
    assert check(browser, packed(bare | {"__MACOSX/._data.csv": b"x", ".DS_Store": b"x"})).json()["passed"]


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"data.csv": b"a"},
        {"a/certificate.json": b"{}", "b/certificate.json": b"{}"},
        {"release/certificate.json": b"{}", "release/../../evil.csv": b"x"},
        {"release/certificate.json": b"{}", "evil.csv": b"x"},
        {"release/certificate.json": b"{}", "release/run.exe": b"x"},
        {"release/certificate.json": b"{}", "release/.hidden.csv": b"x"},
        {"release/certificate.json": b"{}", "release/data.csv": b"x", "release/DATA.csv": b"x"},
        {"certificate.json": b"{}", "/etc/passwd.txt": b"x"},
    ],
)
def test_zips_that_are_no_release_are_refused(browser: Browser, files: dict[str, bytes]) -> None:
    answer = check(browser, packed(files))
    assert answer.status_code == 422
    assert answer.json()["problems"]


def test_a_zip_that_unpacks_to_very_much_is_refused(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.web._archives._UNPACKED", 1000)
    large = packed({"certificate.json": b"{}", "data.csv": b"0" * 10_000_000})
    answer = check(browser, large)
    assert answer.status_code == 422
    assert "unpacks" in answer.text
    # an entry that lies about its size
    lying = large.replace((10_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lying != large
    assert check(browser, lying).status_code == 422


def test_what_is_no_zip_is_refused_in_words(browser: Browser) -> None:
    assert "not a zip" in check(browser, b"%PDF-1.4").text
    assert browser.get("/verify").status_code == 200


@pytest.mark.parametrize("ending", ["csv", "xlsx", "sav", "dta", "xpt", "parquet", "feather", "jsonl"])
def test_a_release_is_exported_in_every_format(browser: Browser, run: str, ending: str, tmp_path: Path) -> None:
    answer = browser.get(f"/api/runs/{run}/export/{ending}")
    assert answer.status_code == 200, answer.text
    path = tmp_path / f"released.{ending}"
    path.write_bytes(answer.content)
    records = len(unpacked(browser.get(f"/api/runs/{run}/release.zip").content)["release/data.csv"].splitlines()) - 1
    assert shoal.read(path).count() == records


def test_other_formats_and_keys_are_refused(browser: Browser, run: str) -> None:
    assert browser.get(f"/api/runs/{run}/export/exe").status_code == 422
    for name in ("../evil", "", "a/b", "x" * 61):
        assert browser.post("/api/keys", json={"name": name}).status_code == 422
    assert browser.post(f"/api/runs/{run}/signature", json={}).status_code == 422
    assert browser.post(f"/api/runs/{run}/signature", json={"key": "../../x"}).status_code == 404
    refused = browser.post(f"/api/runs/{run}/signature", json={"pem": "nonsense"})
    assert refused.status_code == 422
    assert "/" not in refused.json()["problems"][0]
    assert browser.get("/api/keys/nobody.pub.pem").status_code == 404


def test_a_private_key_of_ones_own_signs_and_is_not_kept(
    browser: Browser, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal import verification

    private, public = verification.new_key(tmp_path / "mine")
    answer = browser.post(f"/api/runs/{run}/signature", json={"pem": private.read_text()})
    assert answer.status_code == 200, answer.text
    assert check(browser, browser.get(f"/api/runs/{run}/release.zip").content, public.read_bytes()).json()["passed"]
    state = browser.app.state.context.store.folder  # type: ignore[attr-defined]
    secret = private.read_bytes()
    assert not [path for path in state.rglob("*.pem") if path.read_bytes() == secret]
