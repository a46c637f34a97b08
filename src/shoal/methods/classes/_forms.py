"""Release forms: the treatment of the columns of the records of a class, and the promises that follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal import tables
from shoal.exact import fraction
from shoal.guarantees import Column, Event, Guarantee, Promise
from shoal.kernels import Integers
from shoal.methods.base import DATA, Part, released_columns
from shoal.methods.classes._columns import HeldRecords
from shoal.methods.classes._partition import Partition, permutation_within
from shoal.methods.classes._promises import HiddenClasses, ViewPrivacy, state_promise, strengthen
from shoal.methods.classes._run import Classified, ClassRun, Form, Formed, classes_of
from shoal.methods.classes._steps import Classed, Permuted, Separated
from shoal.methods.classes._typical import Errors
from shoal.models import Achieved, KAnonymity, MultiplicativeCloseness
from shoal.schema import Kind, Role
from shoal.tables import SensitiveAttribute, free_name, group

IDENTIFYING, CONFIDENTIAL, VIEW = "quasi-identifiers.parquet", "confidential.parquet", "joined.sql"


Outcome = tuple[tuple[Part, ...], Guarantee, Mapping[str, str]]
"""The released tables, what they promise, and texts beside them by file name."""


def form_classes(people: HeldRecords, classified: Classified, form: Form) -> Formed:
    """Give the quasi-identifiers of every class the form asked for, and confidential values their buckets."""
    columns: dict[str, pa.Array] = {}
    if classified.buckets is not None:
        for name, labels in zip(classified.bucketized, classified.buckets.labels, strict=True):
            columns[name] = pa.array(labels, pa.string()).take(pa.array(classified.buckets.numbers))
    partition, measures, errors = classified.partition, {"loss": 0.0, "sse": 0.0, "sse/sst": 0.0}, Errors()
    if form in ("microaggregated", "generalized"):
        values, losses = [], []
        for column in people.quasi_identifiers:
            if form == "generalized":
                of_class, shares = column.generalize(partition)
                losses.append(float(shares @ partition.sizes) / len(people))
            else:
                of_class = column.average(partition, classified.decimals)
                errors += column.errors(of_class, partition).multiply(column.attribute.weight)
            values.append(of_class)
            columns[column.attribute.name] = of_class.take(pa.array(partition.labels))
        measures = errors.measures()
        if losses:
            weights = np.array([column.attribute.weight for column in people.quasi_identifiers])
            measures = {"loss": float(np.average(losses, weights=weights if weights.any() else None))}
        partition = _same_values(values, partition)
    return Formed(columns=columns, partition=partition, measures=measures, errors=errors)


def _same_values(values: list[pa.Array], partition: Partition) -> Partition:
    codes = np.stack(
        [
            pc.dictionary_encode(column, null_encoding="encode").indices.to_numpy(zero_copy_only=False)
            for column in values
        ],
        axis=1,
    ).astype(np.int32)
    return Partition.from_names(group(codes)[0][partition.labels])


def release_run(run: ClassRun) -> Outcome:
    """Release the classes of a run in the form that its method asks for."""
    return _FORMS.get(run.method.form, _release_whole)(run)


def one_table(
    run: ClassRun,
    guarantee: Guarantee,
    columns: Mapping[str, pa.Array] | None = None,
    moved: Sequence[tuple[Sequence[str], Integers]] = (),
) -> Outcome:
    """Release one table; ``columns`` have new values, and those of ``moved`` come from other records."""
    names = released_columns(run.schema)
    values = run.formed.columns if columns is None else columns
    table = tables.release_records(run.encoded, names, dict(values), moved=moved, key=run.key)
    part = Part(file=DATA, table=table, records=len(run.encoded), columns=run.describe_columns(names))
    return (part,), guarantee, {}


def _release_whole(run: ClassRun) -> Outcome:
    """Release one table, whose quasi-identifiers are those of the class; randomise what is to be randomised."""
    columns = dict(run.formed.columns)
    promises = [state_promise(model, run.readings, run.words()) for model in run.plan.class_models]
    events: list[Event] = [*run.classified.events, step_of_classes(run), *run.classified.details]
    promises += _views(run)
    if (drawn := run.method.randomize(run)) is not None:
        more, promised, steps = drawn
        columns, promises, events = columns | more, promises + promised, events + steps
    return one_table(run, Guarantee(promises=tuple(promises), events=tuple(events)), columns)


def _release_permuted(run: ClassRun) -> Outcome:
    """Release one table in which all but the quasi-identifiers changed places inside the classes."""
    order = permutation_within(run.formed.partition, source=run.source)
    columns = {name: values.take(pa.array(order)) for name, values in run.formed.columns.items()}
    guarantee = Guarantee(
        promises=(_hidden_classes(run), *_views(run)),
        events=(*run.classified.events, step_of_classes(run), Permuted(columns=run.confidential)),
    )
    return one_table(run, guarantee, columns, [(run.confidential, order)])


def _anatomy(run: ClassRun) -> Outcome:
    """Release two tables that only the class links."""
    link = free_name("class", run.schema.names)
    columns = {**run.formed.columns, link: pa.array(run.formed.partition.labels.astype(np.int64) + 1)}
    parts = []
    for file, names in ((IDENTIFYING, run.identifying), (CONFIDENTIAL, run.confidential)):
        role = Role.QUASI_IDENTIFIER if file == CONFIDENTIAL else Role.INSENSITIVE
        parts.append(
            Part(
                file=file,
                table=tables.release_records(run.encoded, (link, *names), columns, key=run.key),
                records=len(run.encoded),
                columns=(Column(name=link, role=role, kind=Kind.CATEGORICAL), *run.describe_columns(names)),
                class_column=link,
            )
        )
    promises = [
        replace(state_promise(model, run.readings, run.words(alike=False)), file=CONFIDENTIAL)
        for model in run.plan.class_models
    ]
    separated = Separated(identifying=run.identifying, confidential=run.confidential, class_column=link)
    promises += [replace(promise, file=CONFIDENTIAL) for promise in _views(run)]
    guarantee = Guarantee(promises=tuple(promises), events=(*run.classified.events, step_of_classes(run), separated))
    return tuple(parts), guarantee, {VIEW: joined_view(IDENTIFYING, CONFIDENTIAL, run.confidential, link) + "\n"}


_FORMS: dict[str, Callable[[ClassRun], Outcome]] = {"permuted": _release_permuted, "anatomy": _anatomy}


def step_of_classes(run: ClassRun) -> Classed:
    """Say which classes were made."""
    sizes = run.formed.partition.sizes
    return Classed(
        method=run.method.name,
        form=run.method.form,
        columns=run.schema.quasi_identifiers,
        classes=len(sizes),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
    )


def joined_view(identifying: str, confidential: str, columns: tuple[str, ...], class_column: str) -> str:
    """Return SQL that joins the two tables of Anatomy: every person with every value of the class, and how likely.

    Standard SQL but for the names of the files, which DuckDB reads as tables.

    Examples
    --------
    >>> print(joined_view("people.parquet", "values.parquet", ("illness",), "class"))
    -- Every person with every value of the class, and how likely it is. In this folder: duckdb -init joined.sql
    CREATE VIEW joined AS
    SELECT people.*, counts."illness", 1.0 * counts.records / sizes.records AS probability
    FROM 'people.parquet' AS people
    JOIN (SELECT "class", "illness", count(*) AS records FROM 'values.parquet' GROUP BY "class", "illness") AS counts
    USING ("class")
    JOIN (SELECT "class", count(*) AS records FROM 'values.parquet' GROUP BY "class") AS sizes
    USING ("class");
    """
    names, link = [_quote_identifier(name) for name in columns], _quote_identifier(class_column)
    number = _plain("records", columns)
    lines = (
        "-- Every person with every value of the class, and how likely it is. In this folder: duckdb -init joined.sql",
        "CREATE VIEW joined AS",
        f"SELECT people.*, {', '.join(f'counts.{name}' for name in names)}, "
        f"1.0 * counts.{number} / sizes.{number} AS {_plain('probability', columns)}",
        f"FROM '{identifying}' AS people",
        f"JOIN ({_count_query(confidential, number, link, *names)}) AS counts",
        f"USING ({link})",
        f"JOIN ({_count_query(confidential, number, link)}) AS sizes",
        f"USING ({link});",
    )
    return "\n".join(lines)


def _count_query(file: str, number: str, *names: str) -> str:
    listed = ", ".join(names)
    return f"SELECT {listed}, count(*) AS {number} FROM '{file}' GROUP BY {listed}"  # noqa: S608 - text for users


def _plain(wanted: str, columns: Sequence[str]) -> str:
    """Return a name that no column has, in quotes where it needs them."""
    name = free_name(wanted, columns)
    return name if name == wanted else _quote_identifier(name)


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# -- what buckets promise


def _views(run: ClassRun) -> list[Promise]:
    """Say what multiplicative closeness is as differential privacy, where there are buckets."""
    if not run.classified.bucketized:
        return []
    return [ViewPrivacy(columns=run.classified.bucketized, t=_joint_factor(run)).promise(run.words())]


def _hidden_classes(run: ClassRun) -> Promise:
    """List the different histograms of the classes that are not published."""
    labels, numbers = _joint(run)
    partition = run.formed.partition
    counts = np.zeros((partition.count, len(labels)), dtype=np.int64)
    np.add.at(counts, (partition.labels, numbers), 1)
    histograms, classes = np.unique(counts, axis=0, return_counts=True)
    promise = HiddenClasses(columns=run.classified.bucketized, k=run.crowd, t=_joint_factor(run))
    rows = np.concatenate([classes[:, None], histograms], axis=1).tolist()
    return promise.with_classes(labels, rows, run.words(alike=False))


def _joint(run: ClassRun) -> tuple[list[tuple[str, ...]], Integers]:
    """Return the released combinations of labels, and which of them every record has."""
    buckets = run.classified.buckets
    assert buckets is not None  # noqa: S101 - asked of methods with buckets alone
    rows = list(zip(*buckets.labels, strict=True))
    labels = list(dict.fromkeys(rows))
    return labels, np.array([labels.index(row) for row in rows])[buckets.numbers]


def _joint_factor(run: ClassRun) -> Fraction:
    """Return the t that the joint distribution of all buckets has, rounded up, and at most what was asked for."""
    factor = closeness(run.formed.partition, _joint(run)[1])
    asked = min(model.capabilities.factor for model in run.plan.class_models if model.capabilities.factor is not None)
    return fraction(strengthen(MultiplicativeCloseness("joint", asked), factor).parameters()["t"])  # type: ignore[arg-type]


def closeness(partition: Partition, numbers: Integers) -> Achieved:
    """Return the least k and t that hold for a partition of records in buckets, exactly."""
    attribute = SensitiveAttribute(name="bucket", size=int(numbers.max()) + 1, ordered=False)
    classes = classes_of(partition, (attribute,), numbers[:, None])
    return Achieved(
        {**KAnonymity(1).find_achieved(classes), **MultiplicativeCloseness("bucket", 1).find_achieved(classes)}
    )
