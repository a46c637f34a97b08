"""The risk of a table as it is, as text and as a page like the reports on releases."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from shoal import __version__
from shoal.exact import share
from shoal.report._charts import class_sizes_chart
from shoal.report._document import Risk
from shoal.report._markup import Html, element
from shoal.report._page import facts, figure, page, section, table_of
from shoal.report._text import FOUND, UNPROTECTED, band, table_lines
from shoal.risk import (
    Assessment,
    Attacks,
    CombinationRisk,
    PeopleRisk,
    PopulationUniqueness,
    SpecialUniques,
    SurveyRisk,
)

_ESTIMATES = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "SNB"}
_Table = tuple[tuple[str, ...], list[Sequence[str]]]


def render_assessment(found: Assessment, *, name: str, attacks: Attacks | None = None) -> str:
    """Return the risk of a table as a page for those who may see the table.

    Parameters
    ----------
    found
        What :func:`shoal.assess` gave.
    name
        What to call the table.
    attacks
        What :func:`shoal.risk.attack` gave for the table and itself.
    """
    return page(
        "Risk of a table as it is",
        about=f"{found.reidentification.records:,} records in {name}.",
        content=_sections(found, attacks),
        footer=f"shoal {__version__}.",
        class_="internal",
    )


def assessment_text(found: Assessment, *, attacks: Attacks | None = None) -> str:
    """Return the risk of a table as text for a terminal; titles stand at the left, what they are about is indented."""
    parts = [["Risk of the table as it is", *_align_rows(_risk_lines(found))]]
    parts += [["Note", *(f"  {line}" for line in textwrap.wrap(note, 92))] for note in found.notes]
    sizes = [
        (band(size.smallest, size.largest), f"{size.classes:,}", f"{size.records:,}")
        for size in found.reidentification.sizes
    ]
    parts.append(table_lines("Class sizes", ("size", "classes", "records"), sizes))
    if found.people is not None:
        parts.append([*table_lines("Whose risk it is", *_units(found.people)), *_together(found.people)])
    parts.append(table_lines("Quasi-identifiers, the most revealing first", *_columns(found)))
    if found.attributes:
        title = "Sensitive columns: correct guesses without and with a person's class known, by level of the hierarchy"
        parts.append(table_lines(title, *_attributes(found)))
    if found.population is not None:
        parts.append(_population_lines(found.population))
    parts += survey_parts(found)
    if attacks is not None:
        parts.append(
            table_lines("An intruder who knows some of a person's quasi-identifiers", *_table_of_knowledge(attacks))
        )
        title = "Attacks: how often they succeed, and how often they would succeed without the records"
        parts.append(table_lines(title, *_table_of_attacks(attacks)))
    return "\n\n".join("\n".join(lines) for lines in parts)


def _risk_lines(found: Assessment) -> Iterator[tuple[str, str]]:
    risk = found.reidentification
    yield "records", f"{risk.records:,}"
    yield "equivalence classes", f"{risk.classes:,}"
    yield "smallest class", f"{risk.smallest:,}"
    if risk.fewest is not None:
        yield "fewest persons", f"{risk.fewest:,}  in a class; risks are those of persons"
    yield "unique records", f"{risk.unique:,} ({share(risk.unique / max(risk.records, 1))})"
    yield (
        "prosecutor risk",
        f"{share(risk.prosecutor)}  highest, for an intruder who knows that the person is in the table",
    )
    if risk.journalist is None:
        yield "journalist risk", "no more than the prosecutor risk (no population was given)"
    else:
        yield "journalist risk", f"{share(risk.journalist)}  highest, for an intruder who does not know that"
    yield "marketer risk", f"{share(risk.marketer)}  expected share of all records that can be linked"


def _population_lines(found: PopulationUniqueness) -> list[str]:
    title = f"Population of {found.population:,} people, of whom {share(found.sampling_fraction)} are in the table"
    chosen = _ESTIMATES[found.chosen]
    rows = [("unique people", f"{found.people:,.0f} ({share(found.share)})  by Dankar's rule: {chosen}")]
    rows += [(f"  by {name}", _estimate(found, key)) for key, name in _ESTIMATES.items()]
    expected = f"{found.reidentifications:,.0f}  expected when every record is linked; at most {found.at_most:,}"
    return [title, *_align_rows([*rows, ("re-identifications", expected), ("  may err", found.errs)])]


def _align_rows(rows: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> list[str]:
    return [f"  {name:<20} {value}" for name, value in rows]


def _sections(found: Assessment, attacks: Attacks | None) -> Iterator[Html]:
    words = f"It shows figures of an unprotected table. {UNPROTECTED}"
    yield element("div", element("b", "Not for publication."), " ", words, class_="variant", role="note")
    risk = Risk.of(found.reidentification)
    journalist = found.reidentification.journalist
    yield from (element("p", element("b", "Note."), " ", note, role="note") for note in found.notes)
    yield section(
        "Who stands out",
        element(
            "p",
            "Records that look alike to an intruder form a class. In a class of ten, each record has a chance of "
            "one in ten of being the person whom the intruder seeks, judging by the quasi-identifiers.",
        ),
        element("div", facts(risk), class_="facts"),
        element(
            "p",
            "An intruder who does not know that the person is in the table succeeds less often: "
            + ("no population was given to say how often." if journalist is None else f"at most {share(journalist)}."),
        ),
        element("div", figure(class_sizes_chart(risk)), class_="cards"),
    )
    if found.people is not None:
        yield section(
            "Whose risk it is",
            element(
                "p",
                f"For every record the intruder names one of the persons whose records look like it. {FOUND}",
            ),
            table_of(*_units(found.people)),
            *(element("p", line.strip()) for line in _together(found.people)),
        )
    yield section("Which columns make people stand out", table_of(*_columns(found)))
    if found.attributes:
        about = "How often a sensitive value is guessed correctly, without and with knowledge of the person's class."
        yield section("What a class gives away", element("p", about), table_of(*_attributes(found)))
    if found.population is not None:
        yield section("Who is unique in the population", *_population(found.population))
    yield from survey_sections(found)
    if attacks is not None:
        yield section("What intruders achieve", *_attacks(attacks))


def _population(found: PopulationUniqueness) -> Iterator[Html]:
    yield element(
        "p",
        f"The table holds {share(found.sampling_fraction)} of {found.population:,} people. About {found.people:,.0f} "
        f"of them ({share(found.share)}) are unique. About {found.reidentifications:,.0f} records are linked correctly "
        f"if an intruder links every record, and at most {found.at_most:,}. This estimate may err: {found.errs}.",
    )
    rows = [
        (f"{title}{', chosen by the rule of Dankar and others' if key == found.chosen else ''}", _estimate(found, key))
        for key, title in _ESTIMATES.items()
    ]
    yield table_of(("estimate", "unique people"), rows)


def _attacks(found: Attacks) -> Iterator[Html]:
    yield element("p", "An intruder looks for people by some of their quasi-identifiers.")
    yield table_of(*_table_of_knowledge(found))
    yield element("p", "How often attacks succeed, and how often they would succeed without the records.")
    yield table_of(*_table_of_attacks(found))


def _units(found: PeopleRisk) -> _Table:
    units = (("record", found.records), ("person", found.persons), ("household", found.households))
    rows = [
        (name, f"{each.number:,}", share(each.highest), share(each.mean), f"{each.certain:,}")
        for name, each in units
        if each is not None
    ]
    return ("risk of one", "there are", "highest", "on average", "found for certain"), [*rows]


def _together(found: PeopleRisk) -> list[str]:
    """Say how many are unique by all their records, where somebody has several."""
    if found.persons.number == found.records.number:
        return []
    alone = share(found.trajectories / max(found.persons.number, 1))
    lines = [
        f"  {found.trajectories:,} of {found.persons.number:,} persons ({alone}) have a set of records that nobody "
        "else has:",
        "  a pseudonym that links the records of a person gives these people away.",
    ]
    if found.is_dominated:
        lines.append(f"  One person has {found.most:,} of the {found.records.number:,} records.")
    return lines


def _columns(found: Assessment) -> _Table:
    rows = [
        (column.column, f"{column.distinct:,}", share(column.separation), f"{column.unique_without:,}")
        for column in found.columns
    ]
    return ("column", "values", "pairs told apart", "unique records without it"), [*rows]


def _attributes(found: Assessment) -> _Table:
    rows = [
        (
            attribute.column,
            f"{attribute.level}",
            f"{attribute.values:,}",
            share(attribute.baseline),
            share(attribute.guess),
            f"{attribute.certain:,}",
        )
        for attribute in found.attributes
    ]
    return ("column", "level", "values", "without", "with", "records whose value is certain"), [*rows]


def _estimate(found: PopulationUniqueness, key: str) -> str:
    value: float | None = getattr(found, key)
    return "no estimate" if value is None else share(value)


def _table_of_knowledge(found: Attacks) -> _Table:
    rows = [
        (
            f"{each.known}",
            share(each.single),
            share(each.linked),
            share(each.worst_linked),
            ", ".join(each.worst_columns),
        )
        for each in found.linkage
    ]
    return ("columns known", "one record fits", "linked", "linked at worst", "by"), [*rows]


def _table_of_attacks(found: Attacks) -> _Table:
    rows = [
        (
            f"{attack.name} {', '.join(attack.columns)}".rstrip(),
            share(attack.success.rate),
            share(attack.baseline.rate),
            f"{attack.risk:.2f}",
        )
        for attack in found.main_attacks
    ]
    return ("attack", "success", "without the records", "risk"), [*rows]


_LOW = (
    "The sum of individual risks is too low, in simulated populations by a factor of up to ten: for a unique record, "
    "only its own weight counts."
)
_MODELS = (
    "In simulated populations main effects came nearest to the truth; models with all pairs of columns understated the "
    "risk, most of all where classes are small."
)
_SCALE = "DIS is a scale for comparing records, not the probability that somebody is found."
_FIRST = 10


def survey_parts(found: Assessment) -> Iterator[list[str]]:
    """Return what is known of a survey and its special uniques, as blocks of lines for a terminal."""
    if found.survey is not None:
        figures = [f"  {name:<20} {figure:>8}  {words}" for name, figure, words in _figures(found.survey)[1]]
        yield [_stood_for(found.survey), *figures, *_wrap_paragraph(_LOW)]
        yield [*table_lines(_UNIQUE, *_models(found.survey)), *_wrap_paragraph(_MODELS)]
    if found.special is not None:
        words = textwrap.wrap(_special(found.special), 78, subsequent_indent="  ")
        yield [*words, *table_lines("", *_contributions(found.special))[1:], *_wrap_paragraph(_SCALE)]
    if found.combinations:
        yield table_lines(_title_combinations(found.combinations), *_combinations(found.combinations))


def survey_sections(found: Assessment) -> Iterator[Html]:
    """Return the same as sections of a page."""
    if found.survey is not None:
        yield section(
            "A survey and its population",
            element("p", f"{_stood_for(found.survey)}. {_LOW}"),
            table_of(*_figures(found.survey)),
            element("p", f"{_UNIQUE}. {_MODELS}"),
            table_of(*_models(found.survey)),
        )
    if found.special is not None:
        words = f"{_special(found.special)}. {_SCALE}"
        yield section("Special uniques", element("p", words), table_of(*_contributions(found.special)))
    if found.combinations:
        words = f"{_title_combinations(found.combinations)}."
        yield section("Combinations of columns", element("p", words), table_of(*_combinations(found.combinations)))


def _wrap_paragraph(words: str) -> list[str]:
    return textwrap.wrap(words, 78, initial_indent="  ", subsequent_indent="  ")


_UNIQUE = "Unique records against the population, by log-linear models of the classes"


def _stood_for(found: SurveyRisk) -> str:
    return f"{found.records:,} records that stand for {found.population:,.0f} people, by `{found.weight}`"


def _figures(found: SurveyRisk) -> _Table:
    rows = [
        ("expected links", f"{found.expected:,.2f}", "records found if every record is linked with the population"),
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


def _contributions(found: SpecialUniques) -> _Table:
    rows = [(column.column, share(column.share)) for column in found.columns]
    return ("column", "share of all scores"), [*rows]


def _title_combinations(found: Sequence[CombinationRisk]) -> str:
    most = max(len(each.columns) for each in found)
    shown = f", the first {_FIRST} of {len(found):,}" if len(found) > _FIRST else ""
    return f"What distinguishes people: combinations of at most {most} columns{shown}"


def _combinations(found: Sequence[CombinationRisk]) -> _Table:
    rows = [
        (", ".join(each.columns), f"{each.unique:,}", f"{each.below:,}", f"{each.linked:,.1f}")
        for each in found[:_FIRST]
    ]
    return ("columns", "unique", f"in classes below {found[0].k}", "links expected"), [*rows]
