"""What the holder of the data should see before a release leaves: what a promise of crowds does not cover."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from shoal.exact import share
from shoal.hierarchies import TOP
from shoal.methods import Made
from shoal.methods.recode import at_or_above
from shoal.schema import Role, Schema
from shoal.tables import Values

Notices = tuple[tuple[str, str], ...]

# so many records alone with a released value make it a way to find people
_TELLING = 0.05
# so many records in classes of one secret value are worth a sentence
_SAME = 0.05
# columns that are looked at; each takes a pass over the release
_MOST = 30


def attention(release: Made, look: Callable[[], Notices]) -> tuple[str, ...]:
    """Return what the holder should see of a release, with what to do about it; ``look`` says what its table shows.

    Sentences on columns that were erased, secrets that single people out, classes of one secret, one person with
    very many records, and searches that stopped. Nothing is said of a differentially private release, whose promise
    covers all of it.
    """
    if release.private is not None or len(release.parts) > 1 or not release.records:
        return ()
    found = (*look(), *_dominated(release))
    return (*(f"{fact} {advice}" for fact, advice in found), *_unfinished(release))


def noticed(values: Values, schema: Schema, records: int) -> Notices:
    """Return what a released table shows and no promise of crowds covers; whoever has the release can compute it.

    Each fact comes with what may be done about it.
    """
    if not records:
        return ()
    return (*_erased(values, schema), *_singling(values, schema, records), *_same(values, schema, records))


def _erased(values: Values, schema: Schema) -> Iterator[tuple[str, str]]:
    for name in values.erased([each for each in schema.quasi_identifiers if each in values.names], TOP):
        rule = schema[name].hierarchy
        why = (
            "Its hierarchy has nothing between the value and `*`; groups in between"
            if rule is None or rule.name == "flat"
            else "Finer values would leave too few people alike; fewer quasi-identifiers, a smaller k"
        )
        yield f"`{name}` is `*` in every record.", f"{why} or a higher `weight` would keep more of it."


def _singling(values: Values, schema: Schema, records: int) -> Iterator[tuple[str, str]]:
    exact = [name for name in (*schema.sensitive, *schema.insensitive) if name in values.names]
    for name in exact[:_MOST]:
        number = values.of(name).alone
        if number >= _TELLING * records:
            role = "secret" if schema[name].role is Role.SENSITIVE else "column"
            yield (
                f"{share(number / records)} of the records have a released value of the {role} `{name}` that "
                f"no other record has: anyone who knows it can find the record.",
                "Round it, drop it, or make it a quasi-identifier.",
            )


def _same(values: Values, schema: Schema, records: int) -> Iterator[tuple[str, str]]:
    by = [name for name in schema.quasi_identifiers if name in values.names]
    for name in [each for each in schema.sensitive if each in values.names][:_MOST] if by else []:
        number = values.alike(by, name)
        if number >= _SAME * records:
            yield (
                f"{share(number / records)} of the records are in a class where all have the same `{name}`: "
                "anyone who finds a person's class learns it.",
                f"A promise such as `--l {shlex.quote(f'{name}=2')}` prevents it.",
            )


def _dominated(release: Made) -> Iterator[tuple[str, str]]:
    after = None if release.people is None else release.people[1]
    if after is not None and after.dominated:
        yield (
            f"One person has {after.most:,} of the {after.records.number:,} released records: anyone who "
            "knows that somebody has that many can find them.",
            "Keep fewer records of each person, such as the latest.",
        )


def _unfinished(release: Made) -> Iterator[str]:
    found = release.search
    above = "" if found is None else at_or_above(found.recoding.attributes, found.floors)
    if above:
        yield (
            f"Only releases{above} were looked at: finer ones do not fit in memory. More memory (SHOAL_MEMORY) may "
            "keep more."
        )
    if found is not None and found.gap:
        yield (
            f"The search stopped before it was done. The best release of its kind{above} may have a "
            f"{found.measure.title} lower by at most {found.gap:.3g}; more time may find it."
        )
