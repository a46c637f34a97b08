"""What the data is: one :class:`Attribute` per column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from shoal.errors import Problems, SchemaError
from shoal.schema._attribute import Attribute, Role

__all__ = ["Schema"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The attributes of a table, in the order of its columns.

    Parameters
    ----------
    attributes
        One per column of the data; a column of the data that the schema does not name is an error, so that nothing
        is released by accident.
    folder
        Where relative paths of hierarchy files start.
    guessed
        True where roles were drafted and nobody confirmed them; the certificate then says so.

    Examples
    --------
    >>> from shoal.schema import Attribute, Role
    >>> schema = Schema(attributes=(Attribute(name="age", role=Role.QUASI_IDENTIFIER), Attribute(name="pay")))
    >>> schema.quasi_identifiers
    ('age',)
    """

    attributes: tuple[Attribute, ...]
    folder: Path = field(default=Path(), compare=False)
    guessed: bool = False

    def __post_init__(self) -> None:
        problems = Problems()
        names = [attribute.name for attribute in self.attributes]
        for name in sorted({name for name in names if names.count(name) > 1}):
            problems.add(f"column `{name}` is described twice")
        problems.raise_as(SchemaError)

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise SchemaError(f"the schema has no column `{name}`")

    def __contains__(self, name: object) -> bool:
        return any(attribute.name == name for attribute in self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(attribute.name for attribute in self.attributes)

    def having(self, role: Role) -> tuple[str, ...]:
        """Return the names of the columns with this role."""
        return tuple(attribute.name for attribute in self.attributes if attribute.role is role)

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The names of the identifiers."""
        return self.having(Role.IDENTIFIER)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers."""
        return self.having(Role.QUASI_IDENTIFIER)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The names of the sensitive attributes."""
        return self.having(Role.SENSITIVE)

    @property
    def insensitive(self) -> tuple[str, ...]:
        """The names of the insensitive attributes."""
        return self.having(Role.INSENSITIVE)
