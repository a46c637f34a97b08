"""Compare every released value with the plan: values of the domain, labels of the hierarchy, what the steps make."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from shoal import tables
from shoal.errors import quoted
from shoal.guarantees import Check, Data, Evidence, Kept, run_check
from shoal.hierarchies import TOP, LabelLevels, label_levels
from shoal.methods.recode import Aggregated, Generalized
from shoal.methods.truthful import TablesTrimmed
from shoal.schema import Attribute, Kind, Missing
from shoal.schema.rules import is_text, text

_PSEUDONYM = re.compile(r"[0-9a-f]{64}")
_MISSING, _MORE = "missing", re.compile(r", and ([1-9]\d*) more}$")
#: so many values of a set are named, if it has more
_LISTED = 12
#: sorts values: by the place that the plan gives them, or by their text
Place = tuple[int, str]
OPEN = "the plan does not say which values there are"


def check_values(evidence: Evidence) -> list[Check]:
    """Return one check of all released values, and one of the columns whose values the plan does not list."""
    open_columns: list[str] = []

    def decide() -> tuple[bool, str]:
        number = 0
        for data in evidence.certificate.tables:
            for column in _columns(data, evidence):
                number += 1
                if not column.is_allowed():
                    return False, f"`{column.name}` has values that the plan does not allow"
                if column.is_open:
                    open_columns.append(column.name)
            if data.class_column is not None and not _numbers_classes(data, evidence):
                return False, f"`{data.class_column}` does not number the classes from 1 on"
        return True, f"of {number} columns, each as the plan allows"

    checks = [run_check("values", decide)]
    if checks[0].passed and open_columns:
        names = quoted(dict.fromkeys(open_columns))
        checks.append(Check(subject=f"values of {names}", passed=True, detail=OPEN, shown=False))
    return checks


def _columns(data: Data, evidence: Evidence) -> Iterator[_ReleasedColumn]:
    for described in data.columns:
        if described.name == data.class_column:
            continue
        values = tables.distinct_values(evidence.tables[data.file], described.name).combine_chunks()
        attribute = evidence.plan.schema[described.name]
        yield _ReleasedColumn(attribute=attribute, values=values, data=data, evidence=evidence)


def _numbers_classes(data: Data, evidence: Evidence) -> bool:
    numbers = tables.distinct_values(evidence.tables[data.file], str(data.class_column))
    return bool(pa.types.is_integer(numbers.type)) and sorted(numbers.to_pylist()) == [*range(1, len(numbers) + 1)]


@dataclass(kw_only=True)
class _ReleasedColumn:
    """The different values of a released column."""

    attribute: Attribute
    values: pa.Array
    data: Data
    evidence: Evidence
    #: Whether the plan does not say which values there are, so that some were not compared.
    is_open: bool = False
    levels: LabelLevels = field(init=False)

    @property
    def name(self) -> str:
        return self.attribute.name

    def is_allowed(self) -> bool:
        """Compare the values with what the plan and the last step that changed them allow."""
        present = self.values.drop_null()
        if len(present) < len(self.values) and self.attribute.missing is not Missing.CATEGORY:
            return False
        if self.attribute.role.names_someone:
            return is_text(present.type) and all(map(_PSEUDONYM.fullmatch, present.to_pylist()))
        step = next((each for each in reversed(self.evidence.all_steps) if each.kept_of(self.name) is not None), None)
        kept: Kept = "value" if step is None else step.kept_of(self.name) or "value"
        if kept in ("value", "typical") and not is_text(present.type):
            return self._are_inside(present, whole_domain=kept == "value")
        labels = [str(label) for label in text(present).to_pylist()]
        self._read(labels)
        allows = {
            "value": self._values_allowed,
            "cell": self._cells_allowed,
            "label": self._labels_allowed,
            "typical": self._typical_allowed,
            "aggregate": self._aggregates_allowed,
            "bucket": self._buckets_allowed,
        }[kept]
        return allows(labels)

    def _are_inside(self, present: pa.Array, *, whole_domain: bool) -> bool:
        """Compare numbers or days with their bounds, or the values of a whole domain with those listed."""
        domain = self.attribute.domain
        if whole_domain and (self._lists_values or self.attribute.kind not in (Kind.NUMERIC, Kind.DATE)):
            labels = [str(label) for label in text(present).to_pylist()]
            self._read(labels)
            return self._values_allowed(labels)
        if self.attribute.kind is Kind.NUMERIC:
            if not (
                pa.types.is_integer(present.type)
                or pa.types.is_floating(present.type)
                or pa.types.is_decimal(present.type)
            ):
                return False
        elif self.attribute.kind is not Kind.DATE or not pa.types.is_date(present.type):
            return False
        if pa.types.is_floating(present.type) and not pc.all(pc.is_finite(present), min_count=0).as_py():
            return False
        least, most = (None, None) if domain is None else (domain.minimum, domain.maximum)
        if domain is not None and domain.values is not None and self.attribute.kind is Kind.NUMERIC:
            least, most = min(map(float, domain.values)), max(map(float, domain.values))
        self.is_open |= least is None or most is None
        ends = pc.min_max(present).as_py()
        return len(present) == 0 or ((least is None or ends["min"] >= least) and (most is None or ends["max"] <= most))

    @property
    def _lists_values(self) -> bool:
        by_rule = self.attribute.hierarchy is not None and self.attribute.hierarchy.lists_values
        return by_rule or (self.attribute.domain is not None and self.attribute.domain.values is not None)

    def _read(self, labels: list[str]) -> None:
        """Find the levels of the labels, and of all that may be a value inside of one."""
        inside = {part for label in labels for part in _candidates(label)}
        self.levels = label_levels(self.attribute, {*labels, *inside}, folder=self.evidence.folder)
        self.is_open |= self.levels.any_interval

    def _is_value(self, label: str) -> bool:
        self.is_open |= self.levels.any_value
        return 0 in self.levels[label]

    def _is_label(self, label: str) -> bool:
        self.is_open |= self.levels.any_value
        return bool(self.levels[label])

    def _values_allowed(self, labels: list[str]) -> bool:
        return all(map(self._is_value, labels))

    def _cells_allowed(self, labels: list[str]) -> bool:
        return all(label == TOP or self._is_value(label) for label in labels)

    def _labels_allowed(self, labels: list[str]) -> bool:
        method, expected = self.evidence.plan.method, self._expected_level()
        if expected is None:
            intervals = bool(getattr(method, "intervals", False)) and self.attribute.kind is not Kind.CATEGORICAL
            return all(self._is_label(label) or (intervals and self._is_interval(label)) for label in labels)
        self.is_open |= self.levels.any_value and expected == 0
        erased = {TOP} if getattr(method, "cells", False) else set()
        fits = all(expected in self.levels[label] or label in erased for label in labels)
        return fits and self._height_fits()

    def _height_fits(self) -> bool:
        """Return whether the hierarchy has as many levels as the steps say."""
        said = {
            dict(zip(step.columns, step.heights, strict=True))[self.name]
            for step in self.evidence.steps(Generalized)
            if step.heights and self.name in step.columns
        }
        return said <= {self.levels.height}

    def _expected_level(self) -> int | None:
        """Return the one level that the steps give the column in this table; None where there may be several."""
        found: set[int] = set()
        names = {column.name for column in self.data.columns}
        for step in self.evidence.all_steps:
            if isinstance(step, Generalized) and self.name in step.columns:
                if not step.levels:
                    return None
                found.add(dict(zip(step.columns, step.levels, strict=True))[self.name])
            elif isinstance(step, TablesTrimmed):
                of_table = [
                    dict(zip(columns, levels, strict=True))[self.name]
                    for columns, levels in zip(step.tables, step.levels, strict=True)
                    if {*columns} == names
                ]
                found |= {*of_table}
            elif step.kept_of(self.name) == "label":
                return None
        return found.pop() if len(found) == 1 else None

    def _typical_allowed(self, labels: list[str]) -> bool:
        """Compare concepts, and values of a text column; typical numbers and days are no texts."""
        return all(map(self._is_label, labels))

    def _aggregates_allowed(self, labels: list[str]) -> bool:
        """Compare aggregates; a mean need not be a value, but lies between the bounds."""
        if not self._height_fits():
            return False
        functions = {
            name: function
            for step in self.evidence.steps(Aggregated)
            for name, function in zip(step.columns, step.functions, strict=True)
        }
        if functions[self.name] in ("mean", "geometric-mean"):
            numbers = _typed(labels, self.attribute.kind)
            return text(numbers).to_pylist() == labels and self._are_inside(numbers, whole_domain=False)
        if functions[self.name] == "interval":
            return all(self._is_value(label) or self._is_interval(label) for label in labels)
        if functions[self.name] == "set":
            return all(self._is_value(label) or self._is_listing(label) for label in labels)
        return self._values_allowed(labels)

    def _buckets_allowed(self, labels: list[str]) -> bool:
        return all(map(self._is_bucket, labels))

    def _is_bucket(self, label: str) -> bool:
        if label == _MISSING or self._is_label(label) or self._is_set_of_values(label):
            return True
        if self.attribute.kind is not Kind.CATEGORICAL:
            label = label.removesuffix(f" or {_MISSING}")
        return self._is_value(label) or self._is_interval(label)

    def _is_set_of_values(self, label: str) -> bool:
        """Return whether a label lists the values of a bucket in their order, the first ones and a number of many."""
        more = _MORE.search(label)
        if more is None:
            return self._is_listing(label, missing=True)
        possible = len(self.levels.places) + 1 if self.levels.places else self.data.records
        fits = len(more[1]) < 12 and _LISTED + int(more[1]) <= possible
        return fits and self._is_listing(_MORE.sub("}", label), missing=True, count=_LISTED)

    def _is_interval(self, label: str) -> bool:
        """Return whether a label is ``[a, b]`` with two values of the column, the lesser one first."""
        if not (label.startswith("[") and label.endswith("]")):
            return False
        parts = label[1:-1].split(", ")
        cuts = ((", ".join(parts[:cut]), ", ".join(parts[cut:])) for cut in range(1, len(parts)))
        return any(
            self._is_value(low) and self._is_value(high) and self._are_ascending(low, high) for low, high in cuts
        )

    def _are_ascending(self, low: str, high: str) -> bool:
        if self.attribute.kind is Kind.NUMERIC:
            return float(low) < float(high)
        if self.attribute.kind is Kind.ORDINAL and self.attribute.domain is not None:
            order = self.attribute.domain.values or ()
            return order.index(low) < order.index(high)
        return low < high

    def _is_listing(self, label: str, *, missing: bool = False, count: int | None = None) -> bool:
        """Return whether a label is ``{...}`` with several values in their order, whatever commas these hold.

        With ``missing``, the last one may be missing; ``count`` is their number, where that is known.
        """
        if not (label.startswith("{") and label.endswith("}")):
            return False
        parts = label[1:-1].split(", ")
        # how many values the first parts may be, and the place of the last of them
        reached: dict[int, set[tuple[int, Place]]] = {0: {(0, (-1, ""))}}
        for end in range(1, len(parts) + 1):
            reached[end] = {
                (number + 1, place)
                for start in range(end)
                for number, last in reached[start]
                if (place := self._place(", ".join(parts[start:end]), missing=missing)) is not None and last < place
            }
        return any(number == count if count is not None else number > 1 for number, _ in reached[len(parts)])

    def _place(self, value: str, *, missing: bool) -> Place | None:
        """Return where a value stands in the order of its column; None for what is no value."""
        if self._is_value(value):
            declared = self.levels.places if missing or self.attribute.kind is Kind.ORDINAL else {}
            return (declared[value], "") if value in declared else (len(declared), value)
        return (self.data.records + len(self.levels.places) + 1, "") if missing and value == _MISSING else None


def _typed(labels: list[str], kind: Kind) -> pa.Array:
    texts = pa.array(labels, pa.string())
    return texts.cast(pa.date32() if kind is Kind.DATE else pa.float64())


def _candidates(label: str) -> Iterator[str]:
    """Yield what may be a value inside of ``[a, b]`` or ``{a, b, c}``: values may hold commas."""
    inner = _MORE.sub("}", label.removesuffix(f" or {_MISSING}"))
    if (inner[:1], inner[-1:]) not in (("[", "]"), ("{", "}")):
        return
    parts = inner[1:-1].split(", ")
    for start in range(len(parts)):
        for end in range(start + 1, len(parts) + 1):
            yield ", ".join(parts[start:end])
