"""The same in Python and in a shell: every click can be repeated without the app."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import Plan


_AS_FOUND: Mapping[str, str] = MappingProxyType({})


def python(plan: Plan, name: str, reading: Mapping[str, str] = _AS_FOUND) -> str:
    """Return a script that does what the plan says to the file ``name``, read as ``reading`` says."""
    promises = "".join(f"    {_public(model)}{model!r},\n" for model in plan.models)
    options = ", ".join(f"{key}={value!r}" for key, value in chosen(plan.method).items())
    return (
        "import shoal\n\n"
        f"table = shoal.read({name!r}, schema={schema_name(name)!r}{_options(reading)})\n"
        "release = shoal.anonymize(\n"
        "    table,\n"
        f"{promises}"
        f"    method={_public(plan.method)}{type(plan.method).__name__}({options}),\n"
        ")\n"
        "print(release)\n"
        'release.write("release")\n'
    )


def shell(plan: Plan, name: str, reading: Mapping[str, str] = _AS_FOUND) -> str:
    """Return the commands that do what the plan says to the file ``name``, read as ``reading`` says."""
    from shoal import methods
    from shoal.schema import toml_value

    words: list[str] = []
    for model in plan.models:
        parameters = model.parameters()
        match model.name:
            case "k-anonymity" | "probabilistic-k-anonymity" if methods.crowd(plan.method.name) == model.name:
                words += ["--k", f"{parameters['k']}"]
            case "epsilon-budget":
                for key, value in parameters.items():
                    words += [f"--{key.replace('_', '-')}", f"{value}"]
            case "distinct-l-diversity":
                words += ["--l", f"{parameters['attribute']}={parameters['l']}"]
            case "t-closeness" if set(parameters) <= {"attribute", "t"}:
                words += ["--t", f"{parameters['attribute']}={parameters['t']}"]
            case _:
                pairs = " ".join(f"{key}={value}" for key, value in parameters.items())
                words += ["--promise", f"{model.name} {pairs}".strip()]
    options = chosen(plan.method)
    words += ["--method", plan.method.name]
    if methods.timed(type(plan.method)) and "time_limit" not in options:
        words += ["--time-limit", "0"]
    for key, value in options.items():
        words += ["--option", f"{key}={value if isinstance(value, str) else toml_value(value)}"]
    shown = [shlex.quote(word) for word in words]
    lines = [f"shoal anonymize {shlex.quote(name)} --schema {shlex.quote(schema_name(name))}"]
    lines += [f"--{key} {shlex.quote(value)}" for key, value in reading.items()]
    lines += [f"{option} {value}" for option, value in zip(shown[::2], shown[1::2], strict=True)]
    lines += ["--output release"]
    return " \\\n    ".join(lines) + "\nshoal verify release\n"


def compare_python(choice: dict[str, Any], name: str, reading: Mapping[str, str] = _AS_FOUND) -> str:
    """Return a script that compares what ``choice`` says on the file ``name``."""
    options = "".join(f"    {key}={_written(value)},\n" for key, value in _asked(choice).items())
    return (
        "import shoal\n\n"
        f"table = shoal.read({name!r}, schema={schema_name(name)!r}{_options(reading)})\n"
        f'found = shoal.compare(\n    table,\n{options}    folder="comparison",\n)\n'
        'print("\\n".join(found.reasons))\n'
    )


def compare_shell(choice: dict[str, Any], name: str, reading: Mapping[str, str] = _AS_FOUND) -> str:
    """Return the command that compares what ``choice`` says on the file ``name``."""
    words: list[tuple[str, str]] = []
    for key, value in _asked(choice).items():
        option = f"--{key.replace('_', '-')}"
        if isinstance(value, dict):
            words += [(option, f"{column}={_listed(values)}") for column, values in value.items()]
        else:
            words.append((option, _listed(value) if isinstance(value, list) else f"{value}"))
    lines = [f"shoal compare {shlex.quote(name)} --schema {shlex.quote(schema_name(name))}"]
    lines += [f"--{key} {shlex.quote(value)}" for key, value in reading.items()]
    lines += [f"{option} {shlex.quote(value)}" for option, value in words]
    return " \\\n    ".join([*lines, "--folder comparison"]) + "\n"


def _options(reading: Mapping[str, str]) -> str:
    return "".join(f", {key}={value!r}" for key, value in reading.items())


def _asked(choice: dict[str, Any]) -> dict[str, Any]:
    """Return what was asked for and is not the default; a delta without an epsilon says nothing."""
    found = {key: value for key, value in choice.items() if value not in ([], {}, None)}
    if not choice["epsilon"]:
        found.pop("delta", None)
    return {key: value for key, value in found.items() if _DEFAULTS.get(key) != value}


_DEFAULTS = {"risk": "average", "utility": "queries"}


def _listed(values: list[Any]) -> str:
    return ",".join(value if isinstance(value, str) else f"{value:g}" for value in values)


def _written(value: Any) -> str:
    return f"({', '.join(map(repr, value))},)" if isinstance(value, list) else repr(value)


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


def schema_name(name: str) -> str:
    """Return the name of the schema file that belongs to a file."""
    stem = name.removesuffix(".gz").rpartition(".")[0] or name
    return f"{stem}.schema.toml"
