"""Standard input and addresses: copied whole or refused, with no secret of an address in any message."""

from __future__ import annotations

import gc
import io
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import DataError

CSV = b"age;city\n34;Bonn\n61;Berlin\n"


class Piped:
    """What a shell pipes in."""

    def __init__(self, content, *, terminal=False):
        self.buffer, self.terminal = io.BytesIO(content), terminal

    def isatty(self):
        return self.terminal


def parquet(rows):
    found = io.BytesIO()
    pq.write_table(pa.table(rows), found)
    return found.getvalue()


FILES = {
    "/people.csv": CSV,
    "/people": parquet({"age": [34, 61]}),
    "/store/people.csv": CSV,
    "/store/parts/year=2023/a.parquet": parquet({"age": [34]}),
    "/store/parts/year=2024/a.parquet": parquet({"age": [61]}),
}


class Server(BaseHTTPRequestHandler):
    """A web server with a few files and bad habits, which speaks as much of S3 as reading needs."""

    asked: ClassVar[list[str | None]] = []

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path, query = unquote(urlsplit(self.path).path), urlsplit(self.path).query
        self.asked.append(self.headers.get("Authorization"))
        if path.rstrip("/") == "/store" and "list-type" in query:
            self.answer(200, listing(query), "application/xml")
        elif path == "/page.csv":
            self.answer(200, b"<html>Please log in</html>", "text/html; charset=utf-8")
        elif path == "/short.csv":
            self.answer(200, CSV, "text/csv", length=len(CSV) + 7)
        elif path in FILES:
            start = int((self.headers.get("Range") or "bytes=0-")[6:].partition("-")[0])
            self.answer(206 if "Range" in self.headers else 200, FILES[path][start:], "application/octet-stream")
        else:
            self.answer(404, b"", "text/plain")

    def answer(self, code, content, kind, length=None):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_):
        pass


def listing(query):
    wanted = next((unquote(part[7:]) for part in query.split("&") if part.startswith("prefix=")), "")
    found = [(path[7:], len(content)) for path, content in FILES.items() if path.startswith(f"/store/{wanted}")]
    inner = "".join(
        f"<Contents><Key>{name}</Key><Size>{size}</Size><LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
        for name, size in found
    )
    return (
        f"<ListBucketResult><Name>store</Name><KeyCount>{len(found)}</KeyCount><IsTruncated>false</IsTruncated>"
        f"{inner}</ListBucketResult>"
    ).encode()


@pytest.fixture(scope="module")
def server():
    found = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found.server_address[1]
    found.shutdown()


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("content", "columns"),
    [(CSV, ("age", "city")), (FILES["/people"], ("age",)), (b'{"age": 34}\n{"age": 61}\n', ("age",))],
)
def test_standard_input_is_told_by_its_first_bytes(content, columns, monkeypatch):
    monkeypatch.setattr("sys.stdin", Piped(content))
    table = shoal.read("-")
    assert (table.columns, table.count()) == (columns, 2)


def test_nothing_piped_in_is_one_clear_error(monkeypatch, scratch):
    monkeypatch.setattr("sys.stdin", Piped(b""))
    with pytest.raises(DataError, match="standard input is empty"):
        shoal.read("-")
    monkeypatch.setattr("sys.stdin", Piped(b"", terminal=True))
    with pytest.raises(DataError, match="nothing is piped in"):
        shoal.read("-")
    assert list(scratch.iterdir()) == []


def test_a_file_of_the_web_is_read_and_its_copy_removed_with_the_table(server, scratch):
    table = shoal.read(f"http://127.0.0.1:{server}/people.csv?token=hush")
    assert table.to_arrow().to_pydict() == {"age": ["34", "61"], "city": ["Bonn", "Berlin"]}
    assert table.source.name == "people.csv"
    assert shoal.read(f"http://127.0.0.1:{server}/people").to_arrow().to_pydict() == {"age": [34, 61]}
    del table
    gc.collect()
    assert list(scratch.iterdir()) == []


def test_a_password_is_sent_and_never_shown(server, scratch):
    Server.asked.clear()
    with pytest.raises(DataError, match="answers 404") as raised:
        shoal.read(f"http://anna:hush@127.0.0.1:{server}/no.csv?token=quiet")
    assert Server.asked == ["Basic YW5uYTpodXNo"]
    assert not {"hush", "quiet"} & set(str(raised.value).replace("=", " ").split())
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("page.csv", "is a web page"),
        ("short.csv", "broke off|breaks off"),
        ("no.csv", "the server answers 404"),
    ],
)
def test_what_is_not_the_whole_file_is_refused(server, scratch, place, message):
    with pytest.raises(DataError, match=message):
        shoal.read(f"http://127.0.0.1:{server}/{place}")
    assert list(scratch.iterdir()) == []


def test_addresses_that_lead_nowhere_are_one_clear_error(scratch):
    for address in ("http://127.0.0.1:1/people.csv", "https://", "http://[", "http://host:port/people.csv"):
        with pytest.raises(DataError, match=r"cannot be read|not complete"):
            shoal.read(address)
    assert list(scratch.iterdir()) == []


def test_files_and_partitioned_folders_of_a_store_are_read(server, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "hush")
    where = f"?endpoint_override=127.0.0.1:{server}&scheme=http&region=eu-west-1"
    assert shoal.read(f"s3://store/people.csv{where}").count() == 2
    parts = shoal.read(f"s3://store/parts{where}").to_arrow().to_pydict()
    assert sorted(zip(parts["year"], parts["age"], strict=True)) == [("2023", 34), ("2024", 61)]
    with pytest.raises(DataError, match=r"s3://store/no\.csv does not exist, or may not be seen"):
        shoal.read(f"s3://store/no.csv{where}")
