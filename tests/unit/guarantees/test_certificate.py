"""The certificate's file format."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import jsonschema
import pytest

from shoal import guarantees
from shoal.errors import ParameterError, VerificationError
from shoal.guarantees import (
    Certificate,
    Column,
    Data,
    DomainOrigin,
    Guarantee,
    Neighbours,
    Ordered,
    Promise,
    Strength,
    certify,
    fingerprint,
    load,
    syntactic,
)
from shoal.methods.recode import Suppressed
from shoal.models import KAnonymity
from shoal.schema import Kind, Provenance, Role

PUBLISHED = Path(guarantees.__file__).with_name("certificate.schema.json")


def _certificate() -> Certificate:
    return certify(
        Guarantee(promises=(syntactic(KAnonymity(5)),), events=(Suppressed(records=3, of=100), Ordered())),
        data=Data(
            file="data.parquet",
            records=97,
            columns=(Column(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),),
        ),
        files=(),
        domains=(DomainOrigin(column="age", provenance=Provenance.INFERRED),),
        schema_text="",
        guessed=False,
        measures={"loss": 0.5},
    )


def test_the_published_json_schema_is_the_one_in_use() -> None:
    published = json.loads(PUBLISHED.read_text())
    assert published == Certificate.model_json_schema(), (
        "the certificate's format changed: raise its version and write the schema again"
    )


def test_a_certificate_survives_its_file(tmp_path: Path) -> None:
    certificate = _certificate()
    (tmp_path / "certificate.json").write_text(certificate.to_json())
    assert load(tmp_path / "certificate.json") == certificate


def test_a_certificate_fits_the_published_schema() -> None:
    jsonschema.validate(json.loads(_certificate().to_json()), json.loads(PUBLISHED.read_text()))


def test_a_certificate_says_when_and_with_what_it_was_made() -> None:
    certificate = _certificate()
    assert abs(certificate.created - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=1)
    assert {"shoal", "duckdb", "python"} <= set(certificate.software)


def test_an_unknown_entry_is_refused_and_named(tmp_path: Path) -> None:
    content = json.loads(_certificate().to_json()) | {"colour": "red"}
    (tmp_path / "certificate.json").write_text(json.dumps(content))
    with pytest.raises(VerificationError, match="colour"):
        load(tmp_path / "certificate.json")


def test_a_file_name_cannot_leave_the_release(tmp_path: Path) -> None:
    content = json.loads(_certificate().to_json())
    content["files"] = [
        {"name": "../secret", "sha256": "0" * 64, "bytes": 1},
        {"name": "/etc/passwd", "sha256": "0" * 64, "bytes": 1},
    ]
    content["data"]["file"] = "../data.parquet"
    (tmp_path / "certificate.json").write_text(json.dumps(content))
    with pytest.raises(VerificationError) as caught:
        load(tmp_path / "certificate.json")
    assert len(caught.value.problems) == 3


def test_a_fingerprint_tells_files_apart(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"2")
    assert fingerprint(tmp_path / "a", "x").sha256 != fingerprint(tmp_path / "b", "x").sha256


def test_a_conditional_promise_must_list_its_assumptions() -> None:
    with pytest.raises(ParameterError, match="assumptions"):
        Promise(model="m", parameters={}, strength=Strength.CONDITIONAL, statement="s")


def test_an_unconditional_promise_must_name_its_neighbours() -> None:
    with pytest.raises(ParameterError, match="neighbours"):
        Promise(model="m", parameters={}, strength=Strength.UNCONDITIONAL, statement="s")
    assert Promise(
        model="m", parameters={}, strength=Strength.UNCONDITIONAL, statement="s", neighbours=Neighbours.ADD_REMOVE
    )
