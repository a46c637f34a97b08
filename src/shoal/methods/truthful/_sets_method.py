"""Many truthful tables of a few columns each, in place of one of all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from shoal.exact import Arguments
from shoal.guarantees import DomainOrigin, Requirement
from shoal.methods._preparation import domains_of_columns
from shoal.methods.base import Keeps, Made, Method, Work
from shoal.methods.truthful._promises import DifferentialPrivacy, released
from shoal.methods.truthful._sets_events import Composed, TablesTrimmed
from shoal.methods.truthful._sets_listed import HIDDEN, countable, number_of_classes
from shoal.methods.truthful._sets_make import make_tables
from shoal.methods.truthful._sets_split import Split
from shoal.models import Model
from shoal.schema import Schema
from shoal.writing import file_stem

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
        How many pairs are chosen; by default four times the number of columns, or all. Where epsilon is
        below 1, that number times its square root: fewer tables with less noise each tell more.
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
    name: ClassVar[str] = "truthful-tables"
    keeps: ClassVar[Keeps] = Keeps(
        private=DifferentialPrivacy.name,
        models=False,
        as_asked=True,
        pseudonyms=False,
        several_tables=True,
        shared_columns=True,
        persons=True,
        steps=(TablesTrimmed.name, Composed.name, "ordered"),
    )

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        if isinstance(self.tables, str):
            arguments.choice("tables", self.tables, get_args(Tables))
        else:
            made = tuple(arguments.columns("tables", list(table)) for table in self.tables)
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
        for column, level in self.levels.items():
            arguments.whole(f"levels[{column}]", level, minimum=0)
        for number, pair in enumerate(self.chosen or (), start=1):
            for column, level in pair.items():
                arguments.whole(f"chosen[{number}][{column}]", level, minimum=0)
        arguments.finish()

    def make(self, work: Work) -> Made:
        """Choose pairs privately, make all tables and trim them."""
        return make_tables(work, self)

    def declared(self, schema: Schema) -> tuple[tuple[str, ...], ...]:
        """Return the columns of the tables that need no choice."""
        names = tuple(attribute.name for attribute in released(schema))
        if isinstance(self.tables, str):
            return tuple((name,) for name in names)
        return tuple(tuple(name for name in names if name in table) for table in self.tables)

    def pairs_of(self, schema: Schema, epsilon: Fraction) -> int:
        """Return how many pairs of columns are chosen with ``epsilon`` for a record, or were."""
        if self.tables not in _WITH_PAIRS:
            return 0
        columns = len(released(schema))
        by_rule = max(1, math.isqrt(math.floor((4 * columns) ** 2 * min(epsilon, Fraction(1)))))
        number = by_rule if self.chosen is None else len(self.chosen)
        return min(number if self.pairs is None else self.pairs, columns * (columns - 1) // 2)

    def joint(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns of the table of all columns; none without such a table."""
        return tuple(attribute.name for attribute in released(schema)) if self.tables == "pairs+joint" else ()

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

    def files(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Return the columns of every released table, by its file."""
        tables = [*self.declared(schema), *(tuple(pair) for pair in self.chosen or ())]
        tables += [joint] if (joint := self.joint(schema)) else []
        return {_file(number, table): table for number, table in enumerate(tables, start=1)}

    @property
    def notes(self) -> tuple[str, ...]:
        """The file with the counts of classes that no record shows."""
        return (HIDDEN,)

    def domains(self, schema: Schema) -> tuple[DomainOrigin, ...]:
        """Return where the domains of all released columns came from."""
        return domains_of_columns(schema, [attribute.name for attribute in released(schema)])

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises."""
        del models
        known = [attribute.name for attribute in released(schema)]
        tables = () if isinstance(self.tables, str) else [name for table in self.tables for name in table]
        named = {"tables": dict.fromkeys(tables), "levels": self.levels}
        return [
            f"`{parameter}` of `{self.title}` names column `{column}`, which is not released"
            for parameter, columns in named.items()
            for column in columns
            if column not in known
        ]

    def unfit(self, privacy: Requirement) -> list[str]:
        if not isinstance(privacy, DifferentialPrivacy):
            return []
        found = []
        if privacy.search_share is not None:
            found.append(f"`search_share` of `{privacy.title}` is for `Truthful`; `{self.title}` has a rule of its own")
        return found


def _file(number: int, columns: Sequence[str]) -> str:
    stem = file_stem(*columns)
    return f"table-{number:02d}{'-' if stem else ''}{stem}.parquet"
