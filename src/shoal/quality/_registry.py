"""Measures by the names that plan files and ``quality=`` use."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping

from shoal.errors import ParameterError
from shoal.quality._measure import Measure, measures

__all__ = ["as_measure", "by_name"]


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


def as_measure(
    described: str | Mapping[str, object] | Measure,
    *,
    weights: Mapping[str, float] | None = None,
    balance: float = 0.5,
    owner: str = "a plan",
) -> Measure:
    """Return the measure that is named, described by its name and parameters as in a plan file, or given.

    Examples
    --------
    >>> as_measure({"name": "classification", "target": "income"}).label
    'classification of income'
    """
    if isinstance(described, Measure):
        return described
    given = {"name": described} if isinstance(described, str) else dict(described)
    parameters: dict[str, object] = {"weights": weights or {}, "balance": balance, **given}
    measure = by_name(str(parameters.pop("name", "loss")))
    unknown = set(parameters) - {entry.name for entry in dataclasses.fields(measure)}
    if unknown:
        names = ", ".join(f"`{name}`" for name in sorted(unknown))
        raise ParameterError(f"a measure of {owner} has {names}, which `{measure.title}` does not know.")
    return measure(**parameters)  # type: ignore[arg-type]
