"""Evidence from several columns: secrets that follow from others, and numbers that single people out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shoal.exact import share
from shoal.relations import Relation
from shoal.schema._domain import Kind
from shoal.schema._schema import Attribute, Role
from shoal.schema.drafts._column import guess_column
from shoal.schema.drafts._copies import given_away
from shoal.schema.drafts._families import join_families
from shoal.schema.drafts._guesses import ENOUGH, TELLING, WEIGHT_CHOICES
from shoal.schema.drafts._people import Sampler
from shoal.schema.drafts._profile import ColumnProfile, Guess
from shoal.schema.drafts._topics import about

#: Returns the relations between some columns.
RelationFinder = Callable[[Sequence[str]], Sequence[Relation]]
#: a step of more than so many times the least weight would round it to 0
_ROUNDED_TO_NOTHING = 2
#: Returns the finest step to which numbers must be rounded so that less than a share of the records is alone with
#: theirs, and the share that still is; None if no step does that.
FinestStep = Callable[..., tuple[float, float] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftEvidence:
    """Where drafts look at the records, and not at columns one by one; each is None where that cannot be done."""

    profiles: Sequence[ColumnProfile]
    sampler: Sampler | None = None
    relations: RelationFinder | None = None
    finest_step: FinestStep | None = None

    def settle(self, guesses: Sequence[Guess[Attribute]]) -> list[Guess[Attribute]]:
        """Return guesses in which secrets that tell quasi-identifiers became such, and the others are rounded.

        Columns that are left out are not looked at, but for what others may know: a table may have hundreds of them.
        """
        settled = list(guesses)
        if self.sampler is not None:
            settled = self._without_copies(settled, self.sampler)
        staying = [each.value.name for each in settled if not each.value.role.left_out]
        if self.relations is not None and len(staying) > 1:
            settled = join_families(settled, self.relations(staying), self._guess_again)
        settled = [
            _round(profile, each, self.finest_step) for profile, each in zip(self.profiles, settled, strict=True)
        ]
        return [_weighted(new, old) for new, old in zip(settled, guesses, strict=True)]

    def _guess_again(self, place: int, role: Guess[Role]) -> Guess[Attribute]:
        return guess_column(self.profiles[place], role)

    def _without_copies(self, guesses: Sequence[Guess[Attribute]], sampler: Sampler) -> list[Guess[Attribute]]:
        """Make secrets that follow from what others may know quasi-identifiers, too."""
        settled = list(guesses)
        known = [each.value.name for each in settled if each.value.role.known_elsewhere]
        known += [
            profile.name for profile, each in zip(self.profiles, settled, strict=True) if _is_known(profile, each)
        ]
        while known:
            secret = [each.value.name for each in settled if each.value.role is Role.SENSITIVE]
            given = given_away(self.profiles, known, secret, sampler)
            for place, profile in enumerate(self.profiles):
                if profile.name in given:
                    why = f"whoever knows `{given[profile.name]}` knows it: records that share that column agree in it"
                    settled[place] = self._guess_again(place, Guess(Role.QUASI_IDENTIFIER, why))
            known = list(given)
        return settled


def _weighted(new: Guess[Attribute], old: Guess[Attribute]) -> Guess[Attribute]:
    """Return a guess with the weight that the purpose gave the column."""
    if new.value.weight == old.value.weight or not new.value.role.known_elsewhere:
        return new
    return dataclasses.replace(new, value=dataclasses.replace(new.value, weight=old.value.weight))


def _round(profile: ColumnProfile, guess: Guess[Attribute], finest_step: FinestStep | None) -> Guess[Attribute]:
    """Round a secret or weight that singles records out, or leave it to a person where no step is coarse enough."""
    column = guess.value
    is_weight = column.role is Role.WEIGHT
    telling = profile.alone >= TELLING and column.reading.round_to is None
    if (
        not telling
        or column.kind is not Kind.NUMERIC
        or not (is_weight or _is_exact_secret(profile, column, finest_step))
    ):
        return guess
    named = guess.reason.partition(": ")[2].partition(";")[0].partition(", which")[0].rstrip(".")
    exact = f"{share(profile.alone)} of the records have a value that no other record has"
    rounding = None if finest_step is None else finest_step(profile, alone=TELLING)
    if is_weight and (rounding is None or rounding[0] > _ROUNDED_TO_NOTHING * _least(profile)):
        why = f"{Role.DECIDE}: {named}; {WEIGHT_CHOICES}: {exact}."
        return Guess(dataclasses.replace(column, role=Role.DECIDE), why)
    if rounding is None:
        why = f"{Role.DECIDE}: {named}, but it singles people out, however it is rounded: {exact}."
        return Guess(dataclasses.replace(column, role=Role.DECIDE), why)
    step, left = rounding
    reading = dataclasses.replace(column.reading, round_to=step)
    why = f"{column.role}: {named}; rounded to multiples of {step:,.15g}, since {exact} ({share(left)} when rounded)."
    return Guess(dataclasses.replace(column, reading=reading), why, known=guess.known)


def _is_known(profile: ColumnProfile, guess: Guess[Attribute]) -> bool:
    """Return whether others may know a column that is not released, such as the key of a county."""
    topic = about(profile)
    absent = guess.value.role in (Role.DROP, Role.IDENTIFIER)
    return absent and topic is not None and topic.role is Role.QUASI_IDENTIFIER


def _is_exact_secret(profile: ColumnProfile, column: Attribute, finest_step: FinestStep | None) -> bool:
    return column.role is Role.SENSITIVE and profile.records >= ENOUGH and finest_step is not None


def _least(profile: ColumnProfile) -> float:
    return float(profile.minimum) if isinstance(profile.minimum, int | float) else 0.0
