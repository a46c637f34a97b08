"""Where data lives and how it is encoded: the only code that talks to an engine."""

from shoal.kernels import Counts, Mask
from shoal.tables._apply import apply
from shoal.tables._by_block import (
    Block,
    Blocks,
    ClusteredBlocks,
    ColumnMoments,
    Coordinate,
    DraftedBlocks,
    Plane,
    in_blocks,
)
from shoal.tables._by_record import EncodedRecords, encode_records, join_classes, release_records, sorted_records
from shoal.tables._classes import (
    Classes,
    ClassHistogram,
    Dictionary,
    Encoded,
    Frequencies,
    Recoding,
    SensitiveAttribute,
    group,
    tally,
)
from shoal.tables._columns import schema_of
from shoal.tables._counting import ValueCounts, class_sizes, count_values, distinct_values, records_from, repeat
from shoal.tables._encode import encode
from shoal.tables._engine import ROW
from shoal.tables._expressions import Filter, FilterError, filter_text
from shoal.tables._keyed import bernoulli, sampling_threshold
from shoal.tables._people import People, people, repeated_identifiers
from shoal.tables._profile import profile
from shoal.tables._read import read
from shoal.tables._record_store import RecordStore, Selection
from shoal.tables._table import Source, Table, numbered
from shoal.tables._write import write

__all__ = [
    "ROW",
    "Block",
    "Blocks",
    "ClassHistogram",
    "Classes",
    "ClusteredBlocks",
    "ColumnMoments",
    "Coordinate",
    "Counts",
    "Dictionary",
    "DraftedBlocks",
    "Encoded",
    "EncodedRecords",
    "Filter",
    "FilterError",
    "Frequencies",
    "Mask",
    "People",
    "Plane",
    "Recoding",
    "RecordStore",
    "Selection",
    "SensitiveAttribute",
    "Source",
    "Table",
    "ValueCounts",
    "apply",
    "bernoulli",
    "class_sizes",
    "count_values",
    "distinct_values",
    "encode",
    "encode_records",
    "filter_text",
    "group",
    "in_blocks",
    "join_classes",
    "numbered",
    "people",
    "profile",
    "read",
    "records_from",
    "release_records",
    "repeat",
    "repeated_identifiers",
    "sampling_threshold",
    "schema_of",
    "sorted_records",
    "tally",
    "write",
]
