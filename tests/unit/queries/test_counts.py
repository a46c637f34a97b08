"""Counts over time: what a person can change against every pattern of changes, enforced changes, and who pays."""

from __future__ import annotations

import itertools
import stat
from fractions import Fraction
from pathlib import Path
from shutil import copytree, rmtree

import pyarrow as pa
import pytest

import shoal
from shoal.errors import AccountSpent, DataError, ParameterError, SchemaError
from shoal.mechanisms import SeededSource
from shoal.queries import CountsOverTime
from shoal.queries._dyadic import most_nodes, nodes_ending, nodes_up_to, periods_of
from shoal.queries.ledger import Ledger
from shoal.schema import Attribute, Domain, Role, Schema, dumps

WARD = Attribute(name="ward", role=Role.QUASI_IDENTIFIER, domain=Domain(values=("A", "B")))
WHO = Attribute(name="who", role=Role.PERSON)
IN_A = {"in A": "ward = 'A'"}


def table(**wards: str) -> pa.Table:
    return pa.table({"who": list(wards), "ward": list(wards.values())})


def opened(folder: Path, *, persons: bool = True, measure: str = "epsilon", budget: int = 10**6) -> shoal.Account:
    schema = Schema(attributes=(WHO, WARD) if persons else (WARD,))
    (folder / "schema.toml").write_text(dumps(schema))
    first = table(a="A") if persons else table(a="A").select(["ward"])
    delta = 0 if measure == "epsilon" else "1e-6"
    return shoal.Account.create(
        folder / "account",
        shoal.read(first, schema=schema),
        epsilon=budget,
        delta=delta,
        measure=measure,  # type: ignore[arg-type]
    )


def counts(folder: Path, account: shoal.Account, name: str = "counts", **options: object) -> CountsOverTime:
    given: dict[str, object] = {"where": IN_A, "periods": 8, "changes": 1, "epsilon": 1000, **options}
    schema = shoal.Schema.load(folder / "schema.toml")
    rows = table(a="A") if "who" in schema else table(a="A").select(["ward"])
    return CountsOverTime.create(
        folder / name,
        shoal.read(rows, schema=schema),
        account=account,
        schema=folder / "schema.toml",
        **given,  # type: ignore[arg-type]
    )


def changed_nodes(pattern: tuple[int, ...]) -> int:
    """Return, from the definition, the L1 distance that a person makes who is counted in these periods."""
    before = (0, *pattern[:-1])
    steps = [now - last for now, last in zip(pattern, before, strict=True)]
    nodes = {node for period in range(1, len(pattern) + 1) for node in nodes_ending(period)}
    return sum(abs(sum(steps[period - 1] for period in periods_of(node))) for node in nodes)


@pytest.mark.parametrize("periods", [1, 2, 3, 5, 6, 8, 11])
def test_no_person_changes_more_sums_than_are_paid_for(periods: int) -> None:
    worst = [0] * (periods + 1)
    for pattern in itertools.product((0, 1), repeat=periods):
        changes = sum(now != last for now, last in zip(pattern, (0, *pattern), strict=False))
        worst[changes] = max(worst[changes], changed_nodes(pattern))
    for most in range(1, periods + 1):
        assert most_nodes(periods, most) == max(worst[: most + 1])


def test_one_change_costs_4_and_a_person_who_alternates_10() -> None:
    assert most_nodes(8, 1) == changed_nodes((1,) * 8) == 4
    assert most_nodes(8, 8) == changed_nodes((0, 1, 0, 1, 0, 1, 0, 1)) == 10


@pytest.mark.parametrize("period", range(1, 40))
def test_the_nodes_of_a_period_are_all_periods_up_to_it_once(period: int) -> None:
    assert sorted(each for node in nodes_up_to(period) for each in periods_of(node)) == [*range(1, period + 1)]
    assert all(periods_of(node)[-1] == period for node in nodes_ending(period))


def test_counts_follow_the_table_without_noise_to_speak_of(tmp_path: Path) -> None:
    made = counts(tmp_path, opened(tmp_path), changes=8, where={**IN_A, "all": None})
    states = [table(a="A", b="B"), table(a="A", b="A"), table(b="A"), table(a="B", b="B", c="A"), table(d="A")]
    assert [made.publish(shoal.read(each)) for each in states] == [1, 2, 3, 4, 5]
    found = CountsOverTime.open(tmp_path / "counts").published()
    assert [each.count for each in found if each.name == "in A"] == [1, 2, 1, 1, 1]
    assert [each.count for each in found if each.name == "all"] == [2, 2, 1, 3, 1]
    assert {each.margin for each in found} == {0}


def test_who_has_changed_as_often_as_is_paid_for_stays_as_counted_last(tmp_path: Path) -> None:
    made = counts(tmp_path, opened(tmp_path), changes=2)
    for ward in "ABABBAAB":
        made.publish(shoal.read(table(a=ward, b="A")))
    # a: in, out, and then never counted again
    assert [each.count for each in made.published()] == [2, 1, 1, 1, 1, 1, 1, 1]


def test_all_periods_are_paid_for_before_any_is_counted(tmp_path: Path) -> None:
    account = opened(tmp_path, budget=2)
    made = counts(tmp_path, account, epsilon=1, where={**IN_A, "all": None})
    assert str(account.standing.spent) == "epsilon 1"
    assert made.epsilon == "1/2"
    made.publish(shoal.read(table(a="A")))
    assert str(account.standing.spent) == "epsilon 1"
    with pytest.raises(AccountSpent):
        counts(tmp_path, account, name="more", epsilon=2)
    assert not (tmp_path / "more").exists()


