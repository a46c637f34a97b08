"""``shoal anonymize``: from a table and a rule to a release."""

from __future__ import annotations

import re
import secrets
import shlex
import textwrap
from contextlib import nullcontext
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option
from typer.core import TyperCommand

from shoal import stopping
from shoal.cli import _output, _source
from shoal.errors import OutputError, ParameterError, Problems, reason
from shoal.writing import check_destination, check_file, write_file

if TYPE_CHECKING:
    from shoal import Plan, Release, Schema, Table
    from shoal.guarantees import Requirement
    from shoal.methods import Method


# enough to find what one level per column would cost, or something near it
_SECONDS = 5.0
# records of a table that is counted once more for that
_COMPARED = 1_000_000

EXAMPLES = """\b
Examples:
  shoal anonymize patients.csv --k 5 --output release
  shoal anonymize patients.csv --k 5 --t diagnosis=0.2 --output release
  shoal anonymize patients.csv --k 5 --suppression-limit 0.02 \\
      --promise "entropy-l-diversity attribute=diagnosis l=3" --output release
  shoal anonymize patients.csv --epsilon 1 --delta 1e-6 --output release
  shoal anonymize patients.csv --epsilon 1 --method dp-microaggregation \\
      --option target=original --output release
  shoal anonymize postgresql://localhost/hospital --table patients \\
      --plan plan.toml --output release
"""


class WithMethods(TyperCommand):
    """A command whose help lists the methods, which are loaded only then."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples and a line about every method."""
        from shoal import methods

        super().format_epilog(ctx, formatter)
        with formatter.indentation(), formatter.section("Methods"):
            formatter.write_dl([(name, _about(methods.by_name(name))) for name in methods.names()])


