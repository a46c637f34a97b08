"""The app: the whole way from a table to a release, in a browser, on the public API only."""

from shoal.web._app import create_app
from shoal.web._serve import serve

__all__ = ["create_app", "serve"]
