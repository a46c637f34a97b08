"""Tables whose distinct tuples do not fit in memory: counted at coarser levels, searched above them, and said so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoal.errors import Exhausted, Problems
from shoal.guarantees import Event
from shoal.methods.recode._result import SearchResult, at_or_above
from shoal.quality import Measure
from shoal.risk import Reidentification, reidentification, reidentification_of_sizes
from shoal.tables import Classes, Encoded, Finest, Frequencies

_MORE = "give Shoal more memory, such as SHOAL_MEMORY=16GB"


class Coarsened(Event):
    """Distinct tuples were counted above the values themselves; ``levels`` are where the search began."""

    name = "coarsened"
    columns: tuple[str, ...]
    levels: tuple[int, ...]

    def describe(self) -> str:
        return (
            f"Looked only at releases{at_or_above(self.columns, self.levels)}: the different combinations of finer "
            "values did not fit in memory."
        )


def floors_of(frequencies: Frequencies) -> tuple[int, ...]:
    """Return the level of every quasi-identifier at which tuples were counted."""
    return tuple(hierarchy.floor for hierarchy in frequencies.hierarchies)


def coarsened(frequencies: Frequencies) -> list[Event]:
    """Return the step that says which levels were not looked at, if any."""
    raised = {h.attribute: h.floor for h in frequencies.hierarchies if h.floor}
    return [Coarsened(columns=tuple(raised), levels=tuple(raised.values()))] if raised else []


def check_coarse(encoded: Encoded, measures: Sequence[Measure], further: Sequence[Event]) -> None:
    """Refuse what needs the values themselves, where tuples were counted at coarser levels."""
    if encoded.finest is None:
        return
    problems = Problems()
    too_many = f"the {encoded.finest.tuples:,} different combinations of values do not fit in memory"
    for measure in measures:
        if not measure.coarse:
            problems.add(f"{too_many}, and the measure `{measure.name}` needs them all; loss and precision do not")
    problems.found.extend(f"{too_many}, and `{step.name}` columns need the values themselves" for step in further)
    problems.raise_as(Exhausted, hint=_MORE)


def risk_before(encoded: Encoded) -> Reidentification:
    """Return the risk of the original records."""
    if encoded.finest is None:
        return reidentification(Classes.grouped(encoded.frequencies))
    return reidentification_of_sizes(*encoded.finest.sizes)


def lifted(found: SearchResult, frequencies: Frequencies, finest: Finest | None) -> SearchResult:
    """Return a result whose levels are counted from the values, and that says which were not looked at."""
    if finest is None:
        return found
    floors, levels, lattice = floors_of(frequencies), found.recoding.levels, found.lattice
    said = (
        f"The {finest.tuples:,} different combinations of values do not fit in the memory that Shoal is given. "
        f"They were counted, and releases compared, only{at_or_above(frequencies.attributes, floors)}; "
        "more memory (SHOAL_MEMORY) may keep more."
    )
    return replace(
        found,
        recoding=replace(found.recoding, levels=None if levels is None else raised(levels, floors)),
        solutions=tuple(replace(each, levels=raised(each.levels, floors)) for each in found.solutions),
        lattice=None
        if lattice is None
        else replace(
            lattice,
            heights=raised(lattice.heights, floors),
            levels=lattice.levels + np.array(floors, dtype=np.int32),
        ),
        floors=floors,
        notes=(*found.notes, said),
    )


def raised(levels: tuple[int, ...], floors: tuple[int, ...]) -> tuple[int, ...]:
    """Return levels counted from the values, given those counted from the floors."""
    return tuple(level + floor for level, floor in zip(levels, floors, strict=True))