def _about(method: type[Method]) -> str:
    from shoal import methods

    note = " (default)" if method.name == methods.default(()).name else ""
    return method.about.rstrip(".") + (" (--epsilon)" if method.keeps.private else note)


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
        Option(help="Seconds after which a search settles for the best result so far; 15 by default, 0 for no limit."),
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
    plan: Annotated[Path | None, Option(help="A plan file, in place of promises, method and schema.")] = None,
    schema: _source.SchemaOption = None,
    undecided: _source.Undecided = None,
    forecast: Annotated[
        bool,
        Option("--forecast", help="Show how large the noise would be, and stop: nothing is written, nothing is spent."),
    ] = False,
    csv: Annotated[bool, Option("--csv", help="Also write data.csv.")] = False,
    pseudonym_key: Annotated[
        Path | None, Option(help="The file with the secret key for pseudonyms; created if it does not exist.")
    ] = None,
    sign: Annotated[
        Path | None, Option(metavar="KEYFILE", help="Sign the release with this private key; see shoal sign.")
    ] = None,
    account: Annotated[
        Path | None, Option(help="With --epsilon: the account of the table, which pays before anything is drawn.")
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
    from shoal.verification import read_key

    if not forecast:
        check_destination(output)
    if sign is not None:
        read_key(sign)
    if private_report is not None and not forecast:
        _check_private(private_report, output)
    key = None if pseudonym_key is None else _key(pseudonym_key, output)
    payer = None if account is None else shoal.Account.open(account)
    data = file.read()
    people = None if population is None else shoal.read(population)
    privacy = {
        "epsilon": epsilon,
        "delta": delta,
        "search_share": search_share,
        "definition": definition,
        "records_per_person": None if records_per_person is None else str(records_per_person),
    }
    if plan is not None:
        given = (*privacy.values(), k, l, t, promise, method, option, suppression_limit, time_limit)
        if any(value not in (None, []) for value in (*given, schema, measure, about)):
            raise ParameterError(
                "--plan already contains the promises, the method and the schema; remove the other options"
            )
        chosen = shoal.Plan.load(plan)
    else:
        models = _models(k, l or [], t or [], promise or [], privacy, method)
        described = _source.decided(_source.find_schema(data, file.source, schema), file.named, undecided)
        way = _method(method, models, option or [], suppression_limit, time_limit)
        chosen = _plan(described, models, way, measure or ["loss"], about or [])
    if forecast:
        _forecast(chosen, data, json=json)
        return
    with _output.progress("Searching") as progress:
        data = _source.conformed(data, chosen.schema)
        timed = methods.timed(type(chosen.method))
        with _output.searching("the best release so far") if timed else nullcontext():
            release = chosen.run(data, progress=progress, pseudonym_key=key, population=people, account=payer)
        if private_report is not None and release.private is None:
            raise ParameterError(
                "--private-report needs --epsilon; the summary of any other release already says everything"
            )
        if pseudonym_key is not None and key is not None:
            _keep(key, pseudonym_key)
        release.write(output, csv=csv, sign=sign)
        stopping.finishing()
    if private_report is not None and release.private is not None:
        write_file(private_report, release.private.to_json().encode(), private=True)
        _output.warning(f"{private_report.name} contains unprotected figures of the input; do not publish it.")
    if stopping.enough():
        _output.warning("you stopped the search: this is the best release found by then.")
    compared = plan is None and method is None and people is None and not stopping.enough()
    compared = compared and release.records <= _COMPARED
    instead = _one_level(release, data, key) if compared else None
    _show(release, output, instead=instead, json=json)


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


def _one_level(release: Release, data: Table, key: bytes | None) -> str | None:
    """Say what was chosen where no method was asked for, and what one level per column would cost."""
    import shoal
    from shoal.errors import RequirementError

    plan, loss = release.plan, release.measures.get("loss")
    if release.search is None or loss is None or plan.method.name == "generalize":
        return None
    limit = plan.method.parameters().get("suppression_limit", 0.05)
    other = shoal.Generalize(time_limit=_SECONDS, suppression_limit=limit)  # type: ignore[arg-type]
    try:
        made = shoal.Plan(schema=plan.schema, models=plan.models, method=other).run(data, pseudonym_key=key)
    except RequirementError:
        return f"{plan.method.name} was chosen: one level per column cannot keep the promises."
    cost = made.measures["loss"]
    return f"{plan.method.name} was chosen: its loss is {loss:.3g}; with one level per column it would be {cost:.3g}."


def _show(release: Release, output: Path, *, instead: str | None, json: bool) -> None:
    attention = release.attention
    if json:
        _output.print_json(
            {
                "release": output,
                "records": release.records,
                "promises": release.guarantee.promises,
                "steps": [event.to_json() for event in release.guarantee.events],
                "measures": dict(release.measures),
                "attention": attention,
                **({} if release.bill is None else {"account": release.bill.entry}),
                "risk": {"after": release.after}
                if release.before is None
                else {"before": release.before, "after": release.after},
            }
        )
        return
    for event in release.guarantee.events:
        if event.name == "repeated":
            _output.warning(event.describe())
    _output.text(str(release))
    if instead is not None:
        _output.text(f"Method\n  {instead}")
    if attention:
        wrapped = textwrap.TextWrapper(96, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False)
        lines = map(wrapped.fill, attention)
        _output.text("\n".join(("Attention", *lines)))
    if release.bill is not None:
        _output.line("Account", style="bold")
        _output.line(f"  {release.bill}; {release.bill.left} is left.")
    _output.line()
    named = shlex.quote(str(output))
    _output.line(f"The release is in {output}. Anyone can check it with: shoal verify {named}", style="bold")
    if output.suffix:
        _output.line(f"That is a folder. To write its records to one file: shoal export {named} FILE.csv")


def _plan(
    schema: Schema, models: tuple[Requirement, ...], method: Method, measures: list[str], about: list[str]
) -> Plan:
    import shoal
    from shoal.methods.brief import About

    problems, wanted = Problems(), []
    for text in measures:
        name, *pairs = _WORDS.findall(text) or [""]
        wanted.append({"name": name, **_pairs("--measure", pairs, problems)} if pairs else name)
    words = {name: text for name, equals, text in (each.partition("=") for each in about) if equals and name}
    if len(words) != len(about):
        problems.add('--about takes NAME=TEXT, each name once, for example --about "purpose=research on ageing"')
    problems.raise_as(ParameterError)
    return shoal.Plan(schema=schema, models=models, method=method, measures=tuple(wanted), about=About.read(words))


def _models(
    k: int | None,
    l: list[str],  # noqa: E741
    t: list[str],
    promises: list[str],
    privacy: dict[str, str | None],
    method: str | None,
) -> tuple[Requirement, ...]:
    from shoal import methods
    from shoal.methods.promises import from_parameters, kind

    problems, found = Problems(), []
    wanted: list[tuple[str, dict[str, object]]] = []
    private = (methods.by_name(method).keeps.private if method else None) or "differential-privacy"
    if given := {name: _value(value) for name, value in privacy.items() if value is not None}:
        wanted.append((private, given))
    if k is not None:
        wanted.append((methods.crowd(method), {"k": k}))
    for option, name, parameter, number, texts in (
        ("--l", "distinct-l-diversity", "l", "3", l),
        ("--t", "t-closeness", "t", "0.2", t),
    ):
        for text in texts:
            column, equals, value = text.rpartition("=")
            if not equals or not column:
                problems.add(f"{option} takes COLUMN=NUMBER, for example {option} diagnosis={number}")
            else:
                wanted.append((name, {"attribute": column, parameter: _value(value)}))
    for text in promises:
        name, *pairs = _WORDS.findall(text) or [""]
        wanted.append((name, _pairs("--promise", pairs, problems)))
    for name, parameters in wanted:
        try:
            found.append(from_parameters(name, parameters))
        except ParameterError as error:
            problems.take(error)
    if not wanted and not problems:
        problems.add("specify what to promise, for example --k 5, or --epsilon 1 --delta 1e-6")
    taken = signature(kind(private)).parameters.get("delta")
    needs_delta = taken is not None and taken.default is Parameter.empty
    alone = needs_delta and privacy["epsilon"] is not None and privacy["delta"] is None
    problems.raise_as(
        ParameterError,
        hint="combine --epsilon with --delta (real records) or with --method dp-microaggregation (noise)"
        if alone
        else None,
    )
    return tuple(found)


def _method(
    name: str | None,
    models: tuple[Requirement, ...],
    options: list[str],
    suppression_limit: float | None,
    time_limit: float | None = None,
) -> Method:
    from shoal import methods

    problems = Problems()
    parameters = _pairs("--option", options, problems)
    if suppression_limit is not None:
        parameters["suppression_limit"] = suppression_limit
    problems.raise_as(ParameterError)
    name = name or methods.default(models).name
    if time_limit is not None or methods.timed(methods.by_name(name)):
        seconds = methods.SECONDS if time_limit is None else time_limit
        parameters = ({"time_limit": seconds} if seconds else {}) | parameters
    return methods.from_parameters(name, parameters)


#: what stands between spaces; lists, and texts that begin with a quote, may have some inside
_QUOTED = r"""(?<![^\s=\[,])(?:"(?:\\.|[^"\\])*"|'[^']*')"""
_WORDS = re.compile(rf"(?:{_QUOTED}|(?<==)\[(?:{_QUOTED}|[^]])*\]|\S)+")


def _pairs(option: str, texts: list[str], problems: Problems) -> dict[str, object]:
    found: dict[str, object] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            problems.add(f"{option} takes NAME=VALUE pairs; quote a name with spaces, as in attribute='main diagnosis'")
        else:
            found[name] = _value(value)
    return found


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
