"""How values generalise, as plain data: one class per rule kind. A new kind is one file, and its line in ``RULES``."""

from shoal.schema._rule import HierarchyRule, Level, RuledColumn, Tree
from shoal.schema._values import counted, days, is_text, numbers, plain, text
from shoal.schema.rules._cuts import Cuts, Quantiles
from shoal.schema.rules._dates import DATE_LEVELS, Dates
from shoal.schema.rules._file import FromFile
from shoal.schema.rules._flat import Flat
from shoal.schema.rules._groups import Groups
from shoal.schema.rules._intervals import Intervals
from shoal.schema.rules._mask import Mask
from shoal.schema.rules._regions import REGION_LEVELS, Regions, country
from shoal.schema.rules._taxonomy import Taxonomy

__all__ = [
    "DATE_LEVELS",
    "REGION_LEVELS",
    "RULES",
    "Cuts",
    "Dates",
    "Flat",
    "FromFile",
    "Groups",
    "HierarchyRule",
    "Intervals",
    "Level",
    "Mask",
    "Quantiles",
    "Regions",
    "RuledColumn",
    "Taxonomy",
    "Tree",
    "counted",
    "country",
    "days",
    "is_text",
    "numbers",
    "plain",
    "text",
]

#: all rule kinds by the key that names them in a schema file
RULES: dict[str, type[HierarchyRule]] = {
    rule.name: rule for rule in (Intervals, Cuts, Quantiles, Mask, Dates, Regions, Groups, Taxonomy, FromFile, Flat)
}
