"""The rehearsal of a release: the best of several intruders, judged on classes that he did not learn from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, MissingExtraError, ParameterError
from shoal.rehearsal._aspects import Aspects
from shoal.rehearsal._nearest import nearest_signals
from shoal.rehearsal._signals import BothSides, Signal, exact_signals, learned_signals
from shoal.rehearsal._trial import (
    LEVEL,
    Exposure,
    Fold,
    Picks,
    StatedRisk,
    decide,
    exposures,
    p_value,
)
from shoal.relations import view_columns

Array = np.ndarray

#: targets, and targets times columns: the work is the same on every machine
_TARGETS, _CELLS = 6_000, 90_000
#: records of a class that are looked at
_WIDEST = 200
_SEED = 32
#: the kinds of rehearsals: formulas and nearest values; gradient boosting, too
REHEARSALS = ("exact", "learned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What the rehearsal of a release found.

    Parameters
    ----------
    kind
        ``exact`` (formulas and maps) or ``learned`` (these and gradient boosting).
    risk
        The highest risk that the promise states, 1/k; None where no promise states one.
    is_mean
        Whether the promise states the mean of the risks alone.
    targets, classes
        The people whom the intruder looked for, and their classes.
    chance
        The success of somebody who picks a row of the class blindly.
    exposures
        The best of the intruders for each share of the targets.
    p_value
        How likely permuted rows would do as well, in some fold, at some slice; None where no success surely exceeds
        what the promise allows, so that it was not asked.
    hollow
        Whether the release must not leave: the promise is true and does not protect.
    culprits
        The fewest columns without which it may, those that give away most first.
    accepted
        Columns that the publisher releases all the same; they are not counted when it is decided whether to block.
    one_secret
        A column released as it is, and the success of somebody who knows it besides the quasi-identifiers.
    singled_out
        The share of records that no other record equals in the columns released as they are.
    """

    kind: str
    risk: float | None
    targets: int
    classes: int
    chance: float
    exposures: tuple[Exposure, ...]
    p_value: float | None
    hollow: bool
    culprits: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    one_secret: tuple[str, float] | None = None
    singled_out: float = 0.0
    is_mean: bool = False

    @property
    def success(self) -> float:
        """How often the best intruder picks the right record, over all targets."""
        return max(
            (each.success for each in self.exposures if each.slice == 1.0),
            default=self.chance,
        )


@dataclass(slots=True, eq=False)
class _Attempt:
    """What the signals learnt in the other fold say of the pairs of a fold."""

    fold: Fold
    contents: Array
    mask: Array
    scores: dict[tuple[object, ...], tuple[Signal, Array]]
    picks: dict[tuple[object, ...], list[Picks]] = field(default_factory=dict)

    def decide(self, columns: Collection[str]) -> dict[tuple[object, ...], list[Picks]]:
        """Return the picks of the intruders who look at nothing but some columns, alone and together."""
        usable = {key: entry for key, entry in self.scores.items() if set(entry[0].columns) <= set(columns)}
        for key, (signal, scores) in usable.items():
            if key not in self.picks:
                self.picks[key] = decide(self.fold, scores, self.contents, signal.columns)
        chosen = {key: self.picks[key] for key in usable}
        if len(usable) > 1:
            together = np.where(
                self.mask,
                sum(np.where(self.mask, s, 0) for _, s in usable.values()),
                -np.inf,
            )
            names = tuple(dict.fromkeys(name for signal, _ in usable.values() for name in signal.columns))
            chosen["together",] = decide(self.fold, together, self.contents, names)
        return chosen


def rehearsal_kind() -> str:
    """Return the strongest kind of rehearsal that is installed: ``learned`` with scikit-learn, else ``exact``."""
    return "learned" if find_spec("sklearn") is not None else "exact"


