import pytest

from shoal.guarantees import Event, Filtered, LeftOut, Pseudonymized, Suppressed


def test_a_sentence_has_the_fields_in_their_places() -> None:
    assert Suppressed(records=1200, of=3400).describe() == "Suppressed 1,200 of 3,400 records."
    assert Filtered(models=("k", "l")).describe() == "Left out classes that violate `k`, `l`."


def test_braces_in_a_name_are_letters_like_others() -> None:
    assert Filtered(models=("{0.__class__}", "{")).describe() == "Left out classes that violate `{0.__class__}`, `{`."


def test_an_event_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Suppressed(records=1, of=2).records = 3  # type: ignore[misc]


@pytest.mark.parametrize("name", ["", "event", "_Spending", "no such step"])
def test_a_step_that_is_no_kind_of_event_is_not_read(name: str) -> None:
    with pytest.raises(KeyError):
        Event.from_json({"step": name})


def test_columns_and_numbers_are_said_in_words() -> None:
    one, two = LeftOut(records=1, columns=("a",)), LeftOut(records=2000, columns=("a", "b"))
    assert one.describe() == "Left out 1 record with missing values in column `a`."
    assert two.describe() == "Left out 2,000 records with missing values in columns `a`, `b`."
    assert Pseudonymized(columns=("id",)).describe() == (
        "Replaced the identifying column `id` by HMAC-SHA-256 pseudonyms; anyone who holds the key can link them back."
    )
