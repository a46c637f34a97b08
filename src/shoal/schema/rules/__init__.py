"""Hierarchy rules as plain data, one class per kind. A new kind is one file, and its line here."""

from shoal.schema._rule import HierarchyRule as HierarchyRule
from shoal.schema._rule import Level as Level
from shoal.schema._rule import RuledColumn as RuledColumn
from shoal.schema._rule import Tree as Tree
from shoal.schema._rule import place_of as place_of
from shoal.schema._values import days as days
from shoal.schema._values import encode_texts as encode_texts
from shoal.schema._values import is_text as is_text
from shoal.schema._values import join_words as join_words
from shoal.schema._values import numbers as numbers
from shoal.schema._values import plain as plain
from shoal.schema._values import text as text
from shoal.schema.rules._dates import DATE_LEVELS as DATE_LEVELS
from shoal.schema.rules._dates import Dates as Dates
from shoal.schema.rules._file import FromFile as FromFile
from shoal.schema.rules._file import canonical_file as canonical_file
from shoal.schema.rules._flat import Flat as Flat
from shoal.schema.rules._found import FoundGroups as FoundGroups
from shoal.schema.rules._groups import Groups as Groups
from shoal.schema.rules._intervals import Cuts as Cuts
from shoal.schema.rules._intervals import Intervals as Intervals
from shoal.schema.rules._intervals import Quantiles as Quantiles
from shoal.schema.rules._mask import Digits as Digits
from shoal.schema.rules._mask import Mask as Mask
from shoal.schema.rules._regions import REGION_LEVELS as REGION_LEVELS
from shoal.schema.rules._regions import Regions as Regions
from shoal.schema.rules._regions import countries as countries
from shoal.schema.rules._regions import country as country
from shoal.schema.rules._taxonomy import Taxonomy as Taxonomy

#: all kinds of rules, in the order in which people meet them: a new one is imported above and gets a line here
_LISTED: tuple[type[HierarchyRule], ...] = (
    Intervals,
    Cuts,
    Quantiles,
    Mask,
    Digits,
    Dates,
    Regions,
    Groups,
    FoundGroups,
    Taxonomy,
    FromFile,
    Flat,
)
RULES: dict[str, type[HierarchyRule]] = {rule.name: rule for rule in _LISTED}
"""All rule kinds by the key that names them in a schema file."""
