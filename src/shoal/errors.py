"""Everything that Shoal raises on purpose.

::

    ShoalError
    ├── InputError            the user's input is wrong               exit code 2
    │   ├── SchemaError       a schema, or data that does not fit it
    │   ├── HierarchyError    a hierarchy
    │   ├── DataError         a file, table or column
    │   ├── ParameterError    an argument of a model, method or mechanism
    │   ├── PlanError         a plan file
    │   ├── FilterError       a filter of records
    │   ├── OutputError       the place to write to
    │   ├── Exhausted         the machine: memory, disk, open files
    │   ├── AccessError       an analyst of a vault
    │   └── MissingExtraError an optional dependency is not installed
    ├── RequirementError      no release can keep the promise asked for exit code 1
    │   └── BudgetSpent       an answer would exceed a privacy budget
    │       └── AccountSpent  a release would: nothing is made         exit code 2
    ├── VerificationError     a release does not keep its promise     exit code 1
    │   └── LedgerError       the ledger of a budget is damaged
    │       └── LedgerUnusable the system does not let it be used       exit code 2
    ├── Undecided             a release could not be checked          exit code 5
    ├── NotAnswered           a query failed after it was paid for    exit code 3
    └── Cancelled             the user stopped the work               exit code 130

Messages name columns, counts and row numbers. They never hold a cell value of the data.
"""

from __future__ import annotations

import difflib
import errno
import os
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from shoal import stopping

T = TypeVar("T")

#: what the system says of itself, not of a file
_MACHINE = {errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC}
_MEMORY = "there is not enough memory"
#: how Python puts it where a library cannot be loaded, or a thread not be started
_STARVED = ("failed to map segment", "cannot allocate memory", "can't start new thread")


class ShoalError(Exception):
    """Base of all errors that Shoal raises on purpose.

    Parameters
    ----------
    problems
        One sentence per problem; all problems of an input are reported at once.
    hint
        What the user can do about it.
    """

    exit_code = 3

    def __init__(self, problems: str | Iterable[str], *, hint: str | None = None) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        self.hint = hint
        super().__init__(self._text())

    def _text(self) -> str:
        if len(self.problems) == 1:
            text = self.problems[0]
        else:
            text = f"{len(self.problems)} problems:\n" + "\n".join(f"- {problem}" for problem in self.problems)
        return text if self.hint is None else f"{text}\nHint: {self.hint}"

    def remember(self, sentence: str) -> None:
        """Put a sentence before the hint: what else is true now."""
        self.hint = sentence if self.hint is None else f"{sentence}; {self.hint}"
        self.args = (self._text(),)

    def __reduce__(self) -> tuple[type[Self], tuple[tuple[str, ...]], dict[str, str | None]]:
        return type(self), (self.problems,), {"hint": self.hint}


class InputError(ShoalError):
    """The user's input is wrong."""

    exit_code = 2


class SchemaError(InputError):
    """A schema is not valid, or data does not fit it."""


class HierarchyError(InputError):
    """A hierarchy is not valid, or data does not fit it."""


class DataError(InputError):
    """A file, table or column cannot be used."""


class ParameterError(InputError):
    """An argument of a model, method or mechanism is out of range."""


class ParameterProblem(str):
    """The sentence on one parameter that is wrong, with its parts, so that every face can word it in its own way.

    Parameters
    ----------
    owner
        The model, method or mechanism that has the parameter.
    name
        The parameter.
    expected
        What it may be: its text is the library's words, and other objects say more.
    given
        What it is, as `repr` shows it; None where it is missing.
    """

    owner: str
    name: str
    expected: object
    given: str | None

    @classmethod
    def of(cls, owner: str, name: str, expected: object, given: str | None = None) -> Self:
        """Return the problem that a parameter is not what it must be, or is missing."""
        missing = f"`{owner}` needs the parameter `{name}`."
        self = cls(missing if given is None else f"`{name}` of `{owner}` must be {expected}; got {given}.")
        self.owner, self.name, self.expected, self.given = owner, name, expected, given
        return self


class PlanError(InputError):
    """A plan file is not valid."""


class FilterError(InputError):
    """A filter is not in the language of filters, or does not fit the schema."""


class OutputError(InputError):
    """The release cannot be written where it was asked for."""


class Exhausted(DataError, OutputError):
    """The machine has no memory, disk or open files left, or fails: this says nothing about what is read or written."""


class MissingExtraError(InputError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, *, extra: str) -> None:
        self.feature, self.extra = feature, extra
        super().__init__(f"{feature} is not installed.", hint=f"pip install 'shoal[{extra}]'")

    def __reduce__(self) -> tuple[object, ...]:  # type: ignore[override]
        return partial(MissingExtraError, extra=self.extra), (self.feature,)


class RequirementError(ShoalError):
    """No release can keep the promise that was asked for."""

    exit_code = 1


class VerificationError(ShoalError):
    """A release does not keep its promise."""

    exit_code = 1


class Undecided(ShoalError):
    """A check could not be completed: memory, damage, another version; it says nothing for or against a release."""

    exit_code = 5


class BudgetSpent(RequirementError):
    """The budget does not allow the answer; nothing was spent."""


class AccountSpent(BudgetSpent):
    """The account of the table does not allow the release; nothing was spent and nothing was made."""

    exit_code = 2


