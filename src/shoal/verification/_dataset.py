"""Check a release of several tables: its certificate follows from the plan and the tables, or it is refused."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal import datasets
from shoal.datasets import TableSchema
from shoal.errors import ShoalError, Undecided, counted, quoted, says_nothing
from shoal.folder import HIERARCHIES, PLAN, REPORT, SUMMARY, ReleaseFolder, hierarchy_name
from shoal.guarantees import (
    NO_RANDOMNESS,
    Certificate,
    Check,
    Decision,
    Event,
    PromiseKind,
    mismatch,
    randomness,
    run_check,
)
from shoal.hierarchies import TOP, label_levels
from shoal.kernels import Mask
from shoal.methods.nested import (
    DatasetPlan,
    DatesShifted,
    ItemsBounded,
    ItemsGeneralized,
    ItemsSuppressed,
    SecretAmongKnownItems,
    dataset_columns,
    dataset_domains,
    order_tables,
    policy_problems,
    promise_of,
)
from shoal.policy import in_force
from shoal.report import DatasetFigures, dataset_report, dataset_summary
from shoal.schema import Attribute, Kind, Missing
from shoal.schema.rules import canonical_file, is_text, text
from shoal.tables import Site
from shoal.verification._files import LONG_TEXTS, TRUSTED, check_files, check_footers, compared
from shoal.verification._linked import LinkedTable, PatternCounts, TooMany, count_patterns
from shoal.verification._values import OPEN

#: rows, and bags of known items, that are counted at most, and one more for each byte of the tables
ROWS, BAGS = 300_000, 1_000_000
#: how often every row may be looked at for a secret value
LOOKS = 10


def check_dataset(release: ReleaseFolder, *, rendered: bool, any_size: bool, site: Site) -> list[Check]:
    """Check all but the signature of a release of several tables, and the text of its certificate."""
    plan = _plan(release)
    if plan is None:
        return [Check(subject=PLAN, passed=False, detail="it is missing, or not a plan as Shoal writes it")]
    certificate = release.certificate
    unsafe = check_footers(release.path, certificate, site, any_size=any_size)
    if unsafe:
        return unsafe
    paths = [release.path / data.file for data in certificate.tables]
    size = sum(path.stat().st_size for path in paths if path.is_file())
    if not any_size:
        _refuse_excess(plan, certificate, size)
    checks = check_files(release.path, certificate, release.allowed_dataset_files(plan), site)
    if any(check.detail == LONG_TEXTS for check in checks):
        return checks
    content = DatasetEvidence(release, plan, most_bags=math.inf if any_size else BAGS + size)
    parts: dict[str, Callable[[], Decision]] = {
        "tables": content.check_tables,
        "hierarchies": content.check_hierarchies,
        "schema": content.check_schema,
        "domains": content.check_domains,
        "nothing else": content.check_nothing_else,
        "policy": content.check_policy,
        "steps": content.check_steps,
        "keys": content.check_keys,
        "order": content.check_order,
        "labels": content.check_labels,
        "values": content.check_values,
    }
    for subject, decide in parts.items():
        checks.append(run_check(subject, decide))
        if not checks[-1].passed:
            return checks
    checks += [
        Check(subject=each.subject, passed=each.passed, detail=each.detail, promise=True) for each in content.promises()
    ]
    checks += content.copies()
    if rendered and all(check.passed for check in checks):
        checks += [run_check(name, lambda name=name: content.check_text(name)) for name in (SUMMARY, REPORT)]  # type: ignore[misc]
    return [*checks, *_on_trust(plan, content.open_columns)]


def _refuse_excess(plan: DatasetPlan, certificate: Certificate, size: int) -> None:
    """Refuse to count far more rows than tables of a size have room for, or to look at them for very many secrets."""
    rows = sum(data.records for data in certificate.tables)
    if rows > ROWS + size:
        problem = f"the tables were not read: {counted(size, 'byte')} would become {counted(rows, 'row')}"
        raise Undecided(problem, hint=TRUSTED)
    if rows * len(plan.secrets) > LOOKS * (ROWS + size):
        problem = f"the promises were not decided: they name {counted(len(plan.secrets), 'secret value')}"
        raise Undecided(problem, hint=TRUSTED)


def _plan(release: ReleaseFolder) -> DatasetPlan | None:
    listed = {entry.name for entry in release.certificate.files}
    written = release.read_text(PLAN)
    if PLAN not in listed or written is None:
        return None
    try:
        plan = DatasetPlan.loads(written, folder=release.path)
    except ShoalError as error:
        if says_nothing(error):
            raise
        return None
    rules = [each.hierarchy for table in plan.schema for each in table.columns]
    files = [rule.file for rule in rules if rule is not None and rule.file is not None]
    if not all(name in listed and (release.path / name).is_file() for name in files):
        return None  # a path may lead anywhere
    return plan if plan.dumps() == written else None


class DatasetEvidence:
    """The files of a release of several tables, opened, and what is decided on them."""

    def __init__(self, release: ReleaseFolder, plan: DatasetPlan, *, most_bags: float) -> None:
        self.release, self.plan, self.certificate, self._most_bags = release, plan, release.certificate, most_bags

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """The released tables by name."""
        return {table.name: self.release.open(f"{table.name}.parquet").to_arrow() for table in self.plan.schema}

    @property
    def steps(self) -> tuple[Event, ...]:
        """The steps of the certificate; VerificationError where one is not as Shoal writes it."""
        return self.release.steps

    def check_tables(self) -> Decision:
        """Compare the tables with the plan: files, columns, their order and types, and numbers of rows."""
        said = self.certificate.tables
        if [data.file for data in said] != [*self.plan.files]:
            return False, "the tables are not those of plan.toml"
        for data, (name, rows) in zip(said, self.tables.items(), strict=True):
            if tuple(rows.column_names) != self.plan.files[data.file]:
                return False, f"the columns of {data.file} are not those of plan.toml"
            keys = self.plan.schema.key_columns(name)
            if any(rows.schema.field(key).type != pa.int64() or rows[key].null_count for key in keys):
                return False, f"the keys of {data.file} are not whole numbers"
            known = self.plan.schema[name].known
            if any(not pa.types.is_string(rows.schema.field(each).type) for each in known):
                return False, f"a known column of {data.file} does not hold labels"
        lengths = {name: len(rows) for name, rows in self.tables.items()}
        if said != dataset_columns(self.plan, lengths):
            return False, "numbers of rows, roles or kinds of columns are not what the certificate says"
        return True, f"{len(said)} with {counted(sum(lengths.values()), 'row')}, as certified"

    def check_hierarchies(self) -> Decision:
        """Look whether files of hierarchies hold their rows and nothing else, of released columns."""
        for number, table in enumerate(self.plan.schema, start=1):
            for place, each in enumerate(table.columns, start=1):
                rule, folder = each.hierarchy, table.columns.folder
                if rule is None:
                    continue
                if each.role.names_someone:
                    return False, f"plan.toml gives a hierarchy to `{each.name}`, which is not released"
                if rule.file is None:
                    continue
                if rule.file != f"{HIERARCHIES}/{number}-{hierarchy_name(place, each.name)}":
                    return False, f"the hierarchy file of `{each.name}` does not have the name that Shoal gives it"
                if canonical_file(rule, folder) != (folder / rule.file).read_bytes():
                    return False, f"{rule.file} holds more than the rows of a hierarchy"
        return True, "as plan.toml declares them"

    def check_schema(self) -> Decision:
        """Compare the schema with its fingerprint."""
        digest = hashlib.sha256(datasets.dumps(self.plan.schema).encode()).hexdigest()
        if digest != self.certificate.schema_sha256:
            return False, "the schema of plan.toml is not the certified one"
        if (self.certificate.roles == "guessed") != self.plan.schema.guessed:
            return False, "the certificate and plan.toml disagree on whether the roles were guessed"
        return True, f"known to others are {quoted(self.plan.known)}"

    def check_domains(self) -> Decision:
        """Compare where domains came from."""
        same = self.certificate.domains == dataset_domains(self.plan)
        return same, "as plan.toml says" if same else "where domains came from is not what plan.toml says"

    def check_nothing_else(self) -> Decision:
        """Refuse what a release of a data set never has: budgets, accounts, measures, random numbers."""
        said = self.certificate
        if said.budget is not None or said.account is not None or said.rehearsal is not None or said.measures:
            return False, "the certificate states a budget, an account, a rehearsal or measures"
        draws = any(step.draws for step in self.steps)
        if not draws and said.randomness != NO_RANDOMNESS:
            return False, "random numbers are said to have been drawn, and no step draws any"
        if draws and said.randomness not in [randomness(cryptographic=each) for each in (True, False)]:
            return False, "steps draw random numbers, and the certificate does not say where these came from"
        return True, "no budget, no account, no rehearsal, no measures, and random numbers only where a step draws"

    def check_policy(self) -> Decision:
        """Compare with the policy of this office, if one is in force here."""
        policy = in_force()
        if self.certificate.policy is not None:
            return False, "the certificate names a policy, which a plan of a data set does not hold"
        problems = [] if policy is None else policy_problems(self.plan, policy)
        return not problems, "; ".join(problems) or ("none is in force here" if policy is None else "allows it")

    def check_steps(self) -> Decision:
        """Compare the steps with the grammar, and their numbers with the tables."""
        problem = mismatch(self.plan.expected_steps(), self.steps)
        if problem is not None:
            return False, problem
        (suppressed,) = (step for step in self.steps if isinstance(step, ItemsSuppressed))
        for step in self.steps:
            bounded = step.left_out if isinstance(step, ItemsBounded) else ()
            if bounded and [a - b for a, b in zip(step.of, bounded, strict=True)] != [*suppressed.of]:  # type: ignore[attr-defined]
                return False, "the rows that were left out at random do not add up"
            if isinstance(step, DatesShifted) and {*step.columns} != {*self._dates()}:
                return False, "not all columns with dates are said to have been shifted"
        left = [of - rows for rows, of in zip(suppressed.rows, suppressed.of, strict=True)]
        if left != [len(rows) for rows in self.tables.values()]:
            return False, "the rows that were left out do not add up"
        return True, f"{len(self.steps)} steps, each with a matching description"

    def _dates(self) -> list[str]:
        """Return the released columns that hold dates, and those whose dates became labels."""
        found = []
        for table in self.plan.schema:
            for name in table.released:
                temporal = pa.types.is_temporal(self.tables[table.name].schema.field(name).type)
                if temporal or table.columns[name].kind is Kind.DATE:
                    found.append(f"{table.name}.{name}")
        return found

    def check_keys(self) -> Decision:
        """Look whether keys are 1, 2, ... and every row belongs to a row of its parent."""
        schema = self.plan.schema
        for table in schema:
            rows = self.tables[table.name]
            above = schema.parent_column(table.name)
            for key in schema.key_columns(table.name):
                values = rows[key].to_numpy()
                if key == above:
                    if len(values) and not 1 <= values.min() <= values.max() <= len(self.tables[table.parent or ""]):
                        return False, f"a row of `{table.name}` belongs to no row of `{table.parent}`"
                elif not np.array_equal(values, np.arange(1, len(values) + 1)):
                    return False, f"the keys of `{table.name}` are not the places of its rows"
        for table in schema:
            problem = self._check_numbers(table)
            if problem is not None:
                return False, problem
        return True, "places of rows; every row belongs to a row of its parent"

    def _check_numbers(self, table: TableSchema) -> str | None:
        """Say what is wrong with the numbers of rows that belong to a row; None where nothing is."""
        schema, rows = self.plan.schema, self.tables[table.name]
        for name, below in schema.size_columns(table.name).items():
            if rows.schema.field(name).type != pa.int64() or rows[name].null_count:
                return f"`{table.name}.{name}` does not hold whole numbers"
            owners = self.tables[below][schema.parent_column(below) or ""].to_numpy()
            if not np.array_equal(np.bincount(owners, minlength=len(rows) + 1)[1:], rows[name].to_numpy()):
                return f"`{table.name}.{name}` is not how many rows of `{below}` there are"
        owners = rows[schema.parent_column(table.name) or ""].to_numpy() if table.at_most is not None else []
        if table.at_most is not None and np.bincount(owners).max(initial=0) > table.at_most:
            return f"more than {table.at_most:,} rows of `{table.name}` belong to one row"
        return None

    def check_order(self) -> Decision:
        """Put the content into order again, and compare."""
        schema = self.plan.schema
        content = {name: rows.select(list(schema.shown_columns(name))) for name, rows in self.tables.items()}
        parents = {
            table.name: self.tables[table.name][schema.parent_column(table.name) or ""].to_numpy().astype(np.int64) - 1
            for table in schema.items
        }
        again = order_tables(schema, content, parents)
        same = all(_equal(again[name], rows) for name, rows in self.tables.items())
        return same, "that of what the rows hold" if same else "rows or keys are not in the order of what they hold"

    def check_labels(self) -> Decision:
        """Look whether every label of a known column is one of its hierarchy, at the level that the steps say."""
        (step,) = (each for each in self.steps if isinstance(each, ItemsGeneralized))
        for name, level, height in zip(step.columns, step.levels, step.heights, strict=True):
            table, _, column = name.partition(".")
            attribute = self.plan.schema[table].columns[column]
            values = pc.unique(self.tables[table][column])
            labels = [label for label in values.to_pylist() if label is not None]
            if values.null_count and (
                attribute.missing is Missing.REFUSE or (level == height and name not in step.mixed)
            ):
                return False, f"`{name}` has missing values that plan.toml does not allow there"
            known = label_levels(attribute, labels, folder=self.plan.schema[table].columns.folder)
            if not 0 <= level <= height or height != known.height:
                return False, f"the hierarchy of `{name}` does not have these levels"
            for label in labels:
                levels = {level} if name not in step.mixed else {*range(level + 1)}
                if not levels & {*known[label]} and not (known.any_value and 0 in levels and label != TOP):
                    return False, f"`{name}` holds a label that is none of level {level} of its hierarchy"
        return True, f"{counted(len(step.columns), 'column')}, each at its level"

    def check_values(self) -> Decision:
        """Look whether columns that are released as they are hold what their domains allow."""
        for table in self.plan.schema:
            for each in table.columns:
                if each.role.released_as_it_is and not _fits(each, self.tables[table.name][each.name]):
                    return False, f"`{table.name}.{each.name}` holds values outside its declared domain"
        return True, "inside their declared domains"

    @property
    def open_columns(self) -> list[str]:
        """The columns for which the plan does not say which values there are, as ``table.column``."""
        return [
            f"{table.name}.{each.name}"
            for table in self.plan.schema
            for each in table.columns
            if each.name in table.released and not _is_closed(each)
        ]

    @cached_property
    def linked(self) -> dict[str, LinkedTable]:
        """The tables with a number for what is known of each row, and what the rows belong to."""
        schema = self.plan.schema
        found = {}
        for table in schema:
            rows = self.tables[table.name]
            labels = np.zeros(len(rows), dtype=np.int64)
            for name in table.known:
                codes = rows[name].combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
                pairs = labels * (int(codes.max(initial=0)) + 1) + codes
                labels = np.unique(pairs, return_inverse=True)[1].ravel()
            for below in schema.size_columns(table.name).values():
                counts = np.bincount(
                    self.tables[below][schema.parent_column(below) or ""].to_numpy() - 1, minlength=len(rows)
                )
                labels = np.unique(labels * (int(counts.max(initial=0)) + 1) + counts, return_inverse=True)[1].ravel()
            above = schema.parent_column(table.name)
            owners = np.zeros(0, dtype=np.int64) if above is None else rows[above].to_numpy() - 1
            found[table.name] = LinkedTable(labels=labels, parent=table.parent, owners=owners)
        return found

    @cached_property
    def patterns(self) -> PatternCounts:
        """Every pattern that somebody shows, with the persons who show it and those of them with each secret."""
        secrets = [self._holders(each) for each in self.plan.secrets]
        try:
            return count_patterns(self.linked, self.plan.promise.m, secrets, room=self._most_bags / (1 + len(secrets)))
        except TooMany:
            problem = "the promises were not decided: small tables hold very many patterns of known items"
            raise Undecided(problem, hint=TRUSTED) from None

    def _holders(self, secret: SecretAmongKnownItems) -> Mask:
        """Return which persons have a secret value in the first table, or in a row that belongs to them."""
        table, _, column = secret.column.partition(".")
        equal = pc.equal(text(self.tables[table][column].combine_chunks()), secret.value).fill_null(False)
        rows = np.flatnonzero(equal.to_numpy(zero_copy_only=False))
        while self.linked[table].parent is not None:
            rows = np.unique(self.linked[table].owners[rows])
            table = self.linked[table].parent or ""
        having = np.zeros(len(self.tables[table]), dtype=np.bool_)
        having[rows] = True
        return having

    @cached_property
    def rarest(self) -> tuple[int, ...]:
        """The fewest persons of a pattern, by the number of known items; 0 where nobody is left."""
        most = self.plan.promise.m
        return tuple(self.patterns.fewest(most)) if len(self.tables[self.plan.schema.root.name]) else (0,) * (most + 1)

    def promises(self) -> list[Check]:
        """Compare every promise with the plan, and decide it again."""
        asked, said = self.plan.promises, self.certificate.promises
        if len(asked) != len(said):
            return [Check(subject="promises", passed=False, detail="they are not those that plan.toml asks for")]
        checks = []
        for kind, entry in zip(asked, said, strict=True):
            name = f"{kind.name} {', '.join(f'{key} = {value}' for key, value in _shown(kind.parameters()).items())}"
            same, detail = entry.compare(promise_of(kind, self.plan.schema, self.plan.accepted))
            if not same:
                checks.append(Check(subject=name, passed=False, detail=detail))
                continue
            decide = self._check_secret if isinstance(kind, SecretAmongKnownItems) else self._check_support
            checks.append(run_check(name, lambda decide=decide, kind=kind: decide(kind)))  # type: ignore[misc]
        return checks

    def _check_support(self, kind: PromiseKind) -> Decision:
        del kind
        promise = self.plan.promise
        holds = not len(self.tables[self.plan.schema.root.name]) or self.rarest[-1] >= promise.k
        told = ", ".join(f"{fewest:,} with {m}" for m, fewest in enumerate(self.rarest))
        return holds, f"the fewest persons who fit, by items known: {told}"

    def _check_secret(self, kind: PromiseKind) -> Decision:
        assert isinstance(kind, SecretAmongKnownItems)  # noqa: S101 - for the type checker
        having, persons = self.patterns.holders[self.plan.secrets.index(kind)], self.patterns.persons
        most = kind.certainty
        if not len(persons):
            return True, "nobody is left"
        worst = int(np.argmax(having / persons))
        sizes, places = np.unique(persons, return_inverse=True)
        allowed = np.array([most.numerator * size // most.denominator for size in sizes.tolist()])
        holds = bool(np.all(having <= allowed[places.ravel()]))
        return holds, f"at most {having[worst]:,} of {persons[worst]:,} persons who fit have the value"

    def copies(self) -> list[Check]:
        """Compare CSV copies, record by record."""
        names = {entry.name for entry in self.certificate.files}
        found = []
        for file in self.plan.files:
            copy = f"{file.removesuffix('.parquet')}.csv"
            if copy in names:
                same = compared(str(self.release.path / copy))["same"]
                detail = f"the same rows as {file}" if same else f"not the rows of {file}"
                found.append(Check(subject=copy, passed=same, detail=detail))
        return found

    def check_text(self, name: str) -> Decision:
        """Make the summary or the report again."""
        bags = {}
        for table, linked in self.linked.items():
            if linked.parent is not None:
                numbers = np.bincount(linked.owners, minlength=len(self.tables[linked.parent]))
                bags[table] = [(size, many) for size, many in enumerate(np.bincount(numbers).tolist()) if many]
        figures = DatasetFigures(rarest=self.rarest, bags=bags, steps=self.steps)
        make = dataset_summary if name == SUMMARY else dataset_report
        bare = self.certificate
        same = make(bare, self.plan, figures) == self.release.read_text(name)
        return same, "follows from the other files" if same else "it is not what the other files say"


def _equal(one: pa.Table, other: pa.Table) -> bool:
    """Return whether two tables hold the same; what is not a number equals itself."""
    if one.column_names != other.column_names:
        return False
    for mine, yours in zip(one.columns, other.cast(one.schema).columns, strict=True):
        if pa.types.is_floating(mine.type):
            numbers = pc.fill_null(pc.is_nan(mine), fill_value=False)
            if not numbers.equals(pc.fill_null(pc.is_nan(yours), fill_value=False)):
                return False
            mine, yours = (pc.if_else(numbers, pa.scalar(0.0, each.type), each) for each in (mine, yours))
        if not mine.equals(yours):
            return False
    return True


def _shown(parameters: Mapping[str, object]) -> dict[str, object]:
    """Return parameters without the secret value, which no message holds."""
    return {name: value for name, value in parameters.items() if name != "value"}


def _fits(attribute: Attribute, values: pa.ChunkedArray) -> bool:
    if values.null_count and attribute.missing is Missing.REFUSE:
        return False
    domain = attribute.domain
    present = values.drop_null()
    if attribute.kind is Kind.NUMERIC and not (pa.types.is_integer(present.type) or pa.types.is_floating(present.type)):
        return False
    if pa.types.is_floating(present.type) and not pc.all(pc.is_finite(present), min_count=0).as_py():
        return False
    if not (is_text(present.type) or pa.types.is_primitive(present.type)):
        return False
    if domain is None or not len(present) or not domain.provenance.reveals_nothing:
        return True
    if domain.values is not None:
        return bool(pc.all(pc.is_in(text(present.combine_chunks()), value_set=pa.array(domain.values))).as_py())
    if domain.minimum is not None and pc.min(present).as_py() < domain.minimum:
        return False
    return domain.maximum is None or pc.max(present).as_py() <= domain.maximum


def _is_closed(attribute: Attribute) -> bool:
    """Return whether the plan says which values a column may have."""
    rule, domain = attribute.hierarchy, attribute.domain
    if rule is not None and rule.lists_values and not attribute.role.released_as_it_is:
        return True
    if domain is None or not domain.provenance.reveals_nothing:
        return False
    return domain.values is not None or None not in (domain.minimum, domain.maximum)


def _on_trust(plan: DatasetPlan, open_columns: Sequence[str]) -> list[Check]:
    """Return what a reader must believe, given that all else was checked."""
    sizes = [f"{table.name}.{name}" for table in plan.schema for name in plan.schema.size_columns(table.name)]
    found = {
        "rows": "that they were made from the publisher's tables by this plan",
        "rows left out": "their number",
        "persons": f"that every row of `{plan.schema.root.name}` is another person, and that links are the true ones",
        "roles": f"that these are all columns that somebody may know of others: {quoted((*plan.known, *sizes))}",
    }
    if open_columns:
        found[f"values of {quoted(open_columns)}"] = OPEN
    return [Check(subject=name, passed=True, detail=what, shown=False) for name, what in found.items()]
