"""Data sets of several tables: read from everywhere, refused with a reason."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal import datasets
from shoal.datasets import DatasetSchema, draft_dataset, read_dataset
from shoal.errors import DataError, SchemaError
from shoal.schema import Role

SCHEMA = """
shoal = 1

[tables.people]
key = "id"

[tables.people.columns.age]
role = "quasi-identifier"
kind = "numeric"

[tables.stays]
parent = "people"
key = "stay"

[tables.stays.columns.ward]
role = "quasi-identifier"

[tables.drugs]
parent = "stays"

[tables.drugs.columns.drug]
role = "sensitive"
"""
PEOPLE = {"id": ["7", "8"], "age": [30, 40]}
STAYS = {"stay": ["b", "a", "c"], "id": ["8", "7", "8"], "ward": ["x", "y", "x"]}
DRUGS = {"stay": ["a", "c", "c"], "drug": ["one", "two", "two"]}


def frames(**changed: dict[str, list[object]]) -> dict[str, pa.Table]:
    return {
        name: pa.table(rows) for name, rows in ({"people": PEOPLE, "stays": STAYS, "drugs": DRUGS} | changed).items()
    }


def schema() -> DatasetSchema:
    return datasets.loads(SCHEMA)


def test_rows_belong_to_the_rows_that_their_keys_name() -> None:
    found = read_dataset(frames(), schema())
    assert found.persons == 2
    assert found.items == 6
    assert found.parents["stays"].tolist() == [1, 0, 1]
    assert found.parents["drugs"].tolist() == [1, 2, 2]
    assert found.rows["stays"].column_names == ["ward"], "keys are no columns"


def test_keys_are_compared_as_text_whatever_their_types() -> None:
    numbers = {"id": [7, 8], "age": [30, 40]}
    assert read_dataset(frames(people=numbers), schema()).parents["stays"].tolist() == [1, 0, 1]


@pytest.mark.parametrize("form", ["csv", "parquet", "xlsx", "duckdb"])
def test_folders_workbooks_and_databases_hold_data_sets(form: str, tmp_path: Path) -> None:
    source = _written(form, tmp_path)
    datasets.schema_place(source).write_text(SCHEMA)
    assert datasets.is_dataset(source)
    found = read_dataset(source)
    assert found.parents["drugs"].tolist() == [1, 2, 2]
    assert found.rows["people"]["age"].to_pylist() == [30, 40]


def _written(form: str, folder: Path) -> Path:
    if form == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in frames().items():
            sheet = book.create_sheet(name)
            sheet.append(rows.column_names)
            for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                sheet.append(row)
        book.save(folder / "clinic.xlsx")
        return folder / "clinic.xlsx"
    if form == "duckdb":
        import duckdb

        with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
            for name, rows in frames().items():
                connection.register("rows", rows)
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
        return folder / "clinic.duckdb"
    from pyarrow import csv

    for name, rows in frames().items():
        if form == "csv":
            csv.write_csv(rows, folder / f"{name}.csv")
        else:
            pq.write_table(rows, folder / f"{name}.parquet")
    return folder


def test_the_text_of_a_schema_gives_it_back() -> None:
    assert datasets.loads(datasets.dumps(schema())) == schema()


def test_orphans_are_counted_and_no_key_is_told() -> None:
    lost = {"stay": ["b", "secretkey"], "id": ["8", "9"], "ward": ["x", "y"]}
    with pytest.raises(DataError) as caught:
        read_dataset(frames(stays=lost, drugs={"stay": ["b", "a"], "drug": ["one", "two"]}), schema())
    assert caught.value.problems == (
        "table `stays`: 1 row of 2 belong to no row of `people`: column `id` holds no key of it; leave these rows out, "
        "or complete `people`",
        "table `drugs`: 1 row of 2 belong to no row of `stays`: column `stay` holds no key of it; leave these rows "
        "out, or complete `stays`",
    )


def test_repeated_and_missing_keys_are_refused() -> None:
    twice = {"id": ["7", "7", None], "age": [30, 40, 50]}
    stays = {"stay": ["a"], "id": ["7"], "ward": ["x"]}
    with pytest.raises(DataError) as caught:
        read_dataset(frames(people=twice, stays=stays, drugs={"stay": ["a"], "drug": ["one"]}), schema())
    assert caught.value.problems == (
        "table `people`: 1 row without a key in column `id`",
        "table `people`: column `id` is no key: 1 row with the key of another",
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('parent = "stays"', 'parent = ["stays", "people"]', "it has several parents"),
        ('parent = "people"', 'parent = "drugs"\nparent_key = "k"', "lies below itself"),
        ('parent = "people"', "", "`stays`"),
        ('key = "stay"', "", "it needs a `key`"),
        ('parent = "stays"', 'parent = "wards"', "`wards` is no table"),
        ("[tables.drugs]", "[tables.drugs]\nkind = 1", "unknown key `kind`"),
        (
            '[tables.drugs.columns.drug]\nrole = "sensitive"',
            '[tables.drugs.columns.drug]\nrole = "person"',
            "single tables",
        ),
        ("shoal = 1", "shoal = 2", "version of the format"),
    ],
)
def test_schemas_that_describe_no_trees_are_refused(old: str, new: str, problem: str) -> None:
    assert old in SCHEMA
    with pytest.raises(SchemaError) as caught:
        datasets.loads(SCHEMA.replace(old, new))
    assert any(problem in each for each in caught.value.problems), caught.value.problems


def test_columns_that_nobody_describes_are_refused() -> None:
    more = PEOPLE | {"name": ["Ann", "Bob"]}
    with pytest.raises(SchemaError) as caught:
        read_dataset(frames(people=more), schema())
    assert caught.value.problems == ('table `people`: column `name` is not described; `role = "drop"` leaves it out',)


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["a|b", "", "b"], "|"),
        (pa.array([["a", "b"], [], ["b"]]), None),
        (['["a", "b"]', "[]", '["b"]'], None),
    ],
)
def test_lists_are_tables_of_one_column(cells: object, separator: str | None) -> None:
    source = {"people": pa.table({"age": [30, 40, 50], "allergies": cells})}
    drafted = draft_dataset(source)
    assert drafted.schema["allergies"].separator == separator
    found = read_dataset(source, drafted.schema)
    assert found.rows["allergies"]["allergies"].to_pylist() == ["a", "b", "b"]
    assert found.parents["allergies"].tolist() == [0, 0, 2]


def test_a_draft_finds_keys_and_parents_and_says_why() -> None:
    drafted = draft_dataset(frames())
    assert drafted.schema.guessed
    assert [(each.name, each.key, each.parent, each.parent_key) for each in drafted.schema] == [
        ("people", "id", None, None),
        ("stays", "stay", "people", "id"),
        ("drugs", None, "stays", "stay"),
    ]
    assert "every `id` is a key of it" in drafted.reasons["stays", ""]
    assert datasets.loads(drafted.dumps()) == drafted.schema


def test_a_draft_of_tables_that_have_nothing_to_do_with_each_other_is_refused() -> None:
    with pytest.raises(SchemaError, match="belong to no other table"):
        draft_dataset({"people": pa.table(PEOPLE), "prices": pa.table({"product": ["a", "b"], "price": [1, 2]})})


def test_foreign_keys_of_a_database_come_before_what_names_suggest(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE humans (nr INTEGER PRIMARY KEY, age INTEGER)")
        connection.execute(
            "CREATE TABLE stays (stay INTEGER PRIMARY KEY, who INTEGER REFERENCES humans (nr), ward TEXT)"
        )
        connection.execute(
            "CREATE TABLE drugs (stay INTEGER REFERENCES stays (stay), who INTEGER REFERENCES humans (nr), drug TEXT)"
        )
        connection.execute("INSERT INTO humans VALUES (1, 30), (2, 40)")
        connection.execute("INSERT INTO stays VALUES (10, 1, 'a'), (11, 1, 'b'), (12, 2, 'a')")
        connection.execute("INSERT INTO drugs VALUES (10, 1, 'x'), (12, 2, 'y'), (12, 2, 'x')")
    drafted = draft_dataset(tmp_path / "clinic.duckdb")
    assert [(each.name, each.parent, each.parent_key) for each in drafted.schema] == [
        ("humans", None, None),
        ("stays", "humans", "who"),
        ("drugs", "stays", "stay"),
    ]
    assert drafted.schema["drugs"].columns["who"].role is Role.IDENTIFIER
    assert "holds keys of `humans`" in drafted.reasons["drugs", "who"]


def test_keys_of_other_tables_are_never_released() -> None:
    released = SCHEMA.replace(
        'role = "sensitive"', 'role = "sensitive"\n[tables.drugs.columns.id]\nrole = "insensitive"'
    )
    with pytest.raises(SchemaError, match="undo that keys are replaced"):
        datasets.loads(released)


def test_a_joined_table_says_whose_row_it_is() -> None:
    joined = datasets.join_tables(read_dataset(frames(), schema()), "drugs")
    assert joined.schema is not None
    assert joined.schema.person == "person_number"
    rows = joined.to_arrow()
    assert rows.column_names == ["person_number", "age", "ward", "drug"]
    assert rows["person_number"].to_pylist() == [1, 2, 2]
    assert rows["ward"].to_pylist() == ["y", "x", "x"]


def test_one_file_with_lists_is_a_data_set(tmp_path: Path) -> None:
    path = tmp_path / "baskets.parquet"
    pq.write_table(pa.table({"customer": ["a", "b"], "products": [["milk", "bread"], ["milk"]]}), path)
    assert datasets.holds_tables(path)
    drafted = draft_dataset(path)
    assert [(each.name, each.list_column) for each in drafted.schema] == [("baskets", None), ("products", "products")]
    assert read_dataset(path, drafted.schema).parents["products"].tolist() == [0, 0, 1]


def test_the_bundled_baskets_are_a_data_set() -> None:
    baskets = Path(__file__).parents[3] / "examples" / "baskets" / "baskets.csv"
    assert datasets.is_dataset(baskets)
    found = read_dataset(baskets)
    assert found.persons == 3_000
    assert len(found.rows["products"]) == found.items == 8_696


def test_a_key_that_no_table_uses_is_a_key_and_not_released() -> None:
    drafted = draft_dataset({"people": pa.table(PEOPLE), "stays": pa.table(STAYS)})
    assert drafted.schema["stays"].key == "stay"
    assert "stay" not in drafted.schema["stays"].columns
