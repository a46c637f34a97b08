"""The words and figures that the terminal, the page and the app share; a release and its report as plain text."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence

from shoal.errors import quoted
from shoal.exact import fraction, share
from shoal.guarantees import AccountEntry, BudgetEntry, Certificate, RehearsalEntry, Strength
from shoal.methods import Result
from shoal.methods.noise import GIVEN_PARTITION, NOISE, RECORD_QUERY
from shoal.report._document import Document, LearntFigures, OwnFigures, PeopleFigures, Risk, Variant
from shoal.report._markup import clean, shorten
from shoal.risk import Reidentification, UnitRisk
from shoal.schema import Role
from shoal.tables import values_of

#: what a plan says of a release, as a reader asks for it
ABOUT = {
    "title": "Title",
    "purpose": "Purpose",
    "controller": "Controller",
    "recipient": "Recipient",
    "context": "Release context",
    "other_data": "Other data about the same people",
    "review": "Review",
}
UNPROTECTED = "Do not publish it or any figure in it."
GUESSED = "The roles of the columns were guessed; no person has confirmed them."


def format_measure(value: float | None) -> str:
    """Return the value of a quality measure."""
    return "not defined" if value is None else f"{value:,.6g}"


def band(smallest: int, largest: int | None) -> str:
    """Return a band of class sizes in words.

    Examples
    --------
    >>> band(1, 1), band(5, 9), band(1000, None)
    ('1', '5 to 9', '1,000 or more')
    """
    if largest is None:
        return f"{smallest:,} or more"
    return f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"


def risk_figures(risk: Risk | Reidentification) -> list[str]:
    """Return records, classes, the smallest class, unique records, the highest and the average risk of a table.

    Where persons are counted, the fewest of a class follow.
    """
    counts = [f"{number:,}" for number in (risk.records, risk.classes, risk.smallest, risk.unique)]
    persons = [] if risk.fewest is None else [f"{risk.fewest:,}"]
    return [*counts, share(risk.prosecutor), share(risk.marketer), *persons]


FEWEST = "fewest persons"
#: when a person or a household counts as found
FOUND = "A person is found if any of that person's records is, a household if any member is."


def people_rows(found: Sequence[PeopleFigures]) -> dict[str, list[tuple[str, ...]]]:
    """Return the risks of persons and of households, before and after, as rows by the title of a table."""
    tables = {"Risk of a person": _unit_rows("persons", [each.persons for each in found])}
    if any(each.persons.number < each.records.number for each in found):
        linked = ("unique if linked", *(f"{each.trajectories:,}" for each in found))
        tables["Risk of a person"].append(linked)
    homes = [each.households for each in found if each.households is not None]
    if homes:
        tables["Risk of a household"] = _unit_rows("households", homes)
    return tables


def _unit_rows(name: str, found: Sequence[UnitRisk]) -> list[tuple[str, ...]]:
    return [
        (name, *(f"{each.number:,}" for each in found)),
        ("highest risk", *(share(each.highest) for each in found)),
        ("average risk", *(share(each.mean) for each in found)),
        ("found for certain", *(f"{each.certain:,}" for each in found)),
    ]


STRENGTHS = {
    Strength.SYNTACTIC: ("syntactic", "A property of the released table that anyone can check on the data."),
    Strength.UNCONDITIONAL: ("unconditional", "It holds whatever an intruder knows or will ever learn."),
    Strength.CONDITIONAL: ("conditional", "It holds if, and only if, its assumptions do."),
}


def say_hidden(among: int) -> str:
    """Say how people are hidden where values were exchanged."""
    return (
        "Quasi-identifiers are released unchanged, so everybody sees who is in the release. Other values were moved at "
        f"random among at least {among:,} records, in classes that are not published. As far as the promise holds, "
        f"the record that a value came from is found with a chance of at most one in {among:,}. This does not limit "
        "whether the value is the person's own: people of a class who have the same value keep it."
    )


def notice(document: Document) -> tuple[str, str]:
    """Say who may read the report, and why."""
    if document.variant is Variant.INTERNAL:
        words = f"It shows unprotected figures of the original table. {UNPROTECTED}"
        if document.private:
            words += " Doing so would break the differential privacy of the release."
        return "Internal report, not for publication.", words
    made = "Everything in it stands in the certificate or can be computed from the released data."
    if document.private:
        return "Public report.", f"{made} Nothing in it was computed from the original data outside the privacy budget."
    return (
        "Public report.",
        f"{made} Of the original table it shows only the numbers of records in the certified steps.",
    )


def limitations(certificate: Certificate) -> Iterable[str]:
    """Return what a reader must not take the promises for, one sentence or two each."""
    strengths = {promise.strength for promise in certificate.promises}
    models = {promise.model for promise in certificate.promises}
    if certificate.roles == "guessed":
        yield (
            "A program guessed which columns identify people; if it guessed wrong, the promise is about the wrong "
            "columns."
        )
    if Strength.UNCONDITIONAL in strengths:
        yield (
            "Differential privacy limits what the release reveals about any single record. What is true of a whole "
            "group can still be learned, and applies to its members whether or not they are in the data."
        )
        yield "A person with several records is protected less: the privacy loss grows with their number."
        yield "Privacy losses add up: every further release about the same people spends more."
        if certificate.account is not None:
            yield _say_account(certificate.account)
    elif models & NOISE.keys():
        yield from _noisy(models)
    else:
        yield (
            "Whoever knows more than the quasi-identifiers, or has another release about the same people, may learn "
            "more."
        )
    if certificate.rehearsal is not None:
        yield _say_rehearsal(certificate.rehearsal)
    if strengths == {Strength.SYNTACTIC}:
        yield ("The promise is a property of the released table, whatever may be inferred from how it was chosen.")
        if _reads_alike(certificate):
            yield "Everyone in a group may have the same sensitive value."
    if Strength.CONDITIONAL in strengths:
        yield (
            "A conditional promise fails if any of its assumptions fails; nothing in the release shows that they hold."
        )
    read_off = [domain.column for domain in certificate.domains if not domain.provenance.reveals_nothing]
    if read_off:
        names = quoted(read_off)
        yield f"The domain of {names} was not declared but taken from the data; released labels may reveal its values."


def _say_rehearsal(rehearsal: RehearsalEntry) -> str:
    """Say that a release was attacked before it left, by which rule, and what was accepted."""
    accepted = f" The publisher accepts what {quoted(rehearsal.accepted)} give away." if rehearsal.accepted else ""
    return (
        "Before it left, the publisher rehearsed an attack by somebody who knows the quasi-identifiers of everybody: "
        f"finding people more than {float(fraction(rehearsal.margin)):g} times as often as promised stops a release."
        f"{accepted} An attack that uses other lists or better guesses may find more."
    )


def _say_account(account: AccountEntry) -> str:
    """Say what the account of a release has spent, and what is left."""

    def figures(one: BudgetEntry, less: BudgetEntry | None = None) -> str:
        names = ("rho",) if one.rho is not None else ("epsilon", "delta")
        parts = []
        for name in names:
            taken = "0" if less is None else getattr(less, name) or "0"
            parts.append(f"{name} {float(fraction(getattr(one, name)) - fraction(taken)):.6g}")
        return ", ".join(parts)

    return (
        f"It was paid from an account of these records, as entry {account.entry:,}: {figures(account.cost)}. By then "
        f"{figures(account.spent)} had been spent in total, and {figures(account.budget, account.spent)} was left."
    )


def _noisy(models: Collection[str]) -> Iterable[str]:
    """Say what noise is not, where it does not protect the records themselves."""
    if GIVEN_PARTITION in models:
        yield (
            "This is not differential privacy of the original table. The clusters were formed by looking at the "
            "unprotected records: which of them were put together, or kept apart, may reveal something about "
            "individuals."
        )
    if RECORD_QUERY in models:
        yield (
            "This is not differential privacy of the released table. It shows the answers to one query per record; "
            "anyone who sees several of them learns more than epsilon allows. It is meant for comparison with "
            "published results."
        )


def _reads_alike(certificate: Certificate) -> bool:
    """Whether sensitive columns are released and no promise speaks of one."""
    sensitive = [column.name for data in certificate.tables for column in data.columns if column.role is Role.SENSITIVE]
    spoken = {str(value) for promise in certificate.promises for value in promise.parameters.values()}
    return bool(sensitive) and not spoken & set(sensitive)


#: where quasi-identifiers are released as they are, finding a record and learning a value are two risks
FINDING = "Risk of finding a record"
LEARNING = "Risk of learning a value"
MOVED = "Risk of tracing a value"

_RISKS = ("records", "equivalence classes", "smallest class", "unique records", "highest risk", "average risk")
#: classes that do not show in the quasi-identifiers are called by another name than those that do
_HIDDEN_RISKS = ("records", "classes", "smallest class", "alone in a class", "highest risk", "average risk")


def summary(release: Result) -> str:
    """Say on one screen what a release promises, what was done, and what it cost; for the holder of the data."""
    promises = release.guarantee.promises
    lines = _section("Promised", (promise.statement for promise in promises))
    lines += _section("Assuming", dict.fromkeys(text for promise in promises for text in promise.assumptions))
    lines += _section("Note", [GUESSED] if release.plan.schema.guessed else [])
    lines += _section("Done", (event.describe() for event in release.guarantee.events if not event.is_routine))
    lines += _quality(release.measures)
    shown = [risk for risk in (release.before, release.after) if risk is not None]
    apart = len(release.parts) > 1 and release.parts[0].class_column is None
    if release.plan.method.shows_members and release.before is not None:
        # quasi-identifiers are released as they are: whoever knows them finds the record as before
        lines += _risk(FINDING, _RISKS, [release.before, release.before])
        linked = [part for part in release.parts if part.class_column is not None]
        secrets = [column.name for part in linked for column in part.columns if column.role is Role.SENSITIVE]
        if linked and secrets:
            values, by = values_of(linked[-1].table, linked[-1].table.columns), [str(linked[-1].class_column)]
            highest = max(values.commonest_share(by, name) for name in secrets)
            lines += _learnt(LEARNING, LearntFigures(smallest=release.after.smallest, highest=highest))
        else:
            lines += _risk(MOVED, _HIDDEN_RISKS, [release.after])
    else:
        lines += _risk("Risk of the worst table" if apart else "Risk", _RISKS, shown)
    lines += _kept_lines([OwnFigures.of(own_value) for own_value in release.own_values])
    return "\n".join([*lines, *_people([PeopleFigures.of(each) for each in release.people or ()])])


def _people(found: Sequence[PeopleFigures]) -> list[str]:
    """Return the risk of persons with all their records, and of households: before, and after where it is known."""
    sections = people_rows(found).items() if found else ()
    return [line for title, rows in sections for line in _beside(title, ("before", "after")[: len(found)], rows)]


def render_text(document: Document) -> str:
    """Return the report as plain text; characters that a terminal would obey are spelt out."""
    lines = [*_wrap_item(" ".join(notice(document)), indent=""), ""]
    if document.rehearsal is not None:
        lines += table_lines(document.rehearsal.line, ("an attacker who knows", "finds"), document.rehearsal.rows)
    lines += _section("Release", (f"{ABOUT[name]}: {text}" for name, text in document.about.items()))
    lines += _section("Promised", (f"{p.statement} ({STRENGTHS[p.strength][0]})" for p in document.promises))
    lines += _section("Assuming", dict.fromkeys(text for p in document.promises for text in p.assumptions))
    lines += _section("Note", [GUESSED] if document.guessed else [])
    lines += _section("Done", (step.description for step in document.steps))
    if document.budget is not None:
        lines += ["Budget", f"  epsilon {document.budget.epsilon:.6g}, delta {document.budget.delta:.3g}"]
    for table in document.tables:
        if table.risk is not None:
            shown = [table.risk] if document.before is None else [document.before, table.risk]
            title = FINDING if any(table.learnt is not None for table in document.tables) else "Risk"
            lines += _risk(f"{title}, {table.file}", _RISKS, shown)
        elif table.learnt is not None:
            lines += _learnt(f"{LEARNING}, {table.file}", table.learnt)
        elif table.hidden_among is not None:
            lines += _section(f"Risk, {table.file}", [say_hidden(table.hidden_among)])
    lines += _kept_lines(document.own_values)
    lines += _people(document.people)
    lines += _quality(document.measures)
    lines += _section("Attention", document.attention)
    lines += _section("Limitations", document.limitations)
    return "\n".join(lines) + "\n"


def table_lines(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a small table as lines: the first column left, the others right."""
    shown = [[clean(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, cells)) for cells in zip(*shown, strict=True)]
    lines = [clean(title)]
    for first, *others in shown:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def _section(title: str, sentences: Iterable[str]) -> list[str]:
    """Return a titled list; nothing where there is nothing to say."""
    lines = [line for sentence in sentences for line in _wrap_item(sentence, indent="  - ")]
    return [clean(title), *lines] if lines else []


