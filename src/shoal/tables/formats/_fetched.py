"""Tables that come from elsewhere: standard input, and http(s) and s3 addresses.

They are copied into a private folder first, which is removed with the table: readers want to look at a file more than
once, and a copy that broke off must never pass for the whole. No message shows more of an address than host and path.
"""

from __future__ import annotations

import base64
import re
import shutil
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import SplitResult, unquote, urlsplit

from shoal.errors import DataError
from shoal.tables._engine import Engine
from shoal.writing import Scratch

#: of all files of an address
_MOST_GIGABYTES = 10
_MOST = _MOST_GIGABYTES << 30
_CHUNK = 1 << 20
#: seconds without an answer
_PATIENCE = 60
_WEB, _STORES = ("http", "https"), ("s3",)
#: how files begin whose name does not tell what they are
_BEGINNINGS = (
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".arrow"),
    (b"PK\x03\x04", ".xlsx"),
    (b"\xd0\xcf\x11\xe0", ".xls"),
    (b"$FL", ".sav"),
    (b"<stata_dta>", ".dta"),
    (b"{", ".jsonl"),
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A copy of what was elsewhere, and what a person should know of how it came."""

    path: Path
    scratch: Scratch
    notes: tuple[str, ...] = ()

    def removed_with(self, engine: Engine) -> None:
        """Keep the copy as long as the engine that reads it."""
        weakref.finalize(engine, self.scratch.remove)


def elsewhere(source: object) -> bool:
    """Return whether a source is to be fetched first.

    Examples
    --------
    >>> elsewhere("-"), elsewhere("s3://bucket/people.parquet"), elsewhere("people.csv")
    (True, True, False)
    """
    if not isinstance(source, str):
        return False
    scheme, colon, _ = source.partition("://")
    return source == "-" or (bool(colon) and scheme.lower() in (*_WEB, *_STORES))


def base_name(address: str) -> str:
    """Return the last part of an address's path, as a file may be called.

    Examples
    --------
    >>> base_name("https://example.org/a%20b/people.csv?token=1")
    'people.csv'
    """
    path = re.split("[?#]", address.partition("://")[2] or address)[0]
    last = unquote(path.rstrip("/").rpartition("/")[2])
    return re.sub(r"[^\w.=-]+", "_", last)[-100:].lstrip(".") or "table"


def fetch(source: str) -> Fetched:
    """Copy what ``source`` names into a private folder.

    Raises
    ------
    DataError
        If nothing is there, or it broke off, or is larger than 10 GB.
    """
    scratch = Scratch()
    try:
        if source == "-":
            return Fetched(_standard_input(scratch.path), scratch)
        parts = _split(source)
        notes: tuple[str, ...] = ()
        if parts.scheme in _STORES:
            path = _from_store(source, parts, scratch.path)
        else:
            path = _from_web(parts, scratch.path)
            if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
                notes = (f"{path.name} came over a connection that others can read and change: use https",)
        return Fetched(path, scratch, notes)
    except BaseException:
        scratch.remove()
        raise


def _split(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        if parts.hostname and (parts.port is None or parts.port):
            return parts
    except ValueError:
        pass
    raise DataError("the address is not complete.", hint="for example https://example.org/people.csv")


def _standard_input(folder: Path) -> Path:
    stream = sys.stdin
    if stream is None or stream.isatty():
        raise DataError("nothing is piped in.", hint="for example: zcat people.csv.gz | shoal draft -")
    path = folder / "standard-input"
    with _copying("standard input"), path.open("wb") as file:
        shutil.copyfileobj(getattr(stream, "buffer", stream), file, _CHUNK)
    if not path.stat().st_size:
        raise DataError("standard input is empty.")
    return _with_ending(path)


def _with_ending(path: Path) -> Path:
    """Give a file without an ending the one that its first bytes speak for; text is CSV."""
    with path.open("rb") as file:
        start = file.read(512).lstrip()
    ending = next((end for sign, end in _BEGINNINGS if start.startswith(sign)), ".csv")
    return path.rename(path.with_name(path.name + ending))


# -- the web


def _from_web(parts: SplitResult, folder: Path) -> Path:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, build_opener

    shown = f"{parts.hostname}{parts.path}"
    host = parts.netloc.rpartition("@")[2]
    request = Request(parts._replace(netloc=host, fragment="").geturl(), headers={"User-Agent": "shoal"})  # noqa: S310 - http or https
    if parts.username:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        request.add_unredirected_header("Authorization", f"Basic {base64.b64encode(secret).decode()}")
    path = folder / base_name(parts.path)
    try:
        with _copying(shown), build_opener(_no_downgrade()).open(request, timeout=_PATIENCE) as answer:
            if answer.headers.get_content_type() == "text/html":
                raise DataError(f"{shown} is a web page, not a file.", hint="give the address of the file itself")
            length = answer.headers.get("Content-Length")
            size = _copied(answer, path, shown)
            if length is not None and length.isdigit() and size != int(length):
                raise DataError(f"{shown} broke off after {size:,} of {int(length):,} bytes.", hint="try again")
    except HTTPError as error:
        raise DataError(f"{shown} cannot be read: the server answers {error.code} ({error.reason}).") from None
    except URLError as error:
        raise DataError(f"{shown} cannot be read: {_reason(error.reason)}.") from None
    except HTTPException:
        raise DataError(f"{shown} cannot be read: the answer breaks off, or is not HTTP.") from None
    return path if path.suffix else _with_ending(path)


def _no_downgrade() -> Any:
    from urllib.error import URLError
    from urllib.request import HTTPRedirectHandler

    class Redirects(HTTPRedirectHandler):
        def redirect_request(self, request: Any, *others: Any) -> Any:
            if request.type == "https" and urlsplit(others[-1]).scheme != "https":
                raise URLError("it points on to a connection that is not encrypted")
            return super().redirect_request(request, *others)

    return Redirects


# -- stores of objects


def _from_store(address: str, parts: SplitResult, folder: Path) -> Path:
    from pyarrow import fs

    shown = f"{parts.scheme}://{parts.hostname}{parts.path}"
    with _copying(shown, hint="credentials and the region are those of the usual settings, such as AWS_PROFILE"):
        store, place = fs.FileSystem.from_uri(address)
        found = store.get_file_info(place)
        if found.type is fs.FileType.NotFound:
            raise DataError(f"{shown} does not exist, or may not be seen.")
        target = folder / base_name(parts.path)
        if found.type is fs.FileType.File:
            with store.open_input_stream(place) as stream:
                _copied(stream, target, shown)
            return target if target.suffix else _with_ending(target)
        left = _MOST
        for each in store.get_file_info(fs.FileSelector(place, recursive=True)):
            inner = Path(each.path).relative_to(place)
            if each.type is fs.FileType.File and each.path.endswith(".parquet") and ".." not in inner.parts:
                (target / inner).parent.mkdir(parents=True, exist_ok=True)
                with store.open_input_stream(each.path) as stream:
                    left -= _copied(stream, target / inner, shown, most=left)
        target.mkdir(exist_ok=True)
        return target


# -- all


def _copied(stream: IO[bytes], path: Path, shown: str, *, most: int = _MOST) -> int:
    """Copy a stream into a file and return its length."""
    size = 0
    read: Callable[[int], bytes] = stream.read
    with path.open("wb") as file:
        while chunk := read(_CHUNK):
            size += len(chunk)
            if size > most:
                raise DataError(f"{shown} is larger than {_MOST_GIGABYTES} GB.", hint="download it and pass the file")
            file.write(chunk)
    return size


@contextmanager
def _copying(shown: str, hint: str | None = None) -> Iterator[None]:
    from urllib.error import URLError

    try:
        yield
    except URLError:
        raise
    except (OSError, ValueError) as error:
        raise DataError(f"{shown} cannot be read: {_reason(error)}.", hint=hint) from None


def _reason(error: object) -> str:
    """Say in a few words what went wrong; what libraries write may hold addresses and secrets."""
    if isinstance(error, TimeoutError):
        return "there was no answer in time"
    if isinstance(error, str):
        return error
    return (getattr(error, "strerror", None) or "the place cannot be reached, or refuses").lower()
