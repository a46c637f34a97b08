"""Every operation on every engine, against plain Python."""

from __future__ import annotations

import datetime as dt
import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from reference.tables import ascending, group, multiset_key, pseudonym, recode, sampled, separation
from shoal.errors import DataError, HierarchyError, OutputError, ParameterError, SchemaError
from shoal.hierarchies import leaf_codes
from shoal.schema import Attribute, Domain, Groups, Intervals, Kind, Missing, Role, Schema
from shoal.schema.rules import text
from shoal.tables import (
    Encoded,
    Recoding,
    Table,
    apply,
    at_most,
    bernoulli,
    encode,
    number_records,
    profile,
    read,
    write,
)
from shoal.tables._engine import ROW

Load = Callable[[pa.Table], Table]

CITIES = ["Ålesund", "Rio 'de' Janeiro", 'The "Hague"', "C:\\new\\town", "line\nbreak", "東京", "", " padded ", None]
JOBS = ["nurse", "baker; head", "tab\tjob", "{0}", "%s", "$1", None]


def people(number: int = 300, seed: int = 1) -> pa.Table:
    """Return records with everything that trips an engine up."""
    draw = random.Random(seed)
    return pa.table(
        {
            "id": pa.array([f"p{i % 250}é" if i % 17 else None for i in range(number)]),
            "age": pa.array([draw.choice([None, *range(18, 60)]) for _ in range(number)], pa.int64()),
            "city": pa.array([draw.choice(CITIES) for _ in range(number)]),
            "weight": pa.array([draw.choice([0.0, -0.0, 61.5, 70.0, 1e-7, 1e20, None]) for _ in range(number)]),
            "born": pa.array([draw.choice([None, dt.date(1900, 1, 1), dt.date(2024, 2, 29)]) for _ in range(number)]),
            "job": pa.array([draw.choice(JOBS) for _ in range(number)]),
            "pay": pa.array(
                [draw.choice([None, Decimal("1.50"), Decimal("99999.99")]) for _ in range(number)], pa.decimal128(9, 2)
            ),
            "member": pa.array([draw.choice([True, False, None]) for _ in range(number)]),
        }
    )


SCHEMA = Schema(
    attributes=(
        Attribute(name="id", role=Role.IDENTIFIER, pseudonym=True),
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, hierarchy=Intervals(widths=(10, 20))),
        Attribute(name="city", role=Role.QUASI_IDENTIFIER),
        Attribute(name="weight", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
        Attribute(name="born", role=Role.QUASI_IDENTIFIER, kind=Kind.DATE),
        Attribute(name="job", role=Role.SENSITIVE),
        Attribute(name="pay", role=Role.INSENSITIVE, kind=Kind.NUMERIC),
        Attribute(name="member", role=Role.INSENSITIVE),
    )
)
NOON = dt.datetime(2024, 2, 29, 12)  # noqa: DTZ001 - a moment without a zone
KEY = b"0123456789abcdef0123456789abcdef"


def rows_of(table: Table) -> list[dict[str, Any]]:
    return table.to_arrow().to_pylist()


def texts(rows: pa.Table) -> list[dict[str, Any]]:
    """Return rows with every value as its canonical text."""
    return pa.table({name: text(rows[name]) for name in rows.column_names}).to_pylist()


def full_domain(encoded: Encoded, levels: list[int], k: int = 1) -> Recoding:
    """Generalise every attribute to its level and suppress classes below k."""
    frequencies = encoded.frequencies
    pairs = list(zip(frequencies.hierarchies, levels, strict=True))
    tuples = [
        tuple(int(h.codes[level][leaf]) for (h, level), leaf in zip(pairs, row, strict=True))
        for row in frequencies.codes
    ]
    sizes: Counter[tuple[int, ...]] = Counter()
    for codes, count in zip(tuples, frequencies.counts, strict=True):
        sizes[codes] += int(count)
    classes = {codes: number for number, codes in enumerate(sorted(codes for codes in sizes if sizes[codes] >= k))}
    return Recoding(
        attributes=frequencies.attributes,
        classes=np.array([classes.get(codes, -1) for codes in tuples], dtype=np.int32),
        codes=np.array(sorted(classes), dtype=np.int32).reshape(len(classes), len(levels)),
        labels=tuple(h.labels[level] for h, level in pairs),
        shares=tuple(h.shares[level] for h, level in pairs),
        depths=tuple(np.zeros(len(h.labels[level])) for h, level in pairs),
        unchanged=tuple(level == 0 for level in levels),
        levels=tuple(levels),
    )


