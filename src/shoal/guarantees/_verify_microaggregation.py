"""Check promises of microaggregation that are not models of a whole table.

Of values that were exchanged, a file shows that the numbers agree and that nothing stayed behind; that the exchange
took place, and at random, no file can show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from shoal import models
from shoal.errors import ShoalError
from shoal.guarantees._certificate import Certificate, Column, Data, PromiseEntry
from shoal.guarantees._check import Check
from shoal.guarantees._promise import Strength
from shoal.models import Classes, Model
from shoal.schema import Role
from shoal.tables import Table

__all__ = ["ATTRIBUTE_SET", "MICROAGGREGATION", "check_microaggregation"]

Opened = Mapping[str, Table]
Decision = tuple[bool, str]
Grouped = Callable[[Table, Sequence[Column], Sequence[Model]], Classes]
"""Groups the records of a table by its quasi-identifiers, for some models."""

ATTRIBUTE_SET = "attribute-set"
UNSEEN = "that values were exchanged, and at random, the data cannot show"


def check_microaggregation(entry: PromiseEntry, certificate: Certificate, opened: Opened, grouped: Grouped) -> Check:
    """Compute a promise again; anything that the certificate leaves out makes it fail."""
    subject = f"{entry.model} ({entry.strength})"
    try:
        subject = f"{entry.model} {_parameters(entry)}"
        passed, detail = MICROAGGREGATION[entry.model](entry, certificate, opened, grouped)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        passed, detail = False, "the certificate does not say what is needed to check it"
    except ShoalError as error:
        passed, detail = False, "; ".join(error.problems)
    return Check(subject=subject, passed=passed, detail=detail, shown=entry.strength is Strength.SYNTACTIC)


def _attribute_set(entry: PromiseEntry, certificate: Certificate, opened: Opened, grouped: Grouped) -> Decision:
    """Decide a model on the classes that some of the quasi-identifiers form."""
    data = _data(entry, certificate)
    columns = _texts(entry.parameters["columns"])
    known = [column.name for column in data.columns if column.role is Role.QUASI_IDENTIFIER]
    if not columns or not {*columns} <= {*known}:
        return False, "it names columns that are not quasi-identifiers of the release"
    if entry.strength is not Strength.SYNTACTIC:
        return False, "it is a property of the table, and says otherwise"
    model = _model(entry)
    # a quasi-identifier of another set is no part of these classes
    described = [
        column.model_copy(update={"role": Role.INSENSITIVE}) if column.name in {*known} - {*columns} else column
        for column in data.columns
    ]
    classes = grouped(opened[data.file], described, [model])
    failing = int(np.count_nonzero(~model.keep(classes, np.ones(len(classes), dtype=np.bool_))))
    detail = f"{failing:,} of {len(classes):,} classes fail" if failing else f"holds for all {len(classes):,} classes"
    return not failing, f"{detail} of these columns alone; they have {model.achieved(classes)}"


def _probabilistic(entry: PromiseEntry, certificate: Certificate, opened: Opened, grouped: Grouped) -> Decision:
    """Compare the promise with the steps, the columns and the number of records."""
    del opened, grouped
    data, k = _data(entry, certificate), int(str(entry.parameters["k"]))
    columns, intruder = _texts(entry.parameters["columns"]), entry.parameters["intruder"]
    if entry.strength is not Strength.CONDITIONAL:
        return False, "it rests on an exchange that no data can show, and says otherwise"
    if "operating system" not in certificate.randomness and not any("seed" in text for text in entry.assumptions):
        return False, "its random numbers are not those of the operating system, and it does not say so"
    if intruder == "uninformed":
        return _exchanged_together(certificate, data, columns, k)
    if intruder == "informed":
        return _exchanged_apart(certificate, data, columns, k)
    return False, "it does not say what the intruder knows"


def _exchanged_together(certificate: Certificate, data: Data, columns: Sequence[str], k: int) -> Decision:
    stay = (Role.IDENTIFIER, Role.QUASI_IDENTIFIER)
    others = {column.name for column in data.columns if column.role not in stay}
    if {*columns} != others or not columns:
        return False, "columns that are not quasi-identifiers stay with the person"
    permuted = [step for step in certificate.steps if step.get("step") == "permuted"]
    if not any({*_texts(step["columns"])} == others for step in permuted):
        return False, "no step exchanges these columns"
    names = {column.name for column in data.columns if column.role is Role.QUASI_IDENTIFIER}
    classed = [step for step in certificate.steps if step.get("step") == "classed"]
    (step,) = (step for step in classed if {*_texts(step["columns"])} == names)
    passed, detail = _sizes(step, "classes", data.records, k)
    return passed, f"{detail}; {UNSEEN}" if passed else detail


def _exchanged_apart(certificate: Certificate, data: Data, columns: Sequence[str], k: int) -> Decision:
    sensitive = {column.name for column in data.columns if column.role is Role.SENSITIVE}
    steps = {str(step["column"]): step for step in certificate.steps if step.get("step") == "ranked"}
    if {*columns} != sensitive or not columns:
        return False, "it is not about every sensitive column"
    if not {*columns} <= steps.keys():
        return False, "no step exchanges these columns"
    for name in columns:
        passed, detail = _sizes(steps[name], "clusters", data.records, k)
        if not passed:
            return False, f"`{name}`: {detail}"
    return True, f"every sensitive column: {detail}; {UNSEEN}"


def _sizes(step: Mapping[str, object], name: str, records: int, k: int) -> Decision:
    """Compare the clusters of a step with k and with the number of records."""
    count, smallest, largest = (int(str(step[key])) for key in (name, "smallest", "largest"))
    if k < 1 or smallest < k:
        return False, f"the steps make clusters of {smallest:,}, fewer than k = {k:,}"
    if count < 1 or not count * smallest <= records <= count * largest:
        return False, f"{count:,} clusters of {smallest:,} to {largest:,} are not {records:,} records"
    sizes = f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"
    return True, f"the steps exchange {records:,} records in {count:,} clusters of {sizes}; k = {k:,}"


def _clusters(entry: PromiseEntry, certificate: Certificate, opened: Opened, grouped: Grouped) -> Decision:
    """Check that the promise is one, and that it does not call itself more than it is."""
    del opened, grouped
    model = _model(entry)
    if entry.strength is not Strength.CONDITIONAL:
        return False, "it is about clusters that are not published, and says otherwise"
    if not any(step.get("step") == "permuted" for step in certificate.steps):
        return False, "no step exchanges values"
    return True, f"`{model.name}` was decided on clusters that are not published: the data cannot show it"


MICROAGGREGATION: dict[str, Callable[[PromiseEntry, Certificate, Opened, Grouped], Decision]] = {
    ATTRIBUTE_SET: _attribute_set,
    "probabilistic-k-anonymity": _probabilistic,
    "clusters": _clusters,
}
"""Promises by name, and what decides them; a syntactic one of probabilistic k-anonymity is a model like others."""


def _model(entry: PromiseEntry) -> Model:
    parameters = entry.parameters["parameters"]
    if not isinstance(parameters, Mapping):
        raise TypeError("not parameters")
    return models.from_parameters(str(entry.parameters["model"]), parameters)


def _parameters(entry: PromiseEntry) -> str:
    """Return what a promise is about, for people."""
    said = dict(entry.parameters)
    if "model" in said:
        inner = said.pop("parameters")
        said = {"of": ", ".join(_texts(said["columns"]))} if "columns" in said else {}
        said = {str(entry.parameters["model"]): "", **dict(inner), **said}  # type: ignore[call-overload]
    else:
        said["columns"] = ", ".join(_texts(said["columns"]))
    return ", ".join(f"{name} = {value}" if value != "" else str(name) for name, value in said.items())


def _data(entry: PromiseEntry, certificate: Certificate) -> Data:
    return next(each for each in certificate.tables if each.file == (entry.file or certificate.data.file))


def _texts(value: object) -> list[str]:
    if not isinstance(value, (list, tuple)):
        raise TypeError("not a list")
    return [str(each) for each in value]
