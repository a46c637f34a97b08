"""The certificate of a release: its promises, steps and files, in a form that a machine can check.

Pydantic describes the file; ``certificate.schema.json`` beside this module is its published JSON Schema.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import platform
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from shoal.copying import read_bytes
from shoal.errors import Undecided, VerificationError
from shoal.guarantees._promise import Guarantee, Neighbours, Promise, Strength
from shoal.schema import Attribute, Kind, Provenance, Role
from shoal.writing import digest

CERTIFICATE = "certificate.json"
#: released classes with their number of people in the population, where a promise speaks of a population
POPULATION = "population.parquet"
POPULATION_COUNT = "people in the population"
VERSION = 1

#: Names and versions of what made a release: no room for other words.
PackageName = Literal["shoal", "duckdb", "numpy", "pyarrow", "python"]
Version = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{1,4}(\.[0-9]{1,8}){0,4}((a|b|rc)[0-9]{1,4})?(\.post[0-9]{1,4})?(\.dev[0-9]{1,10})?(\+[a-z0-9.]{0,12})?$"
    ),
]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


def _reduced(text: str) -> str:
    if str(Fraction(text)) != text:
        raise ValueError("a fraction in lowest terms")
    return text


def _whole_second(time: dt.datetime) -> dt.datetime:
    if time.utcoffset() != dt.timedelta(0) or time.microsecond:
        raise ValueError("a whole second of UTC")
    return time


#: in lowest terms; no exponent, which could take hours to write out
Rational = Annotated[str, Field(pattern="^[0-9]{1,4000}(/[0-9]{1,4000})?$"), AfterValidator(_reduced)]
#: a name inside the release folder, at most one folder deep; never `..`, so that no certificate points elsewhere
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)?$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class File(_Part):
    """A file of the release and its fingerprint."""

    name: FileName
    sha256: Sha256
    bytes: Annotated[int, Field(ge=0)]


class Column(_Part):
    """A released column: what a checker must know to decide the promises."""

    name: str
    role: Role
    kind: Kind
    values: tuple[str, ...] | None = Field(default=None, description="ordinal columns: all values, ascending")
    hierarchy: str | None = Field(default=None, description="the file of the release that holds its hierarchy")


class DomainOrigin(_Part):
    """Where the domain and hierarchy of a quasi-identifier came from."""

    column: str
    provenance: Provenance
    hierarchy_sha256: Sha256 | None = None


#: parts of a promise whose names in certificates are not words
_PARTS = {
    "model": "name",
    "exact": "list of figures",
    "assumptions": "list of assumptions",
    "parameters": "list of parameters",
}


class PromiseEntry(_Part):
    """One promise; see :class:`shoal.guarantees.Promise`."""

    model: str
    parameters: dict[str, object]
    strength: Strength
    statement: str
    assumptions: tuple[str, ...] = ()
    neighbours: Neighbours | None = None
    unit: str = "record"
    exact: dict[str, object] = Field(default_factory=dict)
    file: FileName | None = Field(default=None, description="the data file it is about; the first one if absent")

    def promise(self) -> Promise:
        """Return the promise as a value."""
        return Promise(**{name: getattr(self, name) for name in type(self).model_fields})

    def compare(self, promise: Promise) -> tuple[bool, str]:
        """Compare every part with the promise as it must read; say what differs."""
        stated, again = self.model_dump(mode="json"), _entry(promise).model_dump(mode="json")
        for part in stated:
            if stated[part] != again[part]:
                return False, f"the {_PARTS.get(part, part)} of the promise is not what its parameters and steps mean"
        return True, "statement, assumptions and all other parts of the promise are what its parameters mean"


class BudgetEntry(_Part):
    """The total privacy loss of a differentially private release, as exact rationals."""

    epsilon: Rational
    delta: Rational
    rho: Rational | None = Field(default=None, description="of zero-concentrated privacy, where an account counts it")


class AccountEntry(_Part):
    """The account that a release was paid from, as it stood right after; its publisher keeps it."""

    entry: Annotated[int, Field(ge=1, description="the number of the entry that paid for this release")]
    code: Annotated[
        str, Field(pattern="^[0-9a-f]{64}$", description="the code of that entry, which follows all before")
    ]
    neighbours: Neighbours = Field(description="whose losses the account counts")
    cost: BudgetEntry
    spent: BudgetEntry = Field(description="what the account had spent in total, including this release")
    budget: BudgetEntry = Field(description="the most that the account may ever spend")


class RehearsalEntry(_Part):
    """That the publisher attacked the release before it left; what came of it stays with the publisher."""

    kind: Annotated[Literal["exact", "learned"], Field(description="what the intruder learns relations with")]
    margin: Annotated[
        Rational, Field(description="how many times the risk that a promise states an intruder may be right at most")
    ]
    accepted: Annotated[
        tuple[str, ...], Field(description="columns that did not count, since the publisher accepts what they tell")
    ] = ()


class PolicyEntry(_Part):
    """The policy of an office that plan.toml holds, and to which the plan keeps."""

    office: Annotated[str, Field(max_length=200)]
    sha256: Annotated[Sha256, Field(description="of its rules, see `shoal.policy.Policy.fingerprint`")]
    user: Annotated[
        str | None, Field(max_length=200, description="who accepted columns in the rehearsal, by account name")
    ] = None


class Data(_Part):
    """A released table."""

    file: FileName
    records: Annotated[int, Field(ge=0)]
    columns: tuple[Column, ...]
    class_column: str | None = Field(
        default=None, description="the column that numbers the classes, the only link to other files"
    )

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that make the classes."""
        return tuple(column.name for column in self.columns if column.role.known_elsewhere)

    def with_classes_of(self, names: Sequence[str]) -> tuple[Column, ...]:
        """Return what is known of the columns, only some of them as quasi-identifiers."""
        others = {*self.quasi_identifiers} - {*names}
        return tuple(
            column.model_copy(update={"role": Role.INSENSITIVE}) if column.name in others else column
            for column in self.columns
        )


