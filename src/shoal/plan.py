"""What to promise and how to get there, as a value that can be saved, shown and run again.

A plan file is TOML::

    shoal = 1                      # version of the format

    [release]                      # what the release is for, in your words; may be left out
    title = "Discharges 2024 and 2025"
    purpose = "research on ageing"

    [[promises]]
    model = "k-anonymity"
    k = 5

    [method]
    name = "generalize"
    suppression_limit = 0.05

    [columns.age]                  # the schema, as in a schema file
    role = "quasi-identifier"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Protocol

from shoal import methods, tables
from shoal.errors import ParameterError, RequirementError, SchemaError, ShoalError
from shoal.guarantees import Requirement
from shoal.mechanisms import SYSTEM, PaidSource, RandomSource
from shoal.methods import Method, Progress, Work, check_unit
from shoal.methods.base import Made, Watch
from shoal.methods.brief import Brief
from shoal.release import Payment, Release, staying_spent
from shoal.schema import Draft, template
from shoal.schema import draft as draft_schema
from shoal.tables import Table

__all__ = ["Payer", "Plan", "anonymize", "draft"]


class Payer(Protocol):
    """What a release can be paid from: a :class:`shoal.Account`."""

    def bill(self, plan: Brief, table: Table) -> Payment:
        """Return what a release by a plan costs, and refuse it now if that is not allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Brief):
    """A schema, the promises to keep, the method to use and the measures to report.

    Parameters
    ----------
    schema
        What the columns mean.
    models
        The promises; at least one.
    method
        How to change the data; by default the method that loses least under the promises, with a limit of time.
    measures
        Quality measures to report, by name, or by name and parameters as in ``{"name": "classification", "target":
        "income"}``.
    about
        Title, purpose, controller, recipient and context, in the publisher's words; the report prints them.

    Examples
    --------
    >>> from shoal.schema import Attribute, Role, Schema
    >>> age = Attribute(name="age", role=Role.QUASI_IDENTIFIER)
    >>> from shoal.models import KAnonymity
    >>> plan = Plan(schema=Schema(attributes=(age,)), models=(KAnonymity(5),))
    >>> Plan.loads(plan.dumps()) == plan
    True
    """

    def forecast(self, records: int) -> dict[str, float]:
        """Return figures that are known before anything is spent: how wide noise will be, as a share of each domain.

        Parameters
        ----------
        records
            The number of records, which such a method takes as public; the data are not looked at.
        """
        return {} if self.privacy is None else self.method.forecast(self.privacy, self.schema, records)

    def run(
        self,
        table: Table,
        *,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
        pseudonym_key: bytes | None = None,
        population: Table | None = None,
        source: RandomSource = SYSTEM,
        account: Payer | None = None,
    ) -> Release:
        """Anonymise ``table``.

        Parameters
        ----------
        table
            The data; its columns must be those of the plan's schema.
        progress
            Called now and then with the work done, the work in all and what is being done.
        cancelled
            Asked now and then; True stops the work with :class:`shoal.errors.Cancelled`.
        pseudonym_key
            The secret for identifiers with ``pseudonym = true``.
        population
            Everybody whom an intruder may think of, with the same quasi-identifiers, for models that compare with it.
        source
            Random numbers; any but the system's are for tests, and the guarantee then says so.
        account
            The :class:`shoal.Account` of the table, which pays for differential privacy: durably, before the first
            random number is drawn. What is paid stays spent, whether a release comes of it or not.
        """
        keeps = self.method.keeps
        refused = [
            what
            for what, given, kept in (
                ("a population table", population, keeps.population),
                ("pseudonyms", pseudonym_key, keeps.pseudonyms),
            )
            if given is not None and not kept
        ]
        if refused:
            raise ParameterError(f"method `{self.method.name}` cannot be combined with {' or '.join(refused)}.")
        if self.schema.person is not None or self.schema.household is not None:
            table = table.with_schema(self.schema)
            check_unit(self.method.name, table, persons=self.method.counts_persons, linked=self.method.linked)
        work = Work(
            plan=self,
            table=table,
            watch=Watch(progress, cancelled),
            source=source,
            key=pseudonym_key,
            population=population,
        )
        if account is None:
            return _release(self.method.make(work))
        bill = account.bill(self, table)
        paid = PaidSource(source, bill.pay)
        try:
            made = self.method.make(replace(work, source=paid))
            paid.settle()
        except ShoalError as error:
            if isinstance(error, RequirementError):
                # that too few records are alike is an answer; that it was not paid for would be one, in certificates
                paid.settle()
            with staying_spent(bill if paid.paid else None):
                raise
        return _release(made, bill)


def _release(made: Made, bill: Payment | None = None) -> Release:
    return Release(**{each.name: getattr(made, each.name) for each in fields(made)}, bill=bill)


def anonymize(
    table: Table,
    *models: Requirement,
    method: Method | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    pseudonym_key: bytes | None = None,
    population: Table | None = None,
    account: Payer | None = None,
) -> Release:
    """Turn a table into a release that keeps the promises ``models``.

    Parameters
    ----------
    table
        A table with a schema, from :func:`shoal.read`.
    *models
        What to promise, for example ``shoal.KAnonymity(5)``; at least one.
    method
        How to change the data; by default the method that loses least under the promises, with a limit of time:
        :class:`shoal.Specialize` in most cases, :class:`shoal.Truthful` for :class:`shoal.DifferentialPrivacy`.
    progress, cancelled, pseudonym_key, population, account
        See :meth:`shoal.Plan.run`.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> people = shoal.read(pyarrow.table({"age": [31, 34, 38, 52], "illness": ["flu", "flu", "cold", "cold"]}))
    >>> age = shoal.Attribute(
    ...     name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.Intervals(widths=(20, 40))
    ... )
    >>> schema = shoal.Schema(attributes=(age, shoal.Attribute(name="illness", role="sensitive")))
    >>> release = shoal.anonymize(people.with_schema(schema), shoal.KAnonymity(2), method=shoal.Generalize())
    >>> release.records
    4
    """
    if table.schema is None:
        raise SchemaError(
            "the table has no schema, so Shoal does not know which columns identify people",
            hint="give `schema=` to `shoal.read`, or use `shoal.draft(table).schema` after looking at it",
        )
    plan = Plan(schema=table.schema, models=models, method=method or methods.default(models))
    return plan.run(
        table,
        progress=progress,
        cancelled=cancelled,
        pseudonym_key=pseudonym_key,
        population=population,
        account=account,
    )


def draft(table: Table, *, private: bool = False, drop: Sequence[str] = ()) -> Draft:
    """Propose a schema for ``table`` and say why; a person must look at it before it is relied on.

    Parameters
    ----------
    private
        Look at the names of the columns and at nothing else: a template for differential privacy, with what is
        publicly known of such columns, to be filled in by a person.
    drop
        Words: columns that have one of them in their names are left out.
    """
    made = template(table.columns) if private else draft_schema(tables.profile(table), table.count())
    return made.dropping(drop)
