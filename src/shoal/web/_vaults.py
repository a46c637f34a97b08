"""Servers of vaults that the app starts: each in a thread of its own, until it is stopped or the app ends."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.queries.ledger import Ledger
    from shoal.queries.server import VaultServer

_START, _STOP = 60, 10
THIS_MACHINE, ALL_ADDRESSES = "127.0.0.1", "0.0.0.0"  # noqa: S104 - with TLS alone


@dataclass(frozen=True, slots=True)
class _Serving:
    server: VaultServer
    thread: threading.Thread
    address: str


class VaultServers:
    """The vaults that answer now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._serving: dict[str, _Serving] = {}

    def address(self, vault: str) -> str | None:
        """Return where a vault answers; None where it does not."""
        found = self._serving.get(vault)
        return found.address if found is not None and found.thread.is_alive() else None

    def start(self, vault: str, folder: Path, *, port: int, tls: tuple[Path, Path] | None) -> str:
        """Let a vault answer, and return its address: on all addresses of this machine with TLS, on the loopback else.

        Raises
        ------
        ParameterError
            If it answers already, the port cannot be used or the files of TLS hold something else.
        """
        from shoal.queries import Vault
        from shoal.queries import server as http

        with self._lock:
            if self.address(vault) is not None:
                raise ParameterError("this vault answers already")
            opened = Vault.open(folder)
            book = opened.ledger()
            try:
                desk = opened.desk(book)
                desk.rehearse()
                admitted = http.Connections()
                told: list[str] = []
                started = threading.Event()

                def tell(address: str) -> None:
                    told.append(address)
                    started.set()

                certificate, private_key = tls or (None, None)
                server = http.VaultServer(
                    http.create_app(desk, book, connections=admitted),
                    admitted,
                    host=THIS_MACHINE if tls is None else ALL_ADDRESSES,
                    port=port,
                    certificate=certificate,
                    private_key=private_key,
                    started=tell,
                )
                try:
                    server.load()
                except OSError:
                    raise ParameterError("certificate and private key must be those of one PEM certificate") from None
                try:
                    listener = server.listen()
                except OSError:
                    raise ParameterError(
                        f"the vault cannot listen on port {port}", hint="another program may use it: choose another"
                    ) from None
                thread = threading.Thread(target=_serve, args=(server, listener, book), daemon=True)
                thread.start()
            except BaseException:
                book.close()
                raise
            if not started.wait(_START):
                server.should_exit = True
                raise ParameterError("the vault did not start; try again")
            self._serving[vault] = _Serving(server, thread, told[0])
            return told[0]

    def stop(self, vault: str) -> None:
        """Let a vault answer no more; what was asked is answered or given up within half a second."""
        with self._lock:
            found = self._serving.pop(vault, None)
        if found is not None:
            found.server.should_exit = True
            found.thread.join(_STOP)

    def close(self) -> None:
        """Stop all of them."""
        for vault in list(self._serving):
            self.stop(vault)


def _serve(server: VaultServer, listener: object, book: Ledger) -> None:
    with suppress(Exception, SystemExit):
        server.run(sockets=[listener])  # type: ignore[list-item] # it listens as a socket does
    book.close()
