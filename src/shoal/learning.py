"""Anonymisation as a step of a scikit-learn pipeline: levels are learnt once and applied row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal import tables
from shoal.errors import DataError, MissingExtraError, ParameterError, counted
from shoal.hierarchies import TOP, Hierarchy, build, leaf_codes
from shoal.methods.recode import Generalize
from shoal.models import KAnonymity
from shoal.plan import Plan
from shoal.schema import Attribute, Kind, Role, Schema, load
from shoal.tables import Table

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:
    raise MissingExtraError("scikit-learn", extra="learn") from None

__all__ = ["Generalizer"]

_REMOVED = (Role.IDENTIFIER, Role.PERSON, Role.HOUSEHOLD, Role.DROP)


class Generalizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Make the quasi-identifiers of a frame coarser until every record has k - 1 others like it.

    ``fit`` finds one level per column with the least loss, without leaving out a record; ``transform`` brings any frame
    to these levels, row by row and in their order, as pipelines need it. Identifiers and dropped columns are removed;
    others stay as they are.

    Parameters
    ----------
    schema
        What the columns mean, or the path of a schema file.
    k
        The least number of records that share their quasi-identifiers.
    bounds
        Whether to replace numbers and days by the ends of what their labels stand for, ``..._lower`` and ``..._upper``,
        for learners that take numbers only; other columns are labels.
    effort
        The work of the search of ``fit``, in units of about a second; None: until nothing is better.

    Guarantee
    ---------
    The quasi-identifiers of the transformed frame that was fitted are k-anonymous. Those of other frames are not: a
    person may be alone there. To publish a table use :func:`shoal.anonymize`, which certifies what it promises.

    Examples
    --------
    >>> import pandas, shoal
    >>> people = pandas.DataFrame({"age": [31, 34, 38, 52, 55, 56], "ill": [0, 1, 0, 1, 1, 0]})
    >>> tens = shoal.schema.Intervals(widths=(10, 20))
    >>> age = shoal.Attribute(name="age", role="quasi-identifier", kind="numeric", hierarchy=tens)
    >>> step = Generalizer(shoal.Schema(attributes=(age, shoal.Attribute(name="ill"))), k=3)
    >>> step.fit_transform(people)["age"].tolist()
    ['[30, 40)', '[30, 40)', '[30, 40)', '[50, 60)', '[50, 60)', '[50, 60)']
    """

    def __init__(
        self, schema: Schema | str | Path, *, k: int = 5, bounds: bool = False, effort: float | None = 20.0
    ) -> None:
        self.schema, self.k, self.bounds, self.effort = schema, k, bounds, effort

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: N803 - the names of scikit-learn
        """Find the levels for a frame."""
        schema = self.schema if isinstance(self.schema, Schema) else load(Path(self.schema))
        table = tables.read(X).with_schema(schema)
        method = Generalize(suppression_limit=0, effort=self.effort)
        search = Plan(schema=schema, models=(KAnonymity(self.k),), method=method).run(table).search
        if search is None or search.levels is None:
            raise ParameterError("no level per column was found.", hint="declare hierarchies in the schema")
        self.schema_ = schema
        self.levels_ = dict(zip(search.recoding.attributes, search.levels, strict=True))
        self.hierarchies_ = {name: self._hierarchy(schema[name], table) for name in self.levels_}
        self.feature_names_in_ = np.asarray(table.columns, dtype=object)
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803 - the names of scikit-learn
        """Bring a frame to the levels that were found; a value that no level knows becomes ``*``."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "levels_")
        read = tables.read(X)
        table = read.with_schema(self.schema_)
        rows = tables.in_order(table)
        if table.left_out:
            raise DataError(
                f"{counted(table.left_out, 'record')} without a value, and the schema drops such records; a step must "
                "keep all.",
                hint='declare `missing = "category"` for these columns',
            )
        for name in self.levels_:
            rows = rows.set_column(rows.column_names.index(name), name, self._labels(name, table, rows[name]))
        kept = [each.name for each in self.schema_ if each.role not in _REMOVED]
        columns = tables.for_analysis(rows.select(kept), self.schema_, bounds=self.bounds)
        if self.bounds:
            columns = columns.select(
                [name for name in columns.column_names if f"{name}_lower" not in columns.column_names]
            )
        return _like(X, columns)

    def get_feature_names_out(self, input_features: object = None) -> Any:
        """Return the names of the columns that ``transform`` keeps, unless ``bounds`` replaces some."""
        kept = [each.name for each in self.schema_ if each.role not in _REMOVED]
        ends = {n: self.bounds and self.schema_[n].kind in (Kind.NUMERIC, Kind.DATE) for n in self.levels_}
        names = [[f"{n}_lower", f"{n}_upper"] if ends.get(n) else [n] for n in kept]
        return np.asarray([name for some in names for name in some], dtype=object)

    def _hierarchy(self, attribute: Attribute, table: Table) -> Hierarchy:
        if attribute.hierarchy is not None and attribute.hierarchy.data_dependent:
            raise ParameterError(
                f"column `{attribute.name}`: levels that depend on the data cannot be applied to other data.",
                hint="declare `cuts` or `intervals`",
            )
        values = tables.distinct_values(table, attribute.name).combine_chunks()
        missing = bool(values.null_count)
        return build(attribute, values, folder=table.schema.folder if table.schema else Path(), missing=missing)

    def _labels(self, name: str, table: Table, column: pa.ChunkedArray) -> pa.Array:
        hierarchy, level = self.hierarchies_[name], self.levels_[name]
        if self.schema_[name].kind in (Kind.NUMERIC, Kind.DATE):
            fresh = self._hierarchy(self.schema_[name], table)
            # the same levels, with numbers and days that the fitted frame did not have
            hierarchy = fresh if fresh.levels == hierarchy.levels else hierarchy
        codes = leaf_codes(hierarchy, column)
        shown = [*hierarchy.labels[level], TOP]
        positions = np.where(codes < 0, len(shown) - 1, hierarchy.codes[level][np.maximum(codes, 0)])
        labels = pa.array(shown, pa.string()).take(pa.array(positions))
        absent = column.combine_chunks().is_null()
        return pc.if_else(pc.and_(absent, hierarchy.missing is None), pa.scalar(None, pa.string()), labels)


def _like(given: object, rows: pa.Table) -> Any:
    """Return records as a frame of the library that the given one is of, in place of its rows."""
    if type(given).__module__.partition(".")[0] == "polars":
        import polars

        return polars.from_arrow(rows)
    frame = rows.to_pandas()
    index = getattr(given, "index", None)
    return frame if index is None else frame.set_index(index)
