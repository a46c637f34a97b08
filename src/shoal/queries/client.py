"""Ask a vault on another machine."""

from __future__ import annotations

import http.client
import ipaddress
import json
import ssl
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from shoal.errors import (
    AccessError,
    BudgetSpent,
    FilterError,
    InputError,
    LedgerError,
    NotAnswered,
    ParameterError,
    ShoalError,
)
from shoal.queries._accounts import Standing
from shoal.queries._messages import answer_from, loss_from, message_of
from shoal.queries._query import Answer, Query
from shoal.queries._questions import Questions
from shoal.schema import Kind

__all__ = ["AccessError", "BudgetSpent", "Client", "LedgerError", "NotAnswered", "is_loopback"]

#: the one request that costs something
ASK = "/v1/ask"
Result = TypeVar("Result")


class Client(Questions):
    """Ask a vault over HTTP, with the same methods as a `Session`.

    Parameters
    ----------
    address
        ``https://host:port``. Plain ``http`` is for this machine only: a token and answers travel in clear text.
    token
        What the steward gave you.
    certificate
        The file of the certificate authority, where it is not one that the system knows.
    timeout
        Seconds to wait for an answer. After a time-out the cost may be spent; `standing` says whether it is.

    Examples
    --------
    >>> Client("http://example.org", "secret")
    Traceback (most recent call last):
    shoal.errors.ParameterError: `address` of `Client` must begin with https:// unless the vault is on this machine.
    """

    def __init__(self, address: str, token: str, *, certificate: str | Path | None = None, timeout: float = 60) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError("`address` of `Client` must look like https://host:port.")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise ParameterError("`address` of `Client` must begin with https:// unless the vault is on this machine.")
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._prefix = parts.path.rstrip("/")
        self._lock = threading.Lock()
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=None if certificate is None else str(certificate))
            self._connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=timeout, context=context
            )
        else:
            self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)

    def ask(self, query: Query) -> Answer:
        """Answer a query value."""
        return self._request("POST", ASK, answer_from, message_of(query))

    @property
    def standing(self) -> Standing:
        """What you may spend, have spent and have left."""
        return self._request(
            "GET", "/v1/budget", lambda data: Standing(*(loss_from(data[part]) for part in ("budget", "spent", "left")))
        )

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The columns that you may ask about, and what is declared of them."""
        return self._request("GET", "/v1/schema", lambda data: [dict(column) for column in data["columns"]])

    def _kinds(self) -> Mapping[str, Kind]:
        return {column["name"]: Kind(column["kind"]) for column in self.columns}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _request(self, method: str, path: str, read: Callable[[dict[str, Any]], Result], body: object = None) -> Result:
        sent = None if body is None else json.dumps(body)
        with self._lock:
            try:
                if self._connection.sock is None:
                    self._connection.connect()
            except OSError:
                self._connection.close()
                raise InputError("the vault could not be reached; nothing was sent, so nothing is spent.") from None
            try:
                self._connection.request(method, self._prefix + path, body=sent, headers=self._headers)
                response = self._connection.getresponse()
                status, received = response.status, response.read()
            except (OSError, http.client.HTTPException):
                # never tried again by itself: the first attempt may have been paid for
                self._connection.close()
                raise _lost("the vault stopped before it answered.", path) from None
        try:
            data = json.loads(received)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise _lost(f"what answered is not a vault (status {status}).", path)
        if status != http.client.OK:
            raise _error(status, data, path)
        try:
            return read(data)
        except (LookupError, TypeError, ValueError, AttributeError, ShoalError):
            raise _lost("what answered is not a vault of this version.", path) from None


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _lost(problem: str, path: str) -> InputError:
    """Return the error of a request without an answer: whether it was paid for, the ledger knows and nobody here."""
    if path != ASK:
        return InputError(problem)
    return InputError(
        problem, hint="the cost may have been spent: ask the ledger, with `standing`, before you ask again"
    )


def _error(status: int, data: dict[str, Any], path: str) -> ShoalError:
    """Return the error that the server's session raised."""
    if not isinstance(data.get("problems"), list) or not data["problems"]:
        return _lost(f"the vault, or a server in front of it, refused the request (status {status}).", path)
    if data.get("code") == "not-answered":
        return NotAnswered()
    if status == http.client.INTERNAL_SERVER_ERROR:
        return _lost("the vault could not serve the request.", path)
    kinds: dict[int, type[ShoalError]] = {
        401: AccessError,
        403: BudgetSpent,
        422: FilterError,
        429: AccessError,
        503: LedgerError,
    }
    return kinds.get(status, InputError)([str(each) for each in data["problems"]], hint=data.get("hint"))
