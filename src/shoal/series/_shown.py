"""Joint crowds as a release shows them on request: one of every row, and a list of all of them with their parents."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

from shoal.errors import VerificationError
from shoal.kernels import Integers, Mask
from shoal.series._crowds import State

#: the joint crowd of every row of the data, in its order; and the list
CROWDS, CROWD_LIST = "joint-crowds.csv", "series.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCrowd:
    """A joint crowd after a release."""

    number: int
    #: Its number in the release before; empty for newcomers.
    parent: int | None
    people: int
    #: What the release shows of them: shown, frozen or absent.
    state: State


def crowd_list(crowds: Integers, before: Integers, states: Integers, ever: Mask) -> list[ShownCrowd]:
    """Return the joint crowds of everybody whom a release showed, by number."""
    numbers, firsts, people = np.unique(crowds[ever], return_index=True, return_counts=True)
    parents, kinds = before[ever][firsts], states[ever][firsts]
    return [
        ShownCrowd(number=number, parent=None if parent < 0 else parent, people=count, state=State(kind))
        for number, parent, count, kind in zip(
            numbers.tolist(), parents.tolist(), people.tolist(), kinds.tolist(), strict=True
        )
    ]


def write_crowd_list(crowds: Iterable[ShownCrowd]) -> str:
    """Return the text of the list."""
    written = io.StringIO(newline="")
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow([field.name for field in fields(ShownCrowd)])
    for crowd in crowds:
        number, parent, people, state = astuple(crowd)
        lines.writerow([number, "" if parent is None else parent, people, State(state).name.lower()])
    return written.getvalue()


def write_crowds(crowds: Integers) -> str:
    """Return the text of the file that has the joint crowd of every row."""
    return "\n".join(["joint crowd", *map(str, crowds.tolist())]) + "\n"


def read_crowd_list(path: Path) -> list[ShownCrowd]:
    """Read the list.

    Raises
    ------
    VerificationError
        If it is not as Shoal writes it.
    """
    text = _text(path)
    states = {state.name.lower(): state for state in State}
    try:
        _, *rows = csv.reader(io.StringIO(text, newline=""))
        crowds = [
            ShownCrowd(
                number=int(number), parent=int(parent) if parent else None, people=int(people), state=states[state]
            )
            for number, parent, people, state in rows
        ]
    except (ValueError, KeyError):
        raise VerificationError(f"{path.name} is not as Shoal writes it") from None
    if write_crowd_list(crowds) != text or len({crowd.number for crowd in crowds}) != len(crowds):
        raise VerificationError(f"{path.name} is not as Shoal writes it")
    return crowds


def read_crowds(path: Path) -> Integers:
    """Read the joint crowd of every row; raises VerificationError where the file is not as Shoal writes it."""
    text = _text(path)
    try:
        crowds = np.array([int(line) for line in text.split("\n")[1:-1]], dtype=np.int64)
    except (ValueError, OverflowError):
        raise VerificationError(f"{path.name} is not as Shoal writes it") from None
    if write_crowds(crowds) != text:
        raise VerificationError(f"{path.name} is not as Shoal writes it")
    return crowds


def _text(path: Path) -> str:
    if not path.is_file() or path.is_symlink():
        raise VerificationError(f"{path.name} is missing: the release does not show its joint crowds")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise VerificationError(f"{path.name} is not as Shoal writes it") from None
