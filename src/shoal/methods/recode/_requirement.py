"""What to say when no release keeps the promise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.errors import RequirementError
from shoal.methods.recode._lattice import Lattice
from shoal.models import Model

__all__ = ["no_solution"]


def no_solution(lattice: Lattice, models: Sequence[Model], allowed: int, least: int) -> RequirementError:
    """Say which models fail even where everything is generalised, and how much suppression would help.

    Parameters
    ----------
    allowed
        The records that may be suppressed.
    least
        The fewest records that had to be suppressed at any node that was checked.
    """
    frequencies = lattice.frequencies
    records = frequencies.records
    everything = np.ones(1, dtype=np.bool_)
    names = [attribute.name for attribute in frequencies.sensitive]
    top = lattice.node(lattice.top).classes(everything, sensitive=names)
    problems = [f"No generalisation keeps the promise while suppressing at most {allowed:,} of {records:,} records."]
    for model in models:
        if not model.keep(top, everything).all():
            problems.append(
                f"`{model.title}` fails even if every quasi-identifier is `*` and nothing is suppressed: the whole "
                f"table has {model.achieved(top)}."
            )
    if least < records:
        hint = f"a `suppression_limit` of {_at_least(least, records)} is enough: {least:,} records would be suppressed"
    else:
        hint = "weaken the models that fail on the whole table; no suppression limit helps"
    return RequirementError(problems, hint=hint)


def _at_least(part: int, whole: int) -> str:
    """Return a share with four digits, rounded up."""
    return f"{-(-part * 10_000 // whole) / 10_000:.4f}"
