"""Pages are rendered here, so that every cell of the data is escaped in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from shoal.web._words import FILTERS

_environment = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters |= FILTERS


def page(name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page from its template."""
    return HTMLResponse(_environment.get_template(f"{name}.html").render(**values), status)
