"""Which column names can be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shoal.errors import DataError, Problems
from shoal.tables._engine import OURS

__all__ = ["LONGEST", "check_names"]

LONGEST = 200  # characters


def check_names(names: Sequence[object], source: str) -> None:
    """Raise all that is wrong with the column names of a source.

    Engines take names that differ only in the case of letters for the same name, so these are refused too.
    """
    problems = Problems()
    texts = [str(name) for name in names]
    for position, name in enumerate(texts, start=1):
        if not name.strip():
            problems.add(f"{source}: column {position} has no name")
        elif name.lower().startswith(OURS):
            problems.add(f"{source}: the name of column {position} begins with `{OURS}`, which is taken")
        elif "\0" in name:
            problems.add(f"{source}: the name of column {position} holds a zero byte")
        elif len(name) > LONGEST:  # a quote that never closes makes a name of all the data: do not show it
            problems.add(f"{source}: the name of column {position} is longer than {LONGEST} characters")
    if problems:
        problems.raise_as(DataError)
    for name, times in Counter(texts).items():
        if times > 1:
            problems.add(f"{source}: column `{name}` is there {times} times")
    for group in _alike(texts):
        problems.add(f"{source}: columns {' and '.join(f'`{name}`' for name in group)} differ only in case")
    problems.raise_as(DataError)


def _alike(names: Sequence[str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(name.lower(), []).append(name)
    return [group for group in groups.values() if len(group) > 1]