def _quality(measures: Mapping[str, float | None]) -> list[str]:
    if not measures:
        return []
    width = max(24, *map(len, measures))
    return ["Quality", *(f"  {clean(name):<{width}}  {format_measure(value)}" for name, value in measures.items())]


def _risk(title: str, names: Sequence[str], shown: Sequence[Risk | Reidentification]) -> list[str]:
    """Return the risk of a table as lines; of two tables, the one before and the one after."""
    # the risk before says nothing of persons where it was not asked for
    rows = itertools.zip_longest((*names, FEWEST), *map(risk_figures, shown), fillvalue="")
    return _beside(clean(title), ("before", "after") if len(shown) == 2 else (), [row for row in rows if any(row[1:])])


#: where values changed places inside classes: how many stay where they were
KEPT, KEPT_HEADER = "Chance that a released value is the record's own", ("column", "on average", "at most")


def kept_rows(found: Sequence[OwnFigures]) -> list[tuple[str, str, str]]:
    """Return how likely values that changed places stay with their records as rows of a table."""
    return [(each.column, share(each.mean), share(each.greatest)) for each in found]


def _kept_lines(found: Sequence[OwnFigures]) -> list[str]:
    return table_lines(KEPT, KEPT_HEADER, kept_rows(found)) if found else []


def learnt_rows(learnt: LearntFigures) -> list[tuple[str, str]]:
    """Return the risk of learning a value as rows of a table."""
    return [("smallest class", f"{learnt.smallest:,}"), ("highest risk", share(learnt.highest))]


def _learnt(title: str, learnt: LearntFigures) -> list[str]:
    return _beside(clean(title), (), learnt_rows(learnt))


def _beside(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return figures as lines, those of two tables beside each other."""
    width = max(10, *(len(cell) for _, *cells in rows for cell in cells)) if rows else 10
    first = f"{title:<{16 + width}}{header[0]}" if header else title
    lines = [" ".join([first, *(f"{word:>{width}}" for word in header[1:])])]
    return lines + [f"  {name:<20}{' '.join(f'{cell:>{width}}' for cell in cells)}" for name, *cells in rows]


def _wrap_item(sentence: str, *, indent: str) -> list[str]:
    text = clean(shorten(sentence, 20_000))
    more = " " * len(indent)
    return textwrap.wrap(text, width=80, initial_indent=indent, subsequent_indent=more, break_on_hyphens=False)
