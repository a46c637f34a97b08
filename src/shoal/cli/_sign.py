"""``shoal sign``: put a signature into a release, or make the keys for it."""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from shoal.cli import _output, _source
from shoal.errors import ParameterError

EXAMPLES = """\b
Examples:
  shoal sign --new-key agency --passphrase
  shoal sign release --key agency.pem
  shoal verify release --signer agency.pub.pem
"""


def sign(
    folder: Annotated[Path | None, Argument(metavar="[FOLDER]", help="The folder of a release.")] = None,
    *,
    key: Annotated[
        Path | None, Option(metavar="KEYFILE", help="The private key to sign with, in PEM; keep it secret.")
    ] = None,
    new_key: Annotated[
        str | None,
        Option(metavar="NAME", help="Make a pair of keys: NAME.pem to sign with, NAME.pub.pem to give away."),
    ] = None,
    passphrase: Annotated[
        bool, Option("--passphrase", help="With --new-key: ask for a passphrase that protects the private key.")
    ] = False,
    json: _source.Json = False,
) -> None:
    """Sign a release, so that others can tell who made it.

    Checks the release first, then writes signature.json: an Ed25519 signature of the certificate.
    """
    from shoal import verification

    if new_key is not None:
        if folder is not None or key is not None:
            raise ParameterError("--new-key makes keys and signs nothing; leave out the folder and --key")
        chosen = _choose_passphrase() if passphrase else None
        private, public = verification.new_key(new_key, passphrase=chosen)
        if json:
            _output.print_json({"private": private, "public": public})
            return
        _output.line(f"{private}  signs releases: keep it secret, and keep a copy in a safe place")
        _output.line(f"{public}  checks signatures: publish it where your readers trust you")
        return
    if folder is None or key is None:
        raise ParameterError(
            "give the folder of a release and --key, or --new-key NAME",
            hint="shoal sign --new-key agency, then shoal sign release --key agency.pem",
        )
    if passphrase:
        raise ParameterError("--passphrase can only be used with --new-key; a protected key asks for it")
    fingerprint = verification.sign(folder, key, passphrase=ask_passphrase)
    if json:
        _output.print_json({"release": folder, "key": fingerprint})
    else:
        _output.line(f"Signed {folder} with the key {fingerprint}", style="bold")


def ask_passphrase(prompt: str = "Passphrase of the private key: ") -> str | None:
    """Return the passphrase of the private key from the environment, or of a person at a terminal."""
    from shoal.verification import PASSPHRASE

    given = os.environ.get(PASSPHRASE)
    if given is not None or sys.stdin is None or not sys.stdin.isatty():
        return given
    try:
        return getpass.getpass(prompt)
    except EOFError:
        return None


def _choose_passphrase() -> str:
    from shoal.verification import PASSPHRASE

    chosen = ask_passphrase("New passphrase: ")
    if chosen is None:
        raise ParameterError("--passphrase needs a terminal", hint=f"or set the variable {PASSPHRASE}")
    if ask_passphrase("Again: ") != chosen:
        raise ParameterError("the two passphrases differ; no key was made")
    return chosen
