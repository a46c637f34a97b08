"""t-closeness: the sensitive values of every class are distributed as in the whole release, up to t."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.exact import Number, fraction, one_of, optional, plain, within
from shoal.guarantees import CLASSES, Words
from shoal.kernels.screening import Ground, Proportions
from shoal.models._earth_mover import EarthMover, EqualDistance, HierarchicalDistance, OrderedDistance
from shoal.models._model import KNOWN, REPLAY, Achieved, Capabilities, Mask, Model, Scope
from shoal.models._sensitive import Rows, SensitiveModel
from shoal.schema import Kind, Schema
from shoal.tables import SensitiveAttribute

Distance = Literal["equal", "ordered", "hierarchical"]


@dataclass(frozen=True, slots=True, repr=False)
class TCloseness(SensitiveModel):
    """Every class has nearly the same distribution of a sensitive attribute as the whole release.

    Cost O(n) over the n values present in the classes for the equal distance, O(n log v) for the ordered one, v being
    the number of different values, and O(n * height) for the hierarchical one.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    t
        The greatest distance allowed, a number in [0, 1]. A float means the decimal typed: 0.2 is 1/5.
    distance
        ``"equal"``: all values are equally different. ``"ordered"``: neighbours in the order are nearest. A missing
        value comes last. ``"hierarchical"``: values with a low common ancestor in the attribute's hierarchy are
        nearest. By default ordered for numbers, dates and ordinal attributes, else hierarchical where the schema
        declares a hierarchy, else equal.

    Guarantee
    ---------
    Syntactic: ``EMD(P(E), Q) <= t`` for every equivalence class E of the release [Bild24, 2.1.4, Def. 4 and (2.1)], EMD
    the earth mover's distance, P(E) the distribution in E and Q the one in the release. An intruder who knows the
    distribution in the release learns at most t more from the quasi-identifiers of a person.

    The whole table of the definition is the release, suppressed records left out: anybody can check that, and the
    distribution of the input would tell about the suppressed records. For the ordered distance v counts the values of
    the release.

    Assumptions
    -----------
    The distribution of the attribute in the release may become public. With the equal distance a value may become much
    more likely in a class if it is rare: see :class:`BetaLikeness` and :class:`MultiplicativeCloseness`. Each
    attribute is protected on its own; who is in the release is not hidden.

    Examples
    --------
    The example of [Bild24, A.2]: the values 50, 60, 60, 60, 70 in the classes {50, 60} and {60, 60, 70}.

    >>> import numpy as np
    >>> from shoal.models import Classes, ClassHistogram
    >>> charge = ClassHistogram(
    ...     attribute=SensitiveAttribute(name="charge", size=3, ordered=True),
    ...     offsets=np.array([0, 2, 4]),
    ...     codes=np.array([0, 1, 1, 2], dtype=np.int32),
    ...     counts=np.array([1, 1, 2, 1]),
    ... )
    >>> classes = Classes(sizes=np.array([2, 3]), sensitive={"charge": charge})
    >>> print(TCloseness("charge", 0.2).achieved(classes))
    t = 1/4 (0.25)
    >>> TCloseness("charge", 0.2).keep(classes, np.array([True, True])).tolist()
    [False, True]
    """

    t: Number = field(metadata=within("[0, 1]"))
    distance: Distance | None = field(default=None, metadata=optional(one_of(*get_args(Distance))))
    name: ClassVar[str] = "t-closeness"
    assumes: ClassVar[tuple[str, ...]] = (
        KNOWN,
        "The distribution of `{attribute}` in the whole release may become public.",
        "A rare value may still be several times as likely in a class as in the whole release.",
        REPLAY,
    )

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            monotone_generalization=True,  # the distance to a fixed distribution is convex
            scope=Scope.REFERENCE,
            sensitive=(self.attribute,),
            hierarchy=self.distance == "hierarchical",
            earth_mover=fraction(self.t),
        )

    def proportions(self, attribute: SensitiveAttribute) -> Proportions | None:
        """Return what is asked at least of the proportions of the values of ``attribute`` in a class."""
        distance = self._distance(attribute.ordered, attribute.hierarchy is not None)
        return Proportions(distance=fraction(self.t), exact=True, ground=_ground(attribute, distance))

    def weaker(self, factor: Fraction) -> TCloseness:
        """Return the model that allows ``factor`` times the distance, at most 1."""
        return dataclasses.replace(self, t=min(fraction(self.t) * factor, Fraction(1)))

    def satisfied(self, rows: Rows) -> Mask:
        """Return the rows at a distance of at most t from all rows together."""
        return self._mover(rows).at_most(fraction(self.t))

    def strongest_of(self, rows: Rows) -> Achieved:
        """Return the greatest distance of a row."""
        return Achieved(t=self._mover(rows).largest())

    def problems(self, schema: Schema) -> list[str]:
        found = Model.problems(self, schema)
        if self.attribute not in schema:
            return found
        attribute = schema[self.attribute]
        if self.distance == "ordered" and attribute.kind is Kind.CATEGORICAL:
            found.append(
                f"`{self.title}` measures column `{self.attribute}` by order, but its kind is {attribute.kind}"
            )
        if self.distance == "hierarchical" and attribute.hierarchy is None:
            found.append(f"`{self.title}` measures column `{self.attribute}` by a hierarchy, but it has none")
        return found

    def resolved(self, schema: Schema) -> TCloseness:
        """Return this model with the distance spelt out."""
        attribute = schema[self.attribute]
        ordered = attribute.kind is not Kind.CATEGORICAL
        return dataclasses.replace(self, distance=self._distance(ordered, attribute.hierarchy is not None))

    def statement(self, words: Words = CLASSES) -> str:
        measured = {
            "equal": "with all values counted as equally different",
            "ordered": "with values counted as more different the further apart they are in order",
            "hierarchical": "with values counted as more different the higher up in the hierarchy they meet",
            None: "by the distance that suits the kind of the column",
        }[self.distance]
        return (
            f"{words.among}, the distribution of `{self.attribute}` differs from "
            f"the one in the whole release by at most {plain(self.t)} on a scale from 0 to 1, {measured}."
        )

    def _distance(self, ordered: bool, hierarchy: bool) -> Distance:
        if self.distance is not None:
            return self.distance
        return "ordered" if ordered else "hierarchical" if hierarchy else "equal"

    def _mover(self, rows: Rows) -> EarthMover:
        attribute: SensitiveAttribute = rows.attribute
        match self._distance(attribute.ordered, attribute.hierarchy is not None):
            case "ordered":
                return OrderedDistance(rows)
            case "hierarchical":
                if attribute.hierarchy is None:
                    raise ParameterError(
                        f'`distance` of `{self.title}` must be "equal" or "ordered" for column `{self.attribute}`, '
                        'which has no hierarchy; got "hierarchical".'
                    )
                return HierarchicalDistance(rows, attribute.hierarchy)
            case _:
                return EqualDistance(rows)


def _ground(attribute: SensitiveAttribute, distance: Distance) -> Ground:
    """Return the distance of :mod:`shoal.models._earth_mover` as a sum over ranges of values."""
    if distance == "ordered":
        return Ground(
            (0,) * attribute.size, tuple(range(1, attribute.size + 1)), max(attribute.size - 1, 1), ordered=True
        )
    unit = 1
    levels: tuple[npt.NDArray[np.int32], ...] = (np.arange(attribute.size, dtype=np.int32),)
    if distance == "hierarchical" and attribute.hierarchy is not None:
        levels, unit = attribute.hierarchy.codes[:-1], max(attribute.hierarchy.height, 1)
    starts: list[int] = []
    ends: list[int] = []
    for codes in levels:
        first = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist()]
        starts += first
        ends += [*first[1:], attribute.size]
    return Ground(tuple(starts), tuple(ends), unit)