def released(table: Table) -> Counter[tuple[tuple[str, Any], ...]]:
    return Counter(multiset_key(row) for row in rows_of(table))


def decade(age: int | None, width: int) -> str | None:
    return None if age is None else f"[{age // width * width}, {age // width * width + width})"


# -- types and checks


def test_records_go_in_and_come_out(load: Load) -> None:
    rows = people()
    table = load(rows)
    assert table.columns == tuple(rows.column_names)
    assert table.count() == 300
    assert released(table) == Counter(multiset_key(row) for row in rows.to_pylist())


def test_types_are_named_alike(load: Load) -> None:
    assert load(people()).types == {
        "id": "string",
        "age": "int64",
        "city": "string",
        "weight": "float64",
        "born": "date",
        "job": "string",
        "pay": "decimal(9, 2)",
        "member": "boolean",
    }


NUMBERS = ["1", " 2 ", "+3", "-4", "5.", ".5", "6e2", "7E-1", None]


def test_text_becomes_numbers_and_days(load: Load) -> None:
    rows = pa.table(
        {"n": NUMBERS, "whole": [*"12345678", None], "day": ["2024-02-29", "1999-12-31T10:00", *[None] * 7]}
    )
    schema = Schema(
        attributes=(
            Attribute(name="n", kind=Kind.NUMERIC),
            Attribute(name="whole", kind=Kind.NUMERIC),
            Attribute(name="day", kind=Kind.DATE),
        )
    )
    table = load(rows).with_schema(schema)
    assert table.types == {"n": "float64", "whole": "int64", "day": "date"}
    assert sorted((row["n"] for row in rows_of(table)), key=ascending) == [-4, 0.5, 0.7, 1, 2, 3, 5, 600, None]
    assert {row["day"] for row in rows_of(table)} == {dt.date(2024, 2, 29), dt.date(1999, 12, 31), None}


def unlike(kind: Kind, values: list[str]) -> tuple[pa.Table, Schema]:
    """Return one column per value, each with a good value first."""
    good = "1" if kind is Kind.NUMERIC else "2024-01-01"
    rows = pa.table({f"c{i}": [good, value] for i, value in enumerate(values)})
    return rows, Schema(attributes=tuple(Attribute(name=name, kind=kind) for name in rows.column_names))


NO_NUMBERS = ["x", "1d", "1f", "0x10", "1_000", "1,5", "--1", "1e", "", "  ", "\u0661", "1\n2"]
NOT_FINITE = ["nan", "NaN", "-inf", "Infinity", "+INF", "1e999"]
NO_DAYS = ["2023-02-29", "2024-13-01", "31.12.2024", "12/31/2024", "2024-1-1", "20240101", "", "x"]


@pytest.mark.parametrize(
    ("kind", "values", "said"),
    [
        (Kind.NUMERIC, NO_NUMBERS, "not a number"),
        (Kind.NUMERIC, NOT_FINITE, "not a finite number"),
        (Kind.DATE, NO_DAYS, "not a date"),
    ],
)
def test_text_that_cannot_be_read_is_refused_alike(load: Load, kind: Kind, values: list[str], said: str) -> None:
    rows, schema = unlike(kind, values)
    with pytest.raises(SchemaError) as caught:
        load(rows).with_schema(schema)
    found = [problem.partition(" (")[0] for problem in caught.value.problems]
    assert found == [f"column `{name}`: 1 value is {said}" for name in rows.column_names]


def test_numbers_that_are_not_finite_are_refused(load: Load) -> None:
    rows = pa.table({"a": [1.0, float("nan")], "b": [1.0, float("-inf")]})
    with pytest.raises(SchemaError) as caught:
        load(rows).with_schema(Schema(attributes=tuple(Attribute(name=name, kind=Kind.NUMERIC) for name in "ab")))
    assert [problem.partition(" (")[0] for problem in caught.value.problems] == [
        f"column `{name}`: 1 value is not a finite number" for name in "ab"
    ]


