"""Releases that continue a series: what they show, what they refuse, and what is recorded."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.reference import series as reference
from tests.reference.series import ABSENT, FROZEN, Cell, World
from tests.unit.series.conftest import ILLNESS, SCHEMA, Person, crowd_of, table_of
from tests.unit.series.conftest import KEY as KEY_COLUMN

import shoal
from shoal.errors import DataError, ParameterError, PlanError, RequirementError
from shoal.series import KEY as HASH
from shoal.series import STATE, State
from shoal.series._folder import SeriesFolder

SPECIALIZE = shoal.methods.Specialize(suppression_limit=1)


def _release(study: shoal.Series, people: dict[str, Person], folder: Path, k: int = 2, **more: object) -> shoal.Release:
    release = shoal.anonymize(table_of(people), k=k, series=study, method=SPECIALIZE, **more)  # type: ignore[arg-type]
    release.write(folder)
    assert shoal.verify(folder).passed
    return release


def _passed(study: shoal.Series) -> bool:
    return all(check.passed for check in study.check())


def test_old_people_keep_their_classes_and_newcomers_form_their_own(study: shoal.Series, tmp_path: Path) -> None:
    first = _release(study, crowd_of(20), tmp_path / "r1", k=3)
    second = _release(study, crowd_of(27), tmp_path / "r2", k=3)
    before, after = (pq.read_table(tmp_path / name / "data.parquet").to_pylist() for name in ("r1", "r2"))
    assert all(before.count(row) <= after.count(row) for row in before)
    assert [entry.newcomers for entry in study.entries] == [20, 7]
    assert first.records == 20
    assert second.records == 27
    assert _passed(study)


@pytest.mark.parametrize("leavers", ["frozen", "suppressed"])
def test_the_definition_holds_for_releases_of_the_product(leavers: str, tmp_path: Path) -> None:
    draws = random.Random(leavers)
    for number in range(6):
        world = World.drawn(draws, 6, 3)
        study = shoal.Series.create(tmp_path / f"study{number}", key="id")
        shown: list[list[Cell]] = [[] for _ in world.values]
        versions: list[int] = []
        for i in range(3):
            people = {f"p{p}": (20 * row[i], "F", "flu") for p, row in enumerate(world.values) if row[i] is not None}
            models = (shoal.KAnonymity(2), shoal.series.SeriesKAnonymity(2, leavers))
            before = len(study.entries)
            try:
                plan = shoal.Plan(schema=SCHEMA, models=models, method=SPECIALIZE)
                plan.run(table_of(people), series=study).write(tmp_path / f"r{number}-{i}")
            except (RequirementError, DataError, ParameterError):
                assert len(study.entries) == before
                continue
            versions.append(i)
            _show(study, shown)
        seen = World(tuple(tuple(row[i] for i in versions) for row in world.values), world.secrets)
        assert not versions or reference.fewest_owners(seen, shown) >= 2
        assert _passed(study)


def test_no_secret_is_certain_for_whoever_links_all_releases(tmp_path: Path) -> None:
    draws = random.Random(20)
    shown_at_all = 0
    for number in range(6):
        world = World.drawn(draws, 6, 3)
        study = shoal.Series.create(tmp_path / f"study{number}", key="id")
        shown: list[list[Cell]] = [[] for _ in world.values]
        versions: list[int] = []
        for i in range(3):
            people = {
                f"p{p}": (20 * value, "F", world.secrets[p][i])
                for p, row in enumerate(world.values)
                if (value := row[i]) is not None
            }
            try:
                release = shoal.anonymize(table_of(people), k=2, l={"illness": 2}, series=study, method=SPECIALIZE)
            except (RequirementError, DataError, ParameterError):
                continue
            release.write(tmp_path / f"r{number}-{i}")
            versions.append(i)
            _show(study, shown)
        if not versions:
            continue
        seen = World(
            values=tuple(tuple(row[i] for i in versions) for row in world.values),
            secrets=tuple(tuple(row[i] for i in versions) for row in world.secrets),
        )
        assert reference.certain_secrets(seen, shown) == 0
        assert reference.fewest_owners(seen, shown) >= 2
        assert _passed(study)
        shown_at_all += len(versions)
    assert shown_at_all > 6


def _show(study: shoal.Series, shown: list[list[Cell]]) -> None:
    folder = SeriesFolder.open(study.folder)
    rows = folder.rows(len(folder.entries))
    hashed = _hashes(folder, [f"p{p}" for p in range(len(shown))])
    states = dict(
        zip(rows[HASH].to_pylist(), zip(rows[STATE].to_pylist(), rows["v:age"].to_pylist(), strict=True), strict=True)
    )
    for p, row in enumerate(shown):
        state, label = states.get(hashed[p], (State.ABSENT, None))
        row.append(_cell(label) if state == State.SHOWN else FROZEN if state == State.FROZEN else ABSENT)


def _hashes(folder: SeriesFolder, keys: list[str]) -> list[bytes]:
    return [hashlib.blake2b(key.encode(), digest_size=16, key=folder.secret).digest() for key in keys]


def _cell(label: str) -> Cell:
    """Return which of the ages 0, 20, 40, 60 a label covers."""
    if label == "*":
        return frozenset(range(4))
    low, high = (int(part) for part in label.strip("[)").split(", ")) if "," in label else (int(label), int(label) + 1)
    return frozenset(value for value in range(4) if low <= 20 * value < high)


def test_leavers_rows_stand_again_with_enough_others(study: shoal.Series, tmp_path: Path) -> None:
    _release(study, crowd_of(30), tmp_path / "r1", k=3)
    stayers = {key: person for key, person in crowd_of(30).items() if key not in ("p1", "p8")}
    release = _release(study, stayers, tmp_path / "r2", k=3)
    entry = study.entries[-1]
    assert entry.leavers == 2
    assert entry.frozen >= 3
    assert release.records == 30
    assert _passed(study)


def test_larger_classes_leave_fewer_stale(tmp_path: Path) -> None:
    stale = []
    for size in (2, 10):
        study = shoal.Series.create(tmp_path / f"study{size}", key="id")
        for i, gone in enumerate((set[str](), {"p5", "p25", "p45"})):
            people = {key: person for key, person in crowd_of(60).items() if key not in gone}
            plan = shoal.Plan(
                schema=SCHEMA,
                models=(shoal.KAnonymity(2), shoal.series.SeriesKAnonymity(2, class_size=size)),
                method=SPECIALIZE,
            )
            plan.run(table_of(people), series=study).write(tmp_path / f"r{size}-{i}")
        stale.append(study.entries[-1].frozen)
    assert stale[1] <= stale[0]


def test_a_value_that_moves_from_one_to_the_other_is_not_shown(tmp_path: Path) -> None:
    """Each cell is diverse, and both had it: the chains flu, gout and gout, flu."""
    study = shoal.Series.create(tmp_path / "study", key="id")
    versions: list[dict[str, Person]] = [
        {"a": (30, "F", "flu"), "b": (30, "F", "gout")},
        {"a": (30, "F", "gout"), "b": (30, "F", "flu")},
    ]
    for i, people in enumerate(versions):
        release = shoal.anonymize(table_of(people), k=2, l={"illness": 2}, series=study, method=SPECIALIZE)
        release.write(tmp_path / f"r{i}")
    entry = study.entries[-1]
    assert (entry.frozen, entry.continued) == (2, 0)
    assert _passed(study)


def test_a_role_that_changed_is_refused(study: shoal.Series, tmp_path: Path) -> None:
    _release(study, crowd_of(10), tmp_path / "r1")
    sex = shoal.Attribute(name="sex", role=shoal.Role.INSENSITIVE)
    changed = shoal.Schema(attributes=(KEY_COLUMN, SCHEMA["age"], sex, ILLNESS))
    with pytest.raises(PlanError, match="`sex` is a quasi-identifier in one release"):
        shoal.anonymize(table_of(crowd_of(12), changed), k=2, series=study)


def test_promises_of_a_series_cannot_change(study: shoal.Series, tmp_path: Path) -> None:
    _release(study, crowd_of(10), tmp_path / "r1", k=3)
    with pytest.raises(PlanError, match="k cannot change"):
        shoal.anonymize(table_of(crowd_of(12)), k=2, series=study)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (shoal.TCloseness("illness", 0.3), "cannot keep `t-closeness`"),
        (shoal.models.EntropyLDiversity("illness", 2), "cannot keep `entropy-l-diversity`"),
    ],
)
def test_models_that_no_series_can_keep_are_refused_by_name(
    study: shoal.Series, model: shoal.KAnonymity, match: str
) -> None:
    with pytest.raises(PlanError, match=match):
        shoal.anonymize(table_of(crowd_of(10)), shoal.KAnonymity(2), model, series=study)


def test_methods_without_classes_are_refused_by_name(study: shoal.Series) -> None:
    with pytest.raises(ParameterError, match="method `mdav` cannot continue a series"):
        shoal.anonymize(table_of(crowd_of(10)), k=2, series=study, method=shoal.methods.Mdav())


def test_keys_must_say_who_somebody_is(study: shoal.Series) -> None:
    rows = table_of(crowd_of(10)).to_arrow()
    twice = shoal.read(pa.concat_tables([rows, rows.slice(0, 1)]), schema=SCHEMA)
    with pytest.raises(DataError, match="one record of every person"):
        shoal.anonymize(twice, k=2, series=study)


def test_records_are_not_counted_as_people_where_a_column_says_whose_they_are(study: shoal.Series) -> None:
    who = shoal.Attribute(name="who", role=shoal.Role.PERSON)
    schema = shoal.Schema(attributes=(KEY_COLUMN, who, *SCHEMA.attributes[1:]))
    rows = table_of(crowd_of(12)).to_arrow().append_column("who", pa.array([f"w{i // 3}" for i in range(12)]))
    with pytest.raises(PlanError, match="`who` says whose records these are"):
        shoal.anonymize(shoal.read(rows, schema=schema), k=3, series=study, method=SPECIALIZE)


def test_the_k_of_a_series_holds_for_classes_without_a_k_of_their_own(study: shoal.Series, tmp_path: Path) -> None:
    models = (shoal.DistinctLDiversity("illness", 2), shoal.series.SeriesKAnonymity(5))
    plan = shoal.Plan(schema=SCHEMA, models=models, method=SPECIALIZE)
    plan.run(table_of(crowd_of(20)), series=study).write(tmp_path / "r1")
    assert _passed(study)


def test_keys_that_are_written_otherwise_are_noticed(study: shoal.Series, tmp_path: Path) -> None:
    _release(study, crowd_of(10), tmp_path / "r1")
    renamed = {f"P0{key[1:]}": person for key, person in crowd_of(10).items()}
    with pytest.raises(DataError, match="nobody whom the series has shown"):
        shoal.anonymize(table_of(renamed), k=2, series=study, method=SPECIALIZE)


def test_a_series_does_not_change_the_method() -> None:
    with_series = shoal.methods.default([shoal.KAnonymity(5), shoal.series.SeriesKAnonymity(5)])
    assert with_series == shoal.methods.default([shoal.KAnonymity(5)])


def test_a_plan_that_promises_a_series_needs_one() -> None:
    plan = shoal.Plan(schema=SCHEMA, models=(shoal.KAnonymity(2), shoal.series.SeriesKAnonymity(2)))
    assert shoal.Plan.loads(plan.dumps()) == plan
    with pytest.raises(ParameterError, match="no series was given"):
        plan.run(table_of(crowd_of(10)))
