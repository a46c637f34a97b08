"""Put the app together, guard, API, pages and files, and serve it on the loopback address."""

from __future__ import annotations

import os
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
from shoal.web._entrance import api_token, doorway
from shoal.web._guard import Access, Guard
from shoal.web._jobs import Jobs, warm
from shoal.web._store import Store
from shoal.writing import Scratch

__all__ = ["create_app", "default_folder", "serve"]

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
        The one-time token that opens it.
    port
        The port of its address, which every request must name; None for an address without a port.
    upload_limit
        The greatest size of an uploaded file, in bytes.
    workers
        How many runs work at the same time; half the processors, and at least two, by default.
    """
    store = Store(folder)
    jobs = Jobs(store, workers=workers)

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        jobs.warm()
        # the first table is not to wait for imports
        threading.Thread(target=warm, daemon=True).start()
        yield
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
        middleware=[Middleware(Guard, access=access, port=port, upload_limit=upload_limit)],
    )
    app.state.cookie = access.cookie
    app.state.context = Context(store=store, jobs=jobs, opened=OpenTables())
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
        found = plain()
        found.setdefault("components", {})["securitySchemes"] = {
            "script": {"type": "http", "scheme": "bearer", "description": "the token of `--api-token-file`"},
            "browser": {"type": "apiKey", "in": "cookie", "name": app.state.cookie, "description": "set by the app"},
        }
        found["security"] = [{"script": []}, {"browser": []}]
        return found

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

    Parameters
    ----------
    port
        The port; 0 takes a free one.
    folder
        Where tables and releases are kept; :func:`default_folder` by default.
    ephemeral
        Keep everything in a new folder that is removed on exit.
    browser
        Whether to open the printed address in the user's browser.
    upload_limit
        The greatest size of an uploaded file, in bytes.
    api_token_file
        A file with the token that scripts show; it is made where there is none.
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
        app = create_app(place, access=access, port=port, upload_limit=upload_limit)
        address = f"http://127.0.0.1:{port}/?token={access.token}"
        kept = "nothing is kept" if ephemeral else f"tables and releases are kept in {place}"
        sys.stdout.write(f"Shoal is open at {address}\nThe address works once; {kept}. Stop with Ctrl-C.\n")
        sys.stdout.flush()
        # what the server has to say on its way out helps nobody
        config = uvicorn.Config(app, log_level="critical", access_log=False, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        stack.enter_context(stopping.gently(lambda: setattr(server, "should_exit", True)))
        if browser:
            webbrowser.open(stack.enter_context(doorway(address)).as_uri())
        server.run(sockets=[listener])


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
