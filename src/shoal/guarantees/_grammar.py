"""The grammar of a method's steps: which, in which order, how often, and with which fields that a plan decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from shoal.guarantees._events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedStep:
    """A step that a method takes at one place in the order of its steps."""

    kind: type[Event]
    #: Fields that the plan decides, with their values.
    fields: Mapping[str, object] = field(default_factory=dict)
    #: Whether the data decide if it is taken.
    optional: bool = False
    #: What else the plan limits.
    allows: Callable[[Any], bool] | None = None

    def without(self, *names: str) -> ExpectedStep:
        """Return the step with some fields that the data decide."""
        return replace(self, fields={name: value for name, value in self.fields.items() if name not in names})

    def deciding(self, **fields: object) -> ExpectedStep:
        """Return the step with further fields that the plan decides."""
        return replace(self, fields={**self.fields, **fields})

    def fits(self, step: Event) -> bool:
        """Return whether a step is the one that is expected."""
        decided = type(step) is self.kind and all(getattr(step, name) == value for name, value in self.fields.items())
        return decided and (self.allows is None or self.allows(step))


def once(kind: type[Event], *, allows: Callable[[Any], bool] | None = None, **fields: object) -> ExpectedStep:
    """Return that a step is always taken here, and which of its fields the plan decides."""
    return ExpectedStep(kind=kind, fields=fields, allows=allows)


def maybe(kind: type[Event], *, allows: Callable[[Any], bool] | None = None, **fields: object) -> ExpectedStep:
    """Return that the data decide whether a step is taken here."""
    return ExpectedStep(kind=kind, fields=fields, allows=allows, optional=True)


def exactly(*steps: Event) -> list[ExpectedStep]:
    """Return that steps are always taken here whose every field the plan decides."""
    return [
        ExpectedStep(kind=type(step), fields={field.name: getattr(step, field.name) for field in fields(step)})
        for step in steps
    ]


def mismatch(expected: Sequence[ExpectedStep], steps: Sequence[Event]) -> str | None:
    """Say which step is not the one that a method takes there; None where all are.

    Examples
    --------
    >>> from shoal.guarantees import LeftOut, Ordered
    >>> mismatch([maybe(LeftOut), once(Ordered)], [Ordered()])
    >>> mismatch([once(Ordered)], [])
    'the step `ordered` is missing'
    """
    place = 0
    for each in expected:
        if place < len(steps) and each.fits(steps[place]):
            place += 1
        elif not each.optional:
            return (
                _describe_unexpected(steps[place], each)
                if place < len(steps)
                else f"the step `{each.kind.name}` is missing"
            )
    return _describe_unexpected(steps[place]) if place < len(steps) else None


def _describe_unexpected(step: Event, instead: ExpectedStep | None = None) -> str:
    other = "" if instead is None or instead.kind is type(step) else f"; `{instead.kind.name}` is expected"
    return f"the step `{step.name}` is not one that the method takes there, or not as the plan asks for it{other}"
