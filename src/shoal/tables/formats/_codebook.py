"""Codes and labels of a statistics package's file, written again around the values that were released."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Codebook", "Coded"]

Code = float | str
ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Codebook:
    """What a file says of its columns.

    Parameters
    ----------
    labels
        The label of every code, by column.
    titles
        What columns are called at length.
    """

    labels: Mapping[str, Mapping[Code, str]] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)

    def coded(self, name: str, values: Sequence[str | None], *, texts: bool) -> Coded | None:
        """Return released labels as the codes that they had; None where one is no label of the file.

        A ``*`` gets a code of its own, which is missing. Labels that were not released are not written: the labels of
        a file may list the values that its records had.

        Parameters
        ----------
        texts
            Whether codes may be texts; some packages label only numbers.
        """
        known = self.labels.get(name, {})
        codes = {label: code for code, label in known.items()}
        shown = {value for value in values if value is not None}
        ambiguous = len(codes) < len(known)
        if ambiguous or not shown & {*codes} or not shown <= {*codes, ANY}:
            return None
        numbers = [code for code in known if not isinstance(code, str)]
        if len(numbers) < len(known) and (numbers or not texts):
            return None
        star: Code | None = None
        if ANY in shown and ANY not in codes:
            star = math.floor(max(numbers)) + 1 if numbers else ANY
            codes[ANY] = star
        labels = {codes[label]: label for label in sorted(shown)}
        found = [None if value is None else codes[value] for value in values]
        return Coded(values=found, labels=labels, star=star)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coded:
    """A column as codes, the labels of those that are there, and the code that stands for any of them."""

    values: list[Any]
    labels: dict[Code, str]
    star: Code | None