def test_noise_is_as_large_as_the_changes_ask_for(tmp_path: Path) -> None:
    account = opened(tmp_path)
    once = counts(tmp_path, account, epsilon=1)
    assert once._mechanism.variance == pytest.approx(2 * 4**2, rel=0.02)
    (tmp_path / "rho").mkdir()
    in_rho = counts(tmp_path / "rho", opened(tmp_path / "rho", measure="zcdp"), epsilon=None, rho="1/8", changes=8)
    assert in_rho._mechanism.variance == Fraction(10) / (2 * Fraction(1, 8))


def test_without_a_person_column_every_period_is_a_change(tmp_path: Path) -> None:
    account = opened(tmp_path, persons=False)
    with pytest.raises(ParameterError, match="whose record"):
        counts(tmp_path, account)
    made = counts(tmp_path, account, changes=None)
    assert made.sensitivity == 10
    for wards in (["A"], ["A", "A", "B"], ["B"]):
        made.publish(shoal.read(pa.table({"ward": wards})))
    assert [each.count for each in made.published()] == [1, 2, 0]


def test_a_person_with_several_records_is_counted_by_one(tmp_path: Path) -> None:
    made = counts(tmp_path, opened(tmp_path), changes=8, where={"all": None})
    made.publish(shoal.read(pa.table({"who": ["a"] * 9 + ["b", None], "ward": ["A"] * 11})))
    assert [each.count for each in made.published()] == [2]


def test_published_counts_stay_and_periods_end(tmp_path: Path) -> None:
    made = counts(tmp_path, opened(tmp_path), epsilon=1, periods=3)
    made.publish(shoal.read(table(a="A")), source_of_bits=SeededSource(1))
    first = made.published()
    made.publish(shoal.read(table(a="A")))
    made.publish(shoal.read(table(a="A")))
    assert made.published()[:1] == first
    with pytest.raises(ParameterError, match="all 3 periods"):
        made.publish(shoal.read(table(a="A")))
    assert [each.name for each in made.folder.glob("persons-*")] == ["persons-3.parquet"]
    assert stat.S_IMODE((made.folder / "state.json").stat().st_mode) == 0o600


def test_what_was_changed_is_refused(tmp_path: Path) -> None:
    made = counts(tmp_path, opened(tmp_path))
    made.publish(shoal.read(table(a="A")))
    (persons,) = made.folder.glob("persons-*")
    persons.write_bytes(persons.read_bytes() + b" ")
    with pytest.raises(DataError, match="was changed"):
        made.publish(shoal.read(table(a="A")))
    (tmp_path / "schema.toml").write_text(dumps(Schema(attributes=(WHO, WARD, Attribute(name="more")))))
    with pytest.raises(SchemaError, match="has changed"):
        made.publish(shoal.read(table(a="A")))


def test_a_value_that_is_not_declared_does_not_stop_a_period(tmp_path: Path) -> None:
    made = counts(tmp_path, opened(tmp_path))
    made.publish(shoal.read(table(a="Z", b="A")))
    assert [each.count for each in made.published()] == [1]


def test_settings_that_nobody_paid_for_are_refused(tmp_path: Path) -> None:
    made = counts(tmp_path, opened(tmp_path), epsilon=1)
    settings = made.folder / "counts.json"
    written = settings.read_text()
    for paid, wanted in (
        ('"epsilon": "1"', '"epsilon": "100"'),
        ('"periods": 8', '"periods": 80'),
        ('"changes": 1', '"changes": 8'),
    ):
        assert paid in written
        settings.write_text(written.replace(paid, wanted))
        with pytest.raises(DataError, match="did not pay for these counts"):
            CountsOverTime.open(made.folder).publish(shoal.read(table(a="A")))
    settings.write_text(written)
    assert CountsOverTime.open(made.folder).publish(shoal.read(table(a="A"))) == 1


def test_an_older_copy_of_the_folder_draws_no_period_again(tmp_path: Path) -> None:
    made = counts(tmp_path, opened(tmp_path), epsilon=1)
    # other counts of the same settings do not count
    counts(tmp_path, shoal.Account.open(tmp_path / "account"), name="others", epsilon=1).publish(
        shoal.read(table(a="A"))
    )
    made.publish(shoal.read(table(a="A")))
    copytree(made.folder, tmp_path / "copy")
    made.publish(shoal.read(table(a="A")))
    rmtree(made.folder)
    copytree(tmp_path / "copy", made.folder)
    with pytest.raises(DataError, match="2 periods were published, and it knows of 1"):
        made.publish(shoal.read(table(a="A")))


def test_a_period_whose_note_is_missing_is_followed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = counts(tmp_path, opened(tmp_path), changes=8)
    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(Ledger, "note_written", interrupt)
        made.publish(shoal.read(table(a="A")))
    first = made.published()
    assert made.publish(shoal.read(table(a="A", b="A"))) == 2
    assert [each.count for each in made.published()] == [1, 2]
    assert made.published()[:1] == first


def test_a_schema_that_counts_records_cannot_use_an_account_of_persons(tmp_path: Path) -> None:
    account = opened(tmp_path)
    (tmp_path / "records.toml").write_text(dumps(Schema(attributes=(Attribute(name="who", role=Role.DROP), WARD))))
    with pytest.raises(ParameterError, match="every record as a separate person"):
        CountsOverTime.create(
            tmp_path / "counts",
            shoal.read(table(a="A"), schema=Schema(attributes=(WHO, WARD))),
            account=account,
            schema=tmp_path / "records.toml",
            where=IN_A,
            periods=8,
            epsilon=1,
        )
    assert not account.standing.spent.epsilon


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt
