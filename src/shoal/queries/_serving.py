"""A server that counts its connections before TLS and stops within a second."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import MissingExtraError
from shoal.queries._connections import Connections, Listener

try:
    import uvicorn
except ImportError:
    raise MissingExtraError("The vault's server", extra="vault") from None

if TYPE_CHECKING:
    import socket

# seconds that running answers get when the server is told to stop
GRACE = 0.5
# seconds after which a thread that computes lets others go on: the loop that answers all analysts is one of them
SWITCH = 5e-4
# bytes of the headers of a request
LARGEST_HEADERS = 16_384


class VaultServer(uvicorn.Server):
    """Serve an application on an address, with or without TLS.

    ``connections`` must be those that the application was made with. ``run`` returns soon after ``should_exit`` is set:
    answers that are not there in half a second are given up; what they cost stays spent.
    """

    def __init__(
        self,
        app: Any,
        connections: Connections,
        *,
        host: str,
        port: int,
        certificate: Path | None = None,
        private_key: Path | None = None,
        started: Callable[[str], None] = lambda address: None,
    ) -> None:
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            loop="asyncio",
            http="h11",
            ws="none",
            ssl_certfile=certificate,
            ssl_keyfile=private_key,
            log_level="critical",
            access_log=False,
            server_header=False,
            # addresses in headers are the application's to judge
            proxy_headers=False,
            timeout_keep_alive=int(connections.limits.idle),
            timeout_graceful_shutdown=GRACE,  # type: ignore[arg-type] # it is waited for in seconds
            h11_max_incomplete_event_size=LARGEST_HEADERS,
        )
        super().__init__(config)
        self._connections, self._tell = connections, started

    def load(self) -> None:
        """Read the certificate; ``OSError`` if that is not possible."""
        self.config.load()

    def listen(self) -> Listener:
        """Listen, before anything is served; ``OSError`` if that is not possible."""
        return Listener.open(self.config.host, self.config.port, self._connections)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say where the server listens once it does."""
        sys.setswitchinterval(SWITCH)
        await super().startup(sockets)
        if not self.should_exit and sockets:
            self._tell(self._address(sockets[0].getsockname()[1]))

    def _address(self, port: int) -> str:
        """Return the address of the server: with port 0, the system has chosen one."""
        scheme = "http" if self.config.ssl_certfile is None else "https"
        host = f"[{self.config.host}]" if ":" in self.config.host else self.config.host
        return f"{scheme}://{host}:{port}"
