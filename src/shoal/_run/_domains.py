"""Where domains came from, for the certificate."""

from __future__ import annotations

import hashlib

from shoal.guarantees._certificate import Domain
from shoal.hierarchies import provenance
from shoal.schema import Schema
from shoal.tables import Frequencies

__all__ = ["domains", "domains_of_schema"]


def domains(schema: Schema, frequencies: Frequencies) -> tuple[Domain, ...]:
    """Return where the domain of every generalised column came from."""
    return tuple(
        Domain(
            column=hierarchy.attribute,
            provenance=hierarchy.provenance,
            hierarchy_sha256=_file_hash(schema, hierarchy.attribute),
        )
        for hierarchy in frequencies.hierarchies
    )


def domains_of_schema(schema: Schema) -> tuple[Domain, ...]:
    """As `domains`, of all quasi-identifiers, where no hierarchy was made of the values."""
    return tuple(
        Domain(column=name, provenance=provenance(schema[name]), hierarchy_sha256=_file_hash(schema, name))
        for name in schema.quasi_identifiers
    )


def _file_hash(schema: Schema, column: str) -> str | None:
    rule = schema[column].hierarchy
    path = None if rule is None else rule.file
    return None if path is None else hashlib.sha256((schema.folder / path).read_bytes()).hexdigest()
