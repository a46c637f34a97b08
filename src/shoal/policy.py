"""The policy of an office: what every release, budget and masked file on its machines must keep to.

A policy file is TOML::

    policy = 1                              # version of the format
    office = "Institute of Public Health"
    least_k = 5                             # everybody is among at least so many
    most_epsilon = 1                        # of differential privacy, which is refused where this is left out
    most_delta = 1e-6                       # 0 where left out
    never = ["ssn", "*_id"]                 # columns that leave in no form; * stands for any letters
    masked = false                          # whether masked files, which promise nothing, may be made

    [may_accept]                            # what the rehearsal finds: which user may accept which columns
    alice = ["admission"]
    bob = ["*"]

The file `/etc/shoal/policy.toml` is in force on its machine; where there is none, the file that the variable
``SHOAL_POLICY`` names.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import sys
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from shoal.copying import read_bytes
from shoal.errors import ParameterError, RequirementError, quoted, reason
from shoal.exact import FLAG, WHOLE, Arguments, ExpectedValue, Number, fraction, optional, plain, within

__all__ = ["POLICY", "VARIABLE", "Policy", "in_force"]

VERSION = 1
#: the policy of a machine, and the variable that names another file where the machine has none
POLICY, VARIABLE = Path("/etc/shoal/policy.toml"), "SHOAL_POLICY"
_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What an office allows.

    Parameters
    ----------
    office
        Whose policy it is.
    least_k
        The least number of records, or of persons where the schema names them, that look alike.
    most_epsilon, most_delta
        The most that a release or a budget of differential privacy may cost; refused where no epsilon is given.
    never
        Columns that leave in no form, whatever the case of their letters; ``*`` stands for any letters.
    masked
        Whether :func:`shoal.mask` may be used, which promises nothing.
    may_accept
        The columns that each user, by the name of the account on the machine, may accept in a rehearsal; ``*`` for all.
    user
        Who ran a plan that accepts something; Shoal writes it into the plan.

    Examples
    --------
    >>> policy = Policy(office="Clinic", least_k=5, never=("*_id",))
    >>> policy.forbidden(["age", "Patient_ID"])
    ['Patient_ID']
    """

    office: str
    least_k: int | None = field(default=None, metadata=optional(WHOLE))
    most_epsilon: Number | None = field(default=None, metadata=optional(within("[0, inf)")))
    most_delta: Number = field(default=0, metadata=within("[0, 1)"))
    never: Sequence[str] = ()
    masked: bool = field(default=False, metadata=FLAG)
    may_accept: Mapping[str, Sequence[str]] = field(default_factory=dict)
    user: str = ""

    def __post_init__(self) -> None:
        arguments = Arguments("Policy")
        arguments.read(self)
        for name in ("office", "user"):
            text = getattr(self, name)
            if not (isinstance(text, str) and len(text) <= _LONGEST and text.isprintable()) or not self.office:
                arguments.problems.add(f"`{name}` of a policy must be a printable text of at most {_LONGEST} letters")
        object.__setattr__(self, "never", _patterns(arguments, "never", self.never))
        accepting = arguments.mapping("may_accept", self.may_accept)
        columns = {user: _patterns(arguments, f"may_accept.{user}", listed) for user, listed in accepting.items()}
        object.__setattr__(self, "may_accept", columns)
        arguments.finish()

    @classmethod
    def from_document(cls, document: object) -> Self:
        """Read the policy that a TOML document or table describes."""
        if not isinstance(document, Mapping):
            raise ParameterError("a policy must be a table.")
        known = [each.name for each in fields(cls)]
        if unknown := [name for name in document if name not in known]:
            raise ParameterError(f"a policy has no {quoted(unknown)}; it may have {', '.join(known)}.")
        if "office" not in document:
            raise ParameterError("a policy must say whose it is: `office`.")
        return cls(**document)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a policy file."""
        try:
            document: dict[str, Any] = tomllib.loads(read_bytes(Path(path), follow=True).decode())
            if document.pop("policy", None) != VERSION:
                raise ParameterError(f"it must begin with `policy = {VERSION}`, the version of its format.")
            if "user" in document:
                raise ParameterError("`user` is written by Shoal, into plans.")
            return cls.from_document(document)
        except (OSError, ValueError, RecursionError) as error:
            why = reason(error) if isinstance(error, OSError) else "it is not valid TOML"
            raise ParameterError(f"the policy `{path}` cannot be read: {why}.", hint=_HINT) from None
        except ParameterError as error:
            raise ParameterError([f"the policy `{path}`: {each}" for each in error.problems], hint=_HINT) from None

    def entries(self) -> dict[str, object]:
        """Return what differs from the defaults, as a plan file holds it."""
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "may_accept"}
        said = {name: plain(value) for name, value in given.items() if value not in (None, (), "", 0, False)}
        accepting = {user: list(columns) for user, columns in self.may_accept.items()}
        return said | ({"may_accept": accepting} if accepting else {})

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the rules, whoever ran the plan."""
        rules = {name: value for name, value in self.entries().items() if name != "user"}
        return hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()

    def of_user(self, *, accepts: bool) -> Self:
        """Return the policy with the user who runs a plan, where something is accepted."""
        return replace(self, user=_user() if accepts else "")

    def forbidden(self, columns: Iterable[str]) -> list[str]:
        """Return the columns that may not leave."""
        return [name for name in columns if _matches(name, self.never)]

    def problems(
        self, *, columns: Sequence[str], k: int, epsilon: Fraction | None, delta: Fraction, accepted: Sequence[str]
    ) -> list[str]:
        """Return what the policy does not allow of a release; without an epsilon it must hide everybody among k."""
        whose = f"the policy of {self.office}"
        problems = []
        if names := self.forbidden(columns):
            problems.append(f"{whose} lets {quoted(names)} leave in no form")
        if epsilon is not None:
            problems += self.cost_problems(epsilon, delta)
        elif self.least_k is not None and k < self.least_k:
            problems.append(
                f"{whose} asks for k = {self.least_k} at least; the plan promises {f'k = {k}' if k > 1 else 'no k'}"
            )
        allowed = self.may_accept.get(self.user, ())
        if names := [name for name in accepted if not _matches(name, allowed)]:
            problems.append(f"{whose} does not let {self.user or 'this user'} accept {quoted(names)}")
        return problems

    def cost_problems(self, epsilon: Fraction, delta: Fraction) -> list[str]:
        """Return what the policy does not allow of a cost or budget of differential privacy."""
        if self.most_epsilon is None:
            return [f"the policy of {self.office} allows no differential privacy: it names no `most_epsilon`"]
        limits = {"epsilon": (epsilon, fraction(self.most_epsilon)), "delta": (delta, fraction(self.most_delta))}
        return [
            f"the policy of {self.office} allows {name} = {plain(most)} at most; asked for was {plain(value)}"
            for name, (value, most) in limits.items()
            if value > most
        ]

    def check_budget(self, epsilon: Fraction, delta: Fraction) -> None:
        """Refuse a budget beyond what the policy allows."""
        if problems := self.cost_problems(epsilon, delta):
            raise RequirementError(problems)

    def check_columns(self, columns: Iterable[str]) -> None:
        """Refuse to let columns leave that may not."""
        if names := self.forbidden(columns):
            raise RequirementError(f"the policy of {self.office} lets {quoted(names)} leave in no form")


_HINT = "nothing is released while the policy cannot be read"


def in_force() -> Policy | None:
    """Return the policy of this machine, or the one that the environment names; None where there is none.

    Raises
    ------
    ParameterError
        If there is one, and it cannot be read.
    """
    if os.path.lexists(POLICY):
        return Policy.load(POLICY)
    named = os.environ.get(VARIABLE)
    return Policy.load(named) if named else None


def _patterns(arguments: Arguments, name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)) and all(isinstance(each, str) and each for each in value):
        return tuple(value)
    problem = ExpectedValue(kind="a list of names of columns")
    arguments.problems.add(f"`{name}` of a policy must be {problem}")
    return ()


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(_folded(name), _folded(each).replace("[", "[[]").replace("?", "[?]")) for each in patterns)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _user() -> str:
    """Return the name of the account that runs this process, which no variable of the environment changes."""
    if sys.platform == "win32":
        return getpass.getuser()
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
