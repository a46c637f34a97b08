"""``shoal anonymize``: from a table and a rule to a release."""

from __future__ import annotations

import dataclasses
import math
import re
import secrets
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option
from typer.core import TyperCommand

from shoal import stopping
from shoal.cli import _datasets, _output, _source
from shoal.cli._draft import show_paid
from shoal.cli._same_format import SameFormat
from shoal.cli._ways_out import show_rehearsal, with_commands, with_roles
from shoal.errors import OutputError, ParameterError, Problems, RequirementError, quoted, reason
from shoal.writing import check_destination, check_file, write_file

if TYPE_CHECKING:
    from shoal import Account, Plan, Release, Schema, Table
    from shoal.guarantees import Requirement
    from shoal.methods import Method, Progress
    from shoal.rehearsal import Rehearsal


EXAMPLES = """\b
Examples:
  shoal anonymize patients.csv --k 5 --output release
  shoal anonymize patients.csv --k 5 --t diagnosis=0.2 --output release
  shoal anonymize patients.csv --k 5 --suppression-limit 0.02 \\
      --promise "entropy-l-diversity attribute=diagnosis l=3" --output release
  shoal anonymize clinic --k 5 --known-items 3 --output release
                (a folder of tables with dataset.toml: shoal draft clinic)
  shoal anonymize patients.csv --epsilon 1 --delta 1e-6 --output release
  shoal anonymize patients.csv --epsilon 1 --method dp-microaggregation \\
      --option target=original --output release
  shoal anonymize postgresql://localhost/hospital --table patients \\
      --plan plan.toml --output release
"""


#: the options that a plan does not decide, and that may stand beside --plan; all others are refused there
BESIDE_A_PLAN = frozenset(
    {
        "account",
        "csv",
        "decimal",
        "delimiter",
        "encoding",
        "forecast",
        "json",
        "output",
        "population",
        "private_report",
        "pseudonym_key",
        "series",
        "sign",
        "source",
        "table",
    }
)


