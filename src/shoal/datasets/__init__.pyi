"""The names of this package; each is imported when it is first used."""

from ._draft import DatasetDraft as DatasetDraft
from ._draft import draft_dataset as draft_dataset
from ._join import join_tables as join_tables
from ._read import DATASET as DATASET
from ._read import Dataset as Dataset
from ._read import declared_parents as declared_parents
from ._read import holds_tables as holds_tables
from ._read import is_dataset as is_dataset
from ._read import read_dataset as read_dataset
from ._read import schema_place as schema_place
from ._read import table_names as table_names
from ._schema import DatasetSchema as DatasetSchema
from ._schema import TableSchema as TableSchema
from ._toml import dumps as dumps
from ._toml import from_document as from_document
from ._toml import load as load
from ._toml import loads as loads
