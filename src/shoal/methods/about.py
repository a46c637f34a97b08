"""What a release is for, as its publisher says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from shoal.errors import ParameterError, PlanError, Problems, quoted

__all__ = ["NOTHING_SAID", "About"]

_LONGEST = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Title, purpose and circumstances of a release, in the publisher's words.

    Plans hold them as ``[release]``, reports print them, and :func:`shoal.verify` finds out if a report says otherwise
    than the plan. Whether they are true, no file can show. They are published with the release.

    Parameters
    ----------
    title
        What the release is called.
    purpose
        What it may be used for.
    controller
        Who decided to release it and answers for it, and how to reach them.
    recipient
        Who gets it.
    context
        How it is given: to everyone, under a contract, in a safe room; what the recipient must and must not do.
    other_data
        What else the recipients can know about the same people.
    review
        Who looks at the release again, when, and what happens if somebody is found in it.

    Examples
    --------
    >>> About(title="Discharges 2024", recipient="Institute of Public Health").words()
    {'title': 'Discharges 2024', 'recipient': 'Institute of Public Health'}
    """

    title: str = ""
    purpose: str = ""
    controller: str = ""
    recipient: str = ""
    context: str = ""
    other_data: str = ""
    review: str = ""

    def __post_init__(self) -> None:
        problems = Problems()
        for each in fields(self):
            said = getattr(self, each.name)
            if not isinstance(said, str):
                problems.add(f"`{each.name}` of `[release]` must be text")
            elif len(said) > _LONGEST or not said.replace("\n", " ").isprintable():
                problems.add(f"`{each.name}` of `[release]` must have at most {_LONGEST:,} characters, all printable")
        problems.raise_as(ParameterError)

    def __bool__(self) -> bool:
        """Whether anything is said."""
        return bool(self.words())

    def words(self) -> dict[str, str]:
        """Return what is said, by the names of a plan file."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: text for name, text in said.items() if text}

    @classmethod
    def read(cls, entry: object) -> About:
        """Read the ``[release]`` table of a plan."""
        if not isinstance(entry, Mapping):
            raise PlanError("`release` of a plan must be a table: `[release]`")
        known = [each.name for each in fields(cls)]
        if unknown := [str(name) for name in entry if name not in known]:
            listed = quoted(unknown)
            raise PlanError(f"`[release]` has the unknown keys {listed}; the valid keys are {', '.join(known)}")
        return cls(**entry)


NOTHING_SAID = About()