def test_all_problems_are_reported_at_once(load: Load) -> None:
    rows = pa.table(
        {
            "low": [1, 2, 3],
            "late": [dt.date(2020, 1, 1), dt.date(2030, 1, 1), None],
            "grade": ["a", "b", "z"],
            "empty": pa.nulls(3, pa.string()),
            "asked": ["x", None, "y"],
        }
    )
    schema = Schema(
        attributes=(
            Attribute(name="low", kind=Kind.NUMERIC, domain=Domain(minimum=2, maximum=9)),
            Attribute(name="late", kind=Kind.DATE, domain=Domain(maximum=dt.date(2024, 1, 1))),
            Attribute(name="grade", kind=Kind.ORDINAL, domain=Domain(values=("a", "b"))),
            Attribute(name="empty"),
            Attribute(name="asked", missing=Missing.REFUSE),
        )
    )
    with pytest.raises(SchemaError) as caught:
        load(rows).with_schema(schema)
    found = "\n".join(caught.value.problems)
    for part in ("`low`: 1 value is outside", "`late`: 1 value is outside", "`grade`: 1 value is not among"):
        assert part in found
    for part in ("`empty` has no value", "`asked`: 1 value is missing"):
        assert part in found


def test_records_without_a_wanted_value_are_left_out_and_counted(load: Load) -> None:
    rows = pa.table({"a": [1, None, 3, None], "b": ["x", "y", None, None]})
    schema = Schema(
        attributes=(
            Attribute(name="a", kind=Kind.NUMERIC, missing=Missing.DROP),
            Attribute(name="b", missing=Missing.DROP),
        )
    )
    table = load(rows).with_schema(schema)
    assert rows_of(table) == [{"a": 1, "b": "x"}]
    assert table.left_out == 3


# -- profile


def test_profiles_are_those_of_plain_python(load: Load) -> None:
    rows = people(60)
    profiles = {column.name: column for column in profile(load(rows))}
    for name in rows.column_names:
        values = [0.0 if value == 0 and name == "weight" else value for value in rows[name].to_pylist()]
        known = [value for value in values if value is not None]
        found = profiles[name]
        assert (found.records, found.missing) == (60, values.count(None))
        assert found.distinct == len(set(known))
        assert found.separation == pytest.approx(separation(values))
    assert [profiles[name].type for name in rows.column_names] == [
        *("text", "integer", "text", "number", "date", "text", "number", "boolean")
    ]
    assert (profiles["age"].minimum, profiles["born"].maximum) == (
        min(age for age in rows["age"].to_pylist() if age is not None),
        dt.date(2024, 2, 29),
    )


def test_profiles_say_what_text_reads_as(load: Load) -> None:
    rows = pa.table({"zip": ["01234", "01235", "99999"], "n": ["1", "2.5", "3"], "d": ["2024-01-01", "x", "x"]})
    zips, numbers, days = profile(load(rows))
    assert (zips.leading_zeros, zips.integers, zips.lengths, zips.longest) == (pytest.approx(2 / 3), 1, ((5, 1.0),), 5)
    assert (numbers.numbers, numbers.integers, numbers.minimum, numbers.maximum) == (1, pytest.approx(2 / 3), 1, 3)
    assert (days.dates, days.minimum) == (0.5, None)


# -- encode


def test_tuples_are_counted_as_in_plain_python(load: Load) -> None:
    rows = people()
    frequencies = encode(load(rows).with_schema(SCHEMA)).frequencies
    names = [*SCHEMA.quasi_identifiers, "job"]
    labels = [*(h.labels[0] for h in frequencies.hierarchies), frequencies.sensitive[0].labels]
    every = np.concatenate([frequencies.codes, frequencies.sensitive_codes], axis=1)
    found = {
        tuple(names[code] for names, code in zip(labels, row, strict=True)): int(count)
        for row, count in zip(every, frequencies.counts, strict=True)
    }
    assert len(found) == len(every)
    assert found == dict(group(texts(rows), names))


