"""A process under ``faults.c``: imports everything once, then forks for every piece of work with a fault in it.

Requests are lines of JSON; the answer to each says what the work did, how many system calls it made, and whether the
fault happened.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import shoal
from shoal.queries.ledger import Ledger, Loss
from shoal.schema import Attribute, Kind, Role, Schema
from shoal.tables._duckdb import DuckDBEngine

AGE = Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC)
ILL = Attribute(name="ill", role=Role.SENSITIVE, kind=Kind.CATEGORICAL)


def release(folder: Path) -> str:
    people = pa.table({"age": [20, 20, 30, 30, 30, 40] * 5, "ill": ["a", "b", "c"] * 10})
    table = shoal.read(people, schema=Schema(attributes=(AGE, ILL)))
    shoal.anonymize(table, shoal.KAnonymity(2)).write(folder / "made", csv=True)
    return "written"


def verify(folder: Path) -> str:
    failed = [f"{each.subject}: {each.detail}" for each in shoal.verify(folder / "made").checks if not each.passed]
    return "; ".join(failed) or "passed"


def spend(folder: Path) -> str:
    ledger = Ledger.open(folder / "ledger")
    try:
        return str(ledger.spend("alice", Loss.of(1)).number)
    finally:
        ledger.close()


def spend_often(folder: Path) -> str:
    """Spend, and say so on the disk of the reader before going on."""
    ledger = Ledger.open(folder / "ledger")
    for _ in range(4):
        number = ledger.spend("alice", Loss.of("0.5")).number
        (folder / f"answered-{number}").touch()
    ledger.close()
    return "spent"


WORK: dict[str, Callable[[Path], str]] = {
    "release": release,
    "verify": verify,
    "spend": spend,
    "spend_often": spend_often,
}


def broken_engine(number: int, kind: str) -> None:
    """Let the engine's call with this number fail."""
    import duckdb

    raised = {"disk": duckdb.IOException("No space left on device"), "memory": MemoryError()}
    raised["engine"] = duckdb.InternalException("INTERNAL Error: a cell value")
    real, made = DuckDBEngine._interruptible, [0]

    def interruptible(self: DuckDBEngine, work: Callable[[], Any]) -> Any:
        made[0] += 1
        if made[0] == number:
            raise raised[kind]
        return real(self, work)

    DuckDBEngine._interruptible = interruptible  # type: ignore[method-assign]


def carry_out(request: dict[str, Any], out: int) -> None:
    faults = ctypes.CDLL(os.environ["LD_PRELOAD"])
    journal = -1
    if request.get("journal"):
        journal = os.open(request["journal"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    if request.get("engine"):
        broken_engine(request["number"], request["engine"])
    number = -1 if request.get("engine") else request.get("number", -1)
    below, room = request["folder"].encode(), ctypes.c_long(request.get("room", -1))
    faults.faults_arm(below, ctypes.c_long(number), request.get("error", 5), room, journal)
    try:
        told = {"done": WORK[request["work"]](Path(request["folder"]))}
    except shoal.errors.ShoalError as error:
        told = {"refused": str(error), "code": error.exit_code}
    except BaseException as error:
        told = {"broken": f"{type(error).__name__}: {error}"}
    faults.faults_counted.restype = ctypes.c_long
    told |= {"counted": faults.faults_counted(), "fired": bool(faults.faults_fired()) or bool(request.get("engine"))}
    faults.faults_arm(b"", ctypes.c_long(-1), 0, ctypes.c_long(-1), -1)
    os.write(out, (json.dumps(told) + "\n").encode())


def main() -> None:
    for name in shoal.__all__:
        getattr(shoal, name)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            if not os.environ.get("SHOAL_DEBUG"):  # not closed: its number would be the journal's, and words go there
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            carry_out(request, 1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            os.write(1, (json.dumps({"broken": f"ended with {status}", "counted": 0, "fired": True}) + "\n").encode())


if __name__ == "__main__":
    main()
