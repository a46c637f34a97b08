"""``shoal estimate``: counts and cross tables from all tables of a release together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from shoal.cli import _output, _source
from shoal.errors import ParameterError
from shoal.writing import check_file

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.estimation import Estimate, Estimates


EXAMPLES = """\b
Examples:
  shoal estimate release
  shoal estimate release --count "sex=Female,age=[20, 40)"
  shoal estimate release --table sex,occupation
  shoal estimate release --records records.csv
  shoal estimate release --pool pool.parquet
  shoal estimate release --weights weighted.csv   (method truthful)
  shoal estimate release --weights weighted.csv --original survey.csv
"""
_MOST_ROWS = 200


def estimate(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="A release of method truthful-tables, or of truthful.")],
    *,
    count: Annotated[
        list[str] | None, Option(metavar="COLUMN=VALUE,...", help="How many records have these values, of any level.")
    ] = None,
    table: Annotated[list[str] | None, Option(metavar="COLUMN,...", help="The cross table of these columns.")] = None,
    records: Annotated[
        Path | None,
        Option(help="A file to write synthetic records to, in the columns and types of the schema: nobody's data."),
    ] = None,
    number: Annotated[
        int | None, Option(min=1, help="With --records: how many; by default the estimated number of all records.")
    ] = None,
    seed: Annotated[int | None, Option(min=0, help="With --records: draw the same records again.")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="With --records: replace an existing file.")] = False,
    pool: Annotated[
        Path | None, Option(help="A file to write possible records with weights to: an estimate, not records.")
    ] = None,
    weights: Annotated[
        Path | None, Option(help="A file to write the records to, with a weight each (truthful, or with --original).")
    ] = None,
    original: Annotated[
        str | None, Option(help="With --weights: the table of the survey; its sampling weights are calibrated to it.")
    ] = None,
    json: _source.Json = False,
) -> None:
    """Estimate counts from all tables of a release together.

    The standard errors cover the noise; they do not cover relationships between columns that no table shows.
    """
    import shoal
    from shoal.estimation import ABOUT
    from shoal.folder import check_outside_releases

    if original is not None and weights is None:
        raise ParameterError("--original can only be used with --weights")
    if records is None and (number is not None or seed is not None or overwrite):
        raise ParameterError("--number, --seed and --overwrite can only be used with --records")
    for path in (weights, pool, records):
        if path is not None:
            check_outside_releases(path)
            check_file(path, overwrite=overwrite and path == records)
    if weights is not None:
        if original is None:
            _weigh(folder, weights, json=json)
        else:
            _calibrate(folder, weights, original, json=json)
        return
    estimates = shoal.estimate(folder)
    counts = [(text, estimates.count(_conditions(text, estimates))) for text in count or []]
    tables = [(text, estimates.table(*(name.strip() for name in text.split(",")))) for text in table or []]
    if json:
        _output.print_json(
            {
                "records": estimates.total(),
                "counts": [{"count": text, "value": each.value, "error": each.error} for text, each in counts],
                "tables": [{"columns": text, "rows": rows.to_pylist()} for text, rows in tables],
            }
        )
    else:
        _show(estimates, counts, tables)
    if records is not None:
        written = estimates.write_records(records, number, seed=seed, overwrite=overwrite)
        if not json:
            _output.line(
                f"Wrote {written:,} synthetic records to {records}; {records.name}{ABOUT} beside it says what they are."
            )
    if pool is not None:
        estimates.write_pool(pool)
        if not json:
            _output.line(f"Wrote {estimates.size:,} possible records with weights to {pool}: an estimate, not records.")


def _calibrate(folder: Path, file: Path, original: str, *, json: bool) -> None:
    """Write the records of a release of a survey with weights that add up as before, stratum by stratum."""
    import shoal
    from shoal import tables

    weights = shoal.estimation.calibrated_weights(folder, shoal.read(original))
    tables.write(tables.read(weights.records), file)
    if json:
        _output.print_json({"weights": file, "factors": weights.factors.to_pylist(), "lost": weights.lost})
        return
    for row in weights.factors.to_pylist():
        name = ", ".join(str(value) for key, value in row.items() if key not in ("before", "after", "factor"))
        _output.line(
            f"{name or 'all records':<40} {row['after']:>14,.1f} to {row['before']:,.1f}: times {row['factor']:.4f}"
        )
    if weights.lost:
        _output.line(
            f"Nothing was released from strata with a weight of {weights.lost:,.1f}; no factor can restore it."
        )
    _output.line(
        f"Wrote {weights.records.num_rows:,} records to {file}. The factors reveal what was left out: think before you "
        "publish them."
    )


def _weigh(folder: Path, file: Path, *, json: bool) -> None:
    """Write the records of a truthful release with how many records each stands for."""
    import shoal
    from shoal import tables

    records = shoal.estimation.weighted_records(folder)
    tables.write(tables.read(records), file)
    total = float(records["weight"].to_numpy().sum())
    if json:
        _output.print_json({"records": len(records), "estimated records": total, "weights": file})
        return
    _output.line(f"Wrote {len(records):,} records with weights to {file}: they stand for about {total:,.0f} records.")
    _output.line("Combinations of values that are not shown are missing from that number; see the documentation.")


def _show(found: Estimates, counts: list[tuple[str, Estimate]], tables: list[tuple[str, pa.Table]]) -> None:
    _output.line("Estimated from all tables of the release together; +- is one standard error.", style="bold")
    if not counts and not tables:
        _output.line(f"columns: {', '.join(found.columns)}")
    for text, each in counts or [("records", found.total())]:
        _output.line(f"{text}: {each.value:,.0f} +- {each.error:,.0f}")
    for text, rows in tables:
        _output.line()
        names = [name.strip() for name in text.split(",")]
        *_, estimate, error = rows.column_names
        listed = sorted(rows.to_pylist(), key=lambda row: -row[estimate])
        shown = [row for row in listed if row[estimate] >= 0.5][:_MOST_ROWS]
        for row in shown:
            label = ", ".join("missing" if row[name] is None else row[name] for name in names)
            _output.line(f"{label:<50} {row[estimate]:>12,.0f} +- {row[error]:,.0f}")
        if len(shown) < len(listed):
            _output.line(f"({len(listed) - len(shown):,} more rows; --json prints all)")


def _conditions(text: str, found: Estimates) -> dict[str, list[str]]:
    """Read COLUMN=VALUE pairs; a comma that no column follows belongs to a value."""
    conditions: dict[str, list[str]] = {}
    last = ""
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals and name.strip() in found.columns:
            last = name.strip()
            conditions.setdefault(last, []).append(value.strip())
        elif last:
            conditions[last][-1] += f",{part}"
        else:
            raise ParameterError(
                "--count takes COLUMN=VALUE pairs, with columns of the release",
                hint=f"the columns are {', '.join(found.columns)}",
            )
    return conditions
