"""What the data is: roles, kinds, declared domains, missing values, weights and hierarchy rules."""

from shoal.schema._domain import INEXACT, Bound, Domain, Kind
from shoal.schema._draft import Draft, draft
from shoal.schema._guess import ColumnProfile
from shoal.schema._read import from_document, load, loads, read_rule
from shoal.schema._rule import HierarchyRule
from shoal.schema._schema import Attribute, Missing, Provenance, Role, Schema
from shoal.schema._write import dumps, save, toml_value
from shoal.schema.rules import (
    DATE_LEVELS,
    RULES,
    Cuts,
    Dates,
    Flat,
    FromFile,
    Groups,
    Intervals,
    Mask,
    Quantiles,
    Taxonomy,
)

__all__ = [
    "DATE_LEVELS",
    "INEXACT",
    "RULES",
    "Attribute",
    "Bound",
    "ColumnProfile",
    "Cuts",
    "Dates",
    "Domain",
    "Draft",
    "Flat",
    "FromFile",
    "Groups",
    "HierarchyRule",
    "Intervals",
    "Kind",
    "Mask",
    "Missing",
    "Provenance",
    "Quantiles",
    "Role",
    "Schema",
    "Taxonomy",
    "draft",
    "dumps",
    "from_document",
    "load",
    "loads",
    "read_rule",
    "save",
    "toml_value",
]
