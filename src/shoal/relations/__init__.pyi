"""The names of this package; each is imported when it is first used."""

from ._find import find_relations as find_relations
from ._relation import Relation as Relation
from ._relation import names_of as names_of
from ._view import ColumnView as ColumnView
from ._view import unit_of as unit_of
from ._view import view_columns as view_columns
