"""Truthful differential privacy: choose a scheme privately, generalise, and show a little less of every class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, Self, get_args

from shoal.errors import ParameterError
from shoal.exact import Arguments, is_finite
from shoal.guarantees import (
    Bounded,
    Cost,
    DomainOrigin,
    Dropped,
    Event,
    ExpectedStep,
    Ordered,
    Requirement,
    convert_epsilon_to_rho,
    exactly,
    once,
)
from shoal.mechanisms import SYSTEM, RandomSource
from shoal.methods._opening import domains_of_columns
from shoal.methods.base import Method, MethodCapabilities, Progress, Result, Watch, Work
from shoal.methods.recode import Generalized, Levels
from shoal.methods.truthful._make import (
    check_levels,
    crowd_problems,
    draw,
    filters,
    level_problems,
    listing_problems,
)
from shoal.methods.truthful._operators import OPERATORS, OperatorName
from shoal.methods.truthful._promises import DifferentialPrivacy, released_names, unreleased
from shoal.methods.truthful._scheme import EXPECTED, SCORES, Chooser, Drawn
from shoal.methods.truthful._scores import ClassificationScore, check_records
from shoal.methods.truthful._steps import TRUTHFUL_STEPS, Filtered, SchemeChosen, SchemeSearch
from shoal.methods.truthful._trees import tree_problems
from shoal.models import Model
from shoal.schema import Schema
from shoal.tables import Frequencies

if TYPE_CHECKING:
    from shoal.plan import Plan

Scheme = Literal["full-domain", "multi-dimensional"]
Search = Literal["draw", "walk"]

#: The part of epsilon for the search that gave the least loss on Adult; benchmarks/truthful.py measures it.
SHARES: dict[tuple[OperatorName, Scheme], Fraction] = {
    ("trim", "full-domain"): Fraction(1, 50),
    ("trim", "multi-dimensional"): Fraction(1, 5),
    ("sampling", "full-domain"): Fraction(1, 10),
    ("sampling", "multi-dimensional"): Fraction(1, 10),
}

#: The search gets this epsilon where its share would be less, but no more than a tenth of all.
LEAST_SEARCH = Fraction(1, 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truthful(Method):
    """Release real records, generalised, a few of every class left out: differential privacy without added records.

    Parameters
    ----------
    score
        What a good scheme is: ``granularity`` (the share of the domain that values cover), ``intensity`` (levels),
        ``group-size`` (many classes), ``classification`` (predicts ``target``), ``discernibility`` or
        ``non-uniform-entropy`` (as published, for comparison).
    scheme
        ``full-domain``: all values of a column at one level. ``multi-dimensional``: values of a column at different
        levels in different regions, which keeps much more detail; columns then hold values of several levels.
    search
        ``draw``: sound. ``walk``: the published walk, whose last step is not covered by a proof; for comparison.
    target
        The column to predict, for ``classification``; it is not generalised.
    levels
        Columns whose level is fixed beforehand, without looking at the data; 0 leaves a column as it is. Where all are
        fixed there is nothing to choose, and the whole epsilon goes to the operator.
    weights
        Importance of columns, for ``granularity`` and ``intensity``.
    steps
        Of a walk.
    operator
        What happens to the classes of the scheme. ``trim``: a random number of records of every class is left out,
        about as many of a large class as of a small one. ``sampling``: every record is sampled, and classes that were
        sampled too few times are left out [LQS10], as published; it keeps far less.

    Guarantee
    ---------
    (epsilon, delta)-differential privacy, neighbours differ by one record added or removed, or by one person with all
    records where the schema has a person column (`DifferentialPrivacy.records_per_person`). The scheme is chosen with a
    share of epsilon by exact selections (`shoal.methods.truthful._scheme`, `_trees`) on the whole table, the rest
    goes to the operator (`shoal.methods.truthful.trimming`, `shoal.methods.truthful.parameters`). The two use
    independent random bits and compose: see ``docs/explanation/truthful-differential-privacy.md``.

    Assumptions
    -----------
    Domains, hierarchies, weights, levels and all other settings do not depend on the data. With ``search="walk"`` the
    choice of the scheme is not covered.

    Notes
    -----
    One walk over the lattice, then one draw; lattices of more than a million nodes are walked step by step.

    Examples
    --------
    >>> Truthful(score="classification", target="income").parameters()["target"]
    'income'
    """

    score: str = "granularity"
    scheme: Scheme = "full-domain"
    search: Search = "draw"
    target: str | None = None
    levels: Mapping[str, int] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    steps: int = 300
    operator: OperatorName = "trim"
    family: ClassVar[str] = "truthful"
    name: ClassVar[str] = "truthful"
    about: ClassVar[str] = "Real records, made coarser, some left out."
    step_kinds: ClassVar[tuple[type[Event], ...]] = TRUTHFUL_STEPS
    capabilities: ClassVar[MethodCapabilities] = MethodCapabilities(
        private_promise=DifferentialPrivacy.name,
        as_asked=True,
        pseudonyms=False,
        persons=True,
        measures=("loss of released records",),
    )

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        arguments.choice("score", self.score, list(SCORES))
        arguments.choice("scheme", self.scheme, get_args(Scheme))
        arguments.choice("search", self.search, get_args(Search))
        arguments.choice("operator", self.operator, get_args(OperatorName))
        arguments.whole("steps", self.steps)
        for column, level in arguments.mapping("levels", self.levels).items():
            arguments.whole(f"levels[{column}]", level, minimum=0)
        for column, weight in arguments.mapping("weights", self.weights).items():
            if not (is_finite(weight) and weight >= 0):
                arguments.problems.add(f"the weight of column `{column}` of `{self.title}` must be in [0, inf).")
        if (self.target is not None) != (self.score == ClassificationScore.name):
            arguments.problems.add(
                f"`target` of `{self.title}` must be given with score `classification`, and with no other."
            )
        if self.scheme == "multi-dimensional" and self.search == "walk":
            arguments.problems.add(f"`search` of `{self.title}` must be `draw` for a multi-dimensional scheme.")
        if self.scheme == "multi-dimensional" and self.score in SCORES and self.score not in EXPECTED:
            arguments.problems.add(
                f"`score` of `{self.title}` must be one of {', '.join(EXPECTED)} for a multi-dimensional scheme."
            )
        arguments.finish()

    def search_share(self, epsilon: Fraction) -> Fraction:
        """Return the part of epsilon that chooses the scheme where the promise names none: measured, see benchmarks."""
        measured = SHARES[self.operator, self.scheme]
        return max(measured, min(LEAST_SEARCH / epsilon, Fraction(1, 10)))

    def expected_steps(self, plan: Plan) -> list[ExpectedStep]:
        schema, privacy = plan.schema, plan.privacy
        assert isinstance(privacy, DifferentialPrivacy)  # noqa: S101 - the plan asks for it
        filtering = tuple(model.name for model in filters(plan.class_models))
        return [
            *exactly(*Dropped.by(schema), *Bounded.by(schema, privacy.records_per_person)),
            once(SchemeChosen, score=self.score, allows=self._chooses),
            once(Generalized, method=self.name, columns=released_names(schema)),
            once(OPERATORS[self.operator].step),
            *exactly(*([Filtered(models=filtering)] if filtering else []), Ordered()),
        ]

    def _chooses(self, step: SchemeChosen) -> bool:
        """Return whether this method chooses a scheme so, by as many selections."""
        ways: dict[SchemeSearch, int] = {"fixed": 0}
        if self.scheme == "multi-dimensional":
            ways["tree"] = 1
        elif self.search == "walk":
            ways["published walk"] = self.steps
        else:
            ways |= {"draw": 1, "split walk": self.steps + 1}
        return ways.get(step.search) == step.selections

    def make(self, work: Work) -> Result:
        return draw(work, self)

    def cost(self, privacy: Requirement, schema: Schema) -> Cost | None:
        del schema
        # no proof covers the last step of the walk, so no budget can say what it costs
        if self.search != "draw" or privacy.cost is None or not isinstance(privacy, DifferentialPrivacy):
            return None
        if (privacy.records_per_person or 1) > 1:
            return privacy.cost
        # the search and the operator one after the other; levels that are fixed, and no search, cost no more
        shared = privacy.sharing(self.search_share(privacy.total))
        searching = shared.search_epsilon(searching=True)
        narrow = self.score in EXPECTED
        # an exponential mechanism whose log ratios lie in an interval of length epsilon: `gaussian`, Lemma 2
        search = searching**2 / 8 if narrow else convert_epsilon_to_rho(searching)
        rho = search + convert_epsilon_to_rho(privacy.total - searching)
        if self.levels or self.target:
            rho = max(rho, convert_epsilon_to_rho(privacy.total))
        return replace(privacy.cost, rho=rho, beta=privacy.cost.delta)

    def weighted(self, weights: Mapping[str, float]) -> Self:
        """Return the method with these weights of columns, unless it has some of its own."""
        given = {name: weight for name, weight in weights.items() if weight != 1}
        return replace(self, weights=given) if given and not self.weights else self

    def domains(self, schema: Schema) -> tuple[DomainOrigin, ...]:
        return domains_of_columns(schema, released_names(schema))

    def keeping(self, columns: tuple[str, ...]) -> Self:
        """Return the method that leaves these columns as they are."""
        return replace(self, levels={**self.levels, **dict.fromkeys(columns, 0)}) if columns else self

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        named = {"target": [self.target] if self.target else [], "levels": self.levels, "weights": self.weights}
        problems = unreleased(schema, self.title, named) + level_problems(schema, self.title, self.levels)
        sensitive = dict.fromkeys(name for model in models for name in model.capabilities.sensitive if name in schema)
        problems += listing_problems(schema, tuple(sensitive))
        if self.scheme == "multi-dimensional":
            problems += tree_problems(schema, released_names(schema), self.levels, self.title)
        return problems + [
            f"`{model.title}` compares with a population, whose counts are not covered by differential privacy; leave "
            f"out one of them"
            for model in models
            if model.capabilities.about_population
        ]

    def unfit(self, privacy: Requirement, models: Sequence[Model]) -> list[str]:
        return crowd_problems(privacy, models) if isinstance(privacy, DifferentialPrivacy) else []

    def draw(
        self,
        frequencies: Frequencies,
        wanted: DifferentialPrivacy,
        *,
        k: int = 1,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
        source: RandomSource = SYSTEM,
    ) -> Drawn:
        """Draw a release of the distinct tuples of *all* columns that are released, as quasi-identifiers.

        ``k`` is the least size of a released class, where something else asks for more than the promise does. Nothing
        that ``progress`` is told depends on the data.
        """
        check_records(frequencies)
        low, high = self._bounds(frequencies)
        searching = low != high
        wanted = wanted.sharing(self.search_share(wanted.total))
        operator = wanted.operator(self.operator, searching=searching, least=k)
        watch = Watch(progress, cancelled)
        watch.step(0, 0, "scoring schemes")
        chooser = Chooser(
            frequencies=frequencies,
            low=low,
            high=high,
            operator=operator,
            weights=self.weights,
            score=self.score,
            target=self.target,
            steps=self.steps,
            watch=watch,
            source=source,
        )
        if not searching:
            choice, levels, scheme = chooser.fixed()
        elif not (epsilon := wanted.search_epsilon(searching=True)):
            raise ParameterError(
                f"`search_share` of `{wanted.title}` must be above 0 to choose a scheme; got 0.",
                hint=f"fix the `levels` of all columns in `{self.title}`, or allow a share",
            )
        elif self.scheme == "multi-dimensional":
            choice, levels, scheme = chooser.tree(epsilon)
        else:
            choice, levels, scheme = chooser.node(epsilon, published=self.search == "walk")
        watch.step(0, 0, operator.doing)
        # the promise is that of the operator: the scheme was chosen without these random bits, for all released columns
        tuples = scheme.showing(operator.shown(scheme.counts, source))
        return Drawn(tuples=tuples, choice=choice, levels=levels, operator=operator, scheme=scheme)

    def _bounds(self, frequencies: Frequencies) -> tuple[Levels, Levels]:
        """Return the lowest and the highest node to choose from."""
        fixed = dict(self.levels) | ({self.target: 0} if self.target else {})
        check_levels(self.title, fixed, frequencies.hierarchies)
        low = tuple(fixed.get(hierarchy.attribute, 0) for hierarchy in frequencies.hierarchies)
        high = tuple(fixed.get(hierarchy.attribute, hierarchy.height) for hierarchy in frequencies.hierarchies)
        return low, high
