"""All releases of a series checked together, from what its folder holds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shoal.errors import ShoalError, counted
from shoal.guarantees import CERTIFICATE, Check, Decision, load, run_check
from shoal.kernels import Integers
from shoal.schema import Role
from shoal.series._crowds import State
from shoal.series._folder import RELEASE, SeriesFolder
from shoal.series._people import HASH, KEY, STATE, VALUE
from shoal.series._secrets import broken_crowds
from shoal.series._steps import Continued
from shoal.writing import digest


def check_entries(folder: SeriesFolder) -> list[Check]:
    """Return the checks of all releases, and of all of them together.

    Nothing that the folder says of crowds is used: sequences of rows are put together from what was released.
    """
    checks = []
    for entry in folder.entries:
        checks.append(run_check(f"release {entry.number}, files", lambda n=entry.number: _files(folder, n)))  # type: ignore[misc]
        checks.append(run_check(f"release {entry.number}, rows", lambda n=entry.number: _rows(folder, n)))  # type: ignore[misc]
    if folder.entries:
        checks.append(run_check("frozen rows", lambda: _frozen(folder)))
        checks.append(run_check("joint crowds", lambda: _crowds(folder)))
        for name, least in _diversities(folder).items():
            checks.append(run_check(f"values of `{name}`", lambda n=name, v=least: _values(folder, n, v)))  # type: ignore[misc]
    return checks


def _files(folder: SeriesFolder, number: int) -> Decision:
    """Compare the copy of a release with its fingerprints."""
    place = folder.entry_folder(number) / RELEASE
    if not place.is_dir() or digest(place / CERTIFICATE)[0] != folder.entries[number - 1].certificate:
        return False, "the certificate is not the one that was recorded"
    certificate = load(place / CERTIFICATE)
    changed = [file.name for file in certificate.files if digest(place / file.name) != (file.sha256, file.bytes)]
    steps = [step for step in certificate.steps if step.get("step") == Continued.name]
    if changed or len(steps) != 1:
        return False, "its files are not those that its certificate names"
    chained = steps[0].get("release") == number and steps[0].get("after") == folder.entries[number - 1].after
    return chained, "as recorded, and follows the release before" if chained else "it names another release before it"


def _rows(folder: SeriesFolder, number: int) -> Decision:
    """Compare the rows that are kept with those of the released file."""
    rows = _visible(folder.rows(number))
    released = pq.read_table(folder.entry_folder(number) / RELEASE / "data.parquet")
    names = released.column_names
    kept = rows.select([VALUE + name for name in names]).rename_columns(names)
    same = _tally(kept) == _tally(released)
    return same, f"{released.num_rows:,}, as released" if same else "the rows that are kept are not those released"


def _frozen(folder: SeriesFolder) -> Decision:
    """Compare every frozen row with that of the same person in the release before."""
    number = 0
    for entry in folder.entries[1:]:
        now, before = folder.rows(entry.number), _visible(folder.rows(entry.number - 1))
        frozen = now.filter(pc.equal(now[STATE], int(State.FROZEN)))
        positions = pc.index_in(frozen[KEY], value_set=before[KEY].combine_chunks())
        if positions.null_count:
            return False, f"release {entry.number} has a frozen row of somebody without a row in the release before"
        common = [name for name in now.column_names if name.startswith(VALUE) and name in before.column_names]
        old = before.take(positions)
        if any(frozen[name].to_pylist() != old[name].cast(frozen[name].type).to_pylist() for name in common):
            return False, f"a frozen row of release {entry.number} is not that of the release before"
        number += len(frozen)
    return True, f"{counted(number, 'row')}, each as in the release before"


def _crowds(folder: SeriesFolder) -> Decision:
    """Count the people with each sequence of rows."""
    _, joint = _sequences(folder)
    least = folder.entries[0].k
    sizes = np.bincount(joint)
    smallest = int(sizes.min())
    if smallest < least:
        few = int((sizes[joint] < least).sum())
        return False, f"{few:,} of {len(joint):,} people are in joint crowds below {least}"
    return (
        True,
        f"{len(sizes):,} of {len(joint):,} people; the smallest has {smallest:,}, at least {least} are promised",
    )


def _values(folder: SeriesFolder, name: str, least: int) -> Decision:
    """Count the values of a sensitive column in every joint crowd."""
    keys, joint = _sequences(folder)
    chunks = []
    for entry in folder.entries:
        rows = _visible(folder.rows(entry.number))
        if VALUE + name in rows.column_names:
            texts = pc.fill_null(rows[VALUE + name].cast(pa.string()), "").combine_chunks()
            chunks.append(texts.take(pc.index_in(keys, value_set=rows[KEY].combine_chunks())))
    numbers: dict[str | None, int] = {None: -1}
    history = [np.array([numbers.setdefault(text, len(numbers)) for text in chunk.to_pylist()]) for chunk in chunks]
    broken = broken_crowds(joint, history, least)
    if len(broken):
        return False, f"{counted(len(broken), 'joint crowd')} show fewer than {least} values, in a release or linked"
    return True, f"at least {least} in every joint crowd and release, and along linked rows"


def _sequences(folder: SeriesFolder) -> tuple[pa.Array, Integers]:
    """Return everybody who was ever shown, and one number for every sequence of states."""
    sequences: dict[bytes, list[int]] = {}
    absent = -1 - int(State.ABSENT)
    for position, entry in enumerate(folder.entries):
        rows = folder.rows(entry.number)
        known = [name for name, role in entry.roles.items() if Role(role).known_elsewhere]
        codes = _class_numbers(rows, [VALUE + name for name in known])
        for key, state, code in zip(rows[KEY].to_pylist(), rows[STATE].to_pylist(), codes, strict=True):
            sequence = sequences.setdefault(key, [absent] * position)
            sequence.append(code if state == State.SHOWN else -1 - state)
    if any(len(sequence) != len(folder.entries) for sequence in sequences.values()):
        raise ShoalError("a release of the series folder lacks people of earlier ones")
    numbers: dict[tuple[int, ...], int] = {}
    joint = [numbers.setdefault(tuple(sequence), len(numbers)) for sequence in sequences.values()]
    return pa.array(list(sequences), pa.binary(HASH)), np.array(joint, dtype=np.int64)


def _class_numbers(rows: pa.Table, names: list[str]) -> list[int]:
    numbers: dict[tuple[object, ...], int] = {}
    columns = [rows[name].to_pylist() for name in names]
    return [numbers.setdefault(row, len(numbers)) for row in zip(*columns, strict=True)]


def _visible(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.not_equal(rows[STATE], int(State.ABSENT)))


def _tally(rows: pa.Table) -> list[dict[str, object]]:
    counts = rows.group_by(rows.column_names).aggregate([([], "count_all")])
    rows_in_order: list[dict[str, object]] = counts.sort_by(
        [(name, "ascending") for name in counts.column_names]
    ).to_pylist()
    return rows_in_order


def _diversities(folder: SeriesFolder) -> dict[str, int]:
    """Return how many values of which columns the series promises, as its entries say."""
    wanted: dict[str, int] = {}
    for model in folder.entries[0].models:
        least = int(str(model.get("l", model.get("p", 1))))
        named = model.get("attribute", model.get("attributes", ()))
        for name in (named,) if isinstance(named, str) else tuple(named):  # type: ignore[arg-type]
            wanted[str(name)] = max(least, wanted.get(str(name), 1))
    return wanted
