"""The contents of a report, as one versioned value that is written as JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from shoal.guarantees import File, Strength
from shoal.methods import OwnValue
from shoal.risk import ClassSizes, Finding, PeopleRisk, Reidentification, UnitRisk
from shoal.schema import Role


class Variant(StrEnum):
    """The readers that a report is meant for.

    ``PUBLIC``: made of the files of the release alone. ``INTERNAL``: compares the release with the original table, for
    those who may see that table.
    """

    PUBLIC = "public"
    INTERNAL = "internal"


class _Figures(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PromiseFigures(_Figures):
    """One promise in words."""

    model: str
    statement: str
    strength: Strength
    assumptions: tuple[str, ...] = ()
    neighbours: str | None = None
    unit: str
    file: str | None = None
    parameters: dict[str, str] = {}
    exact: dict[str, str] = {}


class Step(_Figures):
    """One step of the release, and the privacy budget that it spent."""

    name: str
    description: str
    epsilon: float = 0.0
    delta: float = 0.0


class BudgetFigures(_Figures):
    """The total of what the steps spent."""

    epsilon: float
    delta: float


class LevelFigures(_Figures):
    """The generalisation of a column: ``level`` of ``height``, with released values as examples."""

    column: str
    level: int
    height: int
    examples: tuple[str, ...] = ()


class Bar(_Figures):
    """A value of a column, or several together, and the share of records that have it.

    ``kind`` is ``value``, ``missing`` or ``rest`` (all values without a bar of their own). ``original`` is None in
    public reports. ``place`` is where the bar stands among all bins of numbers, the empty ones included.
    """

    label: str
    kind: Literal["value", "missing", "rest"] = "value"
    released: float
    records: int | None = None
    original: float | None = None
    place: int | None = None


class ColumnFigures(_Figures):
    """The distribution of a released column.

    ``total_variation`` is its distance from the original's, ``wasserstein`` the mean way of its values over its width,
    both with released groups spread evenly over what they stand for. Where values were grouped, ``bars`` are the groups
    as they were released, ``between_groups`` is how far these moved, and ``inside`` shows the values spread.
    """

    name: str
    role: Role
    distinct: int | None = None
    bars: tuple[Bar, ...]
    total_variation: float | None = None
    wasserstein: float | None = None
    between_groups: float | None = None
    inside: tuple[Bar, ...] = ()


class ColumnRole(_Figures):
    """A column of the original table: its role, its treatment, and the reason.

    ``given`` tells whether a person wrote the reason; else it is the meaning of the role.
    """

    name: str
    role: Role
    done: str
    reason: str
    given: bool = False


class Risk(_Figures):
    """The re-identification risk of a table; see :class:`shoal.risk.Reidentification`."""

    records: int
    classes: int
    smallest: int
    largest: int
    unique: int
    prosecutor: float
    marketer: float
    sizes: tuple[ClassSizes, ...]
    fewest: int | None = None

    @classmethod
    def of(cls, risk: Reidentification) -> Risk:
        """Return the figures of an assessment that a report shows."""
        return cls(**{name: getattr(risk, name) for name in cls.model_fields})


class PeopleFigures(_Figures):
    """The risk of persons with all their records, and of households; see :class:`shoal.risk.PeopleRisk`."""

    records: UnitRisk
    persons: UnitRisk
    households: UnitRisk | None = None
    trajectories: int

    @classmethod
    def of(cls, risk: PeopleRisk) -> PeopleFigures:
        """Return the figures of an assessment that a report shows."""
        return cls(**{name: getattr(risk, name) for name in cls.model_fields})


class OwnFigures(_Figures):
    """The chance that values of a column that changed places inside classes are the records' own."""

    column: str
    mean: float
    greatest: float

    @classmethod
    def of(cls, own: OwnValue) -> OwnFigures:
        """Return the figures as a report shows them."""
        return cls(column=own.column, mean=float(own.mean), greatest=float(own.greatest))


class LearntFigures(_Figures):
    """The risk that somebody's value is learnt from the values of a class that is known."""

    smallest: int
    #: the greatest share of a class that has the same value
    highest: float


class TableFigures(_Figures):
    """A released table. ``risk`` is None where none are formed.

    ``risk`` is that of finding a record; ``learnt`` that of learning a value, where classes link it with
    quasi-identifiers in another table. ``hidden_among`` is the least size of the classes, not published, inside which
    values were exchanged.
    """

    file: str
    records: int
    columns: tuple[ColumnFigures, ...]
    risk: Risk | None = None
    learnt: LearntFigures | None = None
    hidden_among: int | None = None


