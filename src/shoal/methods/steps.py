"""The steps of certificates, read as what they are: by their names, of which every method lists those that it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.errors import VerificationError
from shoal.guarantees import Event
from shoal.methods import METHODS
from shoal.methods.nested import NESTED_STEPS

__all__ = ["KINDS", "read_steps"]

#: the kinds of steps of all methods, and those of data sets, by the names that certificates use
KINDS = {kind.name: kind for method in METHODS for kind in method.step_kinds} | {
    kind.name: kind for kind in NESTED_STEPS
}


def read_steps(steps: Sequence[Mapping[str, object]]) -> tuple[Event, ...]:
    """Read the steps of a certificate.

    Raises
    ------
    VerificationError
        If a step is none that Shoal knows, or does not read as Shoal writes it.
    """
    read = []
    for number, step in enumerate(steps, start=1):
        kind = KINDS.get(str(step.get("step")))
        if kind is None:
            raise VerificationError(f"step {number} of the certificate is none that a method takes")
        try:
            read.append(kind.from_json(step))
        except (ArithmeticError, LookupError, TypeError, ValueError):
            raise VerificationError(
                f"the step `{kind.name}` is not as Shoal writes it: its fields, their types, or the description"
            ) from None
    return tuple(read)
