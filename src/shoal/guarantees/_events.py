"""The steps that made a release: read from certificates, checked against the data, said in one sentence each."""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from string import Formatter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, Union, dataclass_transform, get_args, get_origin
from typing import get_type_hints as type_hints

from shoal.errors import counted, quoted
from shoal.exact import fraction

if TYPE_CHECKING:
    from shoal.guarantees._evidence import Decision, Evidence

Kept = Literal["value", "cell", "label", "typical", "aggregate", "bucket"]
"""What stands in a released column: its values; those and ``*``; labels of its hierarchy; a typical value or an
aggregate of a class; buckets of values."""

_UNLESS_DEFAULT = "unless default"
UNLESS_DEFAULT: dict[str, bool] = {_UNLESS_DEFAULT: True}
"""The metadata of a field that a certificate states only where it is not the default."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that a step did; one that spends privacy budget has fields ``epsilon_spent`` and ``delta_spent``.

    Every kind of event is a frozen dataclass by inheritance. It is said in one sentence: ``sentence`` with the fields
    in their places, or what ``describe`` returns where that is not enough.
    """

    #: What certificates call it.
    name: ClassVar[str]
    #: Whether random numbers are drawn for it.
    draws: ClassVar[bool] = False
    #: Whether it puts records into classes, or divides them, in a way that no file shows.
    hides_classes: ClassVar[bool] = False
    #: The term of ISO/IEC 20889:2018 for it, if it has one.
    term: ClassVar[str | None] = None
    #: Whether it tells of something that the holder of the data should look at before the release leaves.
    warns: ClassVar[bool] = False
    #: What it does to the columns that it names, if anything: "generalised".
    effect: ClassVar[str | None] = None
    #: What stands in the columns that it names after it, where that is not what stood there before.
    kept: ClassVar[Kept | None] = None
    #: ``{columns!q}`` lists names in backticks, ``{columns!c}`` says that they are columns, ``{columns!n:,}`` is how
    #: many there are, ``{records:record}`` counts records in words, ``{rho!f:.4g}`` is a float
    sentence: ClassVar[str]

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)

    @property
    def epsilon(self) -> Fraction:
        """The epsilon that this step spends."""
        return Fraction(getattr(self, "epsilon_spent", 0))

    @property
    def delta(self) -> Fraction:
        """The delta that this step spends."""
        return Fraction(getattr(self, "delta_spent", 0))

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return _SENTENCES.vformat(self.sentence, (), fields)

    def to_json(self) -> dict[str, object]:
        """Return the event as it stands in a certificate."""
        values = {
            field.name: _plain(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if not (field.metadata.get(_UNLESS_DEFAULT) and getattr(self, field.name) == field.default)
        }
        spent = {"epsilon_spent": self.epsilon, "delta_spent": self.delta}
        known = {name: _plain(value) for name, value in spent.items() if value}
        return {"step": self.name, **known, **values, "description": self.describe()}

    @classmethod
    def from_json(cls, step: Mapping[str, object]) -> Self:
        """Read a step of this kind from a certificate.

        Raises
        ------
        KeyError, ValueError
            If a field is missing, has a value of another type, or is none of this kind's; or if its sentence is not the
            one that its fields give.
        """
        read = cls.from_fields(step)
        if read.to_json() != dict(step):
            raise ValueError(f"not as Shoal writes a step `{cls.name}`")
        return read

    @classmethod
    def from_fields(cls, step: Mapping[str, object]) -> Self:
        """Read the fields of a step, whatever else is said of it."""
        values = {
            name: read_value(kind, step[name])
            for name, (kind, optional) in _fields(cls).items()
            if name in step or not optional
        }
        return cls(**values)

    @property
    def technique(self) -> str | None:
        """The term of ISO/IEC 20889:2018 for what was done, if it has one."""
        return self.term

    @property
    def is_routine(self) -> bool:
        """Whether it need not be said to the holder of the data, because it changed nothing or is always taken."""
        return False

    @property
    def hidden_classes(self) -> tuple[int, int] | None:
        """How many classes it made, and the records of the smallest; None where it made none."""
        return None

    def check(self, evidence: Evidence) -> Decision:
        """Compare the step with the plan and the files; say what was compared, or ``""`` where no file shows any."""
        del evidence
        return True, ""

    def effects(self) -> Iterator[tuple[str, str]]:
        """Return what was done to which column, for the list of columns in reports."""
        if self.effect is not None:
            for name in self.named_columns:
                yield name, self.effect

    def kept_of(self, column: str) -> Kept | None:
        """Return what stands in a column after the step; None where the step does not change it."""
        return self.kept if column in self.named_columns else None

    @property
    def named_columns(self) -> tuple[str, ...]:
        """The columns that it was taken for: those of its field ``columns``, or the one of ``column``."""
        alone = getattr(self, "column", None)
        return getattr(self, "columns", ()) if alone is None else (alone,)


def _fields(kind: type[Event]) -> dict[str, tuple[object, bool]]:
    """Return the type of every field of a kind of steps, and whether certificates may leave it out."""
    types_of = type_hints(kind)
    return {
        field.name: (types_of[field.name], bool(field.metadata.get(_UNLESS_DEFAULT)))
        for field in dataclasses.fields(kind)
    }


_RATIONAL = re.compile(r"-?[0-9]{1,1000}(/[0-9]{1,1000})?")


def read_value(kind: Any, value: object) -> object:
    """Return a value of JSON as one of a type; anything but what that type is written as raises ValueError.

    Examples
    --------
    >>> read_value(tuple[Fraction, ...], ["1/2", "3"])
    (Fraction(1, 2), Fraction(3, 1))
    """
    parts = get_args(kind)
    if kind is Fraction:
        if isinstance(value, str) and _RATIONAL.fullmatch(value):
            return fraction(value)
    elif get_origin(kind) is tuple:
        if isinstance(value, list):
            entries = parts[:1] * len(value) if parts[-1] is Ellipsis else parts
            return tuple(read_value(part, entry) for part, entry in zip(entries, value, strict=True))
    elif get_origin(kind) in (Union, types.UnionType):
        (other,) = (part for part in parts if part is not types.NoneType)
        return None if value is None else read_value(other, value)
    elif get_origin(kind) is Literal:
        if any(type(value) is type(part) and value == part for part in parts):
            return value
    elif type(value) is kind:
        return value
    raise ValueError("a value of another type")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The total privacy loss of all steps: sequential composition adds both parts."""

    epsilon: Fraction
    delta: Fraction


def budget(events: Iterable[Event]) -> Budget:
    """Add up what the steps spend (basic composition).

    Examples
    --------
    >>> budget([])
    Budget(epsilon=Fraction(0, 1), delta=Fraction(0, 1))
    """
    steps = list(events)
    return Budget(
        epsilon=sum((step.epsilon for step in steps), Fraction(0)),
        delta=sum((step.delta for step in steps), Fraction(0)),
    )


def columns_in_words(names: tuple[str, ...]) -> str:
    """Return names of columns as sentences have them: "columns `age`, `sex`"."""
    return f"column{'s' if len(names) > 1 else ''} {quoted(names)}"


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return str(value)
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


class _Sentences(Formatter):
    _conversions: ClassVar[dict[str, Callable[[Any], object]]] = {
        "q": quoted,
        "c": columns_in_words,
        "n": len,
        "f": float,
    }

    def convert_field(self, value: object, conversion: str | None) -> object:
        return self._conversions[conversion](value) if conversion else value

    def format_field(self, value: Any, format_spec: str) -> str:
        noun = len(format_spec) > 1 and format_spec.isalpha()
        return counted(value, format_spec) if noun else format(value, format_spec)


_SENTENCES = _Sentences()
