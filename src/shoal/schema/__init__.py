"""What the data is: roles, kinds, declared domains, missing values, weights and hierarchy rules."""

from shoal.schema._attribute import Attribute, Bound, Domain, Kind, Missing, Provenance, Role
from shoal.schema._draft import Draft, draft
from shoal.schema._file import dumps, from_document, load, loads, save
from shoal.schema._profile import ColumnProfile
from shoal.schema._rules import (
    Cuts,
    Dates,
    Flat,
    FromFile,
    Groups,
    HierarchyRule,
    Intervals,
    Mask,
    Quantiles,
    Taxonomy,
)
from shoal.schema._schema import Schema
from shoal.schema._write import toml_value

__all__ = [
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
    "save",
    "toml_value",
]
