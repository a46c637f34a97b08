"""Bring tables of a folder through draft, anonymize and verify for a stated purpose, as somebody new would.

The folder holds the tables and ``purposes.toml``, which says what each is for::

    [[table]]
    file = "patients.csv"
    keep = ["age", "sex", "diagnosis", "outcome"]
    k = 5                       # of the promise; 5 if it is not there
    person = "records"          # the answer to a question of the draft, where there is one
    drop = ["remarks"]

Run from the project's folder::

    python benchmarks/purposes.py DATA [WORD ...]    # all tables, or those whose file name has a word

Printed are the size, the CPU seconds from reading to the written release, the loss on the columns of the purpose (0 for
those released as they are), how often the rehearsed attack is right, by chance, and what a person was asked.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import tomllib
import warnings
from pathlib import Path
from typing import Any

import shoal
from shoal.errors import ShoalError
from shoal.exact import share


def measure(path: Path, purpose: dict[str, Any], folder: Path) -> str:
    """Return a line of figures of one table."""
    start = time.process_time()
    table = shoal.read(path, skip_bad_rows=purpose.get("skip_bad_rows"))
    drafted = shoal.draft(table, keep=purpose["keep"], drop=purpose.get("drop", ()))
    asked = [f"decide `{name}`" for name in drafted.undecided]
    if drafted.person is not None and drafted.schema.asks_for_persons:
        asked.append(f"is {drafted.person.columns[0]} a person")
    if "person" in purpose:
        drafted = drafted.with_persons(purpose["person"])
    table = table.with_schema(drafted.schema)
    release = shoal.anonymize(table, k=purpose.get("k", 5))
    written = release.write(folder / "release")
    took = time.process_time() - start
    if not shoal.verify(written).passed:
        return "NOT VERIFIED"
    rehearsed = release.rehearse()
    success = "nothing to attack" if rehearsed is None else f"{share(rehearsed.success)} ({share(rehearsed.chance)})"
    known = drafted.schema.quasi_identifiers
    shown = [column for column in drafted.schema if column.name in known or column.role.released_as_it_is]
    loss = release.measures["loss"] * len(known) / len(shown)
    return (
        f"{table.count():,} x {len(table.columns)} | {len(shown)} | {took:.1f} | {loss:.3f} | {success} | "
        f"{'; '.join(asked) or 'nothing'}"
    )


def main() -> None:
    """Print a table, one row per table of the folder."""
    asked = argparse.ArgumentParser(description="Tables with a stated purpose.")
    asked.add_argument("folder", type=Path, help="where the tables and purposes.toml lie")
    asked.add_argument("words", nargs="*", help="only tables whose file name has one of these")
    options = asked.parse_args()
    purposes = tomllib.loads((options.folder / "purposes.toml").read_text(encoding="utf-8"))["table"]
    print("| table | records x columns | released | CPU s | loss | rehearsed (chance) | asked |\n|" + "---|" * 7)
    for purpose in purposes:
        if options.words and not any(word in purpose["file"] for word in options.words):
            continue
        with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                line = measure(options.folder / purpose["file"], purpose, Path(scratch))
            except ShoalError as error:
                line = f"STOPPED: {'; '.join(error.problems)}"
        print(f"| {purpose['file']} | {line} |", flush=True)


if __name__ == "__main__":
    main()
