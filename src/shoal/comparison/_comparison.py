"""What a comparison gives: points, the frontier, and a recommendation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.comparison._frontier import comparable, values
from shoal.comparison._point import RISKS, UTILITIES, Point
from shoal.errors import ParameterError
from shoal.plan import Plan
from shoal.report import Axis, Chart, Dot, frontier_chart, frontier_text
from shoal.writing import write_file


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
        plan = _moved(self.plan(number), path.absolute().parent)
        write_file(path, plan.dumps().encode())
        return path

    def text_plot(self, *, width: int = 64, height: int = 16) -> str:
        """Return the frontier drawn in text."""
        return frontier_text(self._dots(), *self._axes(), width=width, height=height)

    def chart(self) -> Chart:
        """Return the frontier as a picture, which notebooks show; ``chart().svg(alone=True)`` is a file's content."""
        return frontier_chart(self._dots(), *self._axes())

    def _dots(self) -> list[Dot]:
        found = []
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
            found.append(dot)
        return found

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


def _moved(plan: Plan, folder: Path) -> Plan:
    """Return the plan with paths of hierarchy files that start at another folder."""
    attributes = []
    for attribute in plan.schema:
        rule = attribute.hierarchy
        if rule is not None and rule.file is not None:
            place = os.path.relpath((plan.schema.folder / rule.file).absolute(), folder)
            attribute = replace(attribute, hierarchy=rule.moved(place))
        attributes.append(attribute)
    return replace(plan, schema=replace(plan.schema, attributes=tuple(attributes), folder=folder))
