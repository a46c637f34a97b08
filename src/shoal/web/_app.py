"""Put the app together, guard, API, pages and files, serve it on the loopback address, and let its owner in."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.staticfiles import StaticFiles

from shoal import __version__, stopping
from shoal.errors import InputError
from shoal.web import _errors, _pages, api
from shoal.web._context import Context, OpenTables
from shoal.web._doorway import doorway, find_doorway
from shoal.web._guard import Access, Guard
from shoal.web._jobs import Jobs, warm
from shoal.web._store import Store
from shoal.web._turns import Turns
from shoal.writing import Scratch

UPLOAD_LIMIT = 4 * 2**30


def create_app(
    folder: Path,
    *,
    access: Access,
    port: int | None = None,
    upload_limit: int = 2**30,
    workers: int | None = None,
) -> FastAPI:
    """Return the app.

    Parameters
    ----------
    folder
        Where it keeps tables and releases.
    access
        Its host name and the token that opens it.
    port
        The port of its address, which every request must name; None for an address without a port.
    upload_limit
        The greatest size of an uploaded file, in bytes.
    workers
        How many runs work at the same time; half the processors, and at least two, by default.
    """
    store = Store(folder)
    jobs = Jobs(store, workers=workers)
    context = Context(store=store, jobs=jobs, opened=OpenTables())

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        jobs.warm()
        # the first table is not to wait for imports
        threading.Thread(target=warm, daemon=True).start()
        yield
        context.serving.close()
        jobs.close()

    app = FastAPI(
        title="Shoal",
        version=__version__,
        description="From a table of personal records to a release that anybody can check.",
        lifespan=life,
        docs_url=None,  # its scripts come from another site
        redoc_url=None,
        openapi_url="/api",
        generate_unique_id_function=lambda route: "_".join((*map(str, route.tags), route.name)),
        middleware=[Middleware(Guard, access=access, port=port, upload_limit=upload_limit), Middleware(Turns)],
    )
    app.state.cookie = access.cookie
    app.state.context = context
    _errors.install(app)
    _describe(app)
    app.include_router(api.router)
    app.include_router(_pages.router)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    return app


def _describe(app: FastAPI) -> None:
    """Say in the description of the API how one gets in."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        document = plain()
        document.setdefault("components", {})["securitySchemes"] = {
            "script": {"type": "http", "scheme": "bearer", "description": "the token of `--api-token-file`"},
            "browser": {"type": "apiKey", "in": "cookie", "name": app.state.cookie, "description": "set by the app"},
        }
        document["security"] = [{"script": []}, {"browser": []}]
        return document

    app.openapi = described  # type: ignore[method-assign]


def serve(
    *,
    port: int = 0,
    folder: Path | None = None,
    ephemeral: bool = False,
    browser: bool = True,
    upload_limit: int = UPLOAD_LIMIT,
    api_token_file: Path | None = None,
) -> None:
    """Serve the app until it is interrupted, or its terminal is closed.

    Port 0 takes a free one. Tables and releases are kept in ``folder``, by default in :func:`default_folder`, or if
    ``ephemeral`` in a new folder that is removed on exit. ``browser`` opens the printed address in the user's browser.
    ``upload_limit`` is the greatest size of an uploaded file, in bytes. ``api_token_file`` has the token that scripts
    show; it is made where there is none.
    """
    os.umask(0o077)  # whatever is written is for its owner alone, workers' files included
    access = Access(api_token=None if api_token_file is None else api_token(api_token_file))
    listener = _listen(port)
    port = listener.getsockname()[1]
    with ExitStack() as stack:
        stack.callback(listener.close)
        place = folder or default_folder()
        if ephemeral:
            scratch = Scratch()
            stack.callback(scratch.remove)
            place = scratch.path
        Store(place)  # makes the folder
        way = stack.enter_context(doorway(place, access.address(port)))
        app = create_app(place, access=access, port=port, upload_limit=upload_limit)
        kept = "Nothing is kept" if ephemeral else f"Tables and releases are kept in {place}"
        sys.stdout.write(f"Shoal is open at {way.address}\n{kept}. Stop with Ctrl-C.\n")
        sys.stdout.flush()
        # what the server has to say on its way out helps nobody
        config = uvicorn.Config(app, log_level="critical", access_log=False, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        stack.enter_context(stopping.gently(lambda: setattr(server, "should_exit", True)))
        if browser:
            webbrowser.open(way.page.absolute().as_uri())
        server.run(sockets=[listener])


def open_again(folder: Path | None = None, *, browser: bool = True) -> str:
    """Open the app that runs on a state folder in another browser window, and return its address."""
    way = find_doorway(folder or default_folder())
    if browser:
        webbrowser.open(way.page.absolute().as_uri())
    return way.address


def default_folder() -> Path:
    """Return where the app keeps what it has, unless told otherwise."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "shoal"
    return Path(os.environ.get("XDG_STATE_HOME", Path.home() / ".local" / "state")) / "shoal"


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # from here on, whoever opens the printed address waits instead of being refused
    except (OSError, OverflowError):
        listener.close()
        raise InputError(
            f"port {port} cannot be used", hint="leave out --port to take a free one, or choose another"
        ) from None
    return listener


_TOKEN = re.compile(r"[A-Za-z0-9_.~+/=-]{32,512}")


def api_token(path: Path) -> str:
    """Return the token that ``path`` holds; a new one is written where there is no file.

    Raises
    ------
    InputError
        If others can read the file, or what it holds is too short or no token.
    """
    try:
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
        shared = sys.platform != "win32" and path.stat().st_mode & 0o077
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = (getattr(error, "strerror", None) or "it is not a text").lower()
        raise InputError(f"the API token file {path} cannot be used: {reason}") from None
    if shared:
        raise InputError(f"others can read the API token file {path}", hint=f"chmod 600 {path}")
    if _TOKEN.fullmatch(token) is None:
        raise InputError(
            f"the API token file {path} must hold one token of 32 to 512 letters, digits and -_.~+/=",
            hint="remove the file, and a new one is created",
        )
    return token
