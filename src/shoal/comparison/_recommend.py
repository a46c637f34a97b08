"""The frontier of a comparison, and a recommended point with its reasons in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from shoal.comparison._comparison import RISKS, UTILITIES, Point, comparable, values
from shoal.exact import fraction, plain, share

#: attacks that succeed more often than this are told
_NOTEWORTHY = 0.1
#: figures that differ by less than this share of their range are nearly the same to a reader
_ALIKE = 0.02


def recommend(
    points: Sequence[Point], risk: str, utility: str, *, highest_risk: float | None = None
) -> tuple[int | None, tuple[str, ...]]:
    """Choose a point and say why, in sentences.

    The most useful point whose risk is at most ``highest_risk``, or the usual limit of that risk where none is given.
    If no point keeps the usual limit: of the points that no other beats, the one nearest to "no risk and nothing lost",
    both figures scaled to the range that these points span. Of points of one method whose figures are nearly the same,
    the one with the strongest promises stands for all. A release that shows who is in the table, as Anatomy's does, is
    recommended only where there is no other, and one that the rehearsal refuses never.
    """
    candidates = comparable(points, risk, utility)
    if not candidates:
        return None, ("No point has both figures, so there is nothing to recommend.",)
    candidates = [point for point in candidates if not point.hollow]
    if not candidates:
        return None, ("The rehearsal refuses every release: what is released as it is tells whose records are whose.",)
    every = Choice(candidates, risk, utility)
    choice = Choice([point for point in candidates if not point.shows_members] or candidates, risk, utility)
    limit = RISKS[risk].usual if highest_risk is None else highest_risk
    chosen = choice.most_useful(limit)
    if chosen is None and highest_risk is not None:
        return None, (_too_risky(choice, every, highest_risk),)
    within = chosen is not None
    chosen = chosen or choice.nearest()
    return chosen.number, tuple(
        _reasons(chosen, choice, every, points, limit, given=highest_risk is not None, within=within)
    )


def _reasons(
    chosen: Point,
    choice: Choice,
    every: Choice,
    points: Sequence[Point],
    limit: float,
    *,
    given: bool,
    within: bool,
) -> Iterator[str]:
    yield _why(chosen, choice, every, limit, given=given, within=within)
    first, second = choice.values(chosen)
    yield (
        f"With it, {RISKS[choice.risk].sentence.format(share(first))}, and "
        f"{UTILITIES[choice.utility].sentence.format(share(second))}."
    )
    around = choice.representatives
    if chosen in around:
        position = around.index(chosen)
        if position:
            yield _versus("A safer choice", around[position - 1], chosen, choice)
        if position + 1 < len(around):
            yield _versus("A more useful choice", around[position + 1], chosen, choice)
    yield from _ruled_out(chosen, choice, limit, given=given, within=within)
    yield from _presence(chosen, choice, every, limit)
    yield from _attacks(chosen, choice.risk)
    private = [point for point in points if point.private and point.failure is None]
    if private:
        yield (
            "These figures describe the intruders that were simulated. Only differential privacy "
            f"({_list_points([point.number for point in private])}) makes a promise about all others. But choosing one "
            "of these points by its figures means looking at the data, which that promise does not cover: choose using "
            "other data, or in advance."
        )
        yield _looks(private)


def _looks(private: Sequence[Point]) -> str:
    """Say what was drawn from the data here, and paid from no account."""
    spent = sum(fraction(point.strengths.get("epsilon", 0)) for point in private)
    cost = f": {plain(spent)} in total" if spent else ""
    return (
        f"Every look at such a point costs its epsilon{cost}. No account paid for these looks, so do not show the "
        "figures or the releases to anyone; whatever you publish must be made anew, with --account."
    )


def _why(chosen: Point, choice: Choice, every: Choice, limit: float, *, given: bool, within: bool) -> str:
    hiding = " of those that hide who is in the table" if len(choice.points) < len(every.points) else ""
    if within:
        usual = "" if given else ", the default limit"
        why = f"the most useful one{hiding} with a risk of at most {share(limit)}{usual}"
    elif len(choice.representatives) > 1:
        those = "hide who is in the table and that no other of these beats" if hiding else "no other beats"
        why = f"the best compromise among the {len(choice.representatives)} choices that {those} in both figures"
    else:
        why = f"at least as good as any other{hiding} in both figures"
    sentence = f"Take point {chosen.number} ({chosen.label}): it is {why}."
    weaker = [
        point.number for point in choice.frontier if point is not chosen and choice.strongest(point, [chosen]) is chosen
    ]
    if weaker:
        stands = (
            "has nearly the same figures but promises"
            if len(weaker) == 1
            else "have nearly the same figures but promise"
        )
        sentence += f" {_list_points(weaker).capitalize()} {stands} less."
    if not within:
        sentence += f" No choice has a risk of at most {share(limit)}: ask for stronger promises if that is too much."
    return sentence


def _ruled_out(chosen: Point, choice: Choice, limit: float, *, given: bool, within: bool) -> Iterator[str]:
    """Say which choice would be the most useful but for a limit that nobody asked for."""
    best = choice.representatives[-1] if choice.representatives else chosen
    if given or not within or best is chosen or choice.values(best)[1] >= choice.values(chosen)[1]:
        return
    risk, lost = choice.values(best)
    if risk > limit:
        yield (
            f"Only that limit rules out point {best.number} ({best.label}), the most useful one: "
            f"{UTILITIES[choice.utility].short} of {share(lost)} at a risk of {share(risk)}. Ask for it with "
            f"`--highest-risk {math.ceil(risk * 1000) / 1000:g}` if such a risk is acceptable."
        )


def _versus(words: str, other: Point, chosen: Point, choice: Choice) -> str:
    (risk, lost), (risk_chosen, lost_chosen) = choice.values(other), choice.values(chosen)
    return (
        f"{words} is point {other.number} ({other.label}): a risk of {share(risk)} instead of {share(risk_chosen)}, "
        f"for {UTILITIES[choice.utility].short} of {share(lost)} instead of {share(lost_chosen)}."
    )


def _presence(chosen: Point, choice: Choice, every: Choice, limit: float) -> Iterator[str]:
    """Say which releases show who is in the table, and what they would give."""
    if chosen.shows_members:
        yield (
            "It publishes the quasi-identifiers unchanged: anyone who knows those of a person can see that the person "
            "is in the table. The risk is that of picking out the person's sensitive values among those of the class."
        )
        return
    other = every.most_useful(limit) or every.nearest()
    if other.shows_members:
        risk, lost = choice.values(other)
        yield (
            f"If others may see who is in the table, consider point {other.number} ({other.label}) with "
            f"{UTILITIES[choice.utility].short} of {share(lost)}. It publishes the quasi-identifiers unchanged; its "
            f"risk, {share(risk)}, is that of picking out the person's sensitive values among those of the class."
        )


def _attacks(chosen: Point, risk: str) -> Iterator[str]:
    inferred, single = chosen.risk.get("inference"), chosen.risk.get("singling-out")
    if inferred is not None and inferred > _NOTEWORTHY and risk != "inference":
        yield (
            f"Sensitive values are less safe than records: {RISKS['inference'].sentence.format(share(inferred))}. "
            f"l-diversity or t-closeness would limit this."
        )
    if single is not None and single > _NOTEWORTHY and risk != "singling-out":
        yield (
            f"Review the sensitive columns: {RISKS['singling-out'].sentence.format(share(single))}, "
            f"often through exact values that are released unchanged. Anyone who knows such a value can find the "
            "record; round it, or make the column a quasi-identifier."
        )


def _list_points(numbers: Sequence[int]) -> str:
    """Return `point 3` or `points 3, 4 and 5`."""
    texts = [str(number) for number in numbers]
    return f"point {texts[0]}" if len(texts) == 1 else f"points {', '.join(texts[:-1])} and {texts[-1]}"


def _too_risky(choice: Choice, every: Choice, highest_risk: float) -> str:
    lowest = min(choice.frontier, key=choice.values)
    words = (
        f"No point has a risk of at most {share(highest_risk)}; the lowest is {share(choice.values(lowest)[0])}, "
        f"that of point {lowest.number} ({lowest.label})."
    )
    other = every.most_useful(highest_risk)
    if other is None:
        return words
    return f"{words} Point {other.number} ({other.label}) does, but shows who is in the table."


def non_dominated(points: Sequence[Point], risk: str, utility: str) -> tuple[int, ...]:
    """Return the numbers of the points that no other beats: as good in both figures, and better in one.

    Ordered by risk. Of points with the same figures all are returned.
    """
    compared = [(*values(point, risk, utility), point.number) for point in comparable(points, risk, utility)]
    best = [
        (first, second, number)
        for first, second, number in compared
        if not any(a <= first and b <= second and (a < first or b < second) for a, b, _ in compared)
    ]
    return tuple(number for _, _, number in sorted(best))


class Choice:
    """Points that have both figures, those of them worth a look, and which one to take."""

    def __init__(self, points: Sequence[Point], risk: str, utility: str) -> None:
        self.points, self.risk, self.utility = tuple(points), risk, utility
        by_number = {point.number: point for point in points}
        #: the points that no other beats, by risk
        self.frontier = [by_number[number] for number in non_dominated(points, risk, utility)]
        both = [self.values(point) for point in points]
        self._widths = [max(each[axis] for each in both) - min(each[axis] for each in both) or 1.0 for axis in (0, 1)]
        kept = dict.fromkeys(self.strongest(point, points).number for point in self.frontier)
        #: one of those that are nearly the same: the one with the strongest promises
        self.representatives = sorted((by_number[number] for number in kept), key=self.values)

    def values(self, point: Point) -> tuple[float, float]:
        """Return both figures of a point."""
        return values(point, self.risk, self.utility)

    def strongest(self, point: Point, points: Sequence[Point]) -> Point:
        """Return a point of the same method with nearly the same figures whose promises are the strongest."""
        alike = [other for other in points if self._alike(point, other) and _stronger(other, point)]
        return max(alike, key=lambda other: [_stronger(other, each) for each in alike].count(True), default=point)

    def _alike(self, one: Point, other: Point) -> bool:
        apart = [abs(a - b) for a, b in zip(self.values(one), self.values(other), strict=True)]
        return one.method == other.method and all(
            gap <= _ALIKE * width for gap, width in zip(apart, self._widths, strict=True)
        )

    def nearest(self) -> Point:
        """Return the point nearest to "no risk and nothing lost"."""
        both = [self.values(point) for point in self.representatives]
        lows = [min(each[axis] for each in both) for axis in (0, 1)]
        widths = [max(each[axis] for each in both) - lows[axis] or 1.0 for axis in (0, 1)]

        def distance(position: int) -> float:
            return sum(((both[position][axis] - lows[axis]) / widths[axis]) ** 2 for axis in (0, 1))

        order = sorted(range(len(both)), key=lambda position: (distance(position), both[position]))
        return self.representatives[order[0]]

    def most_useful(self, highest: float) -> Point | None:
        """Return the most useful point whose risk is at most ``highest``, or a stronger one that is nearly the same."""
        allowed = [point for point in self.points if self.values(point)[0] <= highest]
        if not allowed:
            return None
        return self.strongest(min(allowed, key=lambda point: self.values(point)[::-1]), allowed)


def _stronger(one: Point, other: Point) -> bool:
    """Return whether all promises of a point are at least as strong as those of another."""
    if not one.strengths or one.strengths.keys() != other.strengths.keys():
        return one.number == other.number
    return all(
        value >= other.strengths[symbol] if symbol[0] in "kl" else value <= other.strengths[symbol]
        for symbol, value in one.strengths.items()
    )
