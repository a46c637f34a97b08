"""Laws of schema files: what is written is read back, and whatever is read ends in a schema or a clear refusal."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.examples import examples
from shoal.errors import SchemaError
from shoal.schema import Attribute, ColumnProfile, Kind, Role, Schema, draft, dumps, from_document, loads
from shoal.testing import strategies

few = examples(60)

# everything that UTF-8 can hold: quotes, line ends, control characters
any_name = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)


@pytest.mark.slow
@few
@given(strategies.schemas(names=any_name, files=True))
def test_a_schema_survives_its_file(schema):
    assert loads(dumps(schema)) == schema


@pytest.mark.slow
@few
@given(strategies.schemas(files=True))
def test_writing_is_stable(schema):
    assert dumps(loads(dumps(schema))) == dumps(schema)


@few
@given(
    st.lists(any_name, min_size=1, max_size=4, unique=True),
    st.floats(min_value=0, allow_infinity=False),
    st.one_of(st.integers(-(10**30), 10**30), st.floats(allow_nan=False, allow_infinity=False)),
)
def test_names_weights_and_bounds_of_any_size_survive(names, weight, bound):
    from shoal.schema import Domain

    domain = Domain(minimum=bound)
    schema = Schema(
        attributes=tuple(Attribute(name=name, kind=Kind.NUMERIC, weight=weight, domain=domain) for name in names)
    )
    assert loads(dumps(schema)) == schema


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.dates(), st.datetimes(), st.just("canary"), st.text()
)
words = st.sampled_from(
    ["role", "kind", "hierarchy", "intervals", "mask", "groups", "taxonomy", "cuts", "values", "canary"]
)
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4), max_leaves=12
)


def read_or_refuse(document):
    try:
        return from_document(document)
    except SchemaError as error:
        return error


@pytest.mark.slow
@examples(200)
@given(st.dictionaries(st.sampled_from(["shoal", "guessed", "columns", "colums"]), documents))
def test_any_document_is_read_or_refused(document):
    found = read_or_refuse(document)
    assert isinstance(found, Schema) or found.problems


@pytest.mark.slow
@examples(200)
@given(st.dictionaries(words, documents, max_size=5))
def test_any_table_of_a_column_is_read_or_refused_in_the_name_of_the_column(table):
    found = read_or_refuse({"columns": {"zip": {"role": "sensitive"} | table}})
    assert isinstance(found, Schema) or all("column `zip`" in problem for problem in found.problems)


@few
@given(
    st.sampled_from(["role", "kind", "values", "minimum", "maximum", "missing", "weight", "hierarchy", "pseudonym"]),
    st.data(),
)
def test_a_misspelt_key_is_named_with_the_right_one(key, data):
    place = data.draw(st.integers(0, len(key) - 1))
    misspelt = key[:place] + data.draw(st.sampled_from(string.ascii_lowercase)) + key[place:]
    with pytest.raises(SchemaError) as raised:
        from_document({"columns": {"a": {"role": "sensitive"} | {misspelt: "canary"}}})
    assert raised.value.problems == (f"column `a`: unknown key `{misspelt}` (did you mean `{key}`?)",)


# -- drafts ----------------------------------------------------------------------------------------------------------


@st.composite
def profiles(draw, name):
    records = draw(st.integers(0, 1000))
    missing = draw(st.integers(0, records))
    low, high = sorted([draw(st.floats(-1e9, 1e9)), draw(st.floats(-1e9, 1e9))])
    bounded = draw(st.booleans())
    share = st.floats(0, 1) | st.just(1.0)
    return ColumnProfile(
        name=name,
        type=draw(st.sampled_from(["text", "integer", "number", "boolean", "date", "timestamp", "other"])),
        records=records,
        missing=missing,
        distinct=draw(st.integers(0, records - missing)),
        separation=draw(share),
        integers=draw(share),
        numbers=draw(share),
        dates=draw(share),
        leading_zeros=draw(share),
        minimum=low if bounded else None,
        maximum=high if bounded else None,
        lengths=((draw(st.integers(0, 20)), draw(share)),),
    )


known_names = st.sampled_from(["zip", "Age", "patient_id", "name", "salary", "admissionDate", "icd code", "x"])


@few
@given(
    st.lists(known_names | any_name, min_size=1, max_size=5, unique=True).flatmap(
        lambda names: st.tuples(*(profiles(name) for name in names))
    )
)
def test_every_draft_is_a_schema_that_can_be_read_back(described):
    drafted = draft(described)
    assert drafted.schema.guessed
    assert drafted.schema.names == tuple(profile.name for profile in described) == tuple(drafted.reasons)
    assert loads(drafted.to_toml()) == drafted.schema
    assert set(drafted.ranking) == set(drafted.schema.quasi_identifiers)
    for attribute in drafted.schema:
        assert attribute.domain is None
        assert drafted.reasons[attribute.name].startswith(f"{attribute.role.value}: ")
        assert attribute.hierarchy is None or attribute.role in (Role.QUASI_IDENTIFIER, Role.DECIDE, Role.DROP)
