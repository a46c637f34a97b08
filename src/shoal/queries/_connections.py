"""The connections of a server: how many there may be, from one address and in all, and how long they may be idle.

Connections are counted where they are accepted, before TLS: who never finishes a handshake is closed as well. Where
there are too many, the one of a stranger that has waited longest makes room; connections of analysts are never closed
for it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

Client = tuple[str, int]
"""The address and port of whoever is connected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """How many connections may be open, and for how long without a request."""

    #: From one address (of IPv6, one network of 64 bits); None where all come from a proxy.
    per_address: int | None = 64
    in_all: int = 512
    #: Seconds for the handshake and the headers of a request, for its body, and for taking the response.
    patience: float = 10.0
    #: Seconds between requests of an analyst.
    idle: float = 30.0


class Connection(socket.socket):
    """An accepted connection that says when it is closed."""

    #: Who is there, whether an analyst, and when it is closed unless something happens before.
    client: Client
    is_known: bool
    deadline: float
    closed: Callable[[Connection], None]

    def close(self) -> None:
        """Close the connection and count it no more."""
        self.closed(self)
        super().close()

    def end(self) -> None:
        """Let the server find the connection closed; it then tidies up by itself."""
        with suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)


class Connections:
    """All connections of a server. Used by the thread of its event loop alone."""

    def __init__(self, limits: ConnectionLimits | None = None) -> None:
        self.limits = limits or ConnectionLimits()
        self._open: dict[Client, Connection] = {}
        self._addresses: Counter[str] = Counter()

    def admit(self, connection: Connection, client: Client) -> bool:
        """Count a new connection, and close another where there are too many; False: there is no room for it."""
        connection.client, connection.is_known, connection.closed = client, False, self._forget
        connection.deadline = time.monotonic() + self.limits.patience
        network, most = network_of(client[0]), self.limits.per_address
        if most is not None and self._addresses[network] >= most and not self._make_room(network):
            return False
        if len(self._open) >= self.limits.in_all and not self._make_room(None):
            return False
        self._open[client] = connection
        self._addresses[network] += 1
        return True

    def know(self, client: Any) -> None:
        """Note that an analyst is there."""
        if client in self._open:
            self._open[client].is_known = True

    def expect(self, client: Any, *, idle: bool = False) -> None:
        """Close the connection unless something is finished in time: a body, a response; or a pause, if ``idle``."""
        if client in self._open:
            connection = self._open[client]
            seconds = self.limits.idle if idle and connection.is_known else self.limits.patience
            connection.deadline = time.monotonic() + seconds

    def work(self, client: Any) -> None:
        """Leave the connection open as long as its request is worked on."""
        if client in self._open:
            self._open[client].deadline = float("inf")

    async def watch(self) -> None:
        """Close connections whose time is over, for ever."""
        while True:
            await asyncio.sleep(0.5)
            now = time.monotonic()
            for connection in [each for each in self._open.values() if each.deadline < now]:
                connection.end()

    def _make_room(self, network: str | None) -> bool:
        """Close the stranger that has waited longest, of a network if one is named."""
        for client, connection in self._open.items():
            if not connection.is_known and (network is None or network_of(client[0]) == network):
                self._forget(connection)
                connection.end()
                return True
        return False

    def _forget(self, connection: Connection) -> None:
        if self._open.get(connection.client) is connection:
            del self._open[connection.client]
            network = network_of(connection.client[0])
            self._addresses[network] -= 1
            if not self._addresses[network]:
                del self._addresses[network]


class Listener(socket.socket):
    """A listening socket that hands out only the connections that are admitted."""

    connections: Connections

    @classmethod
    def open(cls, host: str, port: int, connections: Connections) -> Listener:
        """Listen on an address."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = cls(family, kind, protocol or socket.IPPROTO_TCP)
        try:
            listener.connections = connections
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(128)
        except BaseException:
            listener.close()
            raise
        return listener

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection that is admitted."""
        while True:
            plain, address = super().accept()
            connection = Connection(plain.family, plain.type, plain.proto, fileno=plain.detach())
            if self.connections.admit(connection, address[:2]):
                return connection, address
            socket.socket.close(connection)


def network_of(host: str) -> str:
    """Return what counts as one address: an IPv4 address, or the 64 bits that one IPv6 subscriber has.

    Examples
    --------
    >>> network_of("10.0.0.7"), network_of("2001:db8::1:2:3:4"), network_of("::ffff:10.0.0.7"), network_of("unix")
    ('10.0.0.7', '2001:db8::', '10.0.0.7', 'unix')
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped or ipaddress.IPv6Address(int(address) >> 64 << 64))
    return str(address)
