"""Check promises of microaggregation that are not models of a whole table.

Of values that were exchanged, a file shows that the numbers agree and that nothing stayed behind; that the exchange
took place, and at random, no file can show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from shoal import models
from shoal.guarantees import Check, Data, Decision, Evidence, PromiseEntry, Strength, checked, texts_of
from shoal.models import Model
from shoal.schema import Role

__all__ = ["ATTRIBUTE_SET", "CLUSTERS", "check_clusters"]

ATTRIBUTE_SET = "attribute-set"
UNSEEN = "that values were exchanged, and at random, the data cannot show"


def check_clusters(entry: PromiseEntry, evidence: Evidence) -> list[Check]:
    """Compute a promise again; anything that the certificate leaves out makes it fail."""
    shown = entry.strength is Strength.SYNTACTIC
    named = checked("", lambda: (True, f"{entry.model} {_parameters(entry)}"))
    subject = named.detail if named.passed else f"{entry.model} ({entry.strength})"
    return [checked(subject, lambda: CLUSTERS[entry.model](entry, evidence), shown=shown)]


def _attribute_set(entry: PromiseEntry, evidence: Evidence) -> Decision:
    """Decide a model on the classes that some of the quasi-identifiers form."""
    data = evidence.data(entry)
    columns = texts_of(entry.parameters["columns"])
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
    classes = evidence.classes(data, sensitive=model.capabilities.sensitive, columns=described)
    failing = int(np.count_nonzero(~model.keep(classes, np.ones(len(classes), dtype=np.bool_))))
    detail = f"{failing:,} of {len(classes):,} classes fail" if failing else f"holds for all {len(classes):,} classes"
    return not failing, f"{detail} of these columns alone; they have {model.achieved(classes)}"


def _probabilistic(entry: PromiseEntry, evidence: Evidence) -> Decision:
    """Compare the promise with the steps, the columns and the number of records."""
    data, k = evidence.data(entry), int(str(entry.parameters["k"]))
    columns, intruder = texts_of(entry.parameters["columns"]), entry.parameters["intruder"]
    if entry.strength is not Strength.CONDITIONAL:
        return False, "it rests on an exchange that no data can show, and says otherwise"
    if "operating system" not in evidence.certificate.randomness and not any(
        "seed" in text for text in entry.assumptions
    ):
        return False, "its random numbers are not those of the operating system, and it does not say so"
    if intruder == "uninformed":
        return _exchanged_together(evidence, data, columns, k)
    if intruder == "informed":
        return _exchanged_apart(evidence, data, columns, k)
    return False, "it does not say what the intruder knows"


def _exchanged_together(evidence: Evidence, data: Data, columns: Sequence[str], k: int) -> Decision:
    stay = (Role.IDENTIFIER, Role.QUASI_IDENTIFIER)
    others = {column.name for column in data.columns if column.role not in stay}
    if {*columns} != others or not columns:
        return False, "columns that are not quasi-identifiers stay with the person"
    permuted = [step for step in evidence.certificate.steps if step.get("step") == "permuted"]
    if not any({*texts_of(step["columns"])} == others for step in permuted):
        return False, "no step exchanges these columns"
    names = {column.name for column in data.columns if column.role is Role.QUASI_IDENTIFIER}
    classed = [step for step in evidence.certificate.steps if step.get("step") == "classed"]
    (step,) = (step for step in classed if {*texts_of(step["columns"])} == names)
    passed, detail = _sizes(step, "classes", data.records, k)
    return passed, f"{detail}; {UNSEEN}" if passed else detail


def _exchanged_apart(evidence: Evidence, data: Data, columns: Sequence[str], k: int) -> Decision:
    sensitive = {column.name for column in data.columns if column.role is Role.SENSITIVE}
    steps = {str(step["column"]): step for step in evidence.certificate.steps if step.get("step") == "ranked"}
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


def _clusters(entry: PromiseEntry, evidence: Evidence) -> Decision:
    """Check that the promise is one, and that it does not call itself more than it is."""
    model = _model(entry)
    if entry.strength is not Strength.CONDITIONAL:
        return False, "it is about clusters that are not published, and says otherwise"
    if not any(step.get("step") == "permuted" for step in evidence.certificate.steps):
        return False, "no step exchanges values"
    return True, f"`{model.name}` was decided on clusters that are not published: the data cannot show it"


CLUSTERS: dict[str, Callable[[PromiseEntry, Evidence], Decision]] = {
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
        said = {"of": ", ".join(texts_of(said["columns"]))} if "columns" in said else {}
        said = {str(entry.parameters["model"]): "", **dict(inner), **said}  # type: ignore[call-overload]
    else:
        said["columns"] = ", ".join(texts_of(said["columns"]))
    return ", ".join(f"{name} = {value}" if value != "" else str(name) for name, value in said.items())
