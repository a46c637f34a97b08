"""What differential privacy asks of every schema, whatever the method."""

from __future__ import annotations

from shoal.schema import Role, Schema

__all__ = ["unfit"]


def unfit(schema: Schema, title: str) -> list[str]:
    """Return what in a schema was read off the data or singles records out, each with what to do about it."""
    problems = []
    if schema.guessed:
        problems.append(
            f"`{title}` needs a schema that a person wrote or confirmed: a drafted one was read off the data "
            "(check it, then remove the line `guessed = true`)"
        )
    problems += [
        f"`{title}`: column `{attribute.name}` asks for pseudonyms, which single records out; drop it "
        "(pseudonym = false)"
        for attribute in schema
        if attribute.role is Role.IDENTIFIER and attribute.pseudonym
    ]
    return problems
