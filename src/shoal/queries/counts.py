"""Counts over time: one number per period and question, all of them paid for once and beforehand."""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal import stopping
from shoal.errors import AccountSpent, BudgetSpent, DataError, InputError, ParameterError, SchemaError, reason
from shoal.exact import Number, positive, rational
from shoal.kernels import Mask
from shoal.mechanisms import SYSTEM, DiscreteGaussian, Laplace, RandomSource
from shoal.queries._accounts import WHOLE
from shoal.queries._dyadic import Node, most_nodes, nodes_ending, nodes_up_to, periods_of
from shoal.queries._loss import Loss
from shoal.queries._records import MemoryRecords
from shoal.queries._store import PATIENCE, try_lock, unlock
from shoal.queries.account import Account, check_bound, make_parent
from shoal.schema import Schema, dumps, load
from shoal.schema.filters import parse
from shoal.tables import Table, at_most, read
from shoal.writing import digest, staged, write_file

__all__ = ["CountsOverTime", "PeriodCount"]

SETTINGS, STATE, LOCK = "counts.json", "state.json", "lock"
PERSONS = "persons-{}.parquet"
MOST_PERIODS = 4096
MOST_COUNTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodCount:
    """A published count."""

    period: int
    name: str
    count: int
    #: The true count is within so much of it, with a confidence of 95 %, if nobody changed more often than is counted.
    margin: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsOverTime:
    """Counts of a table that is published again and again, such as the figures of a dashboard.

    Parameters
    ----------
    folder
        Where it is kept: settings, the state of all persons and the noise so far. Never to be published.
    account
        The folder of the account that paid for all periods.
    schema
        The schema file of the table; it must stay as it was.
    digest
        The SHA-256 digest of that schema.
    where
        The filters of the counts, by their names; None counts everybody.
    periods
        How many periods are paid for.
    changes
        How often a person may come to be counted or cease to be, in each count; None: in every period.
    epsilon, rho
        What all periods of one count cost; one of the two.

    Guarantee
    ---------
    All periods together are (epsilon, 0)- or rho-zero-concentrated-differentially private, the sum of all counts, for
    neighbours that add or remove one person in all periods: see `shoal.queries._dyadic` for the sums that get noise and
    for what one person can change of them. With a person column that is enforced: one record of each person is looked
    at in each period, and whoever has changed as often as is paid for stays as counted last. Without one every record
    of a period is taken for another person, who may change in every period. Later periods may depend on what was
    published (fully adaptive composition: what a person can change is bounded on every path).

    Assumptions
    -----------
    A person has the same key in all periods, and no other person has it. Periods are published on a schedule, whatever
    is in the table. The folder stays secret, and no older copy of it is put back together with one of the account: an
    older copy of the folder alone, and settings that nobody paid for, are refused.

    Notes
    -----
    The total of period t has at most floor(log2 t) + 1 noises, so that errors grow with the logarithm of the number of
    periods where paying for each period apart would make them grow with its square root.
    """

    folder: Path
    account: Path
    schema: Path
    digest: str
    where: Mapping[str, str | None]
    periods: int
    changes: int | None
    epsilon: str | None = None
    rho: str | None = None
    #: Tells these counts from others that the account paid for.
    serial: str

    @classmethod
    def create(
        cls,
        folder: str | Path,
        table: Table,
        *,
        account: Account,
        schema: str | Path,
        where: Mapping[str, str | None],
        periods: int,
        changes: int | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> CountsOverTime:
        """Pay for all periods of some counts; none is published yet.

        ``table`` is any version of the table, for the check that the account is about it, by the ``schema`` that all
        periods will have; ``epsilon`` or ``rho`` is what all counts together may cost.
        """
        folder = Path(folder)
        described = load(schema).total()
        _check(described, where, periods, changes)
        amount = epsilon if rho is None else rho
        if amount is None or (epsilon is not None and rho is not None):
            raise ParameterError("counts over time need either an `epsilon` or a `rho`.")
        total = positive(amount, "epsilon" if rho is None else "rho", "CountsOverTime")
        each = str(total / len(where))
        loss = Loss.at_least(total) if rho is None else Loss.at_least_rho(total)
        made = cls(
            folder=folder,
            account=account.folder.absolute(),
            schema=Path(schema).absolute(),
            digest=_digest(described),
            where=dict(where),
            periods=periods,
            changes=changes,
            epsilon=None if epsilon is None else each,
            rho=None if rho is None else each,
            serial=secrets.token_hex(8),
        )
        made._mechanism  # noqa: B018 - what cannot be drawn is refused before anybody pays
        make_parent(folder)
        with staged(folder, private=True) as staging:
            (staging / SETTINGS).write_text(json.dumps(made._settings()), encoding="utf-8")
            (staging / LOCK).touch(mode=0o600)
            state = _State(period=0, noisy={}, exact={name: [] for name in where}, key=secrets.token_hex(32))
            (staging / STATE).write_text(state.dumps(), encoding="utf-8")
            (staging / STATE).chmod(0o600)
            with account.inspected() as ledger, stopping.held():
                check_bound(ledger, table.with_schema(described))
                cost = ledger.price(ledger.unit.charged(loss))
                try:
                    ledger.spend(WHOLE, cost, query=made._paid_as)
                except BudgetSpent as refusal:
                    raise AccountSpent(refusal.problems, hint="use a smaller epsilon or fewer periods") from None
                stopping.happened(f"{cost} of the account is spent")
        return made

    @classmethod
    def open(cls, folder: str | Path) -> CountsOverTime:
        """Read the settings of counts over time."""
        folder = Path(folder)
        try:
            settings: dict[str, Any] = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
            account, schema = (Path(settings.pop(name)) for name in ("account", "schema"))
            return cls(folder=folder, account=account, schema=schema, **settings)
        except OSError as error:
            raise InputError(f"`{folder.name}` holds no counts over time: {reason(error)}.") from None
        except (ValueError, TypeError, KeyError):
            raise InputError(f"`{SETTINGS}` of `{folder.name}` cannot be read.") from None

    def publish(self, source: str | Table, *, table: str | None = None, source_of_bits: RandomSource = SYSTEM) -> int:
        """Count the next period in a table, and return its number; `published` then has its counts.

        Whatever is in the table, the period counts as published: do this on a schedule.
        """
        described = load(self.schema).total()
        if _digest(described) != self.digest:
            raise SchemaError("the schema has changed since the counts were paid for.", hint="restore it")
        records = (source if isinstance(source, Table) else read(source, table=table)).with_schema(described)
        with self._locked():
            state = self._state()
            payment = self._payment(state)
            period = state.period + 1
            if period > self.periods:
                raise ParameterError(f"all {self.periods:,} periods that were paid for are published.")
            counted = self._counted(records, described, source_of_bits)
            persons, exact = self._next(state, counted)
            noisy = dict(state.noisy)
            for name in self.where:
                ending = nodes_ending(period)
                sums = [sum(exact[name][each - 1] for each in periods_of(node)) for node in ending]
                drawn = self._mechanism.release_all(sums, source=source_of_bits)
                noisy |= {(name, node): int(value) for node, value in zip(ending, drawn, strict=True)}
            # what is returned must be on the disk, or the same period could be drawn twice
            place = self.folder / PERSONS.format(period)
            pq.write_table(persons, place)
            place.chmod(0o600)
            new = _State(period=period, noisy=noisy, exact=exact, key=state.key, persons=digest(place)[0])
            write_file(self.folder / STATE, new.dumps().encode(), overwrite=True, private=True, told=False)
            with Account.open(self.account).inspected() as ledger:
                ledger.note_written(payment, f"{self.folder.name}, period {period}", digest(self.folder / STATE)[0])
            with suppress(OSError):
                (self.folder / PERSONS.format(period - 1)).unlink()
        return period

    def published(self) -> list[PeriodCount]:
        """Return all counts that were published, in the order of periods."""
        state = self._state()
        return [
            PeriodCount(
                period=period,
                name=name,
                count=sum(state.noisy[name, node] for node in nodes_up_to(period)),
                margin=self._margin(period),
            )
            for period in range(1, state.period + 1)
            for name in self.where
        ]

    @property
    def sensitivity(self) -> int:
        """How many sums one person can change, each by one."""
        return most_nodes(self.periods, self.periods if self.changes is None else min(self.changes, self.periods))

    @property
    def _mechanism(self) -> Laplace | DiscreteGaussian:
        if self.epsilon is not None:
            return Laplace(sensitivity=self.sensitivity, epsilon=self.epsilon)
        assert self.rho is not None  # noqa: S101 - one of the two is given
        # the squared distance of n sums that change by one is n
        return DiscreteGaussian(sensitivity=1, rho=rational(self.rho, "rho", "CountsOverTime") / self.sensitivity)

    @property
    def _paid_as(self) -> str:
        """What stands in the history of the account: everything that decides what the counts lose."""
        settings = {name: own for name, own in self._settings().items() if name not in ("account", "schema")}
        mark = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        return f"counts over time: {len(self.where)} counts, {self.periods} periods, settings {mark}"

    def _payment(self, state: _State) -> int:
        """Return the entry that paid; refuse settings without one, and a state from before the last period."""
        entries = Account.open(self.account).history()
        paid = [each.number for each in entries if each.content.get("query") == self._paid_as]
        if not paid:
            raise DataError(
                f"the account did not pay for these counts: `{SETTINGS}` was changed, or the account is another one.",
                hint="restore both",
            )
        published = sum(each.content["event"] == "written" and each.content["entry"] == paid[0] for each in entries)
        if state.period < published:
            raise DataError(
                f"`{self.folder.name}` is an older copy: {published:,} periods were published, and it knows of "
                f"{state.period:,}; what is drawn again would cost more than was paid.",
                hint="restore the last state of the folder",
            )
        return paid[0]

    def _margin(self, period: int) -> int:
        deviation = math.sqrt(float(self._mechanism.variance) * len(nodes_up_to(period)))
        return math.ceil(1.96 * deviation - 1e-9)

    def _counted(self, records: Table, schema: Schema, source: RandomSource) -> tuple[pa.Array | None, list[Mask]]:
        """Return whose the records are, and which of them each count counts."""
        drawn = records if schema.person is None else at_most(records, schema.person, 1, source.random_bytes(32))
        figures = MemoryRecords(drawn)
        masks = [figures.holding(parse(where, schema)) for where in self.where.values()]
        return (None if schema.person is None else figures.names(schema.person)), masks

    def _next(
        self, state: _State, counted: tuple[pa.Array | None, list[Mask]]
    ) -> tuple[pa.Table, dict[str, list[int]]]:
        """Return the state of all persons after this period, and the exact changes of all counts up to it."""
        keys, masks = counted
        exact = {name: list(changes) for name, changes in state.exact.items()}
        if keys is None:
            for (name, changes), mask in zip(exact.items(), masks, strict=True):
                exact[name].append(int(np.count_nonzero(mask)) - sum(changes))
            return pa.table({"person": pa.array([], pa.string())}), exact
        known = self._persons(state)
        now = {
            hashlib.blake2b(str(key).encode(), key=bytes.fromhex(state.key), digest_size=16).hexdigest(): row
            for row, key in enumerate(keys.to_pylist())
        }
        most = self.periods if self.changes is None else self.changes
        totals = [0] * len(masks)
        for person in known.keys() | now.keys():
            states = known.setdefault(person, [0, 0] * len(masks))
            row = now.get(person)
            for place, mask in enumerate(masks):
                is_counted = int(row is not None and bool(mask[row]))
                if is_counted != states[2 * place] and states[2 * place + 1] < most:
                    totals[place] += is_counted - states[2 * place]
                    states[2 * place : 2 * place + 2] = [is_counted, states[2 * place + 1] + 1]
        for (name, _), change in zip(exact.items(), totals, strict=True):
            exact[name].append(change)
        order = sorted(known)
        places = range(2 * len(masks))
        columns = {f"s{place}": pa.array([known[person][place] for person in order], pa.int32()) for place in places}
        return pa.table({"person": pa.array(order, pa.string()), **columns}), exact

    def _persons(self, state: _State) -> dict[str, list[int]]:
        if not state.period:
            return {}
        place = self.folder / PERSONS.format(state.period)
        if not place.is_file() or digest(place)[0] != state.persons:
            raise DataError(f"the state of persons of `{self.folder.name}` is missing or was changed.")
        rows = pq.read_table(place)
        states = zip(*(rows[name].to_pylist() for name in rows.column_names[1:]), strict=True)
        return {person: list(own) for person, own in zip(rows["person"].to_pylist(), states, strict=False)}

    def _state(self) -> _State:
        try:
            return _State.loads((self.folder / STATE).read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError):
            raise DataError(f"the state of `{self.folder.name}` cannot be read.") from None

    def _settings(self) -> dict[str, object]:
        return {
            "account": str(self.account),
            "schema": str(self.schema),
            "digest": self.digest,
            "where": dict(self.where),
            "periods": self.periods,
            "changes": self.changes,
            "epsilon": self.epsilon,
            "rho": self.rho,
            "serial": self.serial,
        }

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the only right to publish: a period that was drawn twice would have lost twice as much."""
        file, end = os.open(self.folder / LOCK, os.O_RDWR), time.monotonic() + PATIENCE
        try:
            while not try_lock(file):
                if time.monotonic() > end:
                    raise DataError("another process publishes the next period.", hint="wait for it")
                time.sleep(0.01)
            yield
            unlock(file)
        finally:
            os.close(file)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What is known after a period, exact changes included: never to be published."""

    period: int
    #: The noisy sum of every node that has ended, by count.
    noisy: Mapping[tuple[str, Node], int]
    #: By count, how much it changed in each period.
    exact: Mapping[str, list[int]]
    #: Of the keyed hashes of persons.
    key: str
    #: The digest of the file of persons.
    persons: str = ""

    def dumps(self) -> str:
        noisy = [[name, *node, value] for (name, node), value in self.noisy.items()]
        return json.dumps(
            {"period": self.period, "noisy": noisy, "exact": dict(self.exact), "key": self.key, "persons": self.persons}
        )

    @classmethod
    def loads(cls, written: str) -> _State:
        found = json.loads(written)
        noisy = {(name, (level, number)): value for name, level, number, value in found["noisy"]}
        return cls(**{**found, "noisy": noisy})


def _check(schema: Schema, where: Mapping[str, str | None], periods: int, changes: int | None) -> None:
    if schema.guessed:
        raise SchemaError("counts over time need a schema that a person has confirmed; this one is a draft.")
    if not 1 <= len(where) <= MOST_COUNTS:
        raise ParameterError(f"counts over time are 1 to {MOST_COUNTS:,} counts.")
    for filter_ in where.values():
        parse(filter_, schema)
    if type(periods) is not int or not 1 <= periods <= MOST_PERIODS:
        raise ParameterError(f"`periods` must be an integer in [1, {MOST_PERIODS:,}]; got {periods!r}.")
    if changes is None:
        return
    if type(changes) is not int or changes < 1:
        raise ParameterError(f"`changes` must be an integer of at least 1; got {changes!r}.")
    if schema.person is None:
        raise ParameterError(
            "`changes` needs a column that says whose record it is: without one, nobody can say how often a person "
            "changes.",
            hint="give a column the role `person`, or leave `changes` out: every period then counts as a change",
        )


def _digest(schema: Schema) -> str:
    return hashlib.sha256(dumps(schema).encode()).hexdigest()
