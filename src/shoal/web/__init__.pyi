"""The names of this package; each is imported when it is first used."""

from ._app import create_app as create_app
from ._app import default_folder as default_folder
from ._app import open_again as open_again
from ._app import serve as serve
from ._guard import Access as Access