def rehearse(
    known: pa.Table,
    released: pa.Table,
    classes: Array,
    *,
    risk: float | None,
    is_mean: bool = False,
    kind: str = "exact",
    accepted: Sequence[str] = (),
    persons: Array | None = None,
    tests: int = 1,
    always_test: bool = False,
) -> Rehearsal | None:
    """Attack a release as somebody would who knows the exact quasi-identifiers of everybody in the table.

    Parameters
    ----------
    known
        The quasi-identifiers of every record, as they were.
    released
        The other released columns; row i is that of the same record.
    classes
        The class of every record; -1 where it was left out.
    risk
        The highest risk of re-identification that the promise states, 1/k; None if it states none.
    is_mean
        Whether the promise states the mean of the risks, and nothing of the people at the highest one.
    kind
        ``exact`` or ``learned``.
    accepted
        Columns that do not count when it is decided whether the release is hollow.
    persons
        A number for each record, the same for those of one person: of the records of a person in a class, one that is
        drawn at random is a target. None where every record is a person of its own.
    tests
        How many rehearsals decide on one release, each with columns and classes of its own.
    always_test
        Whether the permutation test is made although no success surely exceeds what the promise allows.

    Returns
    -------
    Rehearsal or None
        None where there is nothing to attack: no column, or too few classes.

    Notes
    -----
    Draws are fixed. Folds are whole classes; relations and models are learnt in one and judged in the other. See
    ``docs/explanation/rehearsal.md``.
    """
    if kind not in REHEARSALS:
        raise ParameterError(f"`kind` of a rehearsal must be `exact` or `learned`; got `{kind}`.")
    if kind == "learned" and rehearsal_kind() != "learned":
        raise MissingExtraError("scikit-learn", extra="learn")
    absent = [name for name in accepted if name not in released.column_names]
    if absent:
        raise DataError(f"`{absent[0]}` is no column that is released as it is, so there is nothing to accept.")
    if not released.num_columns or not known.num_columns:
        return None
    if persons is not None:
        classes = _one_of_each_person(classes, persons)
    rows, numbers = _sample(classes, released.num_columns + known.num_columns, risk)
    if len(np.unique(numbers)) < 8 or len(rows) < 40:
        return None
    records = pa.array(rows)
    known, released = known.take(records), released.take(records)
    knowledge = BothSides(
        known={view.name: view for view in view_columns(known)},
        released={view.name: view for view in view_columns(released) if view.size > 1},
    )
    taken = frozenset((*known.column_names, *released.column_names))
    aspects = Aspects.of(released, knowledge.released, taken)
    folds = _fold(numbers)
    attempts = [
        _attempt(
            knowledge,
            aspects,
            known,
            released,
            folds[at],
            numbers,
            np.concatenate(folds[1 - at]),
            kind,
            seed=_SEED + at,
            tests=tests,
        )
        for at in (0, 1)
    ]
    names = list(knowledge.released)
    judged = [name for name in names if name not in accepted]
    allowed = StatedRisk(risk, is_mean)
    everything = _judge(attempts, names, allowed, always_test=always_test)
    counted = everything if judged == names else _judge(attempts, judged, allowed)
    rehearsal = Rehearsal(
        kind=kind,
        risk=risk,
        targets=len(rows),
        classes=len(np.unique(numbers)),
        chance=float(np.mean(1 / np.bincount(numbers)[numbers])),
        exposures=everything.best(),
        p_value=everything.p_value,
        hollow=counted.blocks,
        accepted=tuple(accepted),
        one_secret=_one_secret(knowledge, numbers),
        singled_out=_singled_out(knowledge),
        is_mean=is_mean,
    )
    return replace(rehearsal, culprits=_culprits(attempts, judged, allowed, counted)) if counted.blocks else rehearsal


def combine_rehearsals(found: Sequence[Rehearsal]) -> Rehearsal | None:
    """Return what several rehearsals of one release say together: the one in which the intruder is right most often.

    The release is hollow if one of them is, and its culprits are those of all.
    """
    if not found:
        return None
    worst = max(found, key=lambda each: (each.hollow, each.success))
    return replace(
        worst,
        culprits=tuple(dict.fromkeys(name for each in found for name in each.culprits)),
        accepted=tuple(dict.fromkeys(name for each in found for name in each.accepted)),
        one_secret=max((each.one_secret for each in found if each.one_secret), key=lambda pair: pair[1], default=None),
        singled_out=max(each.singled_out for each in found),
    )


