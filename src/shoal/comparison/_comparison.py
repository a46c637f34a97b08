"""The result of a comparison: figures, points, the frontier, and a recommendation."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError
from shoal.exact import fraction
from shoal.plan import Plan
from shoal.report import Axis, Chart, Dot, frontier_chart, frontier_text
from shoal.writing import write_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure that points are compared by; lower is better for all."""

    #: How it is asked for.
    name: str
    #: What a picture calls it.
    title: str
    #: What a value means, with ``{}`` in place of the value as a percentage.
    sentence: str
    #: What a sentence calls it, for utilities.
    short: str = ""
    #: For risks, the limit of a recommendation that was asked for without one.
    usual: float = 1.0


def _by_name(*figures: Figure) -> Mapping[str, Figure]:
    return {figure.name: figure for figure in figures}


RISKS = _by_name(
    Figure(
        name="average",
        title="average risk of re-identification",
        sentence="an intruder who knows all quasi-identifiers links a record with a chance of {} on average",
        usual=0.05,
    ),
    Figure(
        name="highest",
        title="highest risk of re-identification",
        sentence="the released record that is easiest to link is linked with a chance of {}",
        usual=0.09,  # one in eleven, as the European Medicines Agency asks of published trials
    ),
    Figure(
        name="linked",
        title="people who are linked",
        sentence="{} of all people in the table are expected to be linked to their record",
        usual=0.05,
    ),
    Figure(
        name="partial",
        title="people who are linked by half of the quasi-identifiers",
        sentence="{} of all people are expected to be linked by the most telling half of the quasi-identifiers",
        usual=0.05,
    ),
    Figure(
        name="inference",
        title="inference of a sensitive value",
        sentence="{} of the sensitive values that could not be guessed before can be guessed from the release",
        usual=0.1,
    ),
    Figure(
        name="singling-out",
        title="singling out",
        sentence="{} of the descriptions taken from the release fit exactly one person, beyond chance",
        usual=0.1,
    ),
)

