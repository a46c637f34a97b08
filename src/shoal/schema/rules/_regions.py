"""Countries by the regions of the world: ``Austria``, ``Western Europe``, ``Europe``; from a table that is built in."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass, field
from importlib import resources
from typing import ClassVar

import numpy as np
import pyarrow as pa

from shoal.schema._domain import Kind
from shoal.schema._entry import many, text
from shoal.schema._rule import TEXT, Level, LevelsRule, RuledColumn, Tree, at
from shoal.schema._values import join_words

REGION_LEVELS = ("sub-region", "region")
_UNKNOWN = "elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions(LevelsRule):
    """Group countries into ``sub-region`` and ``region``, as the United Nations do for statistics (M49).

    Countries are known by their English names and by their codes of two or three letters (ISO 3166-1). What is none of
    these is put together as ``elsewhere``.
    """

    name: ClassVar[str] = "regions"
    known: ClassVar[tuple[str, ...]] = REGION_LEVELS
    kinds: ClassVar[tuple[Kind, ...]] = TEXT

    levels: tuple[str, ...] = field(default=REGION_LEVELS, metadata=at("regions", many(text)))

    def explain(self) -> str:
        return f"countries by {join_words(self.levels)} of the world"

    def tree(self, column: RuledColumn) -> Tree:
        countries = [country(value) for value in column.leaves.to_pylist()]
        levels = []
        for level in self.levels:
            place = REGION_LEVELS.index(level)
            labels, groups = np.unique(
                [_UNKNOWN if country is None else country[place] for country in countries], return_inverse=True
            )
            levels.append(Level(groups=groups.astype(np.int64), labels=pa.array(labels.tolist(), pa.string())))
        return Tree(leaves=column.leaves, levels=levels, ranks=column.ranks(column.leaves))


def country(value: str) -> tuple[str, str] | None:
    """Return the sub-region and the region of a country, or None where the value is no country that is known.

    Examples
    --------
    >>> country("United-States")
    ('Northern America', 'Americas')
    """
    return _table().get(_plain(value))


def countries() -> tuple[str, ...]:
    """Return every name and code of a country that is known."""
    return tuple(_table())


def _plain(value: str) -> str:
    bare = "".join(c for c in unicodedata.normalize("NFKD", value) if not unicodedata.combining(c))
    return re.sub(r"[\W_]+", " ", bare).strip().lower()


@functools.cache
def _table() -> dict[str, tuple[str, str]]:
    lines = resources.files("shoal.schema.rules").joinpath("countries.txt").read_text(encoding="utf-8").splitlines()
    regions = {}
    for line in lines:
        if line.startswith("#"):
            continue
        place, _, countries = line.partition(": ")
        region, _, part = place.partition(" / ")
        for each in countries.split("; "):
            short, long, names = each.split(" ", 2)
            for name in (short, long, *names.split(" = ")):
                regions[_plain(name)] = (part, region)
    return regions
