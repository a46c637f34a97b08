"""Runs of plans: a method makes a result, an account pays, and what was drawn is compared with what is said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shoal import tables
from shoal.errors import ParameterError, Problems, RequirementError, ShoalError
from shoal.guarantees import Event, randomness, without_randomness
from shoal.mechanisms import ObservedSource, RandomSource
from shoal.methods import Progress, Work, check_unit
from shoal.methods.base import Watch
from shoal.policy import in_force
from shoal.release import Payer, Release, staying_spent
from shoal.series import Series
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.plan import Plan

__all__ = ["run"]


def run(
    plan: Plan,
    table: Table,
    *,
    progress: Progress | None,
    cancelled: Callable[[], bool] | None,
    enough: Callable[[], bool] | None,
    pseudonym_key: bytes | None,
    population: Table | None,
    source: RandomSource,
    account: Payer | None,
    series: Series | None,
) -> Release:
    """Make a release by a plan: see :meth:`shoal.Plan.run`."""
    plan = plan.under(in_force())
    able = plan.method.capabilities
    if series is not None:
        plan = _add_series_promise(plan, table, series, account, population)
    elif plan.in_series:
        raise ParameterError(
            "the plan promises a series of releases, and no series was given.",
            hint="give `series` (on the command line: --series STUDY)",
        )
    refused = [
        what
        for what, given, kept in (
            ("a population table", population, able.population),
            ("pseudonyms", pseudonym_key, able.pseudonyms),
        )
        if given is not None and not kept
    ]
    if refused:
        raise ParameterError(f"method `{plan.method.name}` cannot be combined with {' or '.join(refused)}.")
    if plan.schema.person is not None or plan.schema.household is not None:
        table = table.with_schema(plan.schema)
        check_unit(plan.method.name, table, persons=plan.method.counts_persons, linked=plan.method.linked)
    work = Work(
        plan=plan,
        table=table,
        watch=Watch(progress, cancelled, enough),
        source=source,
        key=pseudonym_key,
        population=population,
        series=None if series is None else series.continuation(plan, table),
    )
    payment = None if account is None else account.bill(plan, table)
    observed = ObservedSource(source, pay=None if payment is None else payment.pay)
    try:
        result = plan.method.make(replace(work, source=observed))
        observed.settle()
        where_from = _randomness(plan, result.guarantee.events, observed, pseudonym_key)
    except ShoalError as error:
        if isinstance(error, RequirementError):
            # that too few records are alike is an answer; that it was not paid for would be one, in certificates
            observed.settle()
        with staying_spent(payment if observed.paid else None):
            raise
    guarantee = replace(result.guarantee, randomness=where_from)
    return Release(result=replace(result, guarantee=guarantee), payment=payment)


def _randomness(plan: Plan, steps: Sequence[Event], source: ObservedSource, key: bytes | None) -> str:
    """Say where random numbers came from, and refuse a release whose steps say otherwise than what was drawn.

    The promises rest on what the steps say; numbers of another generator, or for a purpose that no step names, are
    covered by none of them.
    """
    if source.drawn == any(step.draws for step in steps):
        return (
            randomness(cryptographic=source.cryptographic) if source.drawn else without_randomness(key=key is not None)
        )
    what = (
        "drew random numbers, and none of its steps says that it draws any"
        if source.drawn
        else "has a step that draws random numbers, and took none from the source that it was given"
    )
    raise ShoalError(
        f"method `{plan.method.name}` {what}; nothing was released",
        hint="a step that draws has `draws = True`, and takes its random numbers from `work.source`",
    )


def _add_series_promise(
    plan: Plan, table: Table, series: Series, account: Payer | None, population: Table | None
) -> Plan:
    """Return the plan with the promise of a series; refuse what no series can keep."""
    problems = Problems()
    if not plan.method.capabilities.series:
        problems.add(
            f"method `{plan.method.name}` cannot continue a series: what it releases has no classes that a later "
            "release could repeat; recodings such as `specialize` and `generalize` can"
        )
    if tables.site_of([table]).session is not None:
        problems.add("a table on a Spark cluster cannot continue a series: its people are compared on this machine")
    if population is not None:
        problems.add("a population table cannot be combined with a series")
    if account is not None:
        problems.add("an account pays for differential privacy, which no series counts; release it on its own")
    problems.raise_as(ParameterError)
    return series.add_promise(plan)