UTILITIES = _by_name(
    Figure(
        name="queries",
        short="an error of counts",
        title="error of random counts (mean)",
        sentence="random counts over up to three columns are off by {} on average",
    ),
    Figure(
        name="coverage",
        short="a coverage",
        title="share of the domain that values cover",
        sentence="a released quasi-identifier covers {} of its domain on average, suppressed records counted whole",
    ),
    Figure(
        name="distributions",
        short="a change of distributions",
        title="change of distributions (total variation)",
        sentence="the distribution of a column changed by {} on average",
    ),
    Figure(
        name="associations",
        short="a change of associations",
        title="change of associations",
        sentence="the association between two columns changed by {} on average",
    ),
    Figure(
        name="distinguishable",
        short="a difference",
        title="records that can be distinguished from originals",
        sentence="a classifier distinguishes released from original records {} of the way from chance to certainty",
    ),
    Figure(
        name="prediction",
        short="a loss of predictive power",
        title="loss of predictive power",
        sentence="models trained on the release lose {} of the predictive power of models trained on the original",
    ),
    Figure(
        name="suppressed",
        short="a share of records left out",
        title="records left out",
        sentence="{} of the records are not in the release",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One plan, and the risk and the utility of the release that it made."""

    #: Its number in the comparison, from 1.
    number: int
    #: The name of the method.
    method: str
    #: What is promised, in short words.
    promises: str
    #: The plan, as the text of a plan file.
    plan: str = field(repr=False)
    #: A fingerprint of the plan, the input and the settings, under which the point is kept.
    key: str
    #: How long the release took.
    seconds: float = 0.0
    #: The number of released records.
    records: int = 0
    #: Whether it promises differential privacy.
    private: bool = False
    #: The numbers of its promises by symbol, such as ``{"k": 5, "t(diagnosis)": 0.2}``.
    strengths: Mapping[str, float] = field(default_factory=dict)
    #: Whether quasi-identifiers are released as they were, as by Anatomy and swapping, which hide sensitive values
    #: among those of a class instead: anybody then sees who is in the table.
    shows_members: bool = False
    #: How often the best intruder of the rehearsal is right; None where nothing could be attacked.
    found: float | None = None
    #: Whether the rehearsal refuses the release: it would not be written.
    hollow: bool = False
    #: Figures by name, lower being better for both; None where a figure is not defined.
    risk: Mapping[str, float | None] = field(default_factory=dict)
    utility: Mapping[str, float | None] = field(default_factory=dict)
    #: Why there is no release, or None.
    failure: str | None = None

    @property
    def label(self) -> str:
        """The method and the promises in a few words."""
        return f"{self.method}, {self.promises}" if self.promises else self.method

    def to_json(self) -> dict[str, Any]:
        """Return the point as plain values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Point:
        """Read what :meth:`to_json` gave."""
        return cls(**{entry.name: content[entry.name] for entry in dataclasses.fields(cls)})


_SYMBOLS = {
    "k-anonymity": "k",
    "t-closeness": "t",
    "distinct-l-diversity": "l",
    "differential-privacy": "epsilon",
    "epsilon-budget": "epsilon",
}


def strengths(plan: Plan) -> dict[str, float]:
    """Return the numbers that say how strong the promises of a plan are, by symbol."""
    found = {}
    for model in plan.models:
        parameters = model.parameters()
        attribute, symbol = parameters.get("attribute"), _SYMBOLS.get(model.name, "k" if "k" in parameters else None)
        if symbol is not None:
            found[f"{symbol}({attribute})" if attribute else symbol] = float(fraction(str(parameters[symbol])))
    return found


def describe(plan: Plan) -> str:
    """Return the promises of a plan in short words: ``k = 5, t(diagnosis) = 0.2``."""
    return ", ".join(_promise(model.name, model.parameters()) for model in plan.models)


def _promise(name: str, parameters: Mapping[str, object]) -> str:
    attribute = parameters.get("attribute")
    symbol = _SYMBOLS.get(name, name)
    known = {
        key: value for key, value in parameters.items() if key not in ("attribute", "distance") and value is not None
    }
    subject = f"{symbol}({attribute})" if attribute else symbol
    if name in _SYMBOLS:
        return f"{subject} = {known.get(symbol)}" + (f", delta = {known['delta']}" if "delta" in known else "")
    return f"{subject} " + " ".join(f"{key} = {value}" for key, value in known.items())


def comparable(points: Sequence[Point], risk: str, utility: str) -> list[Point]:
    """Return the points that have both figures."""
    return [
        point
        for point in points
        if point.failure is None and point.risk.get(risk) is not None and point.utility.get(utility) is not None
    ]


def values(point: Point, risk: str, utility: str) -> tuple[float, float]:
    """Return both figures of a point that has them."""
    first, second = point.risk[risk], point.utility[utility]
    assert first is not None  # noqa: S101 - asked of comparable points only
    assert second is not None  # noqa: S101
    return first, second


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Plans side by side on one table.

    Parameters
    ----------
    points
        All points, in the order of the grid, failed ones included.
    risk, utility
        The figures that the frontier is drawn by: names of :data:`shoal.comparison.RISKS` and of
        :data:`shoal.comparison.UTILITIES`.
    best
        The numbers of the points that no other beats in both, by risk.
    recommended
        The number of the point to take, or None.
    reasons
        Why, in sentences.
    records
        The records of the table.
    seed
        Of the measurements: the same seed and data give the same figures, but for methods that draw their own
        randomness.
    folder
        Where relative paths of hierarchy files of the plans start.
    """

    points: tuple[Point, ...]
    risk: str
    utility: str
    best: tuple[int, ...]
    recommended: int | None
    reasons: tuple[str, ...]
    records: int
    seed: int
    folder: Path

    def point(self, number: int) -> Point:
        """Return a point by its number."""
        for point in self.points:
            if point.number == number:
                return point
        raise ParameterError(f"there is no point {number}; there are {len(self.points)}.")

    def plan(self, number: int) -> Plan:
        """Return the plan of a point, to run it on the table."""
        point = self.point(number)
        if not point.plan:
            raise ParameterError(f"point {number} has no plan: {point.failure}.")
        return Plan.loads(point.plan, folder=self.folder)

    def export(self, number: int, path: str | Path) -> Path:
        """Write the plan of a point to a file for ``shoal anonymize --plan``; paths in it start at its folder."""
        path = Path(path)
        plan = _move_plan(self.plan(number), path.absolute().parent)
        write_file(path, plan.dumps().encode())
        return path

    def text_plot(self, *, width: int = 64, height: int = 16) -> str:
        """Return the frontier drawn in text."""
        return frontier_text(self._dots(), *self._axes(), width=width, height=height)

    def chart(self) -> Chart:
        """Return the frontier as a picture, which notebooks show; ``chart().svg(alone=True)`` is a file's content."""
        return frontier_chart(self._dots(), *self._axes())

    def _dots(self) -> list[Dot]:
        dots = []
        for point in comparable(self.points, self.risk, self.utility):
            risk, cost = values(point, self.risk, self.utility)
            dot = Dot(
                number=str(point.number),
                label=point.label,
                group=point.method,
                risk=risk,
                cost=cost,
                best=point.number in self.best,
                chosen=point.number == self.recommended,
            )
            dots.append(dot)
        return dots

    def _axes(self) -> tuple[Axis, Axis]:
        return (
            Axis(title=RISKS[self.risk].title, short="risk"),
            Axis(title=UTILITIES[self.utility].title, short="utility lost"),
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "risk": self.risk,
            "utility": self.utility,
            "records": self.records,
            "seed": self.seed,
            "best": list(self.best),
            "recommended": self.recommended,
            "reasons": list(self.reasons),
            "points": [point.to_json() for point in self.points],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any], *, folder: str | Path = ".") -> Comparison:
        """Read what :meth:`to_json` gave; ``folder`` is where paths of hierarchy files start."""
        return cls(
            points=tuple(Point.from_json(point) for point in content["points"]),
            best=tuple(content["best"]),
            reasons=tuple(content["reasons"]),
            folder=Path(folder),
            **{name: content[name] for name in ("risk", "utility", "recommended", "records", "seed")},
        )


def _move_plan(plan: Plan, folder: Path) -> Plan:
    """Return the plan with paths of hierarchy files that start at another folder."""
    attributes = []
    for attribute in plan.schema:
        rule = attribute.hierarchy
        if rule is not None and rule.file is not None:
            place = os.path.relpath((plan.schema.folder / rule.file).absolute(), folder)
            attribute = replace(attribute, hierarchy=rule.with_path(place))
        attributes.append(attribute)
    return replace(plan, schema=replace(plan.schema, attributes=tuple(attributes), folder=folder))
