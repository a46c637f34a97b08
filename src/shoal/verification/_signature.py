"""Sign releases, and check who signed them: Ed25519 over the bytes of the certificate, which fingerprints the rest."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.copying import read_bytes
from shoal.errors import InputError, MissingExtraError, OutputError, VerificationError, lacking, reason
from shoal.folder import SIGNATURE
from shoal.guarantees import CERTIFICATE, Check
from shoal.writing import write_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


ALGORITHM = "Ed25519"
#: the variable in which programs give the passphrase of a private key
PASSPHRASE = "SHOAL_KEY_PASSPHRASE"  # noqa: S105 - its name
#: what stands before the 32 bytes of an Ed25519 key in the usual encoding of public keys (RFC 8410, section 4)
_PREFIX = bytes.fromhex("302a300506032b6570032100")
_LONGEST = 1_000
_PRIME = 2**255 - 19
#: y of the points of small order, in every notation: with such a key, one signature is valid for every message
_SMALL_ORDER = {
    0,
    1,
    2707385501144840649318225287225658788936804267575313519463743609750303402022,
    55188659117513257062467267217118295137698188065244968500265048394206261417927,
    _PRIME - 1,
    _PRIME,
    _PRIME + 1,
}
_COVERS = f"it covers {CERTIFICATE}, and with its fingerprints every other file"


def new_key(name: str | Path, *, passphrase: str | None = None) -> tuple[Path, Path]:
    """Make a key pair: ``NAME.pem``, which only its owner can read, and ``NAME.pub.pem``, which is for everybody.

    With a ``passphrase``, who copies the file of the private key cannot sign without it.

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

    if passphrase == "":
        raise InputError("a passphrase must have at least one character")
    private, public = Path(f"{name}.pem"), Path(f"{name}.pub.pem")
    key = Ed25519PrivateKey.generate()
    protection = (
        serialization.NoEncryption()
        if passphrase is None
        else serialization.BestAvailableEncryption(passphrase.encode())
    )
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, protection)
    shown = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    for path in (private, public):
        if path.exists() or path.is_symlink():
            raise OutputError(f"`{path.name}` already exists; no key was made", hint="choose another name")
    write_file(private, secret, private=True)
    write_file(public, shown)
    return private, public


def read_key(path: str | Path, passphrase: str | Callable[[], str | None] | None = None) -> Ed25519PrivateKey:
    """Read a private key to sign with; no message says what is in the file.

    The ``passphrase``, or the function that returns it, is used only where the key is protected by one.

    Raises
    ------
    InputError
        If there is no private key in the file, others can read or change it, or the passphrase is not the right one.
    """
    _need_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    path = Path(path)
    content = _content(path)
    secret: str | None = None
    if b"ENCRYPTED" in content.partition(b"\n")[0]:
        secret = passphrase() if callable(passphrase) else passphrase
        if secret is None:
            raise InputError(
                f"the private key `{path.name}` needs its passphrase", hint=f"set the variable {PASSPHRASE}"
            )
    key = _loaded(content, partial(load_pem_private_key, password=None if secret is None else secret.encode()))
    if key is None and secret is not None:
        raise InputError(f"the passphrase is not that of the private key `{path.name}`, or the file is damaged")
    if not isinstance(key, Ed25519PrivateKey):
        problem = f"`{path.name}` is not a private Ed25519 key in PEM"
        raise InputError(problem, hint="`shoal sign --new-key NAME` makes one")
    if sys.platform != "win32" and path.stat().st_mode & 0o077:
        raise InputError(
            f"others can read or change the private key `{path.name}`",
            hint="let only its owner do so: chmod 600; if somebody may have read it, make a new key",
        )
    return key


def read_signer(path: str | Path) -> bytes:
    """Return the public key in a file as 44 bytes of DER."""
    _need_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key = _loaded(_content(Path(path)), load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        problem = f"`{Path(path).name}` is not a public Ed25519 key in PEM"
        raise InputError(problem, hint="give the file that the publisher calls NAME.pub.pem")
    public = _PREFIX + key.public_bytes_raw()
    if _is_of_small_order(public):
        raise InputError(f"`{Path(path).name}` holds a key that anybody can sign with", hint="do not trust its owner")
    return public


def write_signature(folder: Path, key: Ed25519PrivateKey, *, checked: bytes) -> str:
    """Sign the bytes of the certificate that was checked, in place of any signature; return the key's fingerprint.

    Raises
    ------
    VerificationError
        If the folder does not hold these bytes any more, or the key gives a signature that is not valid.
    """
    public = _PREFIX + key.public_key().public_bytes_raw()
    signature = key.sign(checked)
    if not _valid(public, signature, checked):
        raise VerificationError("the key gives signatures that are not valid; the release was not signed")
    try:
        same = read_bytes(folder / CERTIFICATE) == checked
    except OSError as error:
        if lacking(error) is not None:
            raise
        same = False
    if not same:
        raise VerificationError(f"{CERTIFICATE} was changed while it was checked; the release was not signed")
    write_file(folder / SIGNATURE, _text(public, signature).encode(), overwrite=True)
    return _fingerprint(public)


def check_signature(folder: Path, signer: bytes | None) -> Check:
    """Say who signed the release, as far as that can be known; with a ``signer`` it must be that key."""
    path = folder / SIGNATURE
    if not path.exists() and not path.is_symlink():
        if signer is not None:
            return _check("the release is not signed", passed=False)
        return _check("the release is not signed: anybody could have made this folder", shown=False)
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
        return _check(f"by the key given, {name}; {_COVERS}")
    return _check(
        f"valid, by the key {name}; {_COVERS}. Whose key it is, nobody vouches for here: compare it, or give --signer",
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

    if _is_of_small_order(public):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public[len(_PREFIX) :]).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _is_of_small_order(public: bytes) -> bool:
    """Return whether a public key is a point whose multiples are few: nobody has its private key."""
    return int.from_bytes(public[len(_PREFIX) :], "little") & (2**255 - 1) in _SMALL_ORDER


def _fingerprint(public: bytes) -> str:
    """Return the SHA-256 of a public key: ``openssl pkey -pubin -in KEY -outform DER | sha256sum``."""
    return f"SHA256:{hashlib.sha256(public).hexdigest()}"


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path, follow=True)
    except OSError as error:
        raise InputError(f"the key file `{path.name}` cannot be read: {reason(error)}") from None


def _loaded(content: bytes, read: Callable[[bytes], object]) -> object:
    """Return the key that a file holds; None where it holds none."""
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return read(content)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None


def _need_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise MissingExtraError("the package `cryptography`, which signatures need,", extra="sign") from None
