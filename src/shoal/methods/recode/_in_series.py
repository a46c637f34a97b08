"""A release that continues a series: newcomers by the method, everybody else among those who shared all releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal import tables
from shoal.errors import DataError, ParameterError, RequirementError, ShoalError
from shoal.kernels import Codes, Integers, Mask
from shoal.methods.base import Result, Work
from shoal.methods.recode._finer import LabelColumn, common_nodes, distinct_tuples, joined, split_classes
from shoal.methods.recode._series_made import assemble
from shoal.models import KAnonymity
from shoal.series import (
    CROWD,
    KEY,
    STATE,
    VALUE,
    Continuation,
    Leavers,
    State,
    broken_crowds,
    diversities,
    divide_crowds,
    joint_crowds,
    places_of,
    smallest_crowd,
)
from shoal.tables import EncodedRecords

if TYPE_CHECKING:
    from shoal.methods.recode._method import Recode
    from shoal.plan import Plan

#: not in this part
NOBODY = -1


def make_in_series(work: Work, series: Continuation) -> Result:
    """Make the next release of a series, decide its joint crowds once more, and set aside what is to be recorded."""
    method = cast("Recode", work.plan.method)
    if method.aggregate_steps or method.linked:
        raise ParameterError(
            f"`aggregates` and links of method `{method.name}` cannot continue a series: a class of an earlier release "
            "could not be repeated.",
            hint="leave them out of the plan",
        )
    release = SeriesRelease.of(work, series)
    release.place_newcomers()
    release.place_everybody_else()
    release.suppress_broken_newcomers()
    release.check()
    return assemble(release)


@dataclass(slots=True, eq=False, kw_only=True)
class SeriesRelease:
    """The records of this version, the people of the releases before, and what becomes of both.

    *People* are everybody who was shown before, in the order of the series folder, then everybody else in the table.
    """

    method: Recode
    work: Work
    plan: Plan
    series: Continuation
    #: The records in the order of the source, and their codes.
    rows: pa.Table
    encoded: EncodedRecords
    keys: pa.Array
    #: The record of every person, and the person of every record.
    record_of: Integers
    person_of: Integers
    #: How many people were shown before, and in which joint crowd; one number for all others.
    known: int
    crowds: Integers
    shown_before: Mask
    states: Integers
    #: The group of every person who is shown: people with the same number get the same label.
    groups: Integers
    labels: list[LabelColumn]
    codes: Integers
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, work: Work, series: Continuation) -> SeriesRelease:
        """Read the records of opened work, and find the people of the releases before among them."""
        plan, table, method = work.plan, work.table, cast("Recode", work.plan.method)
        rows = tables.in_order(table)
        wanted = [name for measure in (method.measure, *plan.weighted_measures) for name in measure.sensitive]
        wanted += [name for model in plan.class_models for name in model.capabilities.sensitive]
        encoded = tables.encode_records(table, sensitive=tuple(dict.fromkeys(wanted)))
        keys = series.hash_keys(rows[series.folder.key])
        before = series.known_people
        known = len(before)
        positions = places_of(keys, before[KEY].combine_chunks())
        new = np.flatnonzero(positions < 0)
        if known and len(new) == len(rows):
            raise DataError(
                f"nobody whom the series has shown is in this table, by the column `{series.folder.key}`.",
                hint="write the keys as before (007 is not 7); if these are other people, begin a new series",
            )
        person_of = positions.copy()
        person_of[new] = known + np.arange(len(new))
        record_of = np.full(known + len(new), NOBODY, dtype=np.int64)
        record_of[person_of] = np.arange(len(rows))
        crowds = np.full(len(record_of), NOBODY, dtype=np.int64)
        crowds[:known] = before[CROWD].to_numpy()
        shown_before = np.zeros(len(record_of), dtype=np.bool_)
        shown_before[:known] = before[STATE].to_numpy() != State.ABSENT
        return cls(
            method=method,
            work=work,
            plan=plan,
            series=series,
            rows=rows,
            encoded=encoded,
            keys=keys,
            record_of=record_of,
            person_of=person_of,
            known=known,
            crowds=crowds,
            shown_before=shown_before,
            states=np.full(len(record_of), State.ABSENT, dtype=np.int64),
            groups=np.full(len(record_of), NOBODY, dtype=np.int64),
            labels=[LabelColumn.of(hierarchy) for hierarchy in encoded.hierarchies],
            codes=np.zeros((len(record_of), len(encoded.hierarchies)), dtype=np.int64),
        )

    @property
    def k(self) -> int:
        """The smallest joint crowd allowed."""
        return self.series.promise.k

    @property
    def present(self) -> Mask:
        """Who has a record in this version."""
        return self.record_of >= 0

    @property
    def leaves(self) -> Codes:
        """The quasi-identifiers of the records."""
        return self.encoded.frequencies.codes

    # -- newcomers

    def place_newcomers(self) -> None:
        """Let the method make classes of the people whom no release showed."""
        new = self.record_of[self.known :]
        least = self.series.promise.least
        models = (*self.plan.class_models, KAnonymity(least))
        first = self.series.number == 1
        if len(new) < least and not first:
            return
        frequencies, tuples = distinct_tuples(self.encoded.frequencies, new)
        try:
            result = self.method.search(frequencies, models, self.work.watch)
        except RequirementError:
            if first:
                raise
            self.notes += ("No classes of newcomers keep the promises; they are left out of this release.",)
            return
        recoding = result.recoding
        classes = recoding.classes[tuples].astype(np.int64)
        shown = classes >= 0
        self.states[self.known :] = np.where(shown, State.SHOWN, State.ABSENT)
        self.groups[self.known :] = classes
        for j, column in enumerate(self.labels):
            self.codes[self.known :, j][shown] = column.add(recoding.labels[j], recoding.shares[j], recoding.depths[j])[
                recoding.codes[classes[shown], j]
            ]

    # -- everybody else

    def place_everybody_else(self) -> None:
        """Keep people who were shown before together, finer where that is safe, and coarser or not at all where not."""
        if not self.known:
            return
        crowds = self.crowds[: self.known]
        leavers = Leavers(self.series.promise.leavers)
        self.states[: self.known] = divide_crowds(
            crowds,
            present=self.present[: self.known],
            shown_before=self.shown_before[: self.known],
            order=self._order(),
            k=self.k,
            leavers=leavers,
        )
        # 0: classes as fine as they can be; 1: the whole part is one class; 2: nobody of the crowd is shown anew
        coarse = np.zeros(int(crowds.max()) + 1, dtype=np.int64)
        history = self._history()
        while True:
            self._label(coarse[crowds])
            broken = self._broken(history)
            raised = np.unique(crowds[np.isin(self.joint[: self.known], broken)])
            raised = raised[coarse[raised] < 2]
            if not len(raised):
                return
            coarse[raised] += 1
            back = (coarse[crowds] == 2) & (self.states[: self.known] == State.SHOWN)
            frozen = self.shown_before[: self.known] & (leavers is Leavers.FROZEN)
            self.states[: self.known][back] = np.where(frozen[back], State.FROZEN, State.ABSENT)

    def _order(self) -> Integers:
        """Return who stays back first: those whose last row fits best today, ties by a keyed hash."""
        before, stale = self.series.known_people, np.zeros(self.known, dtype=np.int64)
        here = self.present[: self.known]
        for j, column in enumerate(self.labels):
            name = VALUE + column.hierarchy.attribute
            if name not in before.column_names:
                continue
            texts = before[name].combine_chunks()
            stale[here] += ~column.covers(
                texts.filter(pa.array(here)), self.leaves[self.record_of[: self.known][here], j]
            )
        ties = np.frombuffer(b"".join(before[KEY].to_pylist()), dtype=">u8")[::2]
        order = np.empty(self.known, dtype=np.int64)
        order[np.lexsort([ties, stale])] = np.arange(self.known)
        return order

    def _label(self, coarse: Integers) -> None:
        """Give every part that is shown the lowest values that cover it, after splitting it where that is allowed."""
        shown = np.flatnonzero(self.states[: self.known] == State.SHOWN)
        leaves = self.leaves[self.record_of[shown]]
        parts = np.unique(self.crowds[shown], return_inverse=True)[1]
        hierarchies = self.encoded.hierarchies
        groups = split_classes(leaves, parts, hierarchies, least=self.series.promise.least, fixed=coarse[shown] > 0)
        levels, nodes = common_nodes(leaves, groups, hierarchies)
        self.groups[: self.known] = NOBODY
        self.groups[shown] = groups
        for j, column in enumerate(self.labels):
            self.codes[shown, j] = column.node(levels[groups, j], nodes[groups, j])
        frozen = np.flatnonzero(self.states[: self.known] == State.FROZEN)
        for j, column in enumerate(self.labels):
            name = VALUE + column.hierarchy.attribute
            texts = pa.nulls(self.known, pa.string()) if name not in self.series.known_people.column_names else None
            texts = self.series.known_people[name].combine_chunks() if texts is None else texts
            self.codes[frozen, j] = column.texts(texts.take(pa.array(frozen)))

    # -- what it comes to

    @property
    def classes(self) -> Integers:
        """The class of everybody with a row: people whose released quasi-identifiers are equal; -1 for others."""
        visible = self.states != State.ABSENT
        classes = np.full(len(self.states), NOBODY, dtype=np.int64)
        classes[visible] = tables.group(self.codes[visible].astype(np.int32))[0]
        return classes

    @property
    def joint(self) -> Integers:
        """The joint crowd of everybody after this release."""
        return joint_crowds(self.crowds, self.states, self.classes)

    @property
    def ever(self) -> Mask:
        """Who was shown in any release, this one included."""
        return np.asarray((np.arange(len(self.states)) < self.known) | (self.states != State.ABSENT))

    def _history(self) -> dict[str, list[pa.Array]]:
        """Return what earlier releases showed of the people of whom there is something to decide."""
        keys = pa.concat_arrays([self.series.known_people[KEY].combine_chunks(), self._new_keys()])
        types = {name: self.rows.schema.field(name).type for name in self.rows.column_names}
        return {name: self.series.history(keys, name, types.get(name)) for name in diversities(self.plan.class_models)}

    def _new_keys(self) -> pa.Array:
        return self.keys.take(pa.array(self.record_of[self.known :]))

    def _broken(self, history: Mapping[str, Sequence[pa.Array]]) -> Integers:
        """Return the joint crowds that would break a promise about sensitive values."""
        joint, broken = self.joint, [np.empty(0, dtype=np.int64)]
        ever = self.ever
        for name, least in diversities(self.plan.class_models).items():
            now = self.column(name).cast(pa.string())
            now = pc.if_else(pa.array(self.states == State.ABSENT), pa.scalar(None, pa.string()), pc.fill_null(now, ""))
            chunks = [*history[name], now]
            steps = joined(chunks).reshape(len(chunks), -1)
            broken.append(broken_crowds(joint[ever], [row[ever] for row in steps], least))
        return np.unique(np.concatenate(broken))

    def column(self, name: str) -> pa.Array:
        """Return the released value of a column for every person, null where no row is shown."""
        known = self.series.known_people
        kind = self.rows.schema.field(name).type
        shown = self.states == State.SHOWN
        new = self.rows[name].combine_chunks().take(pa.array(self.record_of, mask=~shown))
        frozen = self.states == State.FROZEN
        if not frozen.any() or VALUE + name not in known.column_names:
            return new
        old = known[VALUE + name].combine_chunks()
        if old.type != kind:
            raise ParameterError(
                f"column `{name}` is of another type than in the release before, whose rows are to stand again.",
                hint='give it the kind that it had, or continue with leavers = "suppressed"',
            )
        return pc.if_else(pa.array(frozen), old.take(pa.array(np.arange(len(shown)), mask=~frozen)), new)

    def suppress_broken_newcomers(self) -> None:
        """Leave out classes of newcomers that a promise about sensitive values does not allow."""
        joint = self.joint
        broken = np.isin(joint, self._broken(self._history())) & (self.crowds == NOBODY)
        self.states[broken] = State.ABSENT

    def check(self) -> None:
        """Decide the joint crowds once more, from what is about to be released."""
        joint, ever = self.joint, self.ever
        few = smallest_crowd(joint, ever) < self.k
        frozen = self.states == State.FROZEN
        wrong = (frozen & ~self.shown_before).any() or ((self.states == State.SHOWN) & ~self.present).any()
        if few or wrong or len(self._broken(self._history())):
            raise ShoalError(
                "a release was made that breaks the promise of its series; nothing was released",
                hint="this is a bug in Shoal: please report it",
            )
