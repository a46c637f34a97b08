"""Put the app together: guard, API, pages, files."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.staticfiles import StaticFiles

from shoal import __version__
from shoal.web import _errors, _pages, api
from shoal.web._context import Context
from shoal.web._guard import Access, Guard
from shoal.web._jobs import Jobs
from shoal.web._opened import OpenTables
from shoal.web._store import Store
from shoal.web._work import warm

__all__ = ["create_app"]


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
        middleware=[Middleware(Guard, access=access, port=port, upload_limit=upload_limit)],
    )
    app.state.context = Context(store=store, jobs=jobs, opened=OpenTables())
    _errors.install(app)
    app.include_router(api.router)
    app.include_router(_pages.router)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    return app