class AnonymizeCommand(TyperCommand):
    """A command that refuses options beside a plan, and whose help lists the methods, which are loaded only then."""

    def invoke(self, ctx: Any) -> Any:
        """Carry out the command, unless options were given that the plan decides, or that go with one table only."""
        if _datasets.is_meant(ctx.params):
            _datasets.refuse_others(ctx)
        if ctx.params["plan"] is not None:
            given = [each for each in self.params if ctx.get_parameter_source(each.name).name != "DEFAULT"]
            names = [each.opts[0] for each in given if each.name not in {*BESIDE_A_PLAN, "plan"}]
            if names:
                raise ParameterError(
                    f"--plan cannot be combined with {quoted(names)}: the plan file decides that",
                    hint="leave the other options out, or change the plan file",
                )
        return super().invoke(ctx)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples and a line about every method."""
        from shoal import methods

        super().format_epilog(ctx, formatter)
        with formatter.indentation(), formatter.section("Methods"):
            formatter.write_dl([(name, _about(methods.by_name(name))) for name in methods.names()])


def _about(method: type[Method]) -> str:
    from shoal import methods

    note = " (default)" if method.name == methods.default(()).name else ""
    return method.about.rstrip(".") + (" (--epsilon)" if method.capabilities.private_promise else note)


def _names() -> list[str]:
    from shoal import methods

    return list(methods.names())


@_source.takes_a_file
def anonymize(
    file: _source.InputFile,
    *,
    output: Annotated[Path, Option("--output", "-o", help="The folder to create for the release.")],
    k: Annotated[
        int | None, Option("--k", help="Every record shares its quasi-identifiers with at least K-1 others.")
    ] = None,
    l: Annotated[  # noqa: E741
        list[str] | None,
        Option("--l", metavar="COLUMN=L", help="At least L different values of COLUMN in every class."),
    ] = None,
    t: Annotated[
        list[str] | None,
        Option(
            "--t",
            metavar="COLUMN=T",
            help="The distribution of COLUMN in every class is within distance T of that in the whole table.",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        Option(
            "--epsilon",
            help="Differential privacy: with --delta, real records, some left out; with --method dp-microaggregation "
            "(with or without --delta), noisy ones. All domains must be declared.",
        ),
    ] = None,
    delta: Annotated[
        str | None, Option("--delta", help="The delta of --epsilon: well below one over the number of records.")
    ] = None,
    search_share: Annotated[
        str | None,
        Option(help="The part of epsilon spent on choosing the generalisation; a sensible share by default."),
    ] = None,
    definition: Annotated[
        str | None,
        Option(
            help="The definition of differential privacy: probabilistic (the default, and stronger) or standard. "
            "Combined with --l, --t or any promise that filters classes, the standard definition is used."
        ),
    ] = None,
    records_per_person: Annotated[
        int | None,
        Option(
            help="With --epsilon and a person column: use at most this many records per person, drawn at random; 1 by "
            "default."
        ),
    ] = None,
    known_items: Annotated[
        int | None,
        Option(
            metavar="M",
            help="With --k, of a data set of several tables: somebody may know up to M of the rows that belong to a "
            "person, with their links.",
        ),
    ] = None,
    secret: Annotated[
        list[str] | None,
        Option(
            metavar="TABLE.COLUMN=VALUE",
            help="With --known-items: nobody is more certain than --confidence that a person has VALUE; repeatable.",
        ),
    ] = None,
    confidence: Annotated[float | None, Option(help="With --secret: the greatest certainty, in (0, 1].")] = None,
    promise: Annotated[
        list[str] | None, Option(metavar='"MODEL NAME=VALUE ..."', help="Any other promise, by its name in plan files.")
    ] = None,
    method: Annotated[
        str | None,
        Option(
            help="How to change the data: one of the methods below; by default the one that loses least.",
            autocompletion=_names,
        ),
    ] = None,
    option: Annotated[
        list[str] | None, Option(metavar="NAME=VALUE", help="A parameter of the method, as in plan files.")
    ] = None,
    suppression_limit: Annotated[
        float | None, Option(help="The largest share of records that may be suppressed, in [0, 1].")
    ] = None,
    time_limit: Annotated[
        float | None,
        Option(
            help="Seconds after which a search settles for the best result so far, 0 for no limit; by default work is "
            "counted instead, and the release does not depend on how busy the machine is."
        ),
    ] = None,
    measure: Annotated[
        list[str] | None, Option(metavar='"NAME NAME=VALUE ..."', help="A quality measure to report; loss by default.")
    ] = None,
    about: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=TEXT",
            help="What the report says about the release: title, purpose, controller, recipient, context, other_data "
            "or review.",
        ),
    ] = None,
    population: Annotated[
        str | None, Option(help="A table of the whole population, for k-map and delta-presence.")
    ] = None,
    accept: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN",
            help="Release COLUMN as it is although it tells whose record is whose; the certificate says so.",
        ),
    ] = None,
    rehearsal: Annotated[
        str,
        Option(
            help="How the release is attacked before it is written: exact (formulas and nearest values) or learned "
            "(gradient boosting, too; needs scikit-learn)."
        ),
    ] = "exact",
    round_: Annotated[
        list[str] | None,
        Option("--round", metavar="COLUMN", help="Round COLUMN to the finest step at which the attack fails."),
    ] = None,
    role: Annotated[
        list[str] | None,
        Option(metavar="COLUMN=ROLE", help="Give COLUMN another role than the schema does, such as drop."),
    ] = None,
    find_hierarchies: Annotated[
        bool,
        Option(
            "--find-hierarchies",
            help="Find a hierarchy for every categorical or ordinal quasi-identifier without one: values whose records "
            "are alike come together. Not under differential privacy, as it looks at the data.",
        ),
    ] = False,
    plan: Annotated[Path | None, Option(help="A plan file, in place of promises, method and schema.")] = None,
    schema: _source.SchemaOption = None,
    undecided: _source.Undecided = None,
    forecast: Annotated[
        bool,
        Option("--forecast", help="Show how large the noise would be, and stop: nothing is written, nothing is spent."),
    ] = False,
    csv: Annotated[
        bool | None, Option("--csv/--no-csv", help="Whether data.csv is written, too; as a rule for a CSV file.")
    ] = None,
    verifier: Annotated[
        bool, Option("--verifier", help="Put verify.html into the release: a second verifier, for browsers.")
    ] = False,
    pseudonym_key: Annotated[
        Path | None, Option(help="The file with the secret key for pseudonyms; created if it does not exist.")
    ] = None,
    sign: Annotated[
        Path | None, Option(metavar="KEYFILE", help="Sign the release with this private key; see shoal sign.")
    ] = None,
    account: Annotated[
        Path | None, Option(help="With --epsilon: the account of the table, which pays before anything is drawn.")
    ] = None,
    series: Annotated[
        Path | None,
        Option(metavar="STUDY", help="The series of releases that this one continues; see shoal series."),
    ] = None,
    private_report: Annotated[
        Path | None, Option(help="With --epsilon: a file, not for publication, that says how much the release lost.")
    ] = None,
    json: _source.Json = False,
) -> None:
    """Anonymise a table and write the release to a new folder.

    The folder holds the data, a certificate that anyone can check, the plan, a summary and a report.
    """
    import shoal
    from shoal import methods
    from shoal.cli._sign import ask_passphrase
    from shoal.rehearsal import HollowRelease
    from shoal.verification import read_key

    if _datasets.is_meant({"source": file.source, "known_items": known_items, "secret": secret}):
        _datasets.anonymize(
            file.source,
            output,
            k=k,
            known_items=known_items,
            secret=secret or (),
            confidence=confidence,
            suppression_limit=suppression_limit,
            accept=accept or (),
            schema=schema,
            plan=plan,
            csv=bool(csv),
            json=json,
        )
        return
    if confidence is not None:
        raise ParameterError("--confidence goes with --secret and --known-items.")
    copies = SameFormat(file.source, csv=bool(csv), copy=None)
    if not forecast:
        check_destination(output)
        copies = SameFormat.choose(file.source, output, csv)
    signing_key = None if sign is None else read_key(sign, ask_passphrase)
    if private_report is not None and not forecast:
        _check_private(private_report, output)
    key = None if pseudonym_key is None else _key(pseudonym_key, output)
    payer = None if account is None else shoal.Account.open(account)
    study = None if series is None else shoal.Series.open(series)
    data = file.read()
    people = None if population is None else shoal.read(population)
    privacy = {
        "delta": delta,
        "search_share": search_share,
        "definition": definition,
        "records_per_person": None if records_per_person is None else str(records_per_person),
    }
    if plan is not None:
        chosen = shoal.Plan.load(plan)
    else:
        is_undescribed = epsilon is not None and schema is None and not _source.default_schema(file.source).is_file()
        # what the plan might refuse must not be paid for
        named = [
            option,
            promise,
            l,
            t,
            role,
            measure,
            about,
            accept,
            round_,
            population,
            key,
            study,
            records_per_person,
        ]
        alone = not (forecast or any(named) or k is not None)
        able = methods.TruthfulTables.capabilities if method is None else methods.by_name(method).capabilities
        pays = is_undescribed and alone and able.private_promise == shoal.DifferentialPrivacy.name
        release_epsilon = epsilon
        if pays:
            release_epsilon = _rest(epsilon)
            privacy["delta"] = _rest(delta or DELTA)
            method = method or methods.TruthfulTables.name
        short = {"k": k, "l": l, "t": t, "epsilon": release_epsilon}
        models = _models(short, privacy, promise or [], method)
        if pays:
            way = _method(method, models, option or [], suppression_limit, time_limit)
            payer, described = _declare(data, file, payer, str(epsilon), delta or DELTA, json=json)
        else:
            described = _source.decided(_source.find_schema(data, file.source, schema), file.named, undecided)
            one_table = private_report is not None or definition is not None or bool(csv)
            columns = None if one_table else described
            way = _method(method, models, option or [], suppression_limit, time_limit, schema=columns)
        described = with_roles(described, data, role or [])
        chosen = _plan(described, models, way, measure or ["loss"], about or [], accept or [], rehearsal)
        if find_hierarchies:
            chosen = _find_hierarchies(chosen, data)
    if forecast:
        _forecast(chosen, data, json=json)
        return
    place = _account_of(file)
    if payer is None and chosen.cost is not None and place.exists():
        payer = shoal.Account.open(place)
        _output.warning(f"the account {place} pays: it was opened for this table.")
    with _output.progress("Searching") as progress:
        data = _source.conformed(data, chosen.schema)
        searches = methods.searches(type(chosen.method))
        with _output.searching("the best release so far") if searches else nullcontext():
            release, rehearsed = _run(
                chosen,
                data,
                round_ or [],
                progress=progress,
                pseudonym_key=key,
                population=people,
                account=payer,
                series=study,
            )
        if private_report is not None and release.private is None:
            raise ParameterError(
                "--private-report needs --epsilon; the summary of any other release already says everything"
            )
        if pseudonym_key is not None and key is not None:
            _keep(key, pseudonym_key)
        try:
            release.write(output, csv=copies.csv, verifier=verifier, sign=signing_key)
        except HollowRelease as error:
            raise with_commands(error, release.plan.schema) from None
        stopping.finishing()
    if private_report is not None and release.private is not None:
        write_file(private_report, release.private.to_json().encode(), private=True)
        _output.warning(f"{private_report.name} contains unprotected figures of the input; do not publish it.")
    if stopping.enough():
        _output.warning("you stopped the search: this is the best release found by then.")
    search = _search(release, chosen=plan is None and method is None)
    _show(release, output, search=search, rehearsed=rehearsed, copy=copies.write(output), json=json)


def _find_hierarchies(plan: Plan, data: Table) -> Plan:
    """Return the plan with hierarchies for the columns that have none, and say which."""
    import shoal

    if plan.privacy is not None:
        raise ParameterError(
            "--find-hierarchies cannot be combined with differential privacy: it looks at the data",
            hint="declare the hierarchies in the schema, from what is publicly known",
        )
    found = shoal.find_hierarchies(_source.conformed(data, plan.schema))
    if found.columns:
        _output.warning(
            f"found hierarchies of {quoted(found.columns)} in the data; the plan of the release lists them."
        )
    if found.undeclared:
        _output.warning(
            f"found no hierarchies of {quoted(found.undeclared)}: groups name every value, so the schema must list the "
            "`values` of a column first."
        )
    return dataclasses.replace(plan, schema=found.schema)


def _run(
    plan: Plan, data: Table, columns: list[str], *, progress: Progress | None, **given: Any
) -> tuple[Release, Rehearsal | None]:
    """Make a release and attack it; where columns are to be rounded, find the steps and make it again."""
    if columns and plan.privacy is not None:
        raise ParameterError("--round is for releases of classes: under differential privacy nothing is rehearsed")
    release = plan.run(data, progress=progress, enough=stopping.enough, **given)
    if columns:
        steps = release.finest_steps(*columns)
        plan = dataclasses.replace(plan, schema=plan.schema.with_rounding(steps))
        release = plan.run(data.with_schema(plan.schema), progress=progress, enough=stopping.enough, **given)
    return release, release.rehearse()


#: Of a promise on a table without a schema: how much of it finds domains, and its delta where none is given.
DRAFT_SHARE = Fraction(1, 5)
DELTA = "1e-6"


def _rest(amount: str | None) -> str:
    """Return what a release may spend of an amount, a part of which finds domains."""
    from shoal.exact import plain, positive

    return str(plain(positive(amount or DELTA, "epsilon", "anonymize") * (1 - DRAFT_SHARE)))


def _declare(
    data: Table, file: _source.InputFile, payer: Account | None, epsilon: str, delta: str, *, json: bool
) -> tuple[Account, Schema]:
    """Let an account pay for the domains of a table that nobody has described; make the account if there is none.

    The schema is written beside the table, so that the next release does not pay for it again.
    """
    import shoal
    from shoal.exact import fraction
    from shoal.queries import draft_paid, starting_schema

    drafted, target = shoal.draft(data, private=True), _source.default_schema(file.source)
    place = _account_of(file)
    if payer is None and place.exists():
        payer = shoal.Account.open(place)
    if payer is None:
        first = data.with_schema(starting_schema(drafted))
        payer = shoal.Account.create(place, first, epsilon=epsilon, delta=delta)
        _output.warning(
            f"opened the account {place} with epsilon {epsilon}, delta {delta}: all that may ever be spent."
        )
    own, extra = (fraction(amount) * DRAFT_SHARE for amount in (epsilon, delta))
    paid = draft_paid(data, drafted, payer, epsilon=own, delta=extra)
    if not json:
        show_paid(paid)
    confirmed = paid.draft.confirmed()
    if not confirmed.schema.quasi_identifiers:
        raise RequirementError(
            f"no value of any column is frequent enough to be told; {paid.cost} of the account {place} stays spent",
            hint="declare domains in a schema (shoal draft --private writes a template), or use a larger epsilon",
        )
    confirmed.schema.save(target)
    _output.warning(
        f"wrote {target} from the names of the columns and what was paid for; look at it before you publish."
    )
    return payer, confirmed.schema


def _account_of(file: _source.InputFile) -> Path:
    """Return where the account of a table is that was opened with its first release."""
    schema = _source.default_schema(file.source)
    return schema.with_name(schema.name.removesuffix(".schema.toml") + ".account")


def _forecast(plan: Plan, data: Table, *, json: bool) -> None:
    """Show what is known of a release before it is made."""
    figures = plan.forecast(_source.conformed(data, plan.schema).count())
    if not figures:
        raise ParameterError(
            "there is nothing to forecast: --forecast is for methods that add noise to numbers",
            hint="for example --method dp-microaggregation --epsilon 1",
        )
    if json:
        _output.print_json({"forecast": figures})
        return
    _output.table("Before anything is spent", ("figure", "value"), [[name, f"{x:.3g}"] for name, x in figures.items()])
    _output.line(
        "Below 0.05 single values are useful; at 0.25 they tell next to nothing. Nothing was written or spent."
    )


def _search(release: Release, *, chosen: bool) -> list[str]:
    """Say what one level per column would cost, where nobody chose the method, and what a limit cut short."""
    search = release.search
    if search is None:
        return []
    lines = list(search.cut_short)
    if search.gap:
        lines.append(f"The limit ended the search: the best {search.measure.name} may be as low as {search.bound:.3g}.")
    if not chosen or search.one_level is None:
        return lines
    method = f"{release.plan.method.name} was chosen: its {search.measure.name} is {search.value:.3g}"
    if math.isinf(search.one_level):
        return [f"{method}; one level per column cannot keep the promises.", *lines]
    return [f"{method}; the best found with one level per column is {search.one_level:.3g}.", *lines]


def _neighbours(release: Release, output: Path) -> list[str]:
    """Return the releases of the same table beside this one that it shares no series or budget with."""
    from shoal.folder import neighbouring_releases

    if release.series is not None or not release.plan.class_models:
        return []
    return neighbouring_releases(output, release.plan.schema.names)


def _item(text: str) -> str:
    """Return a line of a list, wrapped for a terminal."""
    return textwrap.fill(text, 80, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False)


def _warn_of_neighbours(neighbours: list[str]) -> str:
    """Say what two releases of one table give away, and what helps."""
    named = ", ".join(f"`{name}`" for name in neighbours[:3]) + (" and others" if len(neighbours) > 3 else "")
    return (
        f"The same folder holds {named}, with the same columns. If the same people are in both tables, whoever has "
        "both releases may find people whom each of them hides. `shoal series risk` measures that; "
        "`shoal series create` and --series prevent it."
    )


def _show(
    release: Release, output: Path, *, search: list[str], rehearsed: Rehearsal | None, copy: Path | None, json: bool
) -> None:
    attention, neighbours = release.attention, _neighbours(release, output)
    if json:
        _output.print_json(
            {
                "release": output,
                "records": release.records,
                "promises": release.guarantee.promises,
                "steps": [event.to_json() for event in release.guarantee.events],
                "measures": dict(release.measures),
                "own_values": [
                    {"column": each.column, "mean": float(each.mean), "greatest": float(each.greatest)}
                    for each in release.result.own_values
                ],
                "attention": attention,
                "rehearsal": rehearsed,
                **({} if copy is None else {"copy": copy}),
                **({} if release.payment is None else {"account": release.payment.entry}),
                **({} if release.series is None else {"series": release.series.recorded}),
                "neighbours": neighbours,
                "risk": {"after": release.after}
                if release.before is None
                else {"before": release.before, "after": release.after},
            }
        )
        return
    for event in release.guarantee.events:
        if event.warns:
            _output.warning(event.describe())
    show_rehearsal(rehearsed, release.plan)
    _output.text(str(release))
    if search:
        _output.text("\n".join(("Method", *map(_item, search))))
    if attention:
        _output.text("\n".join(("Attention", *map(_item, attention))))
    if release.series is not None:
        _output.text("\n".join(("Series", *(f"  - {line}" for line in release.series.lines()))))
    elif neighbours:
        _output.text("\n".join(("Series", _item(_warn_of_neighbours(neighbours)))))
    if release.payment is not None:
        _output.line("Account", style="bold")
        _output.line(f"  {release.payment}; {release.payment.left} is left.")
    _output.line()
    named = shlex.quote(str(output))
    _output.line(f"The release is in {output}. Anyone can check it with: shoal verify {named}", style="bold")
    if copy is not None:
        _output.line(f"Its records in the format of the input, which `verify` does not read, are in {copy}.")
    if output.suffix:
        _output.line(f"That is a folder. To write its records to one file: shoal export {named} FILE.csv")


def _plan(
    schema: Schema,
    models: tuple[Requirement, ...],
    method: Method,
    measures: list[str],
    about: list[str],
    accepted: list[str],
    rehearsal: str,
) -> Plan:
    import shoal
    from shoal.plan import About

    problems, wanted = Problems(), []
    for text in measures:
        name, *pairs = _WORDS.findall(text) or [""]
        wanted.append({"name": name, **_pairs("--measure", pairs, problems)} if pairs else name)
    words = {name: text for name, equals, text in (each.partition("=") for each in about) if equals and name}
    if len(words) != len(about):
        problems.add('--about takes NAME=TEXT, each name once, for example --about "purpose=research on ageing"')
    problems.raise_as(ParameterError)
    return shoal.Plan(
        schema=schema,
        models=models,
        method=method,
        measures=tuple(wanted),
        about=About.read(words),
        accepted=tuple(accepted),
        rehearsal=rehearsal,
    )


def _models(
    short: Mapping[str, Any], privacy: Mapping[str, str | None], promises: Sequence[str], method: str | None
) -> tuple[Requirement, ...]:
    """Return the promises of options that ask in short and of ``--promise``; ``privacy`` are further parameters."""
    from shoal.exact import describe_parameters
    from shoal.methods.promises import from_parameters
    from shoal.methods.shorthand import SHORT, are_private, asked_in_short, by_column, every_short_name, in_short

    problems, models = Problems(), []
    given: dict[str, object] = {}
    for name, value in every_short_name(short).items():
        if not by_column(name):
            given[name] = _value(value) if isinstance(value, str) else value
            continue
        given[name] = columns = {}
        for text in value or ():
            column, equals, number = text.rpartition("=")
            if not equals or not column:
                problems.add(f"--{name} takes COLUMN=NUMBER, for example --{name} diagnosis=0.2 or 3")
            else:
                columns[column] = _value(number)
    more = {name: _value(value) for name, value in privacy.items() if value is not None}
    wanted = [(name, dict(parameters)) for name, parameters in asked_in_short(given, method, more)]
    for text in promises:
        name, *pairs = _WORDS.findall(text) or [""]
        wanted.append((name, _pairs("--promise", pairs, problems)))
    for name, parameters in wanted:
        try:
            models.append(from_parameters(name, parameters))
        except ParameterError as error:
            problems.take(error)
    if not wanted and not problems:
        problems.add("specify what to promise, for example --k 5, or --epsilon 1 --delta 1e-6")
    asked_for = [in_short(name, method) for name in SHORT if are_private(name) and short.get(name) is not None]
    alone = privacy.get("delta") is None and any(
        each.name == "delta" and each.required for kind in asked_for for each in describe_parameters(kind)
    )
    problems.raise_as(
        ParameterError,
        hint="combine --epsilon with --delta (real records) or with --method dp-microaggregation (noise)"
        if alone
        else None,
    )
    return tuple(models)


def _method(
    name: str | None,
    models: tuple[Requirement, ...],
    options: list[str],
    suppression_limit: float | None,
    time_limit: float | None = None,
    *,
    schema: Schema | None = None,
) -> Method:
    from shoal import methods

    problems = Problems()
    parameters = _pairs("--option", options, problems)
    if suppression_limit is not None:
        parameters["suppression_limit"] = suppression_limit
    problems.raise_as(ParameterError)
    name = name or methods.default(models, parameters, schema=schema).name
    if time_limit:
        parameters = {"time_limit": time_limit} | parameters
    elif time_limit is None and methods.searches(methods.by_name(name)) and "time_limit" not in parameters:
        parameters = {"effort": methods.EFFORT} | parameters
    return methods.from_parameters(name, parameters)


#: what stands between spaces; lists, and texts that begin with a quote, may have some inside
_QUOTED = r"""(?<![^\s=\[,])(?:"(?:\\.|[^"\\])*"|'[^']*')"""
_WORDS = re.compile(rf"(?:{_QUOTED}|(?<==)\[(?:{_QUOTED}|[^]])*\]|\S)+")