@dataclass(frozen=True, slots=True)
class _Judgement:
    p_value: float | None
    exposures: list[Exposure]

    @property
    def blocks(self) -> bool:
        return self.p_value is not None and self.p_value <= LEVEL and any(each.exceeds for each in self.exposures)

    def best(self) -> tuple[Exposure, ...]:
        """Return the exposure of each slice in which the intruder is right most often."""
        best: dict[float, Exposure] = {}
        for each in self.exposures:
            if each.slice not in best or each.success > best[each.slice].success:
                best[each.slice] = each
        return tuple(best[part] for part in sorted(best))


def _judge(
    attempts: Sequence[_Attempt], columns: Collection[str], risk: StatedRisk, *, always_test: bool = False
) -> _Judgement:
    """Return how exposed the targets of both folds are and, where that is too much, the level of the test."""
    decided = [attempt.decide(columns) for attempt in attempts]
    found: list[Exposure] = []
    for key in dict.fromkeys(key for chosen in decided for key in chosen):
        having = [at for at, chosen in enumerate(decided) if key in chosen]
        for number in range(2):
            alike = [[decided[at][key][number]] for at in having]
            found += exposures([attempts[at].fold for at in having], alike, risk)
    if not always_test and not any(each.exceeds for each in found):
        return _Judgement(None, found)
    levels = [
        p_value(attempt.fold, [pick for picks in chosen.values() for pick in picks])
        for attempt, chosen in zip(attempts, decided, strict=True)
    ]
    return _Judgement(min(1.0, 2 * attempts[0].fold.tests * min(levels)), found)


def _culprits(
    attempts: Sequence[_Attempt],
    columns: Sequence[str],
    risk: StatedRisk,
    judged: _Judgement,
) -> tuple[str, ...]:
    """Return the fewest columns without which the release is no longer hollow, found greedily."""
    left, removed = list(columns), list[str]()
    while judged.blocks and left:
        strongest = _strongest(judged.exposures, left)
        left.remove(strongest)
        removed.append(strongest)
        judged = _judge(attempts, left, risk)
    for name in list(removed[:-1]):
        others = [each for each in columns if each not in removed or each == name]
        if not _judge(attempts, others, risk).blocks:
            removed.remove(name)
    return tuple(removed)


def _strongest(found: Iterable[Exposure], columns: Sequence[str]) -> str:
    """Return the column that gives away most by itself, or in a formula with others."""
    power = dict.fromkeys(columns, 0.0)
    for each in found:
        if len(each.columns) <= 3:
            for name in each.columns:
                power[name] = max(power[name], each.lower / len(each.columns))
    return max(columns, key=lambda name: (power[name], name))


def _one_of_each_person(classes: Array, persons: Array) -> Array:
    """Return the classes with -1 for all but one record of a person in a class."""
    order = np.random.default_rng(_SEED).permutation(len(classes))
    _, first = np.unique(np.stack([classes[order], persons[order]]), axis=1, return_index=True)
    chosen = np.full(len(classes), -1, dtype=np.int64)
    chosen[order[first]] = classes[order[first]]
    return chosen


def sample_classes(classes: Array, number: int) -> Array:
    """Return the records of whole classes, by fixed draws until there are ``number`` of them; -1 is no class."""
    rows = np.flatnonzero(classes >= 0)
    if len(rows) <= number:
        return rows
    names, sizes = np.unique(classes[rows], return_counts=True)
    order = np.random.default_rng(_SEED).permutation(len(names))
    chosen = names[order[: int(np.searchsorted(np.cumsum(sizes[order]), number)) + 1]]
    return np.flatnonzero(np.isin(classes, chosen))


