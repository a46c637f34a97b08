"""Warnings for the holder of the data: what a promise of crowds does not cover."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from shoal.exact import share
from shoal.hierarchies import TOP
from shoal.methods import Method, Result
from shoal.methods.recode import at_or_above
from shoal.models import DistinctLDiversity
from shoal.schema import Role, Schema
from shoal.tables import Values, common_copies

Notices = tuple[tuple[str, str], ...]

# so many records alone with a released value make it a way to find people
_TELLING = 0.05
# so many records in classes of one secret value are worth a sentence
_SAME = 0.05
# a column that is `*` in so many records tells next to nothing
_NEARLY_ALL = 0.9
# values that stay with their records more often than not are no exchange
_STAYING = Fraction(1, 2)
# columns that one sentence names
_NAMED = 6
# columns that are looked at; each takes a pass over the release
_MOST = 30


def attention(release: Result, look: Callable[[], Notices]) -> tuple[str, ...]:
    """Return what the holder should see of a release, with what to do about it; ``look`` says what its table shows.

    Sentences on columns that were erased, secrets that single people out, classes of one secret, one person with
    very many records, and searches that stopped. Nothing is said of a differentially private release, whose promise
    covers all of it.
    """
    if release.private is not None or len(release.parts) > 1 or not release.records:
        return ()
    warnings = (*look(), *_staying(release), *_warn_of_dominant_person(release))
    return (*(f"{fact} {advice}".rstrip() for fact, advice in warnings), *_warn_of_unfinished_search(release))


def find_notices(values: Values, schema: Schema, records: int, method: Method) -> Notices:
    """Return what a released table shows and no promise of crowds covers; whoever has the release can compute it.

    Each fact comes with what may be done about it.
    """
    if not records:
        return ()
    return (
        *_copies(values, schema),
        *_warn_of_erased_columns(values, schema, records),
        *_singling(values, schema, records),
        # who is in a class, and values that changed places there, are no secret that it gives away
        *(() if method.shows_members else _same(values, schema, records, method)),
    )


def _copies(values: Values, schema: Schema) -> Iterator[tuple[str, str]]:
    described = (*schema.quasi_identifiers, *schema.sensitive, *schema.insensitive)
    names = [name for name in described if name in values.names]
    if not names or any(values.of(name).alone for name in names[:_MOST]):
        return
    copies = common_copies(*values.class_sizes(names))
    if copies > 1:
        yield (
            f"Every different record is there {copies:,} times, or a multiple of that: a crowd of copies of one record "
            "hides nobody.",
            "Remove the copies before you anonymise.",
        )


def _warn_of_erased_columns(values: Values, schema: Schema, records: int) -> Iterator[tuple[str, str]]:
    names = [quasi_identifier for quasi_identifier in schema.quasi_identifiers if quasi_identifier in values.names]
    erased = values.find_erased(names, TOP)
    for name in names:
        cells = records if name in erased else _erased_cells(values, name)
        if cells <= _NEARLY_ALL * records:
            continue
        rule = schema[name].hierarchy
        why = (
            "Its hierarchy has nothing between the value and `*`; groups in between"
            if rule is None or rule.name == "flat"
            else "Finer values would leave too few people alike; fewer quasi-identifiers, a smaller k"
        )
        where = "every record" if name in erased else f"{share(cells / records)} of the records"
        yield f"`{name}` is `*` in {where}.", f"{why} or a higher `weight` would keep more of it."


def _erased_cells(values: Values, name: str) -> int:
    """Return the number of records in which a column is ``*``, where that is its commonest value."""
    commonest = values.of(name).commonest(1, length=len(TOP) + 1).to_pylist()
    return int(commonest[0]["records"]) if commonest and commonest[0]["value"] == TOP else 0


def _singling(values: Values, schema: Schema, records: int) -> Iterator[tuple[str, str]]:
    exact = [name for name in (*schema.sensitive, *schema.insensitive) if name in values.names]
    alone = {name: values.of(name).alone for name in exact[:_MOST]}
    telling = {name: number / records for name, number in alone.items() if number >= _TELLING * records}
    if len(telling) > 1:
        yield (
            f"Released values that no other record has, by which anyone who knows one can find the record: "
            f"{_list_shares(telling)}.",
            "Round these columns, drop them, or make them quasi-identifiers.",
        )
        return
    for name, part in telling.items():
        role = "secret" if schema[name].role is Role.SENSITIVE else "column"
        yield (
            f"{share(part)} of the records have a released value of the {role} `{name}` that "
            f"no other record has: anyone who knows it can find the record.",
            "Round it, drop it, or make it a quasi-identifier.",
        )


def _same(values: Values, schema: Schema, records: int, method: Method) -> Iterator[tuple[str, str]]:
    by = [name for name in schema.quasi_identifiers if name in values.names]
    secret = [each for each in schema.sensitive if each in values.names][:_MOST] if by else []
    alike = {name: values.alike(by, name) / records for name in secret}
    same = {name: part for name, part in alike.items() if part >= _SAME}
    if len(same) > 1:
        worst = max(same, key=lambda name: same[name])
        yield (
            f"Classes where all have the same value, which anyone who finds a person's class learns: "
            f"{_list_shares(same)}.",
            f"{_able(worst, schema, method)} `--l {shlex.quote(f'{worst}=2')}` prevents it for that column.",
        )
        return
    for name, part in same.items():
        yield (
            f"{share(part)} of the records are in a class where all have the same `{name}`: "
            "anyone who finds a person's class learns it.",
            f"{_able(name, schema, method)} `--l {shlex.quote(f'{name}=2')}` prevents it.",
        )


def _list_shares(shares: Mapping[str, float]) -> str:
    """Return columns with the share of the records, the largest first; those without room are counted."""
    ordered = sorted(shares.items(), key=lambda entry: -entry[1])
    texts = [
        f"`{name}` in {share(part)} of the records" if not position else f"`{name}` in {share(part)}"
        for position, (name, part) in enumerate(ordered[:_NAMED])
    ]
    more = ordered[_NAMED:]
    return ", ".join([*texts, *([f"and {len(more):,} more from {share(more[0][1])} down"] if more else [])])


def _able(name: str, schema: Schema, method: Method) -> str:
    """Begin the advice to promise different values: with this method, or with one that does not refuse that."""
    refused = method.problems(schema, [DistinctLDiversity(name, 2)])
    return "The default method with a promise such as" if refused else "A promise such as"


def _staying(release: Result) -> Iterator[tuple[str, str]]:
    """Say where an exchange leaves values with their records."""
    advice = "A larger k mixes more values; method `swap` can also promise different values in every class."
    most = sorted(
        (own_value for own_value in release.own_values if own_value.mean > _STAYING), key=lambda each: -each.mean
    )
    if most:
        shares = [f"{share(float(each.mean))} of those of `{each.column}`" for each in most[:_NAMED]]
        yield f"More released values than not are the record's own: on average, {_among(shares, len(most))}.", advice
    single = [f"`{own_value.column}`" for own_value in release.own_values if own_value.greatest == 1]
    if single:
        yield (
            f"Some classes hold a single value of {_among(single[:_NAMED], len(single))}: whoever knows that a person "
            "is in one learns it, whatever was exchanged.",
            "" if most else advice,
        )


def _among(texts: list[str], number: int) -> str:
    """List texts, and how many more there are."""
    return ", ".join([*texts, *([f"and {number - len(texts):,} more"] if number > len(texts) else [])])


def _warn_of_dominant_person(release: Result) -> Iterator[tuple[str, str]]:
    after = None if release.people is None else release.people[1]
    if after is not None and after.is_dominated:
        yield (
            f"One person has {after.most:,} of the {after.records.number:,} released records: anyone who "
            "knows that somebody has that many can find them.",
            "Keep fewer records of each person, such as the latest.",
        )


def _warn_of_unfinished_search(release: Result) -> Iterator[str]:
    search = release.search
    above = "" if search is None else at_or_above(search.recoding.attributes, search.floors)
    if above:
        yield (
            f"Only releases{above} were looked at: finer ones do not fit in memory. More memory (SHOAL_MEMORY) may "
            "keep more."
        )
    if search is not None and search.gap:
        yield (
            f"The search stopped before it was done. The best release of its kind{above} may have a "
            f"{search.measure.title} lower by at most {search.gap:.3g}; more time may find it."
        )
