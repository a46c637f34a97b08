"""The app: the whole way from a table to a release, in a browser, on the public API only."""

from shoal.web._app import create_app, default_folder, serve
from shoal.web._guard import Access

__all__ = ["Access", "create_app", "default_folder", "serve"]