@pytest.mark.parametrize("most", [10**6, 30])
def test_tuples_that_do_not_fit_are_counted_at_coarser_levels(
    load: Load, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    table = load(people()).with_schema(SCHEMA)
    fine = encode(table).frequencies
    monkeypatch.setattr("shoal.tables._encode.tuples_that_fit", lambda _: most)
    monkeypatch.setattr(Table, "count", lambda _: most + 1)
    encoded = encode(table, coarse=True)
    found = encoded.frequencies
    floors = [hierarchy.floor for hierarchy in found.hierarchies]
    assert any(floors) == (encoded.finest is not None) == (most < len(fine.counts))
    assert len(found.counts) <= most
    expected: Counter[tuple[int, ...]] = Counter()
    for row, secret, count in zip(fine.codes, fine.sensitive_codes, fine.counts, strict=True):
        pairs = zip(fine.hierarchies, floors, row, strict=True)
        expected[(*(int(h.codes[floor][leaf]) for h, floor, leaf in pairs), *secret.tolist())] += int(count)
    every = np.concatenate([found.codes, found.sensitive_codes], axis=1)
    assert list(zip(map(tuple, every.tolist()), found.counts.tolist(), strict=True)) == sorted(expected.items())
    for hierarchy, dictionary, whole in zip(found.hierarchies, encoded.dictionaries, fine.hierarchies, strict=True):
        assert np.array_equal(dictionary.codes, whole.codes[hierarchy.floor][leaf_codes(whole, dictionary.values)])


def test_pairs_of_tuple_and_person_are_counted_as_in_plain_python(load: Load) -> None:
    rows = people(200)
    whose = [f"P{place * place % 40}" for place in range(rows.num_rows)]
    visits = pa.table({"whose": whose, "city": rows["city"], "age": rows["age"]})
    schema = Schema(
        attributes=(
            Attribute(name="whose", role=Role.PERSON),
            Attribute(name="city", role=Role.QUASI_IDENTIFIER),
            Attribute(name="age", role=Role.INSENSITIVE),
        )
    )
    frequencies = encode(load(visits).with_schema(schema, allow_empty=True)).frequencies
    assert frequencies.holders is not None
    assert frequencies.persons == len({*whose})
    labels = frequencies.hierarchies[0].labels[0]
    holders = frequencies.holders
    times = [1] * holders.number if holders.times is None else holders.times.tolist()
    found: defaultdict[int, Counter[str | None]] = defaultdict(Counter)
    for row, person, count in zip(holders.tuples, holders.persons, holders.counts, strict=True):
        found[int(person)][labels[frequencies.codes[row, 0]]] += int(count)
    expected: defaultdict[str, Counter[str | None]] = defaultdict(Counter)
    for city, person in zip(rows["city"].to_pylist(), whose, strict=True):
        expected[person][city] += 1
    profiles = Counter(frozenset(each.items()) for each in expected.values())
    assert sum((Counter({frozenset(own.items()): times[each]}) for each, own in found.items()), Counter()) == profiles


def test_households_and_residents_are_counted_as_in_plain_python(load: Load) -> None:
    """Everybody lives in a household of three; the population has several records of a person, and others."""
    numbers = [place * place % 40 for place in range(200)]
    homes = {number: f"H{number // 3}" for number in range(60)}
    city = {number: "abcd"[number % 4] for number in range(60)}
    visits = pa.table(
        {
            "whose": [f"P{number}" for number in numbers],
            "home": [homes[number] for number in numbers],
            "city": [city[number] for number in numbers],
        }
    )
    living = [*numbers, *range(30, 60), *range(40, 60)]
    population = pa.table({"whose": [f"P{each}" for each in living], "city": [city[each] for each in living]})
    schema = Schema(
        attributes=(
            Attribute(name="whose", role=Role.PERSON),
            Attribute(name="home", role=Role.HOUSEHOLD),
            Attribute(name="city", role=Role.QUASI_IDENTIFIER),
        )
    )
    table = load(visits).with_schema(schema, allow_empty=True)
    frequencies = encode(table, population=load(population), households=True).frequencies
    assert frequencies.holders is not None
    assert frequencies.holders.homes is not None
    times = frequencies.holders.times
    sizes: Counter[int] = Counter()
    for home, members in Counter(frequencies.holders.homes.tolist()).items():
        sizes[members] += 1 if times is None else int(times[frequencies.holders.homes == home][0])
    assert sizes == Counter(Counter(homes[number] for number in {*numbers}).values())
    labels = frequencies.hierarchies[0].labels[0]
    fit = frequencies.people_of(np.arange(len(frequencies.counts)), len(frequencies.counts))
    assert fit is not None
    found = {labels[code]: int(count) for (code,), count in zip(frequencies.codes, fit, strict=True)}
    assert found == Counter(city[number] for number in {*living})


def test_frequencies_do_not_depend_on_the_order_of_records(load: Load) -> None:
    rows = people()
    shuffled = rows.take(random.Random(2).sample(range(300), 300))
    one, two = (encode(load(part).with_schema(SCHEMA)).frequencies for part in (rows, shuffled))
    np.testing.assert_array_equal(one.codes, two.codes)
    np.testing.assert_array_equal(one.sensitive_codes, two.sensitive_codes)
    np.testing.assert_array_equal(one.counts, two.counts)


def test_values_outside_a_hierarchy_are_counted_not_shown(load: Load) -> None:
    attribute = Attribute(
        name="sex", role=Role.QUASI_IDENTIFIER, hierarchy=Groups(levels=((("any", ("female", "male")),),))
    )
    table = load(pa.table({"sex": ["male", "secret", "secret"]})).with_schema(Schema(attributes=(attribute,)))
    with pytest.raises(HierarchyError, match=r"column `sex`: 1 value \(in 2 records\)") as caught:
        encode(table)
    assert "secret" not in str(caught.value)


def test_a_population_is_counted_once_per_tuple(load: Load) -> None:
    schema = Schema(
        attributes=(
            Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
            Attribute(name="ill", role=Role.SENSITIVE),
        )
    )
    table = load(pa.table({"age": [30, 30, 40], "ill": ["flu", "cold", "flu"]})).with_schema(schema)
    population = load(pa.table({"age": ["30", "30", "30", "50"], "name": ["a", "b", "c", "d"]}))
    frequencies = encode(table, population=population).frequencies
    ages = [frequencies.hierarchies[0].labels[0][code] for code in frequencies.codes[:, 0]]
    assert frequencies.population is not None
    assert list(zip(ages, frequencies.counts.tolist(), frequencies.population.tolist(), strict=True)) == [
        ("30", 1, 3),
        ("30", 1, 0),
        ("40", 1, 0),
        ("50", 0, 1),
    ]


# -- apply


@pytest.mark.parametrize(
    ("levels", "k"),
    [
        ([0, 0, 0, 0], 1),
        ([0, 0, 0, 0], 2),
        ([1, 0, 0, 0], 2),
        ([2, 1, 0, 1], 5),
        ([3, 1, 1, 1], 5),
        ([1, 1, 1, 1], 400),
    ],
)
def test_a_recoding_gives_the_rows_of_plain_python(load: Load, levels: list[int], k: int) -> None:
    rows = people()
    table = load(rows).with_schema(SCHEMA)
    encoded = encode(table, sensitive=())
    result = apply(table, encoded, full_domain(encoded, levels, k), keep=["job", "pay", "member"])

    def generalized(row: dict[str, Any]) -> dict[str, Any]:
        top = {name: "*" for name, level in zip(SCHEMA.quasi_identifiers[1:], levels[1:], strict=True) if level}
        if levels[0]:
            top["age"] = "*" if levels[0] == 3 else decade(row["age"], 10 * levels[0])
        return row | top

    key = list(SCHEMA.quasi_identifiers)
    sizes = group([generalized(row) for row in rows.to_pylist()], key)
    expected = recode(
        rows.to_pylist(),
        lambda row: made if sizes[tuple((made := generalized(row))[name] for name in key)] >= k else None,
        drop=["id"],
    )
    assert released(result) == expected
    kept = {name: kind for name, kind in table.types.items() if name != "id"}
    changed = {name: "string" for name, level in zip(key, levels, strict=True) if level}
    assert result.types == kept | changed


def test_a_local_recoding_releases_by_class(load: Load) -> None:
    schema = Schema(
        attributes=(
            Attribute(name="a", role=Role.QUASI_IDENTIFIER),
            Attribute(name="b", role=Role.QUASI_IDENTIFIER),
            Attribute(name="c"),
        )
    )
    rows = pa.table({"a": ["x", "x", "y", "y", None], "b": ["1", "2", "1", "2", "1"], "c": [1, 2, 3, 4, 5]})
    table = load(rows).with_schema(schema)
    encoded = encode(table)
    # x,1 and x,2 -> x,*; y,1 -> *,1; y,2 suppressed; missing,1 -> missing,1
    classes = {("x", "1"): 0, ("x", "2"): 0, ("y", "1"): 1, ("y", "2"): -1, (None, "1"): 2}
    a, b = (hierarchy.labels[0] for hierarchy in encoded.frequencies.hierarchies)
    recoding = Recoding(
        attributes=("a", "b"),
        classes=np.array([classes[a[i], b[j]] for i, j in encoded.frequencies.codes], dtype=np.int32),
        codes=np.array([[0, 2], [1, 0], [2, 0]], dtype=np.int32),
        labels=(("x", "*", None), ("1", "2", "*")),
        shares=(np.zeros(3), np.zeros(3)),
        depths=(np.zeros(3), np.zeros(3)),
        unchanged=(False, False),
    )
    assert sorted(
        ((row["a"], row["b"], row["c"]) for row in rows_of(apply(table, encoded, recoding))), key=lambda r: r[2]
    ) == [
        ("x", "*", 1),
        ("x", "*", 2),
        ("*", "1", 3),
        (None, "1", 5),
    ]


def test_many_released_values_are_looked_up_too(load: Load) -> None:
    number = 1500
    schema = Schema(attributes=(Attribute(name="code", role=Role.QUASI_IDENTIFIER), Attribute(name="n")))
    rows = pa.table({"code": [f"{i:05d}" for i in range(number)], "n": list(range(number))})
    table = load(rows).with_schema(schema)
    encoded = encode(table)
    recoding = full_domain(encoded, [0])
    renamed = Recoding(
        attributes=recoding.attributes,
        classes=recoding.classes,
        codes=recoding.codes,
        labels=(tuple(f"<{label}>" for label in recoding.labels[0]),),
        shares=recoding.shares,
        depths=recoding.depths,
        unchanged=(False,),
    )
    assert released(apply(table, encoded, renamed)) == Counter(
        multiset_key({"code": f"<{i:05d}>", "n": i}) for i in range(number)
    )


def test_the_order_of_a_release_depends_on_released_values_only(load: Load) -> None:
    rows = people()
    orders = []
    for seed in (1, 2):
        table = load(rows.take(random.Random(seed).sample(range(300), 300))).with_schema(SCHEMA)
        encoded = encode(table, sensitive=())
        orders.append(rows_of(apply(table, encoded, full_domain(encoded, [2, 0, 1, 1]), keep=["job", "pay", "member"])))
    assert orders[0] == orders[1]


def test_identifiers_become_keyed_pseudonyms(load: Load) -> None:
    rows = people()
    table = load(rows).with_schema(SCHEMA)
    encoded = encode(table, sensitive=())
    result = apply(table, encoded, full_domain(encoded, [3, 1, 1, 1]), key=KEY)
    assert Counter(row["id"] for row in rows_of(result)) == Counter(
        pseudonym(value, KEY) for value in rows["id"].to_pylist()
    )


def test_identifiers_of_any_type_have_pseudonyms_of_their_text(load: Load) -> None:
    names = ("whole", "float", "day")
    schema = Schema(
        attributes=(
            *(Attribute(name=name, role=Role.IDENTIFIER, pseudonym=True) for name in names),
            Attribute(name="q", role=Role.QUASI_IDENTIFIER),
        )
    )
    rows = pa.table({"whole": [1, None], "float": [2.0, 2.5], "day": [dt.date(2024, 1, 2), None], "q": ["x", "x"]})
    table = load(rows).with_schema(schema)
    encoded = encode(table)
    result = rows_of(apply(table, encoded, full_domain(encoded, [1]), key=KEY))
    expected = {"whole": {"1", None}, "float": {"2", "2.5"}, "day": {"2024-01-02", None}}
    assert {name: {row[name] for row in result} for name in names} == {
        name: {pseudonym(value, KEY) for value in values} for name, values in expected.items()
    }


def test_an_identifier_is_not_released_as_it_is(load: Load) -> None:
    table = load(people()).with_schema(SCHEMA)
    encoded = encode(table, sensitive=())
    recoding = full_domain(encoded, [3, 1, 1, 1])
    with pytest.raises(ParameterError, match="pseudonyms need a `key`"):
        apply(table, encoded, recoding, keep=["id"])


# -- sample


def as_float(value: Any) -> float | None:
    return None if value is None else float(value)


def test_a_sample_is_that_of_plain_python_and_stays_the_same(load: Load) -> None:
    table = number_records(load(people()).with_schema(SCHEMA))
    numbers = table.engine.fetch(table.expression.select(ROW))[ROW].to_pylist()
    for probability in (0.0, 0.25, 1.0):
        sample = bernoulli(table, probability, KEY)
        kept = sorted(number for number in numbers if sampled(number, probability, KEY))
        for _ in range(2):
            assert sorted(sample.engine.fetch(sample.expression.select(ROW))[ROW].to_pylist()) == kept
        assert sample.columns == table.columns
    assert encode(bernoulli(table, 0.25, KEY)).frequencies.records == len(
        [number for number in numbers if sampled(number, 0.25, KEY)]
    )


@pytest.mark.parametrize("records", [1, 3])
def test_the_records_kept_of_a_person_are_those_of_plain_python(load: Load, records: int) -> None:
    table = number_records(load(people()).with_schema(SCHEMA))
    rows = table.engine.fetch(table.expression.select(ROW, "city")).to_pylist()
    kept = []
    for city in {row["city"] for row in rows}:
        own = [row[ROW] for row in rows if row["city"] == city]
        kept += sorted(own, key=lambda number: hashlib.sha256(KEY + str(number).encode()).hexdigest())[:records]
    sample = at_most(table, "city", records, KEY)
    for _ in range(2):
        assert sorted(sample.engine.fetch(sample.expression.select(ROW))[ROW].to_pylist()) == sorted(kept)
    assert sample.columns == table.columns


# -- write


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_what_is_written_is_read_back(load: Load, name: str, tmp_path: Path) -> None:
    table = load(people()).with_schema(SCHEMA)
    write(table, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    back = read(tmp_path / name)
    if name.endswith(".parquet"):
        assert released(back) == released(table)
        assert back.types == table.types
    else:
        # CSV has no types, and an empty field is a missing value
        expected = pa.table(
            {key: text(column) for key, column in zip(table.columns, table.to_arrow().columns, strict=True)}
        )
        typed = back.with_schema(SCHEMA).to_arrow()
        found = pa.table({key: text(typed[key]) for key in typed.column_names})
        assert Counter(map(str, ({k: v or None for k, v in row.items()} for row in found.to_pylist()))) == Counter(
            map(str, ({k: v or None for k, v in row.items()} for row in expected.to_pylist()))
        )


def test_a_sorted_release_stays_sorted_in_its_file(load: Load, tmp_path: Path) -> None:
    table = load(people()).with_schema(SCHEMA)
    encoded = encode(table, sensitive=())
    release = apply(table, encoded, full_domain(encoded, [1, 0, 1, 1]), keep=["job"])
    write(release, tmp_path / "out.parquet")
    found = pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert found == sorted(found, key=lambda row: [ascending(row[name]) for name in ("age", "city", "job")])


def test_a_file_that_exists_is_kept(load: Load, tmp_path: Path) -> None:
    (tmp_path / "out.parquet").write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        write(load(people(5)), tmp_path / "out.parquet")
    assert (tmp_path / "out.parquet").read_text() == "mine"


# -- Spark alone


@pytest.mark.spark
class TestSpark:
    def test_a_table_of_the_session_is_read_by_name(self, spark: Any) -> None:
        spark.createDataFrame(people(20)).createOrReplaceTempView("patients")
        assert read(spark, table="patients").count() == 20

    def test_an_unknown_table_is_an_error(self, spark: Any) -> None:
        with pytest.raises(DataError, match="has no table `nothing`"):
            read(spark, table="nothing")

    def test_a_table_of_the_session_is_written_once(self, spark: Any) -> None:
        table = read(spark.createDataFrame(people(20)))
        write(table, "written", format="spark")
        with pytest.raises(OutputError, match="exists"):
            write(table, "written", format="spark")
        write(table, "written", format="spark", overwrite=True)
        assert released(read(spark, table="written")) == released(table)
        spark.sql("DROP TABLE written")

    def test_a_folder_of_parts_is_written_and_read(self, spark: Any, tmp_path: Path) -> None:
        table = read(spark.createDataFrame(people(50)).repartition(3))
        write(table, tmp_path / "parts", format="parquet-folder")
        assert len(list((tmp_path / "parts").glob("*.parquet"))) > 1
        assert released(read(tmp_path / "parts")) == released(table)

    @pytest.mark.postgres
    def test_records_go_to_postgres(self, spark: Any, postgres: str) -> None:
        table = read(spark.createDataFrame(people(50).drop_columns(["pay"])).repartition(3))
        write(table, postgres, name="from_spark")
        assert released(read(postgres, table="from_spark")) == released(table)

    def test_records_of_a_cluster_come_through_the_driver(
        self, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = read(spark.createDataFrame(people(50)))
        monkeypatch.setattr(type(spark.conf), "get", lambda *_: "spark://somewhere:7077")
        write(table, tmp_path / "out.parquet")
        monkeypatch.undo()
        assert released(read(tmp_path / "out.parquet")) == released(table)

    def test_views_go_with_the_engine(self, spark: Any) -> None:
        import gc

        def ours() -> set[str]:
            return {view.name for view in spark.catalog.listTables() if view.name.startswith("shoal_")}

        before = ours()
        table = read(spark.createDataFrame(people(5)))
        assert len(ours()) == len(before) + 1
        del table
        gc.collect()
        assert ours() <= before


# -- PostgreSQL: a source and a sink


@pytest.mark.postgres
class TestPostgres:
    def execute(self, address: str, *statements: str) -> None:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def test_a_table_goes_in_and_comes_out(self, postgres: str) -> None:
        table = read(people()).with_schema(SCHEMA)
        write(table, postgres, name="people")
        back = read(postgres, table="people").with_schema(SCHEMA)
        assert back.source.name == "people"
        names = [name for name in table.columns if name != "pay"]
        assert released(back.select(*names)) == released(table.select(*names))
        # the driver makes NUMERIC columns without precision, which come back as floating point
        assert Counter(row["pay"] for row in rows_of(back)) == Counter(as_float(row["pay"]) for row in rows_of(table))
        assert encode(back).frequencies.records == 300

    def test_types_of_the_server_become_types_of_the_engine(self, postgres: str) -> None:
        self.execute(
            postgres,
            "CREATE TYPE mood AS ENUM ('fine', 'ill')",
            "CREATE SCHEMA ward",
            """CREATE TABLE ward.all_types (s smallint, i integer, b bigint, r real, d double precision,
                n numeric(9, 2), f numeric, t text, v varchar(10), c char(3), m mood, u uuid, j jsonb,
                day date, moment timestamp, flag boolean)""",
            """INSERT INTO ward.all_types VALUES (1, 2, 3, 0.5, 0.25, 12.34, 1.5, 'a', 'b', 'c', 'ill',
                '00000000-0000-0000-0000-000000000001', '{"a": 1}', '2024-02-29', '2024-02-29 12:00', true)""",
            "INSERT INTO ward.all_types DEFAULT VALUES",
        )
        table = read(postgres, table="ward.all_types")
        first, second = sorted(rows_of(table), key=lambda row: row["i"] is None)
        assert set(second.values()) == {None}
        assert first == {
            "s": 1, "i": 2, "b": 3, "r": 0.5, "d": 0.25, "n": Decimal("12.34"), "f": 1.5, "t": "a", "v": "b",
            "c": "c  ", "m": "ill", "u": "00000000-0000-0000-0000-000000000001", "j": '{"a": 1}',
            "day": dt.date(2024, 2, 29), "moment": NOON, "flag": True,
        }  # fmt: skip

    def test_names_are_quoted(self, postgres: str) -> None:
        self.execute(
            postgres,
            """CREATE TABLE "Odd ""table'" ("a ""b" text, "select" integer)""",
            """INSERT INTO "Odd ""table'" VALUES ('x', 1)""",
        )
        assert rows_of(read(postgres, table="Odd \"table'")) == [{'a "b': "x", "select": 1}]

    def test_a_table_that_exists_is_kept(self, postgres: str) -> None:
        write(read(people(3)), postgres, name="kept")
        with pytest.raises(OutputError, match="`kept` already exists"):
            write(read(people(5)), postgres, name="kept")
        assert read(postgres, table="kept").count() == 3
        write(read(people(5)), postgres, name="kept", overwrite=True)
        assert read(postgres, table="kept").count() == 5

    def test_an_unknown_table_is_an_error(self, postgres: str) -> None:
        with pytest.raises(DataError, match="no table `nothing`"):
            read(postgres, table="nothing")

    def test_an_empty_table_is_an_error(self, postgres: str) -> None:
        self.execute(postgres, "CREATE TABLE nobody (a text)")
        with pytest.raises(DataError, match="nobody has no records"):
            read(postgres, table="nobody")

    def test_a_wrong_address_is_an_error_without_the_password(self) -> None:
        with pytest.raises(DataError, match="cannot be reached") as caught:
            read("postgresql://me:hunter2@127.0.0.1:1/none", table="t")
        assert "hunter2" not in str(caught.value)
        assert "hunter2" not in repr(caught.value.__cause__)

    def test_a_failed_write_leaves_nothing_behind(self, postgres: str) -> None:
        table = read(pa.table({"a": ["x"], "b": [[1]]}))
        broken = table.expression.mutate(c=table.expression.a.cast("int64"))
        from dataclasses import replace

        with pytest.raises(OutputError):
            write(replace(table, expression=broken), postgres, name="half")
        with pytest.raises(DataError, match="no table `half`"):
            read(postgres, table="half")