class LatticeNode(_Figures):
    """A combination of levels that the search looked at; ``value`` is None where it was set aside."""

    levels: tuple[int, ...]
    value: float | None
    suppressed: int


class LatticeFigures(_Figures):
    """The combinations of levels that the search looked at, the best of them where there are very many."""

    columns: tuple[str, ...]
    heights: tuple[int, ...]
    chosen: tuple[int, ...]
    measure: str
    looked_at: int
    nodes: tuple[LatticeNode, ...]


class AttackFigures(_Figures):
    """The success rate of a simulated attack, and its rate without the records; see :class:`shoal.risk.Attack`."""

    name: str
    columns: tuple[str, ...] = ()
    question: str
    success: float
    low: float
    high: float
    baseline: float
    risk: float
    attempts: int


class DisclosureFigures(_Figures):
    """The share of right guesses of a released secret, without and with knowledge of the class."""

    column: str
    baseline: float
    guess: float
    certain: int


class BoardFigures(_Figures):
    """Figures that a board or a data protection officer asks for beyond the promises."""

    #: What classes tell about secrets, computed from the release.
    disclosure: tuple[DisclosureFigures, ...] = ()
    #: Simulated on the release and the original table, which only internal reports have. ``linkage`` holds the number
    #: of columns known, the shares of people whom one record fits and who are linked, and these at worst.
    attacks: tuple[AttackFigures, ...] = ()
    linkage: tuple[tuple[int, float, float, float], ...] = ()
    #: Of the attacks.
    seed: int | None = None
    #: The Safe Harbor list, column by column.
    identifiers: tuple[Finding, ...] = ()
    #: What was done and promised, in the terms of ISO/IEC 20889.
    techniques: tuple[tuple[str, str], ...] = ()
    #: The questions of ISO/IEC 27559 with their answers; an empty answer is one that the plan does not give.
    questions: tuple[tuple[str, str, str], ...] = ()


class RehearsalFigures(_Figures):
    """The success of the attack that the publisher rehearsed, and the number of people found."""

    line: str
    rows: tuple[tuple[str, str], ...]


class Document(_Figures):
    """A report on one release.

    Parameters
    ----------
    variant
        Who may read it.
    created, software, randomness, promises, steps, budget, files
        As certified.
    about
        Title, purpose and circumstances as the plan says them.
    described
        Every column of the original table with its role; empty where there is no readable plan.
    guessed
        Whether no person confirmed the roles of the columns.
    private
        Whether a promise of the release is differential privacy.
    levels
        How far the columns were generalised, where one level was chosen for a column.
    tables
        What was released, in figures.
    measures
        Quality measures. Public reports give them only where the release alone tells them.
    before
        The risk of the original table; internal reports alone.
    people
        The risk of persons and households before, and after where it is known; internal reports alone.
    own_values
        How likely values that changed places inside classes are the records' own; internal reports alone.
    associations, query_error
        The largest changes of association between two columns, and the mean error of random counts; internal alone.
    lattice
        The search for the levels, where it can be repeated; internal alone.
    rehearsal
        How often the rehearsed attack is right, in one line, and who finds how many; internal reports alone.
    board
        What a board asks, where that was wanted.
    attention
        What the released table shows and no promise covers: columns erased, secrets that single people out.
    limitations
        What the release does not protect from.
    """

    format: Literal["shoal-report"] = "shoal-report"
    version: Literal[1] = 1
    variant: Variant
    created: str
    software: str
    randomness: str
    about: dict[str, str] = {}
    described: tuple[ColumnRole, ...] = ()
    guessed: bool
    private: bool
    promises: tuple[PromiseFigures, ...]
    steps: tuple[Step, ...]
    budget: BudgetFigures | None = None
    levels: tuple[LevelFigures, ...] = ()
    tables: tuple[TableFigures, ...]
    measures: dict[str, float | None] = {}
    before: Risk | None = None
    people: tuple[PeopleFigures, ...] = ()
    own_values: tuple[OwnFigures, ...] = ()
    associations: tuple[tuple[str, str, float, float], ...] = ()
    query_error: float | None = None
    lattice: LatticeFigures | None = None
    rehearsal: RehearsalFigures | None = None
    board: BoardFigures | None = None
    attention: tuple[str, ...] = ()
    limitations: tuple[str, ...]
    files: tuple[File, ...]

    def to_json(self) -> str:
        """Return the document as JSON."""
        return self.model_dump_json(indent=2) + "\n"
