"""Quasi-identifiers that are released as an aggregate of their class: a mean, median, mode, interval or set."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from shoal.errors import InputError
from shoal.kernels import Counts, Integers
from shoal.schema import Attribute, Kind, Schema
from shoal.tables import Frequencies, Recoding, group

Aggregate = Literal["mean", "geometric-mean", "median", "mode", "interval", "set"]

Labels = Sequence[str | None]

#: which aggregates make sense of values of a kind
_OF_KIND: dict[Kind, tuple[Aggregate, ...]] = {
    Kind.NUMERIC: ("mean", "geometric-mean", "median", "mode", "interval", "set"),
    Kind.DATE: ("mean", "median", "mode", "interval", "set"),
    Kind.ORDINAL: ("median", "mode", "interval", "set"),
    Kind.CATEGORICAL: ("mode", "set"),
}
#: means have so many decimals more than the values
_MORE_DECIMALS = 2
#: logarithms for geometric means have so many digits
_DIGITS = 50


def aggregate_problems(aggregates: Mapping[str, str], schema: Schema, title: str) -> list[str]:
    """Return what is wrong with the aggregates that are asked for."""
    problems = []
    for name, function in aggregates.items():
        if name not in schema.quasi_identifiers:
            problems.append(f"`aggregates` of `{title}` names column `{name}`, which is not a quasi-identifier")
        elif function in get_args(Aggregate) and function not in _OF_KIND[schema[name].kind]:
            kind = schema[name].kind
            problems.append(
                f"column `{name}` is {kind}, which has no {function}; use {' or '.join(_OF_KIND[kind])} in `aggregates`"
            )
    return problems


def aggregated(recoding: Recoding, frequencies: Frequencies, schema: Schema, aggregates: Mapping[str, str]) -> Recoding:
    """Return a recoding in which columns are aggregates of the original values of their class.

    Classes that now look the same become one. Missing values do not count; a class without others has no aggregate and
    releases none. Shares and depths of an aggregate are those of the generalised value in whose place it is.
    """
    codes, labels = recoding.codes.copy(), [*recoding.labels]
    shares, depths, unchanged = [*recoding.shares], [*recoding.depths], [*recoding.unchanged]
    for j, name in enumerate(recoding.attributes):
        if name not in aggregates:
            continue
        before = recoding.codes[:, j]
        labelled = _labels_of_classes(schema[name], aggregates[name], recoding, frequencies, j)
        distinct = [*dict.fromkeys(labelled)]
        position = {label: i for i, label in enumerate(distinct)}
        codes[:, j] = [position[label] for label in labelled]
        labels[j] = tuple(distinct)
        shares[j], depths[j] = (_greatest(each[j][before], codes[:, j]) for each in (recoding.shares, recoding.depths))
        unchanged[j] = False
    merged, firsts = group(codes)
    kept = recoding.classes >= 0
    return replace(
        recoding,
        classes=np.where(kept, merged[np.where(kept, recoding.classes, 0)], -1).astype(np.int32)
        if len(merged)
        else recoding.classes,
        codes=codes[firsts],
        labels=tuple(labels),
        shares=tuple(shares),
        depths=tuple(depths),
        unchanged=tuple(unchanged),
        levels=None,
    )


def is_aggregate(attribute: Attribute, function: str, label: str | None) -> bool:
    """Return whether a released value can be such an aggregate: a checker's question."""
    if label is None:
        return True
    if function == "set" and label.startswith("{"):
        return label.endswith("}")
    if function == "interval" and label.startswith("["):
        ends = label[1:-1].split(", ")
        return label.endswith("]") and len(ends) == 2 and all(_is_value(attribute, end) for end in ends)
    return _is_value(attribute, label)


def _is_value(attribute: Attribute, label: str) -> bool:
    if attribute.kind is Kind.ORDINAL and attribute.domain is not None:
        return label in (attribute.domain.values or ())
    try:
        if attribute.kind is Kind.NUMERIC:
            return bool(np.isfinite(float(label)))
        if attribute.kind is Kind.DATE:
            dt.date.fromisoformat(label[:10])
    except ValueError:
        return False
    return True


def _labels_of_classes(
    attribute: Attribute, function: str, recoding: Recoding, frequencies: Frequencies, column: int
) -> list[str | None]:
    """Return the aggregate of every class: its original values and how often each occurs are all that counts."""
    leaves = frequencies.hierarchies[column].labels[0]
    present = (recoding.classes >= 0) & (frequencies.counts > 0)
    missing = frequencies.hierarchies[column].missing
    if missing is not None:
        present &= frequencies.codes[:, column] != missing
    values = [label for label in leaves if label is not None]
    ranks, ordered = _ranked(attribute, values)
    size = max(len(values), 1)
    keys = recoding.classes[present].astype(np.int64) * size + ranks[frequencies.codes[present, column]]
    distinct, inverse = np.unique(keys, return_inverse=True)
    counts = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(counts, inverse, frequencies.counts[present])
    starts = np.searchsorted(distinct, np.arange(recoding.number + 1) * size)
    of = _maker(attribute, function, ordered)
    return [
        of(distinct[low:high] % size, counts[low:high]) if high > low else None
        for low, high in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ]


