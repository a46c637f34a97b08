"""Read the projects of ARX, the anonymisation tool: zip files of XML, with a hierarchy file for each column."""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from xml.etree import ElementTree as ET

from shoal.errors import InputError, Problems, reason
from shoal.guarantees import Requirement
from shoal.methods.promises import from_parameters
from shoal.methods.recode import Aggregate, Generalize, aggregate_problems
from shoal.plan import About, Plan
from shoal.schema import Attribute, Domain, FromFile, Kind, Reading, Role, Schema
from shoal.writing import file_stem, staged

__all__ = ["ArxProject", "read_arx_project"]

#: no entry of a project that is read here is larger
_LARGEST = 200_000_000
_ROLES = {
    "IDENTIFYING_ATTRIBUTE": Role.IDENTIFIER,
    "QUASI_IDENTIFYING_ATTRIBUTE": Role.QUASI_IDENTIFIER,
    "SENSITIVE_ATTRIBUTE": Role.SENSITIVE,
    "INSENSITIVE_ATTRIBUTE": Role.INSENSITIVE,
}
_NUMERIC = ("Integer", "Decimal")
#: what ARX calls types that are read as text here; the last is the name of ordinals in older versions
_AS_TEXT = ("Date/Time", "Ordinal", "OrderedString")
#: languages that write a decimal comma, as ARX names them
_COMMA = ("DE", "FR", "ES", "IT", "PT", "NL", "PL", "SV", "DA", "NB", "NO", "FI", "CS", "HU", "RO", "EL", "RU", "TR")
#: what ARX writes for a missing value
_MISSING = "NULL"
_FOR = r" for attribute '(.*)'"
#: a number as Java writes it
_NUMBER = r"(\d+(?:\.\d+)?(?:E-?\d+)?)"
#: ln 2, rounded down: the logarithms of delta-disclosure are binary there and natural here
_LN_2 = Decimal("0.6931471805599453094172321")
_Parameters = Callable[[re.Match[str]], dict[str, object]]
#: how ARX writes privacy models, old and new spellings, and what they are here
_CRITERIA: tuple[tuple[str, str, _Parameters], ...] = (
    (r"(\d+)-anonymity", "k-anonymity", lambda m: {"k": int(m[1])}),
    (rf"distinct-(\d+)-diversity{_FOR}", "distinct-l-diversity", lambda m: {"attribute": m[2], "l": int(m[1])}),
    (
        rf"(?:shannon-)?entropy-{_NUMBER}-diversity{_FOR}",
        "entropy-l-diversity",
        lambda m: {"attribute": m[2], "l": float(m[1])},
    ),
    (
        rf"recursive-\({_NUMBER},(\d+)\)-diversity{_FOR}",
        "recursive-l-diversity",
        lambda m: {"attribute": m[3], "c": float(m[1]), "l": int(m[2])},
    ),
    (
        rf"{_NUMBER}-closeness with (equal|ordered|hierarchical) (?:ground-)?distance{_FOR}",
        "t-closeness",
        lambda m: {"attribute": m[3], "t": float(m[1]), "distance": m[2]},
    ),
    (
        rf"(basic|enhanced)-{_NUMBER}-likeness{_FOR}",
        "beta-likeness",
        lambda m: {"attribute": m[3], "beta": float(m[2]), "enhanced": m[1] == "enhanced"},
    ),
    (
        rf"{_NUMBER}-disclosure privacy{_FOR}",
        "delta-disclosure",
        lambda m: {"attribute": m[2], "delta": _in_natural_logarithms(m[1])},
    ),
    (rf"\({_NUMBER}\)-avg-reidentification-risk", "average-risk", lambda m: {"risk": float(m[1])}),
)
#: what ARX calls its functions of microaggregation
_AGGREGATES: dict[str, Aggregate] = {
    "arithmetic mean": "mean",
    "geometric mean": "geometric-mean",
    "median": "median",
    "mode": "mode",
    "interval": "interval",
    "set": "set",
}
#: models that compare a class with a whole table
_COMPARING = ("t-closeness", "beta-likeness", "delta-disclosure")


