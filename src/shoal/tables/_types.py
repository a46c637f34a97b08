"""Types of columns, read from what engines call them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_DUCKDB = {
    "VARCHAR": "string",
    "BOOLEAN": "boolean",
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINTEGER": "uint32",
    "UBIGINT": "uint64",
    "HUGEINT": "decimal(38, 0)",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "DATE": "date",
    "TIME": "time",
    "TIME WITH TIME ZONE": "time",
    "TIMESTAMP": "timestamp(6)",
    "TIMESTAMP_S": "timestamp(0)",
    "TIMESTAMP_MS": "timestamp(3)",
    "TIMESTAMP_NS": "timestamp(9)",
    "TIMESTAMP WITH TIME ZONE": "timestamp('UTC', 6)",
    "INTERVAL": "interval('us')",
    "BLOB": "binary",
    "UUID": "uuid",
    "JSON": "json",
}
_SPARK = {
    "string": "string",
    "boolean": "boolean",
    "tinyint": "int8",
    "smallint": "int16",
    "int": "int32",
    "bigint": "int64",
    "float": "float32",
    "double": "float64",
    "date": "date",
    "timestamp": "timestamp('UTC', 6)",
    "timestamp_ntz": "timestamp(6)",
    "binary": "binary",
}
_WORDS = {"duckdb": _DUCKDB, "spark": _SPARK}
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)", re.IGNORECASE)
_NESTED = re.compile(r"(struct|map|array|list|union)\b.*|.*\[\d*\]", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a column, under a name that all engines share."""

    name: str

    @classmethod
    def read(cls, dialect: str, text: str) -> Type:
        """Return the type that an engine calls so.

        Examples
        --------
        >>> str(Type.read("duckdb", "DECIMAL(8,2)")), str(Type.read("spark", "bigint"))
        ('decimal(8, 2)', 'int64')
        """
        if (word := _WORDS[dialect].get(text)) is not None:
            return cls(word)
        if _NESTED.fullmatch(text):
            return cls(f"nested {text}")
        if text.startswith("ENUM("):
            return cls("string")
        if (decimal := _DECIMAL.fullmatch(text)) is not None:
            return cls(f"decimal({decimal[1]}, {decimal[2]})")
        return cls("interval" if text.startswith("interval") else text.lower())

    def __str__(self) -> str:
        return self.name.removeprefix("nested ")

    def is_string(self) -> bool:
        """Return whether values are texts."""
        return self.name == "string"

    def is_boolean(self) -> bool:
        """Return whether values are true or false."""
        return self.name == "boolean"

    def is_integer(self) -> bool:
        """Return whether values are whole numbers of some bits."""
        return self.name.startswith(("int", "uint")) and self.name[-1].isdigit()

    def is_floating(self) -> bool:
        """Return whether values are floating point."""
        return self.name.startswith("float")

    def is_decimal(self) -> bool:
        """Return whether values are decimal numbers."""
        return self.name.startswith("decimal")

    def is_numeric(self) -> bool:
        """Return whether values are numbers."""
        return self.is_integer() or self.is_floating() or self.is_decimal()

    def is_date(self) -> bool:
        """Return whether values are days."""
        return self.name == "date"

    def is_timestamp(self) -> bool:
        """Return whether values are points in time."""
        return self.name.startswith("timestamp")

    def is_temporal(self) -> bool:
        """Return whether values are days or times."""
        return self.is_date() or self.is_timestamp() or self.name == "time"

    def is_interval(self) -> bool:
        """Return whether values are durations."""
        return self.name.startswith("interval")

    def is_binary(self) -> bool:
        """Return whether values are bytes."""
        return self.name == "binary"

    def is_nested(self) -> bool:
        """Return whether values are lists or structures."""
        return self.name.startswith("nested ")


STRING, BOOLEAN, INTEGER, NUMBER = Type("string"), Type("boolean"), Type("int64"), Type("float64")
DATE, BINARY, UNKNOWN = Type("date"), Type("binary"), Type("unknown")

_NAMES = {
    "duckdb": {"string": "VARCHAR", "int32": "INTEGER", "float32": "FLOAT", "binary": "BLOB"},
    "spark": {"string": "STRING", "int32": "INT", "float32": "FLOAT", "binary": "BINARY"},
}
_COMMON = {"boolean": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int64": "BIGINT", "float64": "DOUBLE"}
_COMMON |= {"date": "DATE"}


def type_name(dialect: str, kind: Type) -> str:
    """Return what an engine calls a type."""
    if kind.is_decimal():
        return kind.name.upper()
    return _NAMES[dialect].get(kind.name) or _COMMON[kind.name]
