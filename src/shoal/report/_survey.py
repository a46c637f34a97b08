"""The risk of a survey, special uniques and combinations of columns, as lines of text and as parts of a page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from shoal.exact import share
from shoal.report._markup import Html, element
from shoal.report._page import section, table_of
from shoal.report._text import table_lines
from shoal.risk import Assessment, CombinationRisk, SpecialUniques, SurveyRisk

_Table = tuple[tuple[str, ...], list[Sequence[str]]]
_LOW = (
    "The sum of individual risks is too low, in simulated populations by a factor of up to ten: for a unique record, "
    "nothing but its own weight counts."
)
_MODELS = (
    "In simulated populations main effects came nearest to the truth; models with all pairs of columns understated the "
    "risk, most of all where classes are small."
)
_SCALE = "DIS is a scale to compare records by, not the probability that somebody is found."
_FIRST = 10


def survey_parts(found: Assessment) -> Iterator[list[str]]:
    """Return what is known of a survey and its special uniques, as blocks of lines for a terminal."""
    if found.survey is not None:
        figures = [f"  {name:<20} {figure:>8}  {words}" for name, figure, words in _figures(found.survey)[1]]
        yield [_population(found.survey), *figures, *_told(_LOW)]
        yield [*table_lines(_UNIQUE, *_models(found.survey)), *_told(_MODELS)]
    if found.special is not None:
        words = textwrap.wrap(_special(found.special), 78, subsequent_indent="  ")
        yield [*words, *table_lines("", *_columns(found.special))[1:], *_told(_SCALE)]
    if found.combinations:
        yield table_lines(_combined(found.combinations), *_combinations(found.combinations))


def survey_sections(found: Assessment) -> Iterator[Html]:
    """Return the same as sections of a page."""
    if found.survey is not None:
        yield section(
            "A survey and its population",
            element("p", f"{_population(found.survey)}. {_LOW}"),
            table_of(*_figures(found.survey)),
            element("p", f"{_UNIQUE}. {_MODELS}"),
            table_of(*_models(found.survey)),
        )
    if found.special is not None:
        words = f"{_special(found.special)}. {_SCALE}"
        yield section("Special uniques", element("p", words), table_of(*_columns(found.special)))
    if found.combinations:
        words = f"{_combined(found.combinations)}."
        yield section("Combinations of columns", element("p", words), table_of(*_combinations(found.combinations)))


def _told(words: str) -> list[str]:
    return textwrap.wrap(words, 78, initial_indent="  ", subsequent_indent="  ")


_UNIQUE = "Unique records against the population, by log-linear models of the classes"


def _population(found: SurveyRisk) -> str:
    return f"{found.records:,} records that stand for {found.population:,.0f} people, by `{found.weight}`"


def _figures(found: SurveyRisk) -> _Table:
    rows = [
        ("expected links", f"{found.expected:,.2f}", "records are found if all are linked with the population"),
        ("highest risk", share(found.highest), "individual risk of a record (Benedetti, Franconi)"),
        *((f"risk above {share(risk)}", f"{number:,}", "records") for risk, number in found.above if number),
        ("fewest people", f"{found.fewest:,.0f}", "of the population in a class, by the weights"),
        *((f"fewer than {k} people", f"{number:,}", "records in such classes") for k, number in found.crowds if number),
    ]
    if found.households is not None:
        words = f"expected of {found.households.number:,}, with {found.members:,.1f} members"
        rows.append(("households found", f"{found.households.mean * found.households.number:,.2f}", words))
        rows.append(("highest of them", share(found.households.highest), "a household is found if any member is"))
    return ("against the population", "figure", "of"), [*rows]


def _models(found: SurveyRisk) -> _Table:
    named = {1: "main effects", 2: "pairs of columns"}
    rows = [(named[each.effects], f"{each.unique:,.2f}", f"{each.found:,.2f}") for each in found.log_linear]
    return ("model", "unique in the population", "linked correctly"), [*rows]


def _special(found: SpecialUniques) -> str:
    sizes = ", ".join(f"{number:,} of {size}" for size, number in enumerate(found.by_size, 1) if number)
    scored = f"{found.scored:,} of {found.records:,} records are special uniques"
    return f"{scored} (SUDA), by minimal sets of columns: {sizes}" if sizes else f"{scored} (SUDA)"


def _columns(found: SpecialUniques) -> _Table:
    rows = [(each.column, share(each.share)) for each in found.columns]
    return ("column", "part in all scores"), [*rows]


def _combined(found: Sequence[CombinationRisk]) -> str:
    most = max(len(each.columns) for each in found)
    shown = f", the first {_FIRST} of {len(found):,}" if len(found) > _FIRST else ""
    return f"What tells people apart: combinations of at most {most} columns{shown}"


def _combinations(found: Sequence[CombinationRisk]) -> _Table:
    rows = [
        (", ".join(each.columns), f"{each.unique:,}", f"{each.below:,}", f"{each.linked:,.1f}")
        for each in found[:_FIRST]
    ]
    return ("columns", "unique", f"in classes below {found[0].k}", "links expected"), [*rows]