def _pairs(option: str, texts: list[str], problems: Problems) -> dict[str, object]:
    pairs: dict[str, object] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            problems.add(f"{option} takes NAME=VALUE pairs; quote a name with spaces, as in attribute='main diagnosis'")
        else:
            pairs[name] = _value(value)
    return pairs


def _value(text: str) -> object:
    """Read a value as TOML would: numbers, booleans, lists; anything else is text."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _key(path: Path, output: Path) -> bytes:
    """Read the secret key, or draw one."""
    if path.absolute().is_relative_to(output.absolute()):
        raise OutputError("the pseudonym key must not be inside the release folder")
    try:
        if path.exists():
            return path.read_bytes()
    except OSError as error:
        raise OutputError(f"the key file `{path.name}` cannot be used: {reason(error)}") from None
    check_file(path)
    return secrets.token_bytes(32)


def _keep(key: bytes, path: Path) -> None:
    """Write a new key to a file that only its owner can read."""
    if path.exists() and path.read_bytes() == key:
        return
    write_file(path, key, private=True)
    _output.warning(f"created a new secret key in {path.name}; keep it safe and away from the release.")


def _check_private(path: Path, output: Path) -> None:
    """Refuse to put the private report where it would be published, or over something else."""
    if path.absolute().is_relative_to(output.absolute()):
        raise OutputError("the private report must not be inside the release folder")
    check_file(path)