def _in_natural_logarithms(delta: str) -> float:
    """Return a bound on binary logarithms as one on natural ones, never a weaker one."""
    return float((Decimal(delta) * _LN_2).quantize(Decimal("1e-9"), rounding=ROUND_FLOOR))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArxProject:
    """The plan and notes that were read from a project of ARX.

    Parameters
    ----------
    plan
        Schema, promises and method.
    hierarchies
        The rows of the hierarchy files that the plan names.
    notes
        What is different here, a sentence each.
    """

    plan: Plan
    hierarchies: Mapping[str, list[list[str]]] = field(repr=False)
    notes: tuple[str, ...]

    def write(self, folder: str | Path) -> Path:
        """Write ``plan.toml`` and its hierarchy files to a new folder, which appears whole or not at all."""
        folder = Path(folder)
        with staged(folder) as staging:
            for name, rows in self.hierarchies.items():
                (staging / name).parent.mkdir(exist_ok=True)
                with (staging / name).open("w", encoding="utf-8", newline="") as file:
                    csv.writer(file, delimiter=";", lineterminator="\n").writerows(rows)
            (staging / "plan.toml").write_text(self.plan.dumps(), encoding="utf-8")
        return folder


#: what a damaged or encrypted archive raises
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)


def read_arx_project(path: str | Path, *, partly: bool = False) -> ArxProject:
    """Read roles, hierarchies, weights, privacy models and the suppression limit of a project; never its data.

    Parameters
    ----------
    path
        The ``.deid`` file.
    partly
        Whether to leave out what has no counterpart here, and say so in the notes. Otherwise it is an error, for a
        promise that is missing is a weaker release.

    Raises
    ------
    InputError
        If it is no project of ARX, or holds what cannot be carried over; all of that is named.
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as file:
            return _Reader(file).project(partly=partly)
    except OSError as error:
        raise InputError(f"`{path.name}` cannot be read: {reason(error)}.") from None
    except (*_DAMAGED, ET.ParseError, KeyError, ValueError, csv.Error):
        raise InputError(
            f"`{path.name}` cannot be read as an ARX project.", hint="save it with ARX 3 or newer; it ends in .deid"
        ) from None


class _Reader:
    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self._names = set(file.namelist())
        self._left, self._notes = Problems(), list[str]()
        self._hierarchies: dict[str, list[list[str]]] = {}
        self._levels: dict[str, int] = {}
        self._aggregates: dict[str, Aggregate] = {}
        self._missing = False

    def project(self, *, partly: bool) -> ArxProject:
        about, config = self._xml("project.xml"), self._xml("input/config.xml")
        self._delimiter = about.findtext("separator") or ";"
        columns = [self._column(each) for each in self._xml("input/definition.xml").iter("assigment")]
        columns = self._apply_weights(columns, config)
        kinds = {each.name: each.kind for each in columns}
        models = [model for each in config.iter("criterion") if (model := self._model(each.text or "", kinds))]
        metric = (config.findtext("metric") or "Loss").strip()
        if "loss" not in metric.lower():
            self._notes.append("the project uses another quality model; here the search minimises the loss")
        if self._left and not partly:
            self._left.raise_as(InputError, hint="leave these out with --partly, and see what that means")
        self._notes += [f"left out: {each}" for each in self._left.found]
        method = Generalize(
            suppression_limit=float(config.findtext("relativeMaxOutliers") or 0),
            levels=self._levels,
            aggregates=self._aggregates,
        )
        schema = Schema(attributes=tuple(columns), missing_values=(_MISSING,) if self._missing else ())
        title = " ".join((about.findtext("name") or "").split())[:200]
        plan = Plan(schema=schema, models=tuple(models), method=method, about=About(title=title))
        return ArxProject(plan=plan, hierarchies=self._hierarchies, notes=tuple(self._notes))

    def _text(self, name: str) -> str:
        if self._file.getinfo(name).file_size > _LARGEST:
            raise ValueError("too large")
        content = self._file.read(name)
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:  # ARX writes in the charset of its machine
            return content.decode("cp1252")

    def _xml(self, name: str) -> ET.Element:
        text = self._text(name)
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise ValueError("ARX declares no entities")
        return ET.fromstring(text)  # noqa: S314 - without declarations, there is nothing to expand

    def _column(self, entry: ET.Element) -> Attribute:
        name = entry.findtext("name") or ""
        role = _ROLES[entry.findtext("type") or ""]
        written = entry.findtext("datatype")
        kind = Kind.NUMERIC if written in _NUMERIC else Kind.CATEGORICAL
        domain = _order(entry) if role is Role.SENSITIVE else None
        if domain is not None:
            kind = Kind.ORDINAL
        elif written in _AS_TEXT:
            self._notes.append(f"column `{name}` is read as text: its {written} type is not carried over")
        rule, ref = None, entry.findtext("ref")
        if ref is None and role is Role.SENSITIVE:
            ref = f"hierarchies/{name}.csv"  # ARX stores the hierarchy of a sensitive column and does not name it
        if ref is not None and role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE):
            rule = self._hierarchy(name, f"input/{ref}", kind, role)
            self._carry_bounds_over(entry, name, role)
        column = Attribute(name=name, role=role, kind=kind, domain=domain, hierarchy=rule, reading=_reading(entry))
        if role is Role.QUASI_IDENTIFIER:
            self._aggregate(column, entry)
        return column

    def _aggregate(self, column: Attribute, entry: ET.Element) -> None:
        """Carry microaggregation over; whether the column forms classes first, no file says that is read here."""
        function = entry.findtext("microAggregationFunction")
        if function is None:
            return
        known = _AGGREGATES.get(function.strip().lower())
        if known is None or aggregate_problems({column.name: known}, Schema(attributes=(column,)), Generalize.title):
            self._left.add(
                f"column `{column.name}`: microaggregation, {function.strip().lower()} of values that are "
                f"{column.kind} here; declare another of `aggregates` of `generalize`, or use `mdav`"
            )
            return
        self._aggregates[column.name] = known
        if (entry.findtext("microAggregationIgnoreMissingData") or "true").strip() == "false":
            self._notes.append(
                f"column `{column.name}`: missing values are ignored in its {known}; in ARX they were counted"
            )
        if column.hierarchy is None:
            self._levels[column.name] = 1
        else:
            self._notes.append(
                f"column `{column.name}`: its hierarchy forms classes before its values become their {known} "
                "(clustering in ARX); declare its top level in `levels` if it should not"
            )

    def _hierarchy(self, column: str, entry: str, kind: Kind, role: Role) -> FromFile | None:
        if entry not in self._names:
            return None
        rows = [row for row in csv.reader(io.StringIO(self._text(entry)), delimiter=self._delimiter) if row]
        if kind is Kind.NUMERIC and any(row[0] == _MISSING for row in rows):
            self._missing, rows = True, [row for row in rows if row[0] != _MISSING]
        if not rows or len(rows[0]) < 2:
            if role is Role.QUASI_IDENTIFIER:
                self._notes.append(f"column `{column}` has no hierarchy: a level `*` is added above its values")
            return None
        name = f"hierarchies/{len(self._hierarchies) + 1}-{file_stem(column)}.csv"
        self._hierarchies[name] = rows
        return FromFile(path=name)

    def _carry_bounds_over(self, entry: ET.Element, name: str, role: Role) -> None:
        """Carry bounds of the levels over, where they leave one level."""
        low, high = entry.findtext("min") or "All", entry.findtext("max") or "All"
        if role is not Role.QUASI_IDENTIFIER or (low, high) == ("All", "All"):
            return
        if low == high:
            self._levels[name] = int(low)
        else:
            self._left.add(f"column `{name}`: levels {low} to {high}; `levels` declares one level, or none")

    def _apply_weights(self, columns: list[Attribute], config: ET.Element) -> list[Attribute]:
        # a weight that nobody has set is 0.5 there and 1 here
        weights = {
            each.findtext("attribute"): 2 * float(each.findtext("weight") or 0.5)
            for each in config.iter("attributeWeight")
        }
        return [replace(each, weight=weights.get(each.name, 1.0)) for each in columns]

    def _model(self, written: str, kinds: Mapping[str, Kind]) -> Requirement | None:
        for pattern, name, parameters in _CRITERIA:
            if match := re.fullmatch(pattern, written.strip()):
                asked = parameters(match)
                if asked.get("distance") == "ordered" and kinds.get(str(asked["attribute"])) is Kind.CATEGORICAL:
                    self._left.add(f"`{written.strip()}`: the order of that column is not known here; declare `values`")
                    return None
                if name in _COMPARING:
                    self._notes.append(
                        f"{name} compares with the released table here, and with the original table in ARX"
                    )
                return from_parameters(name, asked)
        self._left.add(f"the privacy model `{written.strip()}` cannot be imported")
        return None


def _order(entry: ET.Element) -> Domain | None:
    """Return the values of an ordinal column, which ARX lists in ascending order, one in a line."""
    values = (entry.findtext("format") or "").splitlines()
    return Domain(values=tuple(values)) if entry.findtext("datatype") in _AS_TEXT[1:] and len(values) > 1 else None


def _reading(entry: ET.Element) -> Reading:
    """Return how decimals are written; a format without a language has that of ARX's machine."""
    comma = entry.findtext("datatype") == "Decimal" and entry.findtext("format") is not None
    comma = comma and (entry.findtext("locale") or "").strip().upper() in _COMMA
    return Reading(decimal=",", thousands=".") if comma else Reading()
