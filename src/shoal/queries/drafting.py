"""A schema for differential privacy whose domains an account pays for: nothing else of the data is looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal import stopping
from shoal.errors import AccountSpent, BudgetSpent, ParameterError, quoted
from shoal.exact import Number, positive
from shoal.mechanisms import SYSTEM, Laplace, RandomSource
from shoal.methods.truthful import DifferentialPrivacy
from shoal.queries._accounts import WHOLE
from shoal.queries._loss import Loss
from shoal.queries.account import Account, check_bound
from shoal.schema import Attribute, Domain, Draft, Intervals, Kind, Missing, Outside, Provenance, Role, Schema
from shoal.schema.rules import text
from shoal.tables import Table, at_most

__all__ = ["PaidDraft", "draft_paid", "starting_schema"]

_DIGITS = [Fraction(digit) * Fraction(10) ** power for power in range(-3, 12) for digit in (1, 2, 5)]
EDGES = [*(-float(each) for each in reversed(_DIGITS)), 0.0, *(float(each) for each in _DIGITS)]
"""Where the ranges begin in which numbers are counted; public, so that bounds are round."""
CONFIDENCE = 0.01
"""The chance that any range without a record is taken for one with some."""
INTERVALS = 20
"""About how many intervals the bounds of a number are divided into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidDraft:
    """A draft, and what was paid for which of its columns."""

    draft: Draft
    #: The loss that the account counts.
    cost: Loss
    #: What was paid for: columns by what was asked of them.
    values: tuple[str, ...]
    bounds: tuple[str, ...]
    #: The columns of which nothing is frequent enough to be told.
    nothing: tuple[str, ...]


def starting_schema(drafted: Draft, numbers: Sequence[str] = ()) -> Schema:
    """Return the schema by which records are read before anything is known of them but the names of columns.

    Columns whose values nobody has declared are text, or numbers where somebody says so; what cannot be read is
    missing.
    """
    unknown = set(numbers) - set(drafted.schema.names)
    if unknown:
        raise ParameterError(f"there is no column {quoted(sorted(unknown))}.")
    open_ = {*_open(drafted.schema), *numbers}
    made = tuple(
        Attribute(
            name=each.name,
            role=Role.QUASI_IDENTIFIER,
            kind=Kind.NUMERIC if each.name in numbers else Kind.CATEGORICAL,
            outside=Outside.MISSING,
        )
        if each.name in open_
        else each
        for each in drafted.schema
    )
    return replace(drafted.schema, attributes=made).total()


def draft_paid(
    table: Table,
    drafted: Draft,
    account: Account,
    *,
    epsilon: Number,
    delta: Number,
    numbers: Sequence[str] = (),
    source: RandomSource = SYSTEM,
) -> PaidDraft:
    """Find bounds and frequent values of the columns that nobody has declared, and pay for them.

    Parameters
    ----------
    table
        The table, without a schema.
    drafted
        A draft from the names of the columns alone: ``shoal.draft(table, private=True)``.
    account
        The account of the table.
    epsilon, delta
        What all columns together cost, in equal parts.
    numbers
        The columns that hold numbers; all others hold text.

    Guarantee
    ---------
    (epsilon, delta)-differential privacy, add or remove one record, or one person where a column is named like the key
    of a person, of whom one record is looked at. Values: a random number of the records of each is left out, and those
    of which none are left are not told (`shoal.methods.truthful.trimming`). Bounds: the records in fixed, public ranges
    are counted with discrete Laplace noise, and ranges well above the noise are kept. Kinds, formats and resolutions
    are not looked at.

    Assumptions
    -----------
    Which columns hold numbers is known without the data, and so is how the file is written: its delimiter, encoding and
    decimal mark, which `shoal.read` guesses from records unless they are given.
    """
    whole, extra = positive(epsilon, "epsilon", "draft_paid"), positive(delta, "delta", "draft_paid")
    schema = starting_schema(drafted, numbers)
    texts = [name for name in _open(drafted.schema) if name not in numbers]
    columns = len(texts) + len(numbers)
    if not columns:
        return PaidDraft(draft=drafted, cost=Loss(), values=(), bounds=(), nothing=())
    records = table.with_schema(schema)
    with account.inspected() as ledger, stopping.held():
        check_bound(ledger, records)
        cost = ledger.price(ledger.unit.charged(Loss.at_least(whole, extra if texts else Fraction(0))))
        try:
            ledger.spend(WHOLE, cost, query=f"draft: domains of {columns} columns")
        except BudgetSpent as refusal:
            raise AccountSpent(refusal.problems, hint="use a smaller epsilon, or declare the domains") from None
        stopping.happened(f"{cost} of the account is spent")
    if schema.person is not None:
        records = at_most(records, schema.person, 1, source.random_bytes(32))
    rows = records.to_arrow()
    each = whole / columns
    wanted = DifferentialPrivacy(epsilon=each, delta=extra / max(len(texts), 1))
    made = {name: _with_values(schema[name], rows[name], wanted, source) for name in texts}
    made |= {name: _with_bounds(schema[name], rows[name], each, source) for name in numbers}
    return _drafted(drafted, made, cost, texts, tuple(numbers))