class Certificate(_Part):
    """The content of ``certificate.json``."""

    format: Literal["shoal-certificate"] = "shoal-certificate"
    version: Literal[1] = 1
    created: Annotated[dt.datetime, AfterValidator(_whole_second)]
    software: Annotated[dict[PackageName, Version], Field(min_length=5)]
    promises: Annotated[tuple[PromiseEntry, ...], Field(min_length=1)]
    steps: tuple[dict[str, object], ...]
    budget: BudgetEntry | None = None
    account: AccountEntry | None = Field(
        default=None, description="where the budget was spent from, if an account is kept"
    )
    rehearsal: RehearsalEntry | None = Field(default=None, description="absent where nothing could be attacked")
    policy: PolicyEntry | None = Field(default=None, description="absent where none was in force")
    randomness: str
    roles: Literal["declared", "guessed"]
    schema_sha256: Sha256
    domains: tuple[DomainOrigin, ...]
    measures: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)] | None]
    data: Data
    further_data: tuple[Data, ...] = Field(default=(), description="more released tables, where there are several")
    files: tuple[File, ...]

    @property
    def tables(self) -> tuple[Data, ...]:
        """All released tables."""
        return (self.data, *self.further_data)

    def parts(self, name: str) -> tuple[str, ...]:
        """Return the files that hold a released table: the one of its name, or those in a folder of its name."""
        return tuple(file.name for file in self.files if name in (file.name, file.name.partition("/")[0]))

    def to_json(self) -> str:
        """Return the text of the certificate file."""
        return json.dumps(self.model_dump(mode="json", exclude_none=True), indent=2, ensure_ascii=False) + "\n"


def certify(
    guarantee: Guarantee,
    *,
    data: Data,
    further_data: tuple[Data, ...] = (),
    files: tuple[File, ...],
    domains: tuple[DomainOrigin, ...],
    schema_text: str,
    guessed: bool,
    measures: dict[str, float | None],
    account: AccountEntry | None = None,
    rehearsal: RehearsalEntry | None = None,
    policy: PolicyEntry | None = None,
) -> Certificate:
    """Write down what a release promises and the fingerprints that tie the promise to its files."""
    total = guarantee.budget
    return Certificate(
        created=dt.datetime.now(dt.UTC).replace(microsecond=0),
        software=software(),
        promises=tuple(_entry(promise) for promise in guarantee.promises),
        steps=tuple(event.to_json() for event in guarantee.events),
        budget=BudgetEntry(epsilon=str(total.epsilon), delta=str(total.delta)) if total.epsilon else None,
        account=account,
        rehearsal=rehearsal,
        policy=policy,
        randomness=guarantee.randomness,
        roles="guessed" if guessed else "declared",
        schema_sha256=hashlib.sha256(schema_text.encode()).hexdigest(),
        domains=domains,
        measures=measures,
        data=data,
        further_data=further_data,
        files=files,
    )


def load(path: Path) -> Certificate:
    """Read a certificate.

    Raises
    ------
    VerificationError
        If it is none as Shoal writes it.
    Undecided
        If it is not there, is damaged, or is of another version of the format.
    """
    try:
        content = read_bytes(path)
        return Certificate.model_validate_json(content)
    except FileNotFoundError:
        raise Undecided(f"there is no {CERTIFICATE}", hint="give the folder of a release, complete") from None
    except OSError:
        raise Undecided(f"{CERTIFICATE} cannot be read") from None
    except ValidationError as error:
        if any(problem["type"] == "json_invalid" for problem in error.errors()):
            raise Undecided(f"{CERTIFICATE} is damaged: it is not JSON", hint="fetch the release again") from None
        if any(problem["loc"] == ("version",) for problem in error.errors()):
            raise Undecided(
                f"{CERTIFICATE} is not of version {VERSION} of the format, the only one that this Shoal checks"
            ) from None
        places = sorted({".".join(str(part) for part in problem["loc"]) or "the file" for problem in error.errors()})
        raise VerificationError(
            [f"{CERTIFICATE} is not a certificate of version {VERSION}: see `{place}`" for place in places]
        ) from None


def fingerprint(path: Path, name: str) -> File:
    """Return the SHA-256 of a file and its size."""
    sha256, size = digest(path)
    return File(name=name, sha256=sha256, bytes=size)


def column(attribute: Attribute, *, hierarchy: str | None = None) -> Column:
    """Return what the certificate says of a released column."""
    values = attribute.domain.values if attribute.kind is Kind.ORDINAL and attribute.domain else None
    return Column(name=attribute.name, role=attribute.role, kind=attribute.kind, values=values, hierarchy=hierarchy)


def _entry(promise: Promise) -> PromiseEntry:
    return PromiseEntry(**{part: getattr(promise, part) for part in PromiseEntry.model_fields})


@cache
def software() -> dict[PackageName, str]:
    """Return the versions that a certificate made here names."""
    packages: tuple[PackageName, ...] = ("shoal", "duckdb", "numpy", "pyarrow")
    return {name: metadata.version(name) for name in packages} | {"python": platform.python_version()}
