"""Columns that follow from others: copies are left out, and what tells a quasi-identifier becomes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shoal.errors import quoted
from shoal.relations import Relation
from shoal.schema._schema import Attribute, Role
from shoal.schema.drafts._profile import Guess

#: Returns the guess of a column, by its place, that gets a role for a reason.
Again = Callable[[int, Guess[Role]], Guess[Attribute]]


def join_families(
    guesses: Sequence[Guess[Attribute]], relations: Sequence[Relation], again: Again
) -> list[Guess[Attribute]]:
    """Return guesses in which columns that follow from others have the role of their family.

    Of columns that are equal, one stays. A secret that quasi-identifiers give, or that gives one together with other
    secrets, becomes a quasi-identifier: whoever knows everybody's quasi-identifiers could otherwise tell whose record
    of a class is whose. This is repeated until nothing changes.
    """
    found = list(guesses)
    places = {each.value.name: place for place, each in enumerate(found)}
    _leave_out_copies(found, places, [relation for relation in relations if relation.kind == "equal"], again)
    others = [relation for relation in relations if relation.kind != "equal"]
    while (joined := _join_one(found, places, others, again)) is not None:
        others.remove(joined)
    return found


def _leave_out_copies(
    found: list[Guess[Attribute]], places: Mapping[str, int], equal: Sequence[Relation], again: Again
) -> None:
    for relation in equal:
        first, copy = relation.inputs[0], relation.target
        roles = [found[places[name]].value.role for name in (first, copy)]
        released = [role.released_as_it_is or role is Role.QUASI_IDENTIFIER for role in roles]
        if roles[0].names_someone and not roles[0].left_out and released[1]:
            found[places[copy]] = again(places[copy], Guess(Role.DROP, f"it equals `{first}`, which is not released"))
        elif all(released):
            if roles[1] is Role.QUASI_IDENTIFIER and roles[0].released_as_it_is:
                first, copy = copy, first
            same = f"in {relation.percentage} of the records" if relation.share < 1 else "in all records"
            found[places[copy]] = again(
                places[copy], Guess(Role.DROP, f"it equals `{first}` {same}; one of them is enough")
            )


def _join_one(
    found: list[Guess[Attribute]], places: Mapping[str, int], relations: Sequence[Relation], again: Again
) -> Relation | None:
    """Give the secrets of one relation the role of the quasi-identifiers in it; return the relation."""
    for relation in relations:
        roles = {name: found[places[name]].value.role for name in relation.columns}
        known = [name for name, role in roles.items() if role.known_elsewhere]
        secret = [name for name, role in roles.items() if role.released_as_it_is]
        if not known or not secret or len(known) + len(secret) < len(roles):
            continue
        for name in secret:
            why = f"others may know {quoted(known)}, and {relation.sentence}"
            found[places[name]] = again(places[name], Guess(Role.QUASI_IDENTIFIER, why))
        return relation
    return None