def _open(schema: Schema) -> tuple[str, ...]:
    """Return the columns whose values nobody knows from their names: how these are spelt is not known either."""
    return tuple(
        each.name
        for each in schema
        if each.role is Role.DECIDE or (not each.role.names_someone and each.kind in (Kind.CATEGORICAL, Kind.ORDINAL))
    )


def _with_values(
    column: Attribute, cells: pa.ChunkedArray, wanted: DifferentialPrivacy, source: RandomSource
) -> Attribute | None:
    counted = pc.value_counts(text(cells.drop_null()))
    # in an order that does not depend on the records
    pairs = sorted(zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True))
    sizes = np.array([size for _, size in pairs], dtype=np.int64)
    shown = wanted.operator("trim", searching=False).shown(sizes, source)
    values = tuple(value for (value, _), number in zip(pairs, shown.tolist(), strict=True) if number > 0)
    return replace(column, domain=Domain(values=values, provenance=Provenance.PAID)) if values else None


def _with_bounds(
    column: Attribute, cells: pa.ChunkedArray, epsilon: Fraction, source: RandomSource
) -> Attribute | None:
    numbers = cells.drop_null().cast(pa.float64(), safe=False).to_numpy()
    inside = np.clip(numbers, EDGES[0], np.nextafter(EDGES[-1], 0))
    counts = np.histogram(inside, EDGES)[0]
    noisy = np.array(Laplace(sensitivity=1, epsilon=epsilon).release_all(counts.tolist(), source=source))
    filled = np.flatnonzero(noisy > math.log(len(counts) / CONFIDENCE) / epsilon)
    if not len(filled):
        return None
    low, high = EDGES[filled[0]], EDGES[filled[-1] + 1]
    width = next(float(each) for each in _DIGITS if float(each) * INTERVALS >= high - low)
    domain = Domain(minimum=_plain(low), maximum=_plain(high), provenance=Provenance.PAID)
    rule = Intervals(widths=(_plain(width), _plain(width * 4)))
    return replace(column, domain=domain, hierarchy=rule, outside=Outside.CLAMP, missing=Missing.CATEGORY)


def _plain(number: float) -> float:
    return int(number) if number.is_integer() else number


def _drafted(
    drafted: Draft, made: dict[str, Attribute | None], cost: Loss, texts: Sequence[str], numbers: tuple[str, ...]
) -> PaidDraft:
    attributes, reasons = [], dict(drafted.reasons)
    for each in drafted.schema:
        if each.name not in made:
            attributes.append(each)
            continue
        paid = made[each.name]
        attributes.append(paid or Attribute(name=each.name, role=Role.DROP))
        what = "bounds" if each.name in numbers else "values"
        said = f"its {what} were paid for" if paid else f"no {what} are frequent enough to be told"
        reasons[each.name] = f"{attributes[-1].role}: {said}."
    schema = replace(drafted.schema, attributes=tuple(attributes))
    nothing = tuple(name for name, paid in made.items() if paid is None)
    return PaidDraft(
        draft=replace(drafted, schema=schema, reasons=reasons),
        cost=cost,
        values=tuple(name for name in texts if name not in nothing),
        bounds=tuple(name for name in numbers if name not in nothing),
        nothing=nothing,
    )
