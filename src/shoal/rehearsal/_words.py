"""A rehearsal in words, for the publisher alone: its figures come from the original table."""

from __future__ import annotations

from shoal.errors import RequirementError
from shoal.exact import share
from shoal.rehearsal._rehearse import Rehearsal
from shoal.relations import names_of

#: the title of the table of :func:`rehearsal_rows`
ROWS = ("an attacker who knows", "finds")


class HollowRelease(RequirementError):
    """A release keeps its promise and does not protect: columns released as they are tell whose records are whose."""

    #: what the intruder found; ``rehearsal.culprits`` are the columns
    rehearsal: Rehearsal | None = None

    @classmethod
    def of(cls, rehearsal: Rehearsal) -> HollowRelease:
        """Return the error for a hollow release."""
        culprits = names_of(rehearsal.culprits)
        problems = [
            "the promise is kept and does not protect; nothing was written",
            rehearsal_line(rehearsal),
            *_surest(rehearsal),
            f"what gives the records away: {culprits}",
        ]
        hint = (
            f"make {culprits} quasi-identifiers, which are generalised, too; round or drop them; or accept what they "
            "give away (`accepted` of a plan)"
        )
        error = cls(problems, hint=hint)
        error.rehearsal = rehearsal
        return error


def rehearsal_line(rehearsal: Rehearsal) -> str:
    """Return the one line that says how often the best intruder is right, by chance, and at most by the promise."""
    if rehearsal.risk is None:
        promise = "no promise limits it"
    else:
        promise = f"promised {'on average' if rehearsal.is_mean else 'at most'} {share(rehearsal.risk)}"
    return f"Rehearsed attack: {share(rehearsal.success)} found (by chance {share(rehearsal.chance)}; {promise})."


def rehearsal_rows(rehearsal: Rehearsal) -> list[tuple[str, str]]:
    """Return who finds how many people, those who find most first."""
    rows = [("quasi-identifiers", rehearsal.success)]
    surest = max((each for each in rehearsal.exposures if each.slice < 1), key=lambda each: each.success, default=None)
    if surest is not None and surest.success > rehearsal.success:
        rows.append((f"quasi-identifiers, surest {surest.slice:.0%}", surest.success))
    if rehearsal.one_secret is not None:
        rows.append((f"quasi-identifiers and `{rehearsal.one_secret[0]}`", rehearsal.one_secret[1]))
    rows.append(("all other released columns", rehearsal.singled_out))
    return [(who, share(success)) for who, success in sorted(rows, key=lambda row: -row[1])]


def _surest(rehearsal: Rehearsal) -> list[str]:
    """Return a sentence on the people of whom the intruder is surest, where they are exposed more than all are."""
    surest = next((each for each in rehearsal.exposures if each.slice < 1 and each.exceeds), None)
    if surest is None:
        return []
    return [f"of the {surest.slice:.0%} of whom he is surest, {share(surest.success)} are found"]
