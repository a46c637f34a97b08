from __future__ import annotations

import pyarrow as pa

import shoal

ROWS = pa.table({"age": [31, 31, 52, 52], "<b>note": ["secret one", "secret two", "secret three", "secret four"]})


def test_objects_show_themselves_shortly_and_without_values(tmp_path):
    table = shoal.read(ROWS)
    drafted = shoal.draft(table)
    schema = drafted.schema.with_role("<b>note", "sensitive")
    table = table.with_schema(schema)
    release = shoal.anonymize(table, shoal.KAnonymity(2))
    for each in (table, drafted, shoal.assess(table), release):
        assert len(repr(each)) < 120
        page = each._repr_html_()
        assert "<b>note" not in page
        assert "secret" not in page.replace("secret `", "")
    assert repr(drafted).startswith("<Draft of 2 columns: ")
    assert repr(release) == "<Release of 4 records by method specialize: k-anonymity>"
    schema.save(tmp_path / "a.schema.toml")
    assert shoal.Schema.load(tmp_path / "a.schema.toml") == schema
