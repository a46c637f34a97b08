"""Guess all of one column: its kind, role and hierarchy, how its values are written, and why."""

from __future__ import annotations

import dataclasses

from shoal.schema._domain import Domain, Kind, Provenance, Reading
from shoal.schema._schema import Attribute, Missing, Role
from shoal.schema.drafts._guesses import guess_hierarchy, guess_kind, guess_role
from shoal.schema.drafts._profile import ColumnProfile, Guess
from shoal.schema.drafts._topics import about


def as_quasi_identifier(profile: ColumnProfile) -> Attribute:
    """Return a column as one that others may know, with the hierarchy that a draft gives it."""
    return guess_column(profile, Guess(Role.QUASI_IDENTIFIER, "decided by a person")).value


def guess_column(profile: ColumnProfile, grouping: Guess[Role] | None = None) -> Guess[Attribute]:
    """Return a column as it seems to be; ``grouping`` is its role where that is settled."""
    topic = about(profile)
    is_key = grouping is not None and grouping.value.names_someone
    kind = Guess(Kind.CATEGORICAL) if is_key else guess_kind(profile, topic)
    role = grouping or guess_role(profile, kind.value, topic)
    kind = Guess(Kind.NUMERIC) if role.value is Role.WEIGHT else kind
    domain = Domain(values=profile.bands, provenance=Provenance.INFERRED) if kind.value is Kind.ORDINAL else None
    attribute = Attribute(
        name=profile.name, role=role.value, kind=kind.value, domain=domain, reading=_reading(profile, kind.value)
    )
    if role.value.groups_records and profile.missing:  # a record without a key may be of one who is counted already
        attribute = dataclasses.replace(attribute, missing=Missing.DROP)
    why = [f"{role.value}: {role.reason}", *(each for each in (kind.reason, profile.written) if each)]
    if attribute.reading.unreadable:
        why.append(f"{profile.unreadable:,} of {profile.records:,} values cannot be read and count as missing")
    if role.value in (Role.QUASI_IDENTIFIER, Role.DECIDE) or not role.known:
        rule = guess_hierarchy(profile, kind.value, topic)
        attribute = dataclasses.replace(attribute, hierarchy=rule.value)
        why += [rule.reason] if rule.reason else []
    return Guess(attribute, "; ".join(why) + ".", known=role.known)


def _reading(profile: ColumnProfile, kind: Kind) -> Reading:
    """Return how values are written, as far as that goes with the kind."""
    reading = profile.reading
    return Reading(
        missing_values=reading.missing_values,
        date_format=reading.date_format if kind is Kind.DATE else None,
        decimal=reading.decimal if kind is Kind.NUMERIC else None,
        thousands=reading.thousands if kind is Kind.NUMERIC else None,
        unit=reading.unit if kind is Kind.NUMERIC else None,
        unreadable=0.01 if profile.unreadable and kind in (Kind.NUMERIC, Kind.DATE) else 0.0,
    )
