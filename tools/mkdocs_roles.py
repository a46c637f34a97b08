"""Show cross-references of docstrings, ``:class:`~shoal.Table```, as the names that they mean."""

from __future__ import annotations

import re

ROLE = re.compile(r":(?:attr|class|func|meth|mod):<code>~?(?:shoal\.[a-z_.]*)?")


def on_page_content(html: str, **_: object) -> str:
    return ROLE.sub("<code>", html)
