"""What the holder of the data should see before a release leaves: what a promise of crowds does not cover."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoal import tables
from shoal.exact import share
from shoal.methods import Made
from shoal.schema import Role

__all__ = ["attention", "erased"]

# so many records alone with a released value make it a way to find people
_TELLING = 0.05
# so many records in classes of one secret value are worth a sentence
_SAME = 0.05
# columns that are looked at; each takes a pass over the release
_MOST = 30


def attention(release: Made) -> tuple[str, ...]:
    """Return sentences on columns that were erased, secrets that single people out, and classes of one secret.

    They are computed from the release. Nothing is said of a differentially private one, whose promise covers all of it.
    """
    if release.private is not None or len(release.parts) > 1 or not release.records:
        return ()
    return (*_erased(release), *_singling(release), *_same(release), *_unfinished(release))


def erased(release: Made) -> tuple[str, ...]:
    """Return the quasi-identifiers that are the same in every released record, because they were generalised away."""
    if release.search is None:
        return ()
    recoding = release.search.recoding
    return tuple(
        name
        for place, name in enumerate(recoding.attributes)
        if len(shown := np.unique(recoding.codes[:, place])) == 1 and recoding.labels[place][int(shown[0])] == "*"
    )


def _erased(release: Made) -> Iterator[str]:
    for name in erased(release):
        rule = release.plan.schema[name].hierarchy
        why = (
            "its hierarchy has nothing between the value and `*`; groups in between"
            if rule is None or rule.name == "flat"
            else "finer values would leave too few people alike; fewer quasi-identifiers, a smaller k"
        )
        yield f"`{name}` is `*` in every record: {why} or a higher `weight` would keep more of it."


def _singling(release: Made) -> Iterator[str]:
    schema = release.plan.schema
    for name in _exact(release)[:_MOST]:
        number = tables.alone(release.table, name)
        if number >= _TELLING * release.records:
            role = "secret" if schema[name].role is Role.SENSITIVE else "column"
            yield (
                f"{share(number / release.records)} of the records are alone with their released value of the {role} "
                f"`{name}`: whoever knows it finds the record. Round it, drop it, or make it a quasi-identifier."
            )


def _same(release: Made) -> Iterator[str]:
    schema = release.plan.schema
    by = [name for name in schema.quasi_identifiers if name in release.table.columns]
    for name in [each for each in schema.sensitive if each in release.table.columns][:_MOST] if by else []:
        number = tables.alike(release.table, by, name)
        if number >= _SAME * release.records:
            yield (
                f"{share(number / release.records)} of the records are in a class where all have the same `{name}`: "
                f"finding the class tells the secret. A promise such as `--l {name}=2` prevents it."
            )


def _unfinished(release: Made) -> Iterator[str]:
    found = release.search
    if found is not None and found.gap is not None and not found.optimal:
        yield (
            f"The search stopped before it was done. The best release of its kind may have a {found.measure.title} "
            f"lower by at most {found.gap:.3g}; more time may find it."
        )


def _exact(release: Made) -> list[str]:
    """Return the columns that are released as they are."""
    schema = release.plan.schema
    return [name for name in (*schema.sensitive, *schema.insensitive) if name in release.table.columns]
