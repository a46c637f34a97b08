"""All that a release promises and how it came about."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.guarantees._events import Budget, Event, budget
from shoal.guarantees._promise import Promise

__all__ = ["CRYPTOGRAPHIC", "SEED", "Guarantee", "randomness"]

CRYPTOGRAPHIC = "the cryptographic generator of the operating system"
"""The only source of random numbers that an unconditional promise may rest on."""
SEED = "Nobody knows the seed that the random numbers came from."
"""What a promise rests on where the random numbers came from a seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """The promises of a release, the steps that made it, and where its randomness came from.

    Parameters
    ----------
    promises
        What holds; at least one.
    events
        What was done, in order; an accountant (:func:`budget`) turns them into totals.
    randomness
        Where random numbers came from; a seeded source is for tests and says so here.
    """

    promises: tuple[Promise, ...]
    events: tuple[Event, ...] = ()
    randomness: str = "none used"

    @property
    def budget(self) -> Budget:
        """The total epsilon and delta of all steps."""
        return budget(self.events)

    def __str__(self) -> str:
        lines = []
        for promise in self.promises:
            lines.append(f"{promise.statement} ({promise.strength})")
            lines.extend(f"  assuming: {assumption}" for assumption in promise.assumptions)
        return "\n".join(lines)


def randomness(*, cryptographic: bool) -> str:
    """Say where random numbers came from."""
    return CRYPTOGRAPHIC if cryptographic else "a seed, for tests: whoever knows it can repeat the draw"
