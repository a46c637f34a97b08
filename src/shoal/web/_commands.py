"""The same in Python and in a shell: every click can be repeated without the app."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import Plan


#: texts that TOML would read as nothing else
_BARE = re.compile(r"(?!(?:true|false|inf|nan)$)[^\W\d_][\w-]*|\d+/\d+")
_AS_FOUND: Mapping[str, str] = MappingProxyType({})


def repeated(plan: Plan, source: Mapping[str, Any], account: Path | None = None) -> dict[str, str]:
    """Return the script and the commands that do what the plan says to an uploaded table, paid for by the account."""
    name, reading = source["name"], source.get("reading", {})
    return {"python": python(plan, name, reading, account), "shell": shell(plan, name, reading, account)}


def python(plan: Plan, name: str, reading: Mapping[str, str | bool] = _AS_FOUND, account: Path | None = None) -> str:
    """Return a script that does what the plan says to the file ``name``, read as ``reading`` says."""
    promises = "".join(f"    {_public(model)}{model!r},\n" for model in plan.models)
    options = ", ".join(f"{key}={value!r}" for key, value in chosen(plan.method).items())
    payer = "" if account is None else f"    account=shoal.Account.open({str(account)!r}),\n"
    return (
        f"{_read(name, reading)}"
        "release = shoal.anonymize(\n"
        "    table,\n"
        f"{promises}"
        f"    method={_public(plan.method)}{type(plan.method).__name__}({options}),\n"
        f"{payer}"
        ")\n"
        "print(release)\n"
        'release.write("release")\n'
    )


def shell(plan: Plan, name: str, reading: Mapping[str, str | bool] = _AS_FOUND, account: Path | None = None) -> str:
    """Return the commands that do what the plan says to the file ``name``, read as ``reading`` says."""
    from shoal import methods
    from shoal.methods.shorthand import short_of

    words: list[tuple[str, str]] = []
    for model in plan.models:
        short = short_of(model, plan.method.name)
        if short is None:
            pairs = " ".join(f"{key}={_word(value)}" for key, value in model.parameters().items())
            words.append(("--promise", f"{model.name} {pairs}".strip()))
        for option, column, value in short or ():
            words.append((f"--{option.replace('_', '-')}", f"{value}" if column is None else f"{column}={value}"))
    options = chosen(plan.method)
    words.append(("--method", plan.method.name))
    if methods.searches(type(plan.method)) and not {"effort", "time_limit"} & set(options):
        words.append(("--time-limit", "0"))
    for key, value in options.items():
        words.append(("--option", f"{key}={_word(value)}"))
    words += [] if account is None else [("--account", str(account))]
    return _command("anonymize", name, reading, [*words, ("--output", "release")]) + "shoal verify release\n"


def compared(choice: dict[str, Any], source: Mapping[str, Any]) -> dict[str, str]:
    """Return the script and the command that compare what ``choice`` says on an uploaded table."""
    name, reading = source["name"], source.get("reading", {})
    lines, words = "", []
    for key, value in _asked(choice).items():
        written, option = repr(value), f"--{key.replace('_', '-')}"
        if isinstance(value, dict):
            words += [(option, f"{column}={_listed(values)}") for column, values in value.items()]
        elif isinstance(value, list):
            written = f"({', '.join(map(repr, value))},)"
            words.append((option, _listed(value)))
        else:
            words.append((option, f"{value}"))
        lines += f"    {key}={written},\n"
    script = (
        f'{_read(name, reading)}found = shoal.compare(\n    table,\n{lines}    folder="comparison",\n)\n'
        'print("\\n".join(found.reasons))\n'
    )
    return {"python": script, "shell": _command("compare", name, reading, [*words, ("--folder", "comparison")])}


def draft_commands(purpose: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, str]:
    """Return the script and the command that draft the columns of an uploaded table for a purpose."""
    name, reading = source["name"], source.get("reading", {})
    keep, person = list(purpose["keep"]), purpose["person"]
    # a name with a comma is told apart where it stands alone
    names = [",".join(keep)] if keep and not any("," in each for each in (*keep, *_column_names(source))) else keep
    given = [("--keep", each) for each in names]
    given += [(option, value) for option, value in (("--person", person), ("--for", purpose["audience"])) if value]
    wishes = (f", keep={keep!r}" if keep else "") + (f", person={person!r}" if person else "")
    options = "".join(f", {key}={value!r}" for key, value in reading.items())
    script = (
        f"import shoal\n\ntable = shoal.read({name!r}{options})\n"
        f"shoal.draft(table{wishes}).save({schema_name(name)!r})\n"
    )
    return {"python": script, "shell": _command("draft", name, reading, given, schema_option="--output")}


def _column_names(source: Mapping[str, Any]) -> list[str]:
    return [each["name"] for each in source["columns"]]


def _read(name: str, reading: Mapping[str, str | bool]) -> str:
    """Return how a script begins: it reads the file ``name``."""
    options = "".join(f", {key}={value!r}" for key, value in reading.items())
    return f"import shoal\n\ntable = shoal.read({name!r}, schema={schema_name(name)!r}{options})\n"


def _command(
    what: str,
    name: str,
    reading: Mapping[str, str | bool],
    words: Iterable[tuple[str, str]],
    *,
    schema_option: str = "--schema",
) -> str:
    """Return a command on the file ``name``, one option per line."""
    lines = [f"shoal {what} {file_word(name)} {schema_option} {shlex.quote(schema_name(name))}"]
    lines += [
        f"--{key.replace('_', '-')}{'' if value is True else f' {shlex.quote(str(value))}'}"
        for key, value in reading.items()
    ]
    return " \\\n    ".join([*lines, *(f"{option} {shlex.quote(value)}" for option, value in words)]) + "\n"


def _asked(choice: dict[str, Any]) -> dict[str, Any]:
    """Return what was asked for and is not the default; a delta without an epsilon says nothing."""
    defaults = {"risk": "average", "utility": "queries"} | ({} if choice["epsilon"] else {"delta": choice["delta"]})
    return {key: value for key, value in choice.items() if value not in ([], {}, None, defaults.get(key))}


def _listed(values: list[Any]) -> str:
    return ",".join(str(value).removesuffix(".0") for value in values)


def _word(value: Any) -> str:
    """Return a parameter as `--promise` and `--option` read it: as TOML, or bare where it is plainly a text."""
    from shoal.schema import toml_value

    if isinstance(value, str) and _BARE.fullmatch(value):
        return value
    return toml_value(value)


def chosen(method: Any) -> dict[str, Any]:
    """Return the parameters that are not the defaults, as plain values."""
    found, plain = {}, method.parameters()
    for field in dataclasses.fields(method):
        value = getattr(method, field.name)
        default = field.default if field.default is not dataclasses.MISSING else None
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        if value != default:
            found[field.name] = plain.get(field.name, value)
    return found


def _public(value: object) -> str:
    """Return the module to name before a class: short where the package offers it."""
    import shoal

    name = type(value).__name__
    return "shoal." if hasattr(shoal, name) else f"{type(value).__module__.rpartition('._')[0]}."


def file_word(name: str) -> str:
    """Return the name of a file as a word of a command, which must not be taken for an option."""
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


def schema_name(name: str) -> str:
    """Return the name of the schema file that belongs to a file."""
    stem = name.removesuffix(".gz").rpartition(".")[0] or name
    return f"{stem}.schema.toml"
