"""Measures by the names that plan files and ``quality=`` use."""

from __future__ import annotations

import difflib

from shoal.errors import ParameterError
from shoal.quality._measure import Measure, measures

__all__ = ["by_name"]


def by_name(name: str) -> type[Measure]:
    """Return the measure with this name.

    Examples
    --------
    >>> by_name("loss").title
    'Loss'
    """
    known = measures()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"the measures are {', '.join(f'`{entry}`' for entry in known)}"
    raise ParameterError(f"There is no quality measure `{name}`.", hint=hint)
