"""Check releases of a series together, from outside: each shows its joint crowds, and names the one before it."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import VerificationError, counted
from shoal.folder import ReleaseFolder
from shoal.guarantees import CERTIFICATE, Check, Decision, run_check
from shoal.kernels import Integers
from shoal.schema import Role
from shoal.series import (
    CROWD_LIST,
    CROWDS,
    Continued,
    SeriesKAnonymity,
    ShownCrowd,
    State,
    diversities,
    read_crowd_list,
    read_crowds,
)
from shoal.writing import digest

Row = tuple[object, ...]


@dataclass(eq=False)
class _Member:
    """A release of the series."""

    folder: ReleaseFolder

    @cached_property
    def promise(self) -> SeriesKAnonymity:
        """What it promises of the series."""
        promises = [each for each in self.folder.plan.models if isinstance(each, SeriesKAnonymity)]
        if len(promises) != 1:
            raise VerificationError("a release does not belong to a series")
        return promises[0]

    @cached_property
    def step(self) -> Continued:
        """Its place in the series."""
        steps = [step for step in self.folder.steps if isinstance(step, Continued)]
        if len(steps) != 1:
            raise VerificationError("a release does not belong to a series")
        return steps[0]

    @cached_property
    def rows(self) -> pa.Table:
        """The released rows."""
        return pq.read_table(self.folder.path / self.folder.certificate.data.file)

    @cached_property
    def crowds(self) -> Integers:
        """The joint crowd of every row."""
        return read_crowds(self.folder.path / CROWDS)

    @cached_property
    def listed(self) -> dict[int, ShownCrowd]:
        """All joint crowds by number."""
        return {crowd.number: crowd for crowd in read_crowd_list(self.folder.path / CROWD_LIST)}

    @property
    def known(self) -> list[str]:
        """The quasi-identifiers."""
        return [each.name for each in self.folder.certificate.data.columns if each.role.known_elsewhere]

    def tally(self, names: Sequence[str]) -> dict[int, Counter[Row]]:
        """Count the rows of every joint crowd by their values in some columns, as text."""
        columns = [self.rows[name].cast(pa.string()).to_pylist() for name in names]
        tallies: dict[int, Counter[Row]] = defaultdict(Counter)
        values = zip(*columns, strict=True) if columns else iter([()] * self.rows.num_rows)
        for crowd, row in zip(self.crowds.tolist(), values, strict=True):
            tallies[crowd][row] += 1
        return tallies


def check_series(folder: Path, after: Sequence[Path]) -> list[Check]:
    """Return the checks of a release and those before it, each of which passed its own.

    ``after`` are the earlier releases, in any order; they are put in the order of their numbers.
    """
    members = [_Member(ReleaseFolder(path)) for path in (*after, folder)]
    numbers = run_check("series, order", lambda: _order(members))
    if not numbers.passed:
        return [numbers]
    members.sort(key=lambda member: member.step.release)
    checks = [numbers, run_check("series, roles", lambda: _roles(members))]
    for before, now in zip([None, *members[:-1]], members, strict=True):
        parts: dict[str, Callable[[], Decision]] = {
            "rows": partial(_rows, now),
            "crowds": partial(_sizes, now),
            "values": partial(_values, now),
        }
        if before is not None:
            parts |= {"parents": partial(_parents, before, now), "frozen rows": partial(_frozen, before, now)}
        for part, decide in parts.items():
            checks.append(run_check(f"series, release {now.step.release}, {part}", decide))
            if not checks[-1].passed:
                return checks  # the rest takes it for granted
    return [*checks, _overlap(members[-2], members[-1])]


def _order(members: Sequence[_Member]) -> Decision:
    """Decide whether every release names the one before it by its hash."""
    last = members[-1]
    ordered = sorted(members, key=lambda member: member.step.release)
    if ordered[-1] is not last:
        return False, "a release that is to be earlier has a later number"
    for before, now in itertools.pairwise(ordered):
        if now.step.release != before.step.release + 1:
            return (
                False,
                f"release {now.step.release} does not follow release {before.step.release}; give those between",
            )
        if now.step.after != digest(before.folder.path / CERTIFICATE)[0]:
            return False, f"release {now.step.release} names another certificate before it"
        if (now.promise.k, now.folder.plan.class_models) != (before.promise.k, before.folder.plan.class_models):
            return False, f"release {now.step.release} promises something else than the one before it"
    first = ordered[0].step.release
    missing = "" if first == 1 else f"; releases before {first} were not given, and nothing is said of them"
    return True, f"releases {first} to {ordered[-1].step.release}, each naming the certificate before it{missing}"


def _roles(members: Sequence[_Member]) -> Decision:
    """Decide whether no quasi-identifier of a release is released as it is in another."""
    roles: dict[str, Role] = {}
    for member in members:
        for column in member.folder.certificate.data.columns:
            if roles.setdefault(column.name, column.role).known_elsewhere != column.role.known_elsewhere:
                return False, f"`{column.name}` is a quasi-identifier in one release and released as it is in another"
    return True, "no quasi-identifier of a release is released as it is in another"


def _rows(now: _Member) -> Decision:
    """Decide whether every row has a listed crowd, of as many rows as people, in one class and one state."""
    if len(now.crowds) != now.rows.num_rows:
        return False, f"{CROWDS} has not one line for every row"
    if now.step.release == 1 and any(crowd.parent is not None for crowd in now.listed.values()):
        return False, "joint crowds of the first release of a series have parents"
    tally = now.tally(now.known)
    shown = {number for number, crowd in now.listed.items() if crowd.state is not State.ABSENT}
    if {*tally} != shown:
        return False, f"rows and {CROWD_LIST} do not name the same joint crowds"
    for number, classes in tally.items():
        if classes.total() != now.listed[number].people:
            return False, "a joint crowd has not as many rows as people"
        if len(classes) != 1:
            return False, "the rows of a joint crowd are in several classes"
    if any(crowd.parent is None and crowd.state is not State.SHOWN for crowd in now.listed.values()):
        return False, "newcomers are listed who are not shown"
    places = {(crowd.parent, crowd.state, *tally[number]) for number, crowd in now.listed.items() if number in tally}
    if len(places) != len(tally):
        return False, "a joint crowd is listed in several parts"
    old, new, frozen = (
        sum(crowd.people for crowd in now.listed.values() if crowd.state is state and (crowd.parent is None) is is_new)
        for state, is_new in ((State.SHOWN, False), (State.SHOWN, True), (State.FROZEN, False))
    )
    if (old, new, frozen) != (now.step.continued, now.step.newcomers, now.step.frozen):
        return False, "the numbers of rows are not those of the certificate"
    return True, f"{counted(len(tally), 'joint crowd')}, each with one row for every person"


def _sizes(now: _Member) -> Decision:
    """Decide whether every crowd, the parts that are not shown included, has k people."""
    fewest = min((crowd.people for crowd in now.listed.values()), default=0)
    if fewest < now.promise.k:
        return False, f"a joint crowd has fewer than {now.promise.k} people"
    return True, f"none below {now.promise.k} people; the smallest has {fewest:,}"


def _values(now: _Member) -> Decision:
    """Decide whether every crowd shows enough values of the columns that promises name."""
    wanted = diversities(now.folder.plan.class_models)
    for name, least in wanted.items():
        if any(len(values) < least for values in now.tally([name]).values()):
            return False, f"a joint crowd shows fewer than {least} values of `{name}`"
    return (
        True,
        f"enough in every joint crowd, of {counted(len(wanted), 'column')}; along linked rows, not from outside",
    )


def _parents(before: _Member, now: _Member) -> Decision:
    """Decide whether the people of every earlier crowd are exactly those of its parts."""
    parts: dict[int, int] = defaultdict(int)
    for crowd in now.listed.values():
        if crowd.parent is None:
            continue
        parent = before.listed.get(crowd.parent)
        if parent is None:
            return False, "a joint crowd has a parent that the release before does not list"
        if crowd.state is State.FROZEN and parent.state is State.ABSENT:
            return False, "rows are frozen of people without a row in the release before"
        parts[crowd.parent] += crowd.people
    if parts != {number: parent.people for number, parent in before.listed.items()}:
        return False, "the parts of a joint crowd have not as many people as it had"
    return True, f"{counted(len(parts), 'joint crowd')} of the release before, each with all its people"


def _frozen(before: _Member, now: _Member) -> Decision:
    """Decide whether frozen rows are rows of their parents."""
    old = {column.name for column in before.folder.certificate.data.columns}
    common = [column.name for column in now.folder.certificate.data.columns if column.name in old]
    rows, were = now.tally(common), before.tally(common)
    number = 0
    for crowd in now.listed.values():
        if crowd.state is State.FROZEN and crowd.parent is not None:
            if rows[crowd.number] - were[crowd.parent]:
                return False, "a frozen row is no row of the same people in the release before"
            number += crowd.people
    return True, f"{counted(number, 'row')}, each a row of its parent"


def _overlap(before: _Member, now: _Member) -> Check:
    """Say how many rows are declared new while old ones are not shown: what a forger who links nothing could hide."""
    common = [name for name in now.rows.column_names if name in before.rows.column_names]
    new: Counter[Row] = Counter()
    gone: Counter[Row] = Counter()
    rows, were = now.tally(common), before.tally(common)
    hidden = {crowd.parent for crowd in now.listed.values() if crowd.state is State.ABSENT}
    for number, crowd in now.listed.items():
        if crowd.parent is None:
            new += rows[number]
    for parent in hidden:
        gone += Counter() if parent is None else were.get(parent, Counter())
    unseen = sum(crowd.people for crowd in now.listed.values() if crowd.state is State.ABSENT)
    return Check(
        subject="series, newcomers",
        passed=True,
        shown=False,
        detail=(
            f"on the publisher's word: that the {new.total():,} rows declared new are of other people than the "
            f"{unseen:,} who are not shown; {(new & gone).total():,} rows look the same in both"
        ),
    )
