"""The risk of a table as it is, as a page like the reports on releases."""

from __future__ import annotations

from collections.abc import Iterator

from shoal import __version__
from shoal.report._charts import class_sizes_chart, share
from shoal.report._document import Risk
from shoal.report._html import facts, figure, page, section, table_of
from shoal.report._markup import Html, element
from shoal.risk import Assessment, Attack, Attacks, PopulationUniqueness

__all__ = ["render_assessment"]


def render_assessment(found: Assessment, *, name: str, attacks: Attacks | None = None) -> str:
    """Return the risk of a table as a page for those who may see the table.

    Parameters
    ----------
    found
        What :func:`shoal.assess` gave.
    name
        What to call the table.
    attacks
        What :func:`shoal.attack` gave for the table and itself.
    """
    return page(
        "Risk of a table as it is",
        about=f"{found.reidentification.records:,} records in {name}.",
        content=_sections(found, attacks),
        footer=f"shoal {__version__}.",
        class_="internal",
    )


def _sections(found: Assessment, attacks: Attacks | None) -> Iterator[Html]:
    words = "It shows figures of a table without any protection. Do not publish it, nor any figure of it."
    yield element("div", element("b", "Not for publication."), " ", words, class_="variant", role="note")
    risk = Risk.of(found.reidentification)
    journalist = found.reidentification.journalist
    yield section(
        "Who stands out",
        element(
            "p",
            "Records that look alike to an intruder form a class. In a class of ten, each record is the intruder's "
            "person with a chance of one in ten, as far as the quasi-identifiers tell.",
        ),
        element("div", facts(risk), class_="facts"),
        element(
            "p",
            "Whoever does not know that the person is in the table succeeds less often: "
            + ("nobody gave a population to say how often." if journalist is None else f"{share(journalist)} at most."),
        ),
        element("div", figure(class_sizes_chart(risk)), class_="cards"),
    )
    columns = [
        (each.column, f"{each.distinct:,}", share(each.separation), f"{each.unique_without:,}")
        for each in found.columns
    ]
    header = ("column", "values", "pairs told apart", "unique records without it")
    yield section("Which columns make people stand out", table_of(header, columns))
    if found.attributes:
        yield section("What a class gives away", *_attributes(found))
    if found.population is not None:
        yield section("Who is unique in the population", *_population(found.population))
    if attacks is not None:
        yield section("What intruders achieve", *_attacks(attacks))


def _attributes(found: Assessment) -> Iterator[Html]:
    yield element("p", "How often a sensitive value is guessed right, without and with the class of the person.")
    rows = [
        (
            each.column,
            f"{each.level}",
            f"{each.values:,}",
            share(each.baseline),
            share(each.guess),
            f"{each.certain:,}",
        )
        for each in found.attributes
    ]
    yield table_of(("column", "level", "values", "without", "with", "records whose value is certain"), rows)


def _population(found: PopulationUniqueness) -> Iterator[Html]:
    yield element(
        "p",
        f"The table holds {share(found.sampling_fraction)} of {found.population:,} people. About {found.people:,.0f} "
        f"of them ({share(found.share)}) are unique. Another model, of individual risk, expects that linking every "
        f"record re-identifies about {found.reidentifications:,.0f} people; the two assume different populations.",
    )
    names = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "SNB"}
    rows = [
        (f"{title}{', chosen by the rule of Dankar and others' if key == found.chosen else ''}", _estimate(found, key))
        for key, title in names.items()
    ]
    yield table_of(("estimate", "unique people"), rows)


def _estimate(found: PopulationUniqueness, key: str) -> str:
    value: float | None = getattr(found, key)
    return "none" if value is None else share(value)


def _attacks(found: Attacks) -> Iterator[Html]:
    yield element("p", "People are looked for by some of their quasi-identifiers.")
    known = [
        (
            f"{each.known}",
            share(each.single),
            share(each.linked),
            share(each.worst_linked),
            ", ".join(each.worst_columns),
        )
        for each in found.linkage
    ]
    yield table_of(("columns known", "one record fits", "linked", "linked at worst", "by"), known)
    yield element("p", "How often attacks are right, and how often they would be without the records.")
    asked: list[Attack] = [found.singling_out, *([found.linkability] if found.linkability else []), *found.inference]
    tried = [
        (
            f"{each.name} {', '.join(each.columns)}".rstrip(),
            share(each.success.rate),
            share(each.baseline.rate),
            f"{each.risk:.2f}",
        )
        for each in asked
    ]
    yield table_of(("attack", "right", "without", "risk"), tried)
