from __future__ import annotations

import pytest

from shoal.schema import looks


@pytest.mark.parametrize(
    ("look", "texts"),
    [
        ("e-mail addresses", ["ada@example.org", "g.hopper@navy.example.com"]),
        ("web addresses", ["https://example.org/ada", "www.example.com"]),
        ("tokens or hashes", ["123e4567-e89b-12d3-a456-426614174000", "d41d8cd98f00b204e9800998ecf8427e"]),
        ("device addresses", ["00:1b:44:11:3a:b7"]),
        ("IP addresses", ["192.0.2.1", "2001:db8::1"]),
        ("phone numbers", ["+49 30 901820", "0033 1 42 68 53 00", "(212) 555-0187", "030/901820"]),
        ("bank account or card numbers", ["DE89370400440532013000", "GB33BUKB20201555555555"]),
        ("national numbers of persons", ["54362315K", "12345678Z"]),
        ("national numbers of persons", ["RSSMRA85T10A562S", "MRTMTT91D08F205J"]),
        ("coordinates", ["48.2082, 16.3738", "-33.86,151.20"]),
        ("names of people", ["Ada Lovelace", "Hopper, Grace", "Ludwig van Beethoven", "Dr. Marie Curie"]),
        ("free texts", ["came in with a cough and left the next day"]),
        ("classification codes", ["J45.0", "C10", "V27.1", "N02BE01"]),
        ("countries", ["Austria", "United-States", "DE", "FRA"]),
    ],
)
def test_what_values_look_like(look, texts):
    assert looks(texts)[look] == 1


@pytest.mark.parametrize(
    "texts",
    [
        ["2024-01-31", "2024-02-01"],
        ["31.01.2024", "01/02/2024"],
        ["12345", "99999", "10115"],
        ["yes", "no"],
        ["married", "never married"],
        ["1.5", "2.25", "-3"],
        ["<=50K", ">50K"],
        [""],
        [],
    ],
)
def test_ordinary_values_look_like_nothing(texts):
    assert all(share < 0.9 for share in looks(texts).values())
