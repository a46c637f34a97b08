"""What came of a run, in a few figures and words: first on its page, and beside other runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.web._words import number, share


def verdict(found: dict[str, Any]) -> dict[str, Any]:
    """Return, from what there is to see of a release, what changed for people, what was lost, and what was erased."""
    before, after = found["before"], _found_after(found)
    left_out = max(before["records"] - found["after"]["records"], 0)
    loss = found["measures"].get("loss")
    lost = [f"{number(left_out)} of {number(before['records'])} records were left out"] if left_out else []
    lost += [f"{share(loss)} of the detail is gone, by the measure loss"] if loss is not None else []
    return {
        "alone": _alone(found, before, after),
        "lost": "; ".join(lost) + "." if lost else "Nothing was left out.",
        "erased": _erased(found["search"]),
    }


def figures(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the figures by which runs are compared, each with its title."""
    before, after = found["before"], _found_after(found)
    loss = found["measures"].get("loss")
    return [
        ("Records released", number(found["after"]["records"])),
        ("Records left out", number(max(before["records"] - found["after"]["records"], 0))),
        ("Smallest group of people who look alike", number(after.get("fewest") or after["smallest"])),
        ("People who stand alone", number(after["unique"])),
        ("Highest risk of being found", share(after["prosecutor"])),
        ("Average risk of being found", share(after["marketer"])),
        ("Loss (0 is unchanged)", number(loss)),
        ("Levels", _levels(found["search"])),
        ("Columns that were erased", ", ".join(_erased(found["search"])) or "none"),
    ]


def size_of(folder: Path) -> int:
    """Return how many bytes a folder takes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _alone(found: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> str:
    """Say how many stood alone and still do: persons, where some have several records."""
    people = found.get("people")
    if not people:
        first, last = before["unique"], after["unique"]
        return f"{number(first)} stood alone in what others may know; in the release {number(last)} do."
    first, last = (each["persons"]["certain"] for each in people)
    whole = number(people[0]["persons"]["number"])
    return (
        f"{number(first)} of {whole} persons stood alone in what others may know of one of their records; in the "
        f"release {number(last)} do."
    )


def _found_after(found: dict[str, Any]) -> dict[str, Any]:
    """Return the risk of being found afterwards: as before, where what others may know is released as it is."""
    return dict(found["before"] if found["mixed"] else found["after"])


def _levels(search: dict[str, Any] | None) -> str:
    """Return the level of every column, where each has one."""
    if search is None or search["levels"] is None:
        return "not one per column"
    return ", ".join(f"{name} {level}" for name, level in zip(search["attributes"], search["levels"], strict=True))


def _erased(search: dict[str, Any] | None) -> list[str]:
    """Return the columns of which nothing is left: they are at the top of their hierarchies."""
    if search is None or search["levels"] is None:
        return []
    each = zip(search["attributes"], search["levels"], search["examples"], strict=True)
    return [name for name, level, examples in each if level == len(examples) - 1 > 0]
