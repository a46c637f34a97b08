"""Secrets that follow from what others may know: a copy, the text of a code, the first part of a longer value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.schema.drafts._people import ColumnCodes, Sampler
from shoal.schema.drafts._profile import ColumnProfile

# of the pairs of records that share what is known, so few may disagree in the secret, against any two records
_ERRORS = 0.01
_EXPECTED = 20
# columns that are looked at
_COLUMNS = 100


def given_away(
    profiles: Sequence[ColumnProfile], known: Sequence[str], secret: Sequence[str], sampler: Sampler
) -> Mapping[str, str]:
    """Return secrets that are a function of a column that others may know, each with that column.

    Records that share what is known must often have been expected to disagree: a column without repeats gives
    everything away and shows nothing. Cost: O(known * records * (log records + secret)) of a sample.
    """
    separation = {profile.name: profile.separation for profile in profiles}
    sources: dict[str, str] = {}
    for name in known[:_COLUMNS]:
        open_ = [other for other in secret[:_COLUMNS] if other not in sources and other != name]
        if not open_:
            break
        records = sampler((name,))
        if name not in records:
            continue
        first, second = _sharing(records[name])
        for other in open_:
            codes = records[other]
            expected = len(first) * separation[other]
            if expected >= _EXPECTED and int((codes[first] != codes[second]).sum()) <= _ERRORS * expected:
                sources[other] = name
    return sources


def _sharing(codes: ColumnCodes) -> tuple[ColumnCodes, ColumnCodes]:
    """Return pairs of records that share a value, one less than there are records of it."""
    order = codes.argsort(kind="stable")
    ordered = codes[order]
    same = (ordered[1:] == ordered[:-1]) & (ordered[1:] >= 0)
    return order[:-1][same], order[1:][same]
