"""Many truthful tables of a few columns each, in place of one of all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from shoal import tables
from shoal.errors import RequirementError
from shoal.exact import Arguments
from shoal.guarantees import (
    COMMON_STEPS,
    Bounded,
    Cost,
    DomainOrigin,
    Dropped,
    Event,
    ExpectedStep,
    Guarantee,
    Ordered,
    Requirement,
    column,
    exactly,
    maybe,
)
from shoal.methods._opening import domains, domains_of_columns
from shoal.methods.base import Method, MethodCapabilities, Part, PrivateReport, Result, Work
from shoal.methods.truthful._make import check_declared, check_levels, level_problems, released_rows
from shoal.methods.truthful._promises import DifferentialPrivacy, released_names, unreleased
from shoal.methods.truthful._scheme import Tuples
from shoal.methods.truthful._sets_choice import candidates, choose, joint_classes
from shoal.methods.truthful._sets_counted import count_table, trimmed
from shoal.methods.truthful._sets_expected import expected_of
from shoal.methods.truthful._sets_listed import (
    HIDDEN,
    LeveledColumns,
    ListedClasses,
    countable,
    number_of_classes,
    written_hidden,
)
from shoal.methods.truthful._sets_split import (
    Composed,
    HiddenCounted,
    JointTrimmed,
    PairsChosen,
    Split,
    TablesTrimmed,
)
from shoal.methods.truthful._trees import tree_problems
from shoal.models import Classes, Model
from shoal.risk import Reidentification, reidentification
from shoal.schema import Schema
from shoal.tables import Frequencies, Table
from shoal.writing import file_stem

if TYPE_CHECKING:
    from shoal.plan import Plan

Tables = Literal["columns", "pairs", "pairs+joint"]
_WITH_PAIRS = ("pairs", "pairs+joint")


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthfulTables(Method):
    """Release many tables of a few columns each: real records, generalised little, a few of every class left out.

    One table of many columns must be generalised much. Tables of one and two columns need not be, and together they
    say far more: read them one by one, or all together with `shoal.estimate`. Combinations of values that the schema
    lists and no record shows are counted with their noise in ``hidden.csv``.

    Parameters
    ----------
    tables
        ``columns``: one table for every column. ``pairs``: these, and pairs of columns that go together, chosen
        privately with their levels. ``pairs+joint``: these, and a table of all columns, whose values are generalised as
        far as a privately drawn scheme says. Or a list of lists of columns: these tables.
    pairs
        How many pairs are chosen, in four rounds, of which later ones know the tables of those before; by default four
        times the number of columns, or all. Where epsilon is below 1, that number times its square root: fewer tables
        with less noise each tell more.
    levels
        Columns that are generalised to this level at least, decided without looking at the data; 0 for all others.
    chosen
        Which pairs were chosen, written into the plan of a release: columns and levels. A plan that is run chooses
        anew.

    Guarantee
    ---------
    (epsilon, delta)-differential privacy of all tables together, neighbours differ by one record added or removed, or
    where the schema has a person column by one person with all records, the standard definition: see
    `shoal.methods.truthful.gaussian` for the operator and the composition, and
    `shoal.methods.truthful._sets_choice` for the choice of pairs; the scheme of the table of all columns is drawn as in
    `shoal.methods.truthful._trees`.

    Assumptions
    -----------
    Domains, hierarchies, levels and all other settings do not depend on the data.

    Notes
    -----
    O(candidates * distinct records), where the candidates are all pairs of columns at all levels.

    Examples
    --------
    >>> TruthfulTables(tables=[["age"], ["age", "sex"]]).tables
    (('age',), ('age', 'sex'))
    """

    tables: Tables | Sequence[Sequence[str]] = "pairs"
    pairs: int | None = None
    levels: Mapping[str, int] = field(default_factory=dict)
    chosen: Sequence[Mapping[str, int]] | None = None
    family: ClassVar[str] = "truthful"
    name: ClassVar[str] = "truthful-tables"
    about: ClassVar[str] = "Many small tables of real records."
    step_kinds: ClassVar[tuple[type[Event], ...]] = (
        *COMMON_STEPS,
        TablesTrimmed,
        PairsChosen,
        JointTrimmed,
        HiddenCounted,
        Composed,
    )
    capabilities: ClassVar[MethodCapabilities] = MethodCapabilities(
        private_promise=DifferentialPrivacy.name,
        as_asked=True,
        pseudonyms=False,
        shared_columns=True,
        persons=True,
    )

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        if isinstance(self.tables, str):
            arguments.choice("tables", self.tables, get_args(Tables))
        else:
            made = arguments.groups_of_columns("tables", self.tables)
            object.__setattr__(self, "tables", made)
            if not made or any(not table for table in made):
                arguments.problems.add(f"`tables` of `{self.title}` must list at least one table of one column.")
            if len({frozenset(table) for table in made}) != len(made):
                arguments.problems.add(f"`tables` of `{self.title}` has the same columns twice.")
        if self.pairs is not None:
            arguments.whole("pairs", self.pairs, minimum=0)
        if self.pairs is not None and self.tables not in _WITH_PAIRS:
            arguments.problems.add(
                f"`pairs` of `{self.title}` can only be used with tables = `pairs` or `pairs+joint`."
            )
        for name, level in arguments.mapping("levels", self.levels).items():
            arguments.whole(f"levels[{name}]", level, minimum=0)
        for number, pair in enumerate(arguments.sequence("chosen", self.chosen or ()), start=1):
            for name, level in arguments.mapping(f"chosen[{number}]", pair).items():
                arguments.whole(f"chosen[{number}][{name}]", level, minimum=0)
        arguments.finish()

    def make(self, work: Work) -> Result:
        models, privacy = _resolved(work.plan)
        work = work.open(models=models).limit_records(privacy.records_per_person)
        schema, table = work.schema, work.table
        names = released_names(schema)
        frequencies = tables.encode(table, quasi_identifiers=names, sensitive=()).frequencies
        check_declared(frequencies)
        check_levels(self.title, self.levels, frequencies.hierarchies)
        lows = tuple(self.levels.get(name, 0) for name in names)
        listed = ListedClasses(frequencies, countable(schema))
        split = replace(self.split(schema, privacy), chosen=())  # pairs are chosen anew
        # drawn first: what is too wide for it is refused before anything is paid for
        joint = []
        if split.all_columns is not None:
            noise = split.all_columns
            classes = joint_classes(frequencies, lows, split.scheme, noise, watch=work.watch, source=work.source)
            joint.append(trimmed(classes, noise, work.source))
        declared = [[names.index(name) for name in own] for own in self.declared(schema)]
        alone = [LeveledColumns(tuple(own), tuple(lows[j] for j in own)) for own in declared]
        found = [count_table(listed, *each, work.source) for each in zip(alone, split.declared, strict=True)]
        chosen: list[LeveledColumns] = []
        among = candidates(frequencies.hierarchies, lows)
        for number in split.rounds if split.pairs else ():
            tables_so_far = [*zip([*alone, *chosen], [*split.declared, *split.chosen], found, strict=True)]
            chosen += choose(
                listed,
                expected_of(schema, listed, lows, tables_so_far, together=bool(chosen)),
                chosen,
                among=among,
                number=number,
                epsilon=split.choice,
                noise=split.usual,
                watch=work.watch,
                source=work.source,
            )
            split = split.with_pairs([listed.number(each) for each in chosen])
            new = [*zip(chosen, split.chosen, strict=True)][-number:]
            found += [count_table(listed, *each, work.source) for each in new]
        shown = [*(each.shown for each in found), *joint]
        if not any(len(each) for each in shown):
            raise RequirementError(
                "no value is frequent enough to be released in any table",
                hint="a larger epsilon or delta, fewer pairs, or higher `levels` help",
            )
        method = replace(self, chosen=tuple(map(listed.levels, chosen)) if split.pairs else None)
        parts = _parts(method.files(schema), schema, table, shown)
        hidden = {part.file: each.hidden for part, each in zip(parts, found, strict=False) if each.hidden is not None}
        events = method.steps(
            schema,
            split,
            candidates=len(among),
            hidden=[HiddenCounted.of(hidden)] if hidden else [],
        )
        cryptographic = work.source.cryptographic
        result = Result(
            plan=replace(work.plan, method=method),
            table=parts[0].table,
            guarantee=Guarantee(
                promises=(privacy.promise(covered=True, cryptographic=cryptographic, figures=split.figures()),),
                events=tuple(events),
            ),
            measures={},
            after=_risk(shown),
            records=parts[0].records,
            domains=domains(schema, frequencies),
            parts=parts,
            notes={HIDDEN: written_hidden(hidden)},
            private=_private(frequencies, shown, table.left_out),
        )
        return work.release(result)

    def declared(self, schema: Schema) -> tuple[tuple[str, ...], ...]:
        """Return the columns of the tables that need no choice."""
        names = released_names(schema)
        if isinstance(self.tables, str):
            return tuple((name,) for name in names)
        return tuple(tuple(name for name in names if name in table) for table in self.tables)

    def pairs_of(self, schema: Schema, epsilon: Fraction) -> int:
        """Return how many pairs of columns are chosen with ``epsilon`` for a record, or were."""
        if self.tables not in _WITH_PAIRS:
            return 0
        columns = len(released_names(schema))
        by_rule = max(1, math.isqrt(math.floor((4 * columns) ** 2 * min(epsilon, Fraction(1)))))
        number = by_rule if self.chosen is None else len(self.chosen)
        return min(number if self.pairs is None else self.pairs, columns * (columns - 1) // 2)

    def joint(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns of the table of all columns; none without such a table."""
        return released_names(schema) if self.tables == "pairs+joint" else ()

    def split(self, schema: Schema, wanted: DifferentialPrivacy) -> Split:
        """Return what every table and every choice may spend."""
        per_person, hierarchies = wanted.records_per_person or 1, countable(schema)
        tables = [{name: self.levels.get(name, 0) for name in table} for table in self.declared(schema)]
        split = Split.of(
            wanted.total,
            Fraction(wanted.delta),
            declared=[number_of_classes(hierarchies, table) for table in tables],
            pairs=self.pairs_of(schema, wanted.total / per_person),
            joint=bool(self.joint(schema)),
            per_person=per_person,
        )
        chosen = [number_of_classes(hierarchies, pair) for pair in self.chosen or ()]
        return split.with_pairs(chosen) if chosen else split

    def cost(self, privacy: Requirement, schema: Schema) -> Cost | None:
        """Return what all tables cost together: in rho what the steps add up to, and in beta what classes may show.

        Nothing of it follows from the pairs that are chosen, which divide among them what pairs may lose.
        """
        cost = privacy.cost
        if cost is None or not isinstance(privacy, DifferentialPrivacy) or (privacy.records_per_person or 1) > 1:
            return cost
        # as many pairs are chosen anew as a plan names; how many decides what is rounded
        split = replace(self.split(schema, privacy), chosen=())
        return replace(cost, rho=split.rho, beta=split.beta)

    def expected_steps(self, plan: Plan) -> list[ExpectedStep]:
        schema, privacy = plan.schema, plan.privacy
        assert isinstance(privacy, DifferentialPrivacy)  # noqa: S101 - the plan asks for it
        # among how many pairs some were chosen is checked with the hierarchies, where these are listed
        *tables, composed = (
            step.without("candidates")
            for step in exactly(*self.steps(schema, self.split(schema, privacy), candidates=0, hidden=()))
        )
        return [
            *exactly(*Dropped.by(schema), *Bounded.by(schema, privacy.records_per_person)),
            *tables,
            maybe(HiddenCounted),
            composed,
            *exactly(Ordered()),
        ]

    def steps(self, schema: Schema, split: Split, *, candidates: int, hidden: Sequence[HiddenCounted]) -> list[Event]:
        """Return the steps that make all tables, once pairs are chosen among so many candidates."""
        declared = self.declared(schema)
        lows = [tuple(self.levels.get(name, 0) for name in table) for table in declared]
        steps: list[Event] = [TablesTrimmed.by(declared, lows, split.declared)]
        rounds = split.by_round([*zip(self.chosen or (), split.chosen, strict=True)]) if split.pairs else ()
        for number, own in enumerate(rounds, start=1):
            choice = PairsChosen(
                round=number,
                pairs=tuple(tuple(pair) for pair, _ in own),
                levels=tuple(tuple(pair.values()) for pair, _ in own),
                candidates=candidates,
                epsilon_each=split.choice,
                rho=len(own) * split.choice**2 / 8,
            )
            steps += [choice, TablesTrimmed.by(choice.pairs, choice.levels, [noise for _, noise in own])]
        if split.all_columns is not None:
            columns = self.joint(schema)
            joint = JointTrimmed(
                columns=columns,
                levels=tuple(self.levels.get(name, 0) for name in columns),
                epsilon_scheme=split.scheme,
                m=split.all_columns.m,
                variance=split.all_columns.variance,
                rho=split.rho_of_joint,
            )
            steps.append(joint)
        return [*steps, *hidden, split.composed()]

    def files(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        tables = [*self.declared(schema), *(tuple(pair) for pair in self.chosen or ())]
        tables += [joint] if (joint := self.joint(schema)) else []
        return {_file(number, table): table for number, table in enumerate(tables, start=1)}

    @property
    def notes(self) -> tuple[str, ...]:
        return (HIDDEN,)

    def domains(self, schema: Schema) -> tuple[DomainOrigin, ...]:
        return domains_of_columns(schema, released_names(schema))

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        others = [
            f"method `{self.name}` keeps `{DifferentialPrivacy.title}` and no promise about classes, such as "
            f"`{model.title}`; leave it out, or use method `truthful`"
            for model in models
        ]
        tables = () if isinstance(self.tables, str) else [name for table in self.tables for name in table]
        problems = unreleased(schema, self.title, {"tables": dict.fromkeys(tables), "levels": self.levels})
        problems += level_problems(schema, self.title, self.levels)
        return others + problems + tree_problems(schema, self.joint(schema), self.levels, self.title)

    def unfit(self, privacy: Requirement, models: Sequence[Model]) -> list[str]:
        del models
        if not isinstance(privacy, DifferentialPrivacy) or privacy.search_share is None:
            return []
        return [f"`search_share` of `{privacy.title}` is for `Truthful`; `{self.title}` has a rule of its own"]


def _file(number: int, columns: Sequence[str]) -> str:
    stem = file_stem(*columns)
    return f"table-{number:02d}{'-' if stem else ''}{stem}.parquet"


# -- a release; all that others see of it is a function of the plan, of the private choices and of the trimmed tables


def _resolved(plan: Plan) -> tuple[tuple[Requirement, ...], DifferentialPrivacy]:
    """Return the promises with the standard definition, which is what the composition gives."""
    models = tuple(
        spelt.post_processed() if isinstance(spelt, DifferentialPrivacy) else spelt
        for spelt in (model.resolve(plan.schema) for model in plan.models)
    )
    privacy = next(model for model in models if isinstance(model, DifferentialPrivacy))
    return models, privacy


def _parts(
    files: Mapping[str, Sequence[str]], schema: Schema, table: Table, shown: Sequence[Tuples]
) -> tuple[Part, ...]:
    return tuple(
        Part(
            file=file,
            table=tables.repeat(table.select(*names), released_rows(own, schema), own.counts),
            records=int(own.counts.sum()),
            columns=tuple(column(schema[name]) for name in names),
        )
        for (file, names), own in zip(files.items(), shown, strict=True)
    )


def _risk(shown: Sequence[Tuples]) -> Reidentification:
    """Return the risk of the table with the smallest class."""
    smallest = min((table for table in shown if len(table)), key=lambda table: int(table.counts.min()))
    classes = Frequencies(
        hierarchies=smallest.hierarchies,
        codes=np.asfortranarray(smallest.positions.astype(np.int32)),
        counts=smallest.counts,
        sensitive=(),
        sensitive_codes=np.zeros((len(smallest), 0), dtype=np.int32),
    )
    return reidentification(Classes.from_tuples(classes))


def _private(frequencies: Frequencies, shown: Sequence[Tuples], left_out: int) -> PrivateReport:
    records = max(frequencies.records, 1)
    kept = [
        float((table.counts * (1 - np.mean([table.shares(j) for j in range(table.codes.shape[1])], axis=0))).sum())
        for table in shown
    ]
    return PrivateReport(
        records=frequencies.records,
        left_out=left_out,
        released=round(float(np.mean([table.counts.sum() for table in shown]))),
        loss=1 - float(np.mean(kept)) / records,
        before=reidentification(Classes.from_tuples(frequencies)),
    )
