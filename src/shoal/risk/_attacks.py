"""All attacks on one release, as one value for reports."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.risk._attack import Attack
from shoal.risk._extreme_values import ExtremeValue, extreme_values
from shoal.risk._inference import inference
from shoal.risk._linkability import linkability
from shoal.risk._linkage import Knowledge, linkage
from shoal.risk._pair import Pair
from shoal.risk._singling_out import singling_out
from shoal.tables import Table

__all__ = ["Attacks", "attack"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacks:
    """What intruders achieve against one release.

    Parameters
    ----------
    linkage
        Looking for a person with partial knowledge, by the number of columns known.
    singling_out, linkability, inference
        The three questions of the Article 29 Working Party; ``linkability`` is None with one quasi-identifier,
        ``inference`` has an entry per sensitive column.
    extremes
        Whether the extremes of ordered quasi-identifiers can be read off.
    seed
        Of the draws: the same seed and data give the same figures.
    """

    linkage: tuple[Knowledge, ...]
    singling_out: Attack
    linkability: Attack | None
    inference: tuple[Attack, ...]
    extremes: tuple[ExtremeValue, ...]
    seed: int


def attack(original: Table, released: Table, *, seed: int = 0) -> Attacks:
    """Attack a release with everything but membership inference, which needs the method (see :func:`membership`).

    Parameters
    ----------
    original
        The table as it was, with its schema.
    released
        What was made of it; the table itself for the risk as it is.
    seed
        Of the draws of targets and columns.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> columns = [shoal.Attribute(name=name, role="quasi-identifier") for name in ("sex", "town")]
    >>> people = pyarrow.table({"sex": ["f", "f", "m", "m"], "town": ["a", "b", "a", "a"]})
    >>> table = shoal.read(people).with_schema(shoal.Schema(attributes=tuple(columns)))
    >>> attack(table, table).linkage[-1].single
    0.5
    """
    pair = Pair.of(original, released)
    return Attacks(
        linkage=linkage(pair, seed=seed),
        singling_out=singling_out(pair, seed=seed),
        linkability=linkability(pair, seed=seed),
        inference=inference(pair, seed=seed),
        extremes=extreme_values(pair),
        seed=seed,
    )