class LedgerError(VerificationError):
    """The ledger was changed, cut short or cannot be written; nothing is answered."""


class LedgerUnusable(LedgerError):
    """The ledger cannot be made, read or written now, which says nothing against it; nothing is answered."""

    exit_code = 2


class AccessError(InputError):
    """An analyst is not known, or asks more often than allowed."""


class NotAnswered(ShoalError):
    """The answer could not be computed. Its cost stays spent: a refund would reveal that something went wrong."""

    def __init__(self) -> None:
        super().__init__("the answer could not be computed; its cost is spent.", hint="tell the data steward")

    def __reduce__(self) -> tuple[type[NotAnswered], tuple[()]]:  # type: ignore[override]
        return NotAnswered, ()


class Cancelled(ShoalError):
    """The user stopped the work; nothing was written."""

    exit_code = 130

    def __init__(self, problems: str | Iterable[str] = "Stopped; nothing was written.") -> None:
        super().__init__(problems)


@dataclass(slots=True)
class Problems:
    """Collect problems, then raise all of them at once.

    Examples
    --------
    >>> problems = Problems()
    >>> problems.add("column `age`: 3 values are not numbers")
    >>> problems.raise_as(DataError)
    Traceback (most recent call last):
    shoal.errors.DataError: column `age`: 3 values are not numbers
    """

    found: list[str] = field(default_factory=list)
    hint: str | None = None

    def add(self, problem: str) -> None:
        """Note one problem; the same sentence is kept once."""
        if problem not in self.found:
            self.found.append(problem)

    def take(self, error: ShoalError) -> None:
        """Note all problems of an error, and what can be done about the first that says so."""
        for problem in error.problems:
            self.add(problem)
        self.hint = self.hint or error.hint

    def __bool__(self) -> bool:
        return bool(self.found)

    def raise_as(self, error: type[ShoalError], *, hint: str | None = None) -> None:
        """Raise ``error`` with every problem found, or return if there is none."""
        if self.found:
            raise error(self.found, hint=hint or self.hint)


def presentable(error: BaseException) -> ShoalError:
    """Return an error that may be shown to anybody.

    One that is not ours is named by its place in the program: its message may hold data. With ``SHOAL_DEBUG`` set, the
    details go to standard error.
    """
    if isinstance(error, ShoalError):
        return error
    if lacking(error) == _MEMORY:
        return ShoalError(f"{_MEMORY} for this table; {stopping.left()}")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return OutputError(
            f"there is no space left on the disk; {stopping.left()}", hint="free some space and try again"
        )
    if os.environ.get("SHOAL_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, OSError) and error.strerror:
        name = "" if error.filename is None else f"`{Path(str(error.filename)).name[:40]}`: "
        return InputError(f"{name}{error.strerror.lower()}; {stopping.left()}")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "shoal" in frame.filename]
    place = f"{frames[-1].filename.rsplit('shoal', 1)[-1].lstrip('/')}:{frames[-1].lineno}" if frames else "unknown"
    return ShoalError(
        f"internal error: {type(error).__name__} at {place}; {stopping.left()}",
        hint="please report this; SHOAL_DEBUG=1 shows the details, which may contain data",
    )


def lacking(error: BaseException) -> str | None:
    """Return what the machine lacks, or does not do, if that made the error; None if something else may have.

    What an error was raised for counts as well, so that those who put it in words of their own need not ask.

    Examples
    --------
    >>> lacking(OSError(errno.ENOSPC, "No space left on device"))
    'no space left on device'
    >>> lacking(RuntimeError("can't start new thread"))
    'there is not enough memory'
    >>> lacking(PermissionError(errno.EACCES, "Permission denied"))
    """
    if isinstance(error, Exhausted):
        return "; ".join(problem.rstrip(".") for problem in error.problems)
    if isinstance(error, MemoryError):
        return _MEMORY
    if isinstance(error, ImportError | RuntimeError) and any(words in str(error).lower() for words in _STARVED):
        return _MEMORY
    if isinstance(error, OSError) and error.errno in _MACHINE:
        return os.strerror(error.errno).lower()
    return None if error.__context__ is None else lacking(error.__context__)


def reason(error: OSError) -> str:
    """Say why the system refused, in a few words."""
    return (error.strerror or "the system refuses").lower()


def says_nothing(error: BaseException) -> bool:
    """Return whether an error says nothing about a release: somebody stopped the check, or the machine cannot do it."""
    return isinstance(error, Cancelled | OutputError) or lacking(error) is not None


def find_by_name(what: str, name: str, known: Mapping[str, T]) -> T:
    """Return what has this name; the error for one that is not known says which was probably meant.

    Examples
    --------
    >>> find_by_name("model", "k-anonimity", {"k-anonymity": 1, "k-map": 2})
    Traceback (most recent call last):
    ...
    shoal.errors.ParameterError: There is no model `k-anonimity`...
    """
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"the {what}s are {quoted(known)}"
    raise ParameterError(f"There is no {what} `{name}`.", hint=hint)


def quoted(names: Iterable[str]) -> str:
    """Return "`age`, `sex`", for messages."""
    return ", ".join(f"`{name}`" for name in names)


def counted(number: int, noun: str) -> str:
    """Return "1 value", "2 values", "1,000 values", for messages."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
