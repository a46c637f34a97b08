"""Data sets of several tables, as `draft`, `assess` and `anonymize` take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.cli import _output
from shoal.errors import OutputError, ParameterError, quoted
from shoal.writing import check_destination, write_file

#: the options of `anonymize` that say something about several tables
_ALLOWED = frozenset(
    {
        "source",
        "output",
        "k",
        "known_items",
        "secret",
        "confidence",
        "suppression_limit",
        "accept",
        "schema",
        "csv",
        "json",
        "plan",
    }
)


def is_meant(parameters: Mapping[str, Any]) -> bool:
    """Return whether the arguments of a command are about a data set of several tables."""
    if parameters.get("known_items") is not None or parameters.get("secret"):
        return True
    source = parameters.get("source") or ""
    if not source or source == "-" or "://" in source:
        return False
    from shoal.datasets import is_dataset

    return is_dataset(source)


def refuse_others(context: Any) -> None:
    """Refuse the options of `anonymize` that mean nothing for several tables."""
    given = [each for each in context.command.params if context.get_parameter_source(each.name).name != "DEFAULT"]
    names = [each.opts[0] for each in given if each.name not in _ALLOWED]
    if names:
        raise ParameterError(f"a data set of several tables cannot be combined with {quoted(names)}.")


def anonymize(
    source: str,
    output: Path,
    *,
    k: int | None,
    known_items: int | None,
    secret: Sequence[str],
    confidence: float | None,
    suppression_limit: float | None,
    accept: Sequence[str],
    schema: Path | None,
    plan: Path | None,
    csv: bool,
    json: bool,
) -> None:
    """Anonymise the tables of a data set together, and write the release to a new folder."""
    from shoal.dataset_release import anonymize_dataset
    from shoal.methods.nested import DatasetPlan, RecodeItems

    check_destination(output)
    if plan is not None:
        asked: dict[str, Any] = {"plan": DatasetPlan.load(plan)}
    else:
        secrets: dict[str, list[str]] = {}
        for each in secret:
            column, sign, value = each.partition("=")
            if not sign or "." not in column:
                raise ParameterError("--secret takes TABLE.COLUMN=VALUE.")
            secrets.setdefault(column, []).append(value)
        method = RecodeItems() if suppression_limit is None else RecodeItems(suppression_limit=suppression_limit)
        asked = {"k": k, "known_items": known_items, "method": method, "schema": schema}
        asked |= {"secrets": secrets or None, "confidence": confidence, "accept": accept}
    with _output.progress("Searching") as progress:
        release = anonymize_dataset(source, progress=progress, **asked)
        release.write(output, csv=csv)
    if release.plan.schema.guessed:
        _output.warning("keys, parents and roles are guessed; review dataset.toml before publishing anything.")
    result = release.result.found
    if json:
        _output.print_json(
            {
                "release": output,
                "promises": [promise.statement for promise in release.guarantee.promises],
                "steps": [step.describe() for step in release.guarantee.events],
                "loss": result.loss,
                "bound": result.bound,
                "rows": {name: len(rows) for name, rows in release.tables.items()},
            }
        )
        return
    _output.text(str(release))
    _output.line()
    _output.line(f"Wrote {output}: {', '.join(f'{name} {len(rows):,}' for name, rows in release.tables.items())}")


def draft(source: str, *, output: Path | None, overwrite: bool, json: bool) -> None:
    """Propose keys, parents and roles of all tables of a source, and say why."""
    from shoal.datasets import draft_dataset, schema_place

    target = output or schema_place(source)
    if target.exists() and not overwrite:
        raise OutputError(f"`{target}` already exists", hint="choose another name with --output, or use --overwrite")
    drafted = draft_dataset(source)
    write_file(target, drafted.dumps().encode(), overwrite=overwrite)
    if json:
        reasons = [{"table": table, "column": name, "reason": why} for (table, name), why in drafted.reasons.items()]
        _output.print_json({"schema": target, "reasons": reasons})
        return
    for line in drafted.lines():
        _output.line(line)
    _output.line()
    _output.line(f"Wrote {target}. Review keys, parents and roles, remove the line `guessed = true`, and then:")
    _output.line(f"  shoal anonymize {source} --k 5 --known-items 3 --output release")


def assess(source: str, *, schema: Path | None, known_items: int, k: int, json: bool) -> None:
    """Show how many persons stand out by how many known items, as the tables are."""
    from shoal.datasets import read_dataset
    from shoal.methods.nested import risk_by_items

    risks = risk_by_items(read_dataset(source, schema), known_items, k)
    if json:
        _output.print_json({"k": k, "risk": risks})
        return
    rows = [
        (str(each.items), f"{each.fewest:,}", f"{each.unique:,}", f"{each.below:,}", f"{each.persons:,}")
        for each in risks
    ]
    header = ("items known", "fewest who fit", "persons found", f"below {k}", "of")
    _output.table("Risk by known items, as the tables are", header, rows)
    _output.warning("these are unprotected figures of the tables; do not publish them.")
