"""Sign releases, and check who signed them: Ed25519 over the bytes of the certificate, which fingerprints the rest."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InputError, MissingExtraError, OutputError, lacking, reason
from shoal.guarantees import CERTIFICATE, Check
from shoal.verification._files import SIGNATURE
from shoal.writing import write_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


ALGORITHM = "Ed25519"
#: what stands before the 32 bytes of an Ed25519 key in the usual encoding of public keys (RFC 8410, section 4)
_PREFIX = bytes.fromhex("302a300506032b6570032100")
_LONGEST = 1_000


def new_key(name: str | Path) -> tuple[Path, Path]:
    """Make a key pair: ``NAME.pem``, which only its owner can read, and ``NAME.pub.pem``, which is for everybody.

    Raises
    ------
    OutputError
        If one of the files exists or cannot be written.
    MissingExtraError
        If ``cryptography`` is not installed.
    """
    _need_cryptography()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private, public = Path(f"{name}.pem"), Path(f"{name}.pub.pem")
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    shown = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    for path in (private, public):
        if path.exists() or path.is_symlink():
            raise OutputError(f"`{path.name}` already exists; no key was made", hint="choose another name")
    write_file(private, secret, private=True)
    write_file(public, shown)
    return private, public


def read_key(path: str | Path) -> Ed25519PrivateKey:
    """Read a private key to sign with; no message says what is in the file."""
    _need_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = _loaded(Path(path), partial(load_pem_private_key, password=None))
    if not isinstance(key, Ed25519PrivateKey):
        problem = f"`{Path(path).name}` is not a private Ed25519 key in PEM without a password"
        raise InputError(problem, hint="`shoal sign --new-key NAME` makes one")
    return key


def read_signer(path: str | Path) -> bytes:
    """Return the public key in a file as 44 bytes of DER."""
    _need_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key = _loaded(Path(path), load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        problem = f"`{Path(path).name}` is not a public Ed25519 key in PEM"
        raise InputError(problem, hint="give the file that the publisher calls NAME.pub.pem")
    return _PREFIX + key.public_bytes_raw()


def write_signature(folder: Path, key: Ed25519PrivateKey) -> str:
    """Sign the certificate in ``folder`` in place of any signature that is there; return the key's fingerprint."""
    public = _PREFIX + key.public_key().public_bytes_raw()
    text = _text(public, key.sign((folder / CERTIFICATE).read_bytes()))
    write_file(folder / SIGNATURE, text.encode(), overwrite=True)
    return _fingerprint(public)


def check_signature(folder: Path, signer: bytes | None) -> Check:
    """Say who signed the release, as far as that can be known; with a ``signer`` it must be that key."""
    path = folder / SIGNATURE
    if not path.exists() and not path.is_symlink():
        if signer is not None:
            return _check("the release is not signed", passed=False)
        return _check("on the publisher's word: there is none; anybody could have made this folder", shown=False)
    found = _read(path)
    if found is None:
        return _check("not a signature as Shoal writes it", passed=False)
    public, signature = found
    name = _fingerprint(public)
    if signer is not None and public != signer:
        return _check(f"by a different key ({name}) from the one given ({_fingerprint(signer)})", passed=False)
    try:
        valid = _valid(public, signature, (folder / CERTIFICATE).read_bytes())
    except MissingExtraError as error:
        return _check(f"by the key {name}, as it says; it was not checked: {error.hint} and try again", shown=False)
    if not valid:
        return _check(f"not the one that the key {name} gives for this certificate", passed=False)
    if signer is not None:
        return _check(f"by the key given, {name}")
    return _check(
        f"by the key {name}; on the publisher's word: that the key is the publisher's; nobody vouches for it here",
        shown=False,
    )


def _check(detail: str, *, passed: bool = True, shown: bool = True) -> Check:
    return Check(subject="signature", passed=passed, detail=detail, shown=shown)


def _text(public: bytes, signature: bytes) -> str:
    content = {
        "algorithm": ALGORITHM,
        "public_key": base64.b64encode(public).decode(),
        "signature": base64.b64encode(signature).decode(),
    }
    return json.dumps(content, indent=2) + "\n"


def _read(path: Path) -> tuple[bytes, bytes] | None:
    """Return public key and signature; None unless the file says these two things and nothing else."""
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST).decode("ascii")
        content = json.loads(text)
        public, signature = (base64.b64decode(content[name], validate=True) for name in ("public_key", "signature"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        if lacking(error) is not None:
            raise
        return None
    sound = len(public) == len(_PREFIX) + 32 and public.startswith(_PREFIX) and len(signature) == 64
    return (public, signature) if sound and text == _text(public, signature) else None


def _valid(public: bytes, signature: bytes, message: bytes) -> bool:
    _need_cryptography()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public[len(_PREFIX) :]).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _fingerprint(public: bytes) -> str:
    """Return the SHA-256 of a public key: ``openssl pkey -pubin -in KEY -outform DER | sha256sum``."""
    return f"SHA256:{hashlib.sha256(public).hexdigest()}"


def _loaded(path: Path, read: Callable[[bytes], object]) -> object:
    """Return the key in a file; None where it holds none."""
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return read(path.read_bytes())
    except OSError as error:
        raise InputError(f"the key file `{path.name}` cannot be read: {reason(error)}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None


def _need_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise MissingExtraError("the package `cryptography`, which signatures need,", extra="sign") from None