def _sample(classes: Array, columns: int, risk: float | None) -> tuple[Array, Array]:
    """Return the records of whole classes, drawn until there are enough targets, and the numbers of their classes."""
    draws = np.random.default_rng(_SEED)
    rows = np.flatnonzero(classes >= 0)
    if not len(rows):
        return rows, rows
    rows = rows[np.argsort(classes[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(classes[rows], prepend=-1))
    groups = np.split(rows, starts[1:])
    widest = _WIDEST if not risk else int(max(_WIDEST, min(4 / risk, 10 * _WIDEST)))
    most = max(min(_TARGETS, _CELLS // columns), 1_500)
    chosen: list[Array] = []
    taken = 0
    for at in draws.permutation(len(groups)):
        members = groups[at]
        if len(members) > widest:
            members = draws.choice(members, widest, replace=False)
        chosen.append(members)
        taken += len(members)
        if taken >= most:
            break
    numbers = np.repeat(np.arange(len(chosen)), [len(members) for members in chosen])
    return np.concatenate(chosen), numbers


def _fold(numbers: Array) -> list[list[Array]]:
    """Return the positions of the records of every class, in two folds of whole classes."""
    groups = np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers)) + 1)
    folds: list[list[Array]] = [[], []]
    sizes = [0, 0]
    for group in groups:
        at = int(sizes[1] < sizes[0])
        folds[at].append(group)
        sizes[at] += len(group)
    return folds


def _attempt(
    knowledge: BothSides,
    aspects: Aspects,
    known: pa.Table,
    released: pa.Table,
    members: list[Array],
    numbers: Array,
    train: Array,
    kind: str,
    *,
    seed: int,
    tests: int,
) -> _Attempt:
    """Learn from one fold and score all pairs of a person and a row of the same class in the other."""
    train = np.random.default_rng(seed).permutation(train)
    together = pa.table(
        [*known.columns, *released.columns],
        names=[*known.column_names, *released.column_names],
    )
    signals: list[Signal] = exact_signals(knowledge, together, train)
    signals += nearest_signals(knowledge.known, knowledge.released, numbers, train)
    if kind == "learned":
        signals += learned_signals(knowledge, train)
    values = len(signals)
    signals += aspects.signals(knowledge, known, train, kind)
    fold = Fold(members, seed, tests)
    people = fold.targets
    shown = np.full((len(people), fold.widest), -1)
    for number, group in enumerate(members):
        at = np.flatnonzero(fold.classes == number)
        row = np.full(fold.widest, -1)
        row[fold.positions[at]] = group
        shown[at] = row
    mask = shown >= 0
    people_of, rows_of = (
        np.broadcast_to(people[:, None], shown.shape)[mask],
        shown[mask],
    )
    scores: dict[tuple[object, ...], tuple[Signal, Array]] = {}
    for place, signal in enumerate(signals):
        matrix = np.full(shown.shape, -np.inf)
        matrix[mask] = signal.scores(people_of, rows_of)
        inputs = getattr(signal, "names", (getattr(signal, "source", ""), getattr(signal, "target", "")))
        scores[type(signal).__name__, signal.columns, inputs, place >= values] = (signal, matrix)
    contents = np.where(mask, _contents(knowledge)[shown], -1)
    return _Attempt(fold, contents, mask, scores)


def _contents(knowledge: BothSides) -> Array:
    """Return a number for each record, equal where all released columns are."""
    views = knowledge.released.values()
    if not views:  # all of them say the same everywhere
        return np.zeros(len(next(iter(knowledge.known.values())).codes), dtype=np.int64)
    codes = np.stack([view.codes for view in views], axis=1)
    return np.asarray(np.unique(codes, axis=0, return_inverse=True)[1].ravel())


def _one_secret(knowledge: BothSides, numbers: Array) -> tuple[str, float] | None:
    """Return the released column that tells most if somebody knows it besides the class: mean of one over the rows."""
    successes: Mapping[str, float] = {
        name: float(np.mean(1 / _sizes(numbers, view.codes))) for name, view in knowledge.released.items()
    }
    return max(successes.items(), key=lambda entry: entry[1]) if successes else None


def _sizes(numbers: Array, codes: Array) -> Array:
    keys = numbers.astype(np.int64) * (int(codes.max()) + 2) + codes + 1
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse])


def _singled_out(knowledge: BothSides) -> float:
    contents = _contents(knowledge)
    return float(np.mean(np.bincount(contents)[contents] == 1))