def _ranked(attribute: Attribute, values: list[str]) -> tuple[Integers, list[str]]:
    """Return the rank of every leaf in the order of values (numbers, days, as declared, by text), and them in order."""
    declared = () if attribute.domain is None else attribute.domain.values or ()
    positions = {value: position for position, value in enumerate(declared)}
    keys: list[object]
    if attribute.kind is Kind.NUMERIC:
        keys = [Fraction(Decimal(value)) for value in values]
    elif attribute.kind is Kind.ORDINAL:
        keys = [positions[value] for value in values]
    else:
        keys = [*values]
    order = sorted(range(len(values)), key=lambda leaf: keys[leaf])  # type: ignore[arg-type,return-value]
    ranks = np.zeros(len(values), dtype=np.int64)
    ranks[order] = np.arange(len(values))
    return ranks, [values[leaf] for leaf in order]


Maker = Callable[[Integers, Counts], str]


def _maker(attribute: Attribute, function: str, ordered: list[str]) -> Maker:
    """Return what makes the aggregate of a class from its values, as places in their order, and their counts."""
    if function == "mean":
        return _mean(attribute, ordered)
    if function == "geometric-mean":
        return _geometric_mean(attribute, ordered)
    if function == "median":
        return lambda ranks, counts: ordered[
            int(ranks[np.searchsorted(np.cumsum(counts), (int(counts.sum()) + 1) // 2, side="left")])
        ]
    if function == "mode":
        return lambda ranks, counts: ordered[int(ranks[int(np.argmax(counts))])]

    def spread(ranks: Integers, counts: Counts) -> str:
        values: list[str] = [ordered[rank] for rank in ranks.tolist()]
        if len(values) == 1:
            return values[0]
        return f"[{values[0]}, {values[-1]}]" if function == "interval" else f"{{{', '.join(values)}}}"

    return spread


def _mean(attribute: Attribute, ordered: list[str]) -> Maker:
    if attribute.kind is Kind.DATE:
        days = [dt.date.fromisoformat(value[:10]).toordinal() for value in ordered]
        return lambda ranks, counts: dt.date.fromordinal(
            round(Fraction(_total(days, ranks, counts), int(counts.sum())))
        ).isoformat()
    decimals = max((_decimals(value) for value in ordered), default=0)
    units = [int(Fraction(Decimal(value)) * 10**decimals) for value in ordered]
    return lambda ranks, counts: _written(_total(units, ranks, counts), int(counts.sum()), decimals)


def _geometric_mean(attribute: Attribute, ordered: list[str]) -> Maker:
    if ordered and Decimal(ordered[0]) <= 0:
        raise InputError(
            f"column `{attribute.name}` has values that are not positive, which have no geometric mean.",
            hint="use mean or median in `aggregates`",
        )
    decimals = max((_decimals(value) for value in ordered), default=0)
    with localcontext(Context(prec=_DIGITS)):
        logarithms = [Decimal(value).ln() for value in ordered]

    def mean(ranks: Integers, counts: Counts) -> str:
        if len(ranks) == 1:
            return ordered[int(ranks[0])]
        with localcontext(Context(prec=_DIGITS)):
            total = sum(
                (logarithms[rank] * count for rank, count in zip(ranks.tolist(), counts.tolist(), strict=True)),
                start=Decimal(0),
            )
            units = (total / int(counts.sum())).exp().scaleb(decimals + _MORE_DECIMALS)
        return _written(round(units), 10**_MORE_DECIMALS, decimals)

    return mean


def _total(units: list[int], ranks: Integers, counts: Counts) -> int:
    return sum(units[rank] * count for rank, count in zip(ranks.tolist(), counts.tolist(), strict=True))


def _decimals(value: str) -> int:
    exponent = Decimal(value).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _written(total: int, count: int, decimals: int) -> str:
    """Return total / count / 10^decimals, rounded half to even, as text without trailing zeros."""
    scaled, rest = divmod(total * 10**_MORE_DECIMALS, count)
    if 2 * rest > count or (2 * rest == count and scaled % 2):
        scaled += 1
    with localcontext() as context:
        context.prec = len(str(abs(scaled))) + 2
        number = Decimal(scaled).scaleb(-(decimals + _MORE_DECIMALS))
        whole = number == number.to_integral_value()
        return f"{number.to_integral_value() + 0:f}" if whole else f"{number.normalize():f}"


def _greatest(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the greatest value of every code."""
    greatest = np.zeros(int(codes.max(initial=-1)) + 1)
    np.maximum.at(greatest, codes, values)
    return greatest
